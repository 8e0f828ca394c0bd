//! What happened, as streams that hold a few thousand rows at a time, whoever wrote them: wake-ups, switches, migrations.
//!
//! A [`Source`] is what there is to read at a path.

mod columns;
mod counts;
mod in_order;
pub(crate) mod machine;
mod moves;
mod segments;
mod source;
mod states;
mod tasks;
mod wakes;
mod whole;

pub(crate) use columns::Columns;
pub use counts::RecorderCounts;
pub use in_order::InOrder;
pub use moves::{Migrations, Moved, Switched, Switches};
pub use source::{Source, Tables, WAKEUPS};
pub use states::{Hint, Hints, OfCpu, OfCpus, Powers, Spent};
pub use tasks::TaskNames;
pub use wakes::{RunAbout, Wake, Wakes};
