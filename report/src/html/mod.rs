//! Results as one HTML page: what goes where. How it is drawn is `wakelab_page`'s.

mod comparison;
mod conform;
mod explain;
mod machine;
mod over_time;
mod replay;
mod reproduce;
mod source;
mod stats;
mod table;
mod wakeups;

pub use comparison::comparison;
pub use conform::conform;
pub use explain::{Explanations, Piece, summary};
pub use replay::replay;
pub use reproduce::reproduce;
pub use source::Read;
pub use stats::stats;
pub use wakelab_page::Error;
