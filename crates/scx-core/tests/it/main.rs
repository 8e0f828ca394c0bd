//! All integration tests of the crate, in one binary.

mod cgroups;
mod dispatch;
mod dispatch_queues;
mod errors;
mod hotplug;
mod idle;
mod idle_reference;
mod kicks;
mod listened;
mod support;
mod tasks;
