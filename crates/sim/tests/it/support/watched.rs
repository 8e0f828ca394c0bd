//! Runs whose state is looked at every 20 ns.

use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Preset, Switches};
use wakelab_sim::observe::{Snapshot, observe};
use wakelab_sim::{Mechanisms, Setup};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Channel, Load, Op, Task, Workload, build};

/// Keeps all events.
#[derive(Default)]
struct AllEvents(Vec<(u64, Event)>);

impl Sink for AllEvents {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        self.0.push((time, *event));
    }
}

/// What is run.
pub struct Run<'a> {
    pub machine: &'a str,
    pub kernel: &'a str,
    pub switches: &'a str,
    pub workload: &'a Workload,
    /// Overrides the preset's `pending_until_enqueued`.
    pub pending_until_enqueued: Option<bool>,
}

impl<'a> Run<'a> {
    /// On 8 CPUs under v5.19-rc1, with its default features.
    pub fn on_8_cpus(workload: &'a Workload) -> Self {
        Run { machine: "test-8c", kernel: "v5.19-rc1", switches: "", workload, pending_until_enqueued: None }
    }
}

/// Looks at the system every 20 ns of `until` ns (every microsecond of more than 10 ms), and returns the events.
pub fn watch(run: &Run<'_>, until: u64, mut look: impl FnMut(&Snapshot<'_>)) -> Vec<(u64, Event)> {
    let machine = wakelab_machine::get(run.machine).expect("a machine");
    let mut kernel = Preset::get(run.kernel).expect("a preset").clone();
    kernel.code.pending_until_enqueued = run.pending_until_enqueued.unwrap_or(kernel.code.pending_until_enqueued);
    let setup = Setup {
        machine: &machine,
        kernel: &kernel,
        features: run.switches.parse::<Switches>().expect("switches").on(kernel.features),
        workload: run.workload,
        seed: 1,
        until,
        mechanisms: Mechanisms { noise: false, ..Mechanisms::default() },
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    let mut events = AllEvents::default();
    let times = (0..until).step_by(if until > 10_000_000 { 1000 } else { 20 });
    observe(&setup, &mut events, times, |snapshot, _| look(snapshot)).expect("a run");
    events.0
}

/// netperf TCP_RR with so many pairs, all of which start within 100 us.
pub fn netperf(machine: &str, pairs: u32) -> Workload {
    let nr_cpus = wakelab_machine::get(machine).expect("a machine").topology.nr_cpus();
    let options = [("ramp".to_owned(), 100_000)].into();
    build("netperf:TCP_RR", Load::Instances(pairs), nr_cpus, &options).expect("a workload")
}

/// Tasks of these programs (program, channels, CPUs, whether SCHED_IDLE), with four channels between them.
pub fn workload(programs: Vec<Vec<Op>>, tasks: Vec<(u32, Vec<u32>, Vec<u32>, bool)>) -> Workload {
    let mut workload = of_programs(programs, &[]);
    workload.channels = (0..4).map(|n| Channel::new(format!("channel {n}"), 2)).collect();
    let task = |(program, channels, cpus, idle_policy): (u32, Vec<u32>, _, _)| Task {
        name: "task".into(),
        program,
        channels: channels.into(),
        start_ns: 0,
        nice: 0,
        idle_policy,
        slice_ns: 0,
        affinity: Some(cpus),
        process: None,
        footprint: 0,
        uclamp_min: None,
        uclamp_max: None,
        realtime: None,
        parent: None,
        group: 0,
    };
    workload.tasks = tasks.into_iter().map(task).collect();
    workload
}
