//! Experiments: files (`data/experiments/*.toml`) and command lines that describe what is compared.
//!
//! A [`Spec`] holds names, each with the place where it was given. [`Spec::resolve`] looks them up, so that the error
//! about an unknown machine has the line or the flag that named it, and makes a [`Block`](crate::compare::Block) of
//! each machine and kernel.

mod catalogue;
mod file;
mod flags;
mod panel;
mod pinned;
mod resolve;
mod side;
mod spec;
mod sweep;

pub(crate) use catalogue::Remembering;
pub(crate) use catalogue::loads;
pub use catalogue::{Catalogue, LookupError, LookupSubject, Shipped};
pub use flags::Flags;
pub use panel::{Panel, PanelPart, RungSpec};
pub use side::{AddedSide, NamedSide, named_scheduler};
pub(crate) use spec::found_from;
pub use spec::{Given, Place, REPEATS, REPEATS_MAX, Spec, SpecError, WorkloadSpec};
pub use sweep::{Axis, AxisValue, Grid, SweepSpec};
