//! How fast CPUs work, and what the scheduler's operations cost there, so that both can be taken off.

use rustc_hash::FxHashMap;
use wakelab_events::stream::WakeCause;
use wakelab_machine::{Distance, DistanceCosts, Distances, Machine};
use wakelab_sched::cpumask::Cpu;

/// The speeds of the CPUs of a machine, at a time. Without a machine all work counts as it was.
pub(super) struct Speeds<'a> {
    machine: Option<&'a Machine>,
    /// How far the machine's CPUs are from each other, and what that costs.
    lines: Option<(Distances, DistanceCosts)>,
    cpus: Vec<CpuSpeed>,
    /// The part of time that is left beside ticks.
    beside_ticks: f64,
}

#[derive(Clone, Debug)]
struct CpuSpeed {
    siblings: Vec<Cpu>,
    busy: bool,
    /// The capacity, of 1.
    capacity: f64,
    /// The highest frequency, kHz; 0 if it is not known.
    highest_khz: u64,
    /// The present part of it.
    clock: f64,
}

impl<'a> Speeds<'a> {
    /// All CPUs idle, at their highest frequency.
    pub(super) fn new(machine: Option<&'a Machine>, tick_ns: u64) -> Self {
        let Some(machine) = machine else {
            return Speeds { machine: None, lines: None, cpus: Vec::new(), beside_ticks: 1.0 };
        };
        let topology = &machine.topology.cpus;
        let mut cores: FxHashMap<u32, Vec<Cpu>> = FxHashMap::default();
        topology.iter().zip(0..).for_each(|(own, cpu)| cores.entry(own.core).or_default().push(cpu));
        let cpus = topology.iter().zip(0..).map(|(own, cpu)| {
            let policy = machine.frequencies.iter().find(|policy| policy.cpus.test(cpu));
            CpuSpeed {
                siblings: cores[&own.core].iter().copied().filter(|&other| other != cpu).collect(),
                busy: false,
                capacity: f64::from(own.capacity) / 1024.0,
                highest_khz: policy.and_then(|policy| policy.targets_khz().into_iter().max()).unwrap_or(0),
                clock: 1.0,
            }
        });
        let beside_ticks = 1.0 - machine.costs.tick.value as f64 / tick_ns.max(1) as f64;
        let llcs: Vec<u32> = topology.iter().map(|cpu| cpu.llc).collect();
        let lines = Some((Distances::new(machine, &llcs), machine.costs.by_distance()));
        Speeds { machine: Some(machine), lines, cpus: cpus.collect(), beside_ticks: beside_ticks.max(0.1) }
    }

    /// The other CPUs of the core.
    pub(super) fn siblings(&self, cpu: Cpu) -> &[Cpu] {
        self.cpus.get(cpu as usize).map_or(&[], |cpu| &cpu.siblings)
    }

    /// The CPU is busy, or idles.
    pub(super) fn set_busy(&mut self, cpu: Cpu, busy: bool) {
        if let Some(cpu) = self.cpus.get_mut(cpu as usize) {
            cpu.busy = busy;
        }
    }

    /// The CPU runs at this frequency.
    pub(super) fn set_khz(&mut self, cpu: Cpu, khz: u64) {
        if let Some(cpu) = self.cpus.get_mut(cpu as usize)
            && cpu.highest_khz != 0
        {
            cpu.clock = (khz as f64 / cpu.highest_khz as f64).clamp(0.01, 1.0);
        }
    }

    /// The work that the CPU does in a ns.
    pub(super) fn of(&self, cpu: Cpu) -> f64 {
        let (Some(machine), Some(own)) = (self.machine, self.cpus.get(cpu as usize)) else { return 1.0 };
        own.capacity * own.clock * self.beside_ticks / self.slowdown(machine, own)
    }

    /// How long work takes because of busy siblings, as in the simulator: each adds as much as the first.
    fn slowdown(&self, machine: &Machine, own: &CpuSpeed) -> f64 {
        let busy = own.siblings.iter().filter(|&&sibling| self.cpus[sibling as usize].busy).count() as f64;
        1.0 + busy * machine.costs.smt_slowdown.value.saturating_sub(100) as f64 / 100.0
    }

    /// What a context switch costs the task that is switched from, as work: like all costs, it is paid at the CPU's
    /// speed.
    pub(super) fn context_switch(&self) -> f64 {
        self.machine.map_or(0.0, |machine| machine.costs.context_switch.value as f64)
    }

    /// How far lines come from one CPU to another, if both are the machine's.
    fn distance(&self, distances: &Distances, from: Cpu, to: Cpu) -> Distance {
        let known = |cpu: Cpu| (cpu as usize) < self.cpus.len();
        match from == to {
            true => Distance::Own,
            false if known(from) && known(to) => distances.between(from, to),
            false => Distance::Llc,
        }
    }

    /// What the choice of a CPU cost the waker, as work. In a simulation it took what the events say; a recorded one is
    /// slowed by its recorder, so that it is counted as two probes.
    pub(super) fn choice(&self, wake: &WakeCause, simulated: bool) -> f64 {
        let Some(machine) = self.machine else { return 0.0 };
        if simulated {
            return wake.decided_ns.saturating_sub(wake.t_ns) as f64 * self.of(wake.waker_cpu);
        }
        (machine.costs.wakeup.value + 2 * machine.costs.probe.value) as f64
    }

    /// What the enqueue costs the waker after the choice, as work.
    pub(super) fn enqueue(&self, wake: &WakeCause) -> f64 {
        let Some((distances, costs)) = &self.lines else { return 0.0 };
        let distance = self.distance(distances, wake.dest_cpu, wake.waker_cpu);
        let cost = match wake.by_wakelist.unwrap_or(distance == Distance::Far) {
            true => &costs.wakelist,
            false => &costs.enqueue,
        };
        cost.at(distance) as f64
    }

    /// The part of an enqueue on `dest` after which all CPUs see it, 0 to 1.
    pub(super) fn visible_after(&self, waker_cpu: Cpu, dest: Cpu) -> f64 {
        let Some(machine) = self.machine.filter(|_| waker_cpu != dest) else { return 1.0 };
        machine.costs.enqueue_visible.value as f64 / 100.0
    }

    /// What a task pays that last ran on another CPU.
    pub(super) fn cold_task(&self, last: Cpu, cpu: Cpu) -> f64 {
        let Some((distances, costs)) = &self.lines else { return 0.0 };
        costs.cold_task.at(self.distance(distances, last, cpu)) as f64
    }

    /// What the message of a waker on another CPU costs its reader.
    pub(super) fn cold_message(&self, from: Cpu, cpu: Cpu) -> f64 {
        let Some((distances, costs)) = &self.lines else { return 0.0 };
        costs.cold_message.at(self.distance(distances, from, cpu)) as f64
    }
}
