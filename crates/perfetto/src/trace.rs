//! A trace that is written while events occur.

use crate::packets::{Event, Packets, Written};
use crate::sched::CpuEvents;
use crate::schema::{EventType, ProcessThread, ProcessTree, TracePacket};
use crate::tracks::{Argument, Counter, Track, Tracks};
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// The packet sequence of the kernel's events.
const FTRACE: u32 = 2;
/// At most this many flows are open at a time. Further wake-ups have nevents.
const MAX_OPEN_FLOWS: usize = 1 << 20;
/// The pid and the name of the idle task.
const IDLE: (i32, &str) = (0, "swapper");
/// The name of the instant at which a wakee runs.
const RUNS: &str = "runs";

/// A search for a CPU.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// When the search began, ns.
    pub from_ns: u64,
    /// When the CPU was chosen, ns.
    pub to_ns: u64,
    /// Why the CPU was chosen.
    pub reason: &'static str,
    /// The arguments of the slice.
    pub arguments: &'a [(Argument, i64)],
}

/// Writes a trace. Its memory depends on the number of CPUs and tasks, not on the number of events.
pub struct Trace<W> {
    packets: Packets<W>,
    cpus: Vec<CpuEvents>,
    tracks: Tracks,
    names: FxHashMap<i32, String>,
    /// By CPU: the name of its idle task, if each has its own.
    idle_names: Vec<String>,
    /// By wakee: the flow of its last wake-up.
    flows: FxHashMap<i32, u64>,
    flow: u64,
    switches: u64,
}

