//! The parts of `protos/perfetto/trace/` of Perfetto's sources that are read or written, by the same names and numbers.

mod ftrace;
mod packet;
mod track;

pub use ftrace::{CompactSched, FtraceEvent, FtraceEventBundle, OfCpu, SchedMigrateTask, SchedSwitch, SchedWakeup};
pub use packet::{InternedData, InternedName, Trace, TracePacket};
pub use track::{Annotation, CounterDescriptor, EventType, ThreadDescriptor, TrackDescriptor, TrackEvent};
