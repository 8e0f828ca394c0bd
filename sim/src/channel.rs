//! Channels: what tasks send each other messages through.

use smallvec::SmallVec;
use std::collections::VecDeque;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

/// One channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// How many messages it holds.
    pub capacity: usize,
    /// By message, the oldest first: the CPU that wrote it.
    pub messages: VecDeque<Cpu>,
    /// Tasks that wait for a message, the first to be woken first.
    pub readers: SmallVec<[TaskId; 1]>,
    /// Tasks that wait for room.
    pub writers: SmallVec<[TaskId; 1]>,
}

impl Channel {
    /// An empty channel.
    pub fn new(capacity: u32) -> Self {
        Channel {
            capacity: capacity as usize,
            messages: VecDeque::new(),
            readers: SmallVec::new(),
            writers: SmallVec::new(),
        }
    }
}
