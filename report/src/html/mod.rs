//! Results as one HTML page: what goes where. How it is drawn is `wakelab_page`'s.

mod comparison;
mod machine;
mod over_time;
mod wakeups;

pub use comparison::comparison;