impl<W: Write> Trace<W> {
    /// Begins a trace of a machine with this many CPUs.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn new(out: W, cpus: u32) -> io::Result<Self> {
        let mut packets = Packets::new(out);
        let tracks = Tracks::default();
        packets.write(&tracks.first())?;
        Ok(Trace {
            packets,
            cpus: (0..cpus).map(|_| CpuEvents::default()).collect(),
            tracks,
            names: FxHashMap::default(),
            idle_names: Vec::new(),
            flows: FxHashMap::default(),
            flow: 0,
            switches: 0,
        })
    }

    /// Names the idle task of each CPU as kernels do: `swapper/0`.
    #[must_use]
    pub fn of_a_kernel(mut self) -> Self {
        self.idle_names = (0..self.cpus.len()).map(|cpu| format!("{}/{cpu}", IDLE.1)).collect();
        self
    }

    /// Sets the name of a task from now on.
    pub fn name(&mut self, pid: i32, name: &str) {
        match self.names.get_mut(&pid) {
            Some(known) if known == name => {}
            Some(known) => name.clone_into(known),
            None => _ = self.names.insert(pid, name.to_owned()),
        }
    }

    /// Writes a context switch; pid 0 is the idle task. `prev_sleeps` is whether `prev` sleeps or exits. Perfetto knows
    /// `prev` from the switch before, except for the first of a CPU.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn switch(&mut self, t_ns: u64, cpu: u32, prev: i32, prev_sleeps: bool, next: i32) -> io::Result<()> {
        let Some(events) = self.cpus.get_mut(cpu as usize) else { return Ok(()) };
        let idle = self.idle_names.get(cpu as usize).map_or(IDLE.1, String::as_str);
        let task = |pid: i32| if pid == IDLE.0 { (pid, idle) } else { pid_and_name(&self.names, pid) };
        events.switch(t_ns, task(prev), prev_sleeps, task(next));
        self.switches += 1;
        self.flush_if_full(cpu)?;
        let Some(flow) = self.flows.remove(&next) else { return Ok(()) };
        let track = self.track(Track::Thread(next))?;
        self.named(t_ns, Event { flow_in: Some(flow), ..Event::new(EventType::Instant, track) }, RUNS)
    }

    /// The task that runs on a CPU; `None` if it is not known.
    pub fn running(&self, cpu: u32) -> Option<i32> {
        self.cpus.get(cpu as usize)?.running
    }

    /// Writes a wake-up of `wakee` by the waker (CPU and pid), with the search for its CPU, if there was one.
    /// `target_cpu` is that of `sched_waking`: where the wakee ran last.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn wake(
        &mut self,
        t_ns: u64,
        waker: (u32, i32),
        wakee: i32,
        target_cpu: u32,
        search: Option<Search<'_>>,
    ) -> io::Result<()> {
        let (cpu, pid) = waker;
        let Some(events) = self.cpus.get_mut(cpu as usize) else { return Ok(()) };
        events.waking(t_ns, pid_and_name(&self.names, wakee), target_cpu);
        self.flush_if_full(cpu)?;
        self.searched((cpu, pid), wakee, search)
    }

    /// Writes a recorded wake-up with all that its events have, so that it is the same when it is imported: where the
    /// wakee ran last, if that is known, and where it goes.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn recorded_wake(
        &mut self,
        t_ns: u64,
        (cpu, pid): (u32, i32),
        wakee: i32,
        (prev_cpu, dest_cpu): (Option<u32>, u32),
        search: Option<Search<'_>>,
    ) -> io::Result<()> {
        let Some(events) = self.cpus.get_mut(cpu as usize) else { return Ok(()) };
        events.woken(t_ns, pid, pid_and_name(&self.names, wakee), prev_cpu, dest_cpu);
        self.flush_if_full(cpu)?;
        self.searched((cpu, pid), wakee, search)
    }

    /// Writes a recorded migration.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn migrates(&mut self, t_ns: u64, pid: i32, from_cpu: u32, to_cpu: u32) -> io::Result<()> {
        let Some(events) = self.cpus.get_mut(from_cpu as usize) else { return Ok(()) };
        events.migrates(t_ns, pid_and_name(&self.names, pid), from_cpu, to_cpu);
        self.flush_if_full(from_cpu)
    }

    /// Writes the name of a task as the list of processes has it: that of a task which is in no other event.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn listed_name(&mut self, pid: i32, name: &str) -> io::Result<()> {
        self.name(pid, name);
        let threads = vec![ProcessThread { tid: Some(pid), name: Some(name.to_owned()) }];
        self.packets.write(&TracePacket { process_tree: Some(ProcessTree { threads }), ..TracePacket::default() })
    }

    fn searched(&mut self, (cpu, pid): (u32, i32), wakee: i32, search: Option<Search<'_>>) -> io::Result<()> {
        let Some(search) = search else { return Ok(()) };
        let track = self.track(if pid == IDLE.0 { Track::IdleOf(cpu) } else { Track::Thread(pid) })?;
        let mut begin = Event { arguments: search.arguments, ..Event::new(EventType::SliceBegin, track) };
        if self.flows.len() < MAX_OPEN_FLOWS || self.flows.contains_key(&wakee) {
            self.flow += 1;
            self.flows.insert(wakee, self.flow);
            begin.flow_out = Some(self.flow);
        }
        self.named(search.from_ns, begin, search.reason)?;
        self.packets.event(search.to_ns, &Event::new(EventType::SliceEnd, track), None)
    }

    /// Writes the frequency of a CPU from now on, kHz.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn frequency(&mut self, t_ns: u64, cpu: u32, khz: u32) -> io::Result<()> {
        let Some(events) = self.cpus.get_mut(cpu as usize) else { return Ok(()) };
        events.frequency(t_ns, cpu, khz);
        self.flush_if_full(cpu)
    }

    /// Writes the idle state that a CPU enters; `None` if it leaves one.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn idle(&mut self, t_ns: u64, cpu: u32, state: Option<u32>) -> io::Result<()> {
        let Some(events) = self.cpus.get_mut(cpu as usize) else { return Ok(()) };
        events.idle(t_ns, cpu, state);
        self.flush_if_full(cpu)
    }

    /// Writes the value of a counter from now on.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn counter(&mut self, t_ns: u64, counter: Counter, value: i64) -> io::Result<()> {
        let track = self.track(Track::Counter(counter))?;
        self.packets.event(t_ns, &Event { value: Some(value), ..Event::new(EventType::Counter, track) }, None)
    }

    /// The number of switches that were written.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Writes what is buffered, and ends the trace.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn finish(mut self) -> io::Result<(W, Written)> {
        for cpu in 0..self.cpus.len() as u32 {
            self.flush(cpu)?;
        }
        self.packets.finish()
    }

    fn flush_if_full(&mut self, cpu: u32) -> io::Result<()> {
        if self.cpus[cpu as usize].full() { self.flush(cpu) } else { Ok(()) }
    }

    fn flush(&mut self, cpu: u32) -> io::Result<()> {
        let Some(bundle) = self.cpus[cpu as usize].take(cpu) else { return Ok(()) };
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(FTRACE),
            ftrace_events: Some(bundle),
            ..TracePacket::default()
        };
        self.packets.write(&packet)?;
        packet.ftrace_events.into_iter().for_each(|bundle| self.cpus[cpu as usize].reuse(bundle));
        Ok(())
    }

    fn track(&mut self, track: Track) -> io::Result<u64> {
        let (number, descriptor) = self.tracks.number(track);
        if let Some(packet) = descriptor {
            self.packets.write(&packet)?;
        }
        Ok(number)
    }

    fn named(&mut self, t_ns: u64, event: Event<'_>, name: &'static str) -> io::Result<()> {
        let (number, names) = self.tracks.name(name);
        self.packets.event(t_ns, &Event { name: Some(number), ..event }, names.as_ref())
    }
}

fn pid_and_name(names: &FxHashMap<i32, String>, pid: i32) -> (i32, &str) {
    if pid == IDLE.0 { IDLE } else { (pid, names.get(&pid).map_or("", String::as_str)) }
}
