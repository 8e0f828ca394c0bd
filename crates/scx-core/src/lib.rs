//! sched_ext (`kernel/sched/ext`): what the kernel does around a scheduler in BPF.
//!
//! ```text
//!                 the simulator's CPUs
//!   select_task_rq, enqueue, pick, tick ...   ▲ Request: reschedule, a task has moved, timers
//!                    ▼                        │
//!        ┌───────────────── Ext ──────────────┴─┐
//!        │ dispatch_q   local, global, user     │
//!        │ idle         idle masks, their choice│
//!        │ entity       what a task has         │
//!        │ cgroup       control groups          │
//!        │ hotplug      CPUs that come and go   │
//!        │ stall        how a wait came to be   │
//!        └──────┬───────────────────────▲───────┘
//!          Call │                       │ kernel functions
//!               ▼                       │
//!                Ops: the scheduler's own code
//! ```
//!
//! As the rest of the model, it decides and does not act: it reads no clock and draws nothing at random. The caller
//! says when something happens, and applies what is asked of it ([`Request`](ext::Request)). Operations run at one
//! moment; the time that they take is counted ([`Ext::take_spent`](ext::Ext::take_spent)).

pub mod cgroup;
pub mod cid;
pub mod dispatch_q;
pub mod entity;
pub mod ext;
pub mod flags;
pub mod hotplug;
pub mod idle;
pub mod listened;
pub mod ops;
pub mod stall;
