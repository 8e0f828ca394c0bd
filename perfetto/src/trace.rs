//! A trace that is written as things happen.

use crate::event::Event;
use crate::packets::{Packets, Written};
use crate::sched::OneCpu;
use crate::schema::{EventType, TracePacket};
use crate::tracks::{Argument, Counter, Track, Tracks};
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// Events of the kernel are a sequence of their own.
const FTRACE: u32 = 2;
/// Flows of so many wakees are open at a time; later wake-ups have none.
const MOST_OPEN: usize = 1 << 20;
/// Of the idle task.
const IDLE: (i32, &str) = (0, "swapper");
/// The name of the moment at which a wakee runs.
const RUNS: &str = "runs";

/// A search for a CPU.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// When it began, ns.
    pub from_ns: u64,
    /// When the CPU was chosen, ns.
    pub to_ns: u64,
    /// Why that CPU.
    pub reason: &'static str,
    /// Arguments.
    pub arguments: &'a [(Argument, i64)],
}

/// Writes a trace. Memory goes by the number of CPUs and of tasks, not by how much happens.
pub struct Trace<W> {
    packets: Packets<W>,
    cpus: Vec<OneCpu>,
    tracks: Tracks,
    names: FxHashMap<i32, String>,
    /// By wakee: the flow of its last wake-up.
    flows: FxHashMap<i32, u64>,
    flow: u64,
    switches: u64,
}

impl<W: Write> Trace<W> {
    /// Begins a trace of a machine.
    ///
    /// # Errors
    /// Where it cannot be written; so do all that follow.
    pub fn new(out: W, cpus: u32) -> io::Result<Self> {
        let mut packets = Packets::new(out);
        let tracks = Tracks::default();
        packets.write(&tracks.first())?;
        Ok(Trace {
            packets,
            cpus: (0..cpus).map(|_| OneCpu::default()).collect(),
            tracks,
            names: FxHashMap::default(),
            flows: FxHashMap::default(),
            flow: 0,
            switches: 0,
        })
    }

    /// A task's name, from now on.
    pub fn name(&mut self, pid: i32, name: &str) {
        match self.names.get_mut(&pid) {
            Some(known) if known == name => {}
            Some(known) => name.clone_into(known),
            None => _ = self.names.insert(pid, name.to_owned()),
        }
    }

    /// A CPU switches to a task; 0 is the idle task. `prev_sleeps`: who ran goes to sleep, or exits. Who ran is known
    /// by the switches before, but for the first of a CPU.
    ///
    /// # Errors
    /// As [`Trace::new`].
    pub fn switch(&mut self, t_ns: u64, cpu: u32, prev: i32, prev_sleeps: bool, next: i32) -> io::Result<()> {
        let Some(one) = self.cpus.get_mut(cpu as usize) else { return Ok(()) };
        one.switch(t_ns, who(&self.names, prev), prev_sleeps, who(&self.names, next));
        self.switches += 1;
        self.flush_if_full(cpu)?;
        let Some(flow) = self.flows.remove(&next) else { return Ok(()) };
        let track = self.track(Track::Thread(next))?;
        self.named(t_ns, Event { ends: Some(flow), ..Event::new(EventType::Instant, track) }, RUNS)
    }

    /// Who has the CPU, as far as is known.
    pub fn runs(&self, cpu: u32) -> Option<i32> {
        self.cpus.get(cpu as usize)?.runs
    }

    /// A wake-up; where a CPU was searched for, with that.
    ///
    /// # Errors
    /// As [`Trace::new`].
    pub fn wake(
        &mut self,
        t_ns: u64,
        waker: (u32, i32),
        wakee: i32,
        target_cpu: u32,
        search: Option<Search<'_>>,
    ) -> io::Result<()> {
        let (cpu, pid) = waker;
        let Some(one) = self.cpus.get_mut(cpu as usize) else { return Ok(()) };
        one.waking(t_ns, who(&self.names, wakee), target_cpu);
        self.flush_if_full(cpu)?;
        let Some(search) = search else { return Ok(()) };
        let track = self.track(if pid == IDLE.0 { Track::IdleOf(cpu) } else { Track::Thread(pid) })?;
        let mut begin = Event { arguments: search.arguments, ..Event::new(EventType::SliceBegin, track) };
        if self.flows.len() < MOST_OPEN || self.flows.contains_key(&wakee) {
            self.flow += 1;
            self.flows.insert(wakee, self.flow);
            begin.begins = Some(self.flow);
        }
        self.named(search.from_ns, begin, search.reason)?;
        self.packets.event(search.to_ns, &Event::new(EventType::SliceEnd, track), None)
    }

    /// A CPU's frequency from now on, kHz.
    ///
    /// # Errors
    /// As [`Trace::new`].
    pub fn frequency(&mut self, t_ns: u64, cpu: u32, khz: u32) -> io::Result<()> {
        let Some(one) = self.cpus.get_mut(cpu as usize) else { return Ok(()) };
        one.frequency(t_ns, cpu, khz);
        self.flush_if_full(cpu)
    }

    /// A CPU enters an idle state, or leaves it.
    ///
    /// # Errors
    /// As [`Trace::new`].
    pub fn idle(&mut self, t_ns: u64, cpu: u32, state: Option<u32>) -> io::Result<()> {
        let Some(one) = self.cpus.get_mut(cpu as usize) else { return Ok(()) };
        one.idle(t_ns, cpu, state);
        self.flush_if_full(cpu)
    }

    /// A counter's value from now on.
    ///
    /// # Errors
    /// As [`Trace::new`].
    pub fn count(&mut self, t_ns: u64, counter: Counter, value: i64) -> io::Result<()> {
        let track = self.track(Track::Counter(counter))?;
        self.packets.event(t_ns, &Event { value: Some(value), ..Event::new(EventType::Counter, track) }, None)
    }

    /// How many switches were written.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Ends the trace: what is held back is written.
    ///
    /// # Errors
    /// As [`Trace::new`].
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
        packet.ftrace_events.into_iter().for_each(|bundle| self.cpus[cpu as usize].take_back(bundle));
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

fn who(names: &FxHashMap<i32, String>, pid: i32) -> (i32, &str) {
    if pid == IDLE.0 { IDLE } else { (pid, names.get(&pid).map_or("", String::as_str)) }
}
