//! What makes the runs of comparisons: the simulator alone, with what happens written to files ([`EventWriter`]), with
//! a picture ([`Pictured`]), or in a process of its own ([`Fence`](crate::runs::fence::Fence)).

mod event_writer;
mod fenced;
mod pictured;
mod run_listener;
mod simulator;

pub use event_writer::EventWriter;
pub use fenced::serve_runs;
pub(crate) use fenced::{Answer, Question, answer};
pub use pictured::{Pictured, Pictures};
pub use run_listener::Picture;
pub use simulator::Simulator;
