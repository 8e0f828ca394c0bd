//! Channels: pipes and sockets through which tasks send each other messages.

use crate::engine::Sim;
use crate::futex::Phase;
use crate::model::Model;
use crate::run::Mechanisms;
use crate::task::{Task, Wait};
use smallvec::SmallVec;
use std::collections::VecDeque;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::ChannelCosts;

/// One channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// How many messages it holds.
    pub capacity: usize,
    /// The messages, the oldest first: of each the CPU that wrote it.
    pub messages: VecDeque<Cpu>,
    /// How many messages were written to it so far.
    pub sent: u64,
    /// How many were read.
    pub received: u64,
    /// Tasks that wait for a message, the first to be woken first.
    pub readers: SmallVec<[TaskId; 1]>,
    /// Tasks that wait for room.
    pub writers: SmallVec<[TaskId; 1]>,
    /// A pipe: so many places make a page. A task that has waited for room needs a page of free places, another one
    /// place.
    pub page: Option<usize>,
    /// A spin lock: when all who wait for it now will have released it, ns.
    pub free_at: u64,
    /// The costs of using it.
    costs: ChannelCosts,
    /// The CPU that used it last, in whose cache its own lines are.
    last_user: Option<Cpu>,
}

impl Channel {
    /// An empty channel.
    pub fn new(channel: &wakelab_workload::Channel, mechanisms: &Mechanisms) -> Self {
        let costs = if mechanisms.channel_lines { channel.costs } else { ChannelCosts::default() };
        Channel {
            capacity: channel.capacity as usize,
            costs,
            last_user: None,
            messages: VecDeque::new(),
            sent: 0,
            received: 0,
            readers: SmallVec::new(),
            writers: SmallVec::new(),
            page: None,
            free_at: 0,
        }
    }

    /// How many more messages it can hold.
    pub fn free(&self) -> usize {
        self.capacity - self.messages.len()
    }

    /// A task on `cpu` writes a message.
    #[inline]
    pub fn put(&mut self, cpu: Cpu) {
        self.messages.push_back(cpu);
        self.sent += 1;
    }

    /// A task reads the oldest message. Returns the CPU that wrote it; `None` if there is none.
    #[inline]
    pub fn take(&mut self) -> Option<Cpu> {
        let from = self.messages.pop_front()?;
        self.received += 1;
        Some(from)
    }

    /// Charges a task on `cpu` for writing a message.
    #[inline]
    pub fn charge_writer(&mut self, model: &Model, cpu: Cpu, task: &mut Task) {
        task.add_overhead(self.own_lines(model, cpu));
    }

    /// Charges a task on `cpu` for reading a message that was written on `from`.
    #[inline]
    pub fn charge_reader(&mut self, model: &Model, from: Cpu, cpu: Cpu, task: &mut Task) {
        let message = model.cold_message(from, cpu) * u64::from(self.costs.message_lines_pct) / 100;
        let waited = self.costs.waited_ns != 0 && std::mem::take(&mut task.calls.phase) == Phase::Queued;
        let wait = if waited { self.costs.waited_ns } else { 0 };
        task.add_overhead(self.own_lines(model, cpu) + message + wait);
    }

    /// Returns the cost of the channel's own cache lines for the task that uses it now, ns.
    #[inline]
    fn own_lines(&mut self, model: &Model, cpu: Cpu) -> u64 {
        if self.costs.own_lines_pct == 0 {
            return 0;
        }
        let last = self.last_user.replace(cpu).unwrap_or(cpu);
        model.cold_message(last, cpu) * u64::from(self.costs.own_lines_pct) / 100
    }

    /// Puts a task that found no message in the queue of those who wait for one.
    pub fn queue_reader(&mut self, id: TaskId, task: &mut Task) {
        self.readers.push(id);
        if self.costs.waited_ns != 0 {
            task.calls.phase = Phase::Queued;
        }
    }

    /// Whether a task that sends has to wait. `waited`: it has waited before.
    pub fn is_full(&self, waited: bool) -> bool {
        self.free() < self.page.filter(|_| waited).unwrap_or(1)
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Sends into a channel that may be full. Returns false if the task sleeps now.
    pub fn finds_room(&mut self, cpu: Cpu, id: TaskId, channel: u32) -> bool {
        let queue = &mut self.sys.channels[channel];
        let task = &mut self.sys.tasks[id];
        let waited = task.calls.phase == Phase::Queued;
        if queue.is_full(waited) {
            task.calls.phase = Phase::Queued;
            queue.writers.push(id);
            self.block(cpu, id, Wait::Room(channel));
            return false;
        }
        task.add_overhead(if waited { queue.costs.waited_ns } else { 0 });
        task.calls.phase = Phase::Fresh;
        // pipe_write(): a writer that has waited, and leaves room, wakes the next writer.
        if waited && queue.page.is_some_and(|page| queue.free() > page) && !queue.writers.is_empty() {
            task.add_to_wake([(queue.writers.remove(0), true)]);
        }
        true
    }

    /// Receives a message from a pipe or a Unix socket. Returns whether the task sleeps.
    ///
    /// A pipe (not `all`) is full while no page is free, and its writers wait for one. `pipe_read()` of 5.5 to
    /// 6.13 wakes the first of them at each read from a full pipe, who sleeps again if the page was not the last
    /// message's; since 6.14 only when a page becomes free. A socket wakes all, each time that it is writable
    /// (`unix_write_space()`), and they need room for a message.
    pub fn receive_batch(&mut self, cpu: Cpu, id: TaskId, channel: u32, room: u32, all: bool) -> bool {
        let model = self.sys.model;
        let queue = &mut self.sys.channels[channel];
        let room = room as usize;
        queue.page = (!all).then_some(room);
        let was_full = queue.free() < room;
        let task = &mut self.sys.tasks[id];
        let Some(from) = queue.take() else {
            queue.queue_reader(id, task);
            self.block(cpu, id, Wait::Message(channel));
            return true;
        };
        let has_room = queue.free() >= room;
        let woken = match (all, was_full) {
            (true, _) if has_room => queue.writers.len(),
            (false, true) if has_room || model.pipe_wakes_while_full => queue.writers.len().min(1),
            _ => 0,
        };
        task.add_to_wake(queue.writers.drain(..woken).map(|writer| (writer, true)));
        task.pc += 1;
        queue.charge_reader(model, from, cpu, task);
        false
    }
}
