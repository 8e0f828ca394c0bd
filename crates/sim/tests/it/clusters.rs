//! Clusters: groups of cores below an LLC, with a domain of their own since 5.16 (CLS) that has SD_CLUSTER since 6.7.

use crate::support::places::Places;
use crate::support::{MS, back, call, ns, workload};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Feature, Preset};
use wakelab_machine::Machine;
use wakelab_sched::domain::Uniform;
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::{Call, Op, Workload};

/// Runs on an LLC of two clusters of four cores: CPUs 0 to 3 and 4 to 7.
fn on_clusters(kernel: &str, workload: &Workload, until: u64, sink: &mut impl Sink) {
    let shape = Uniform { cluster_cores: Some(4), ..Uniform::new(8, 1) };
    let machine = &Machine { topology: shape.topology(), ..wakelab_machine::get("test-8c").expect("a machine") };
    let kernel = Preset::get(kernel).expect("a preset");
    let mechanisms = Mechanisms { noise: false, ..Mechanisms::default() };
    // A task that sleeps and is queued still would be moved by balancing before it is woken.
    let features = kernel.features.with(Feature::DELAY_DEQUEUE, false);
    let setup = Setup {
        machine,
        kernel,
        features,
        workload,
        seed: 1,
        until,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    run_dyn(&setup, sink, &Default::default()).expect("a run");
}

/// Tasks that are pinned to one CPU until they have run for a moment, and then do this.
fn from_cpu(cpu: u32, tasks: Vec<Vec<Op>>) -> Workload {
    let begin = [Op::Run(ns(10_000)), call(Call::Affinity { cpus: None }), Op::Done, call(Call::Yield)];
    let programs = tasks.into_iter().map(|task| begin.iter().copied().chain(task).collect()).collect();
    workload(programs, &[], Some(vec![cpu]))
}

fn hog() -> Vec<Op> {
    vec![Op::Run(ns(100_000 * MS)), back(4, 0)]
}

#[test]
fn hogs_go_to_both_clusters_where_they_have_a_domain() {
    for preset in Preset::all().iter().filter(|preset| !preset.balance.by_load) {
        let (kernel, expected) = (preset.name, if preset.domains.cluster { [2, 2] } else { [4, 0] });
        let mut places = Places::default();
        on_clusters(kernel, &from_cpu(0, vec![hog(); 4]), 2000 * MS, &mut places);
        let (_, mut counts) = places.counts.pop().expect("a count");
        counts.resize(8, 0);
        assert!(counts.iter().all(|&n| n <= 1), "{kernel}: {counts:?}");
        assert_eq!([counts[..4].iter().sum::<u32>(), counts[4..].iter().sum()], expected, "{kernel}: {counts:?}");
    }
}

/// Where the last wake-up that had a choice went.
#[derive(Default)]
struct Chosen(Option<u32>);

impl Sink for Chosen {
    const ON: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        if let Event::Wakeup { decision: Some(decision), .. } = event {
            self.0 = Some(decision.cpu);
        }
    }
}

/// Where a task goes that is woken on CPU 7, with pinned hogs on that one and on these.
fn woken_on_7(kernel: &str, hogs: &[u32]) -> Option<u32> {
    let free = call(Call::Affinity { cpus: None });
    let woken = vec![Op::Run(ns(10_000)), free, Op::Sleep(ns(5 * MS)), Op::Run(ns(MS))];
    let mut programs = vec![woken, vec![Op::Run(ns(1000 * MS))]];
    programs.extend(hogs.iter().map(|_| vec![Op::Run(ns(1000 * MS))]));
    let mut workload = workload(programs, &[], Some(vec![7]));
    for (task, &cpu) in workload.tasks[2..].iter_mut().zip(hogs) {
        task.affinity = Some(vec![cpu]);
    }
    let mut chosen = Chosen::default();
    on_clusters(kernel, &workload, 20 * MS, &mut chosen);
    chosen.0
}

#[test]
fn a_search_looks_at_the_cluster_of_the_target_first() {
    for preset in Preset::all() {
        let (kernel, flag) = (preset.name, preset.domains.cluster_flag);
        // The CPU it was forked on, recently used, is idle: with SD_CLUSTER it is only for the end, as it is in the
        // other cluster.
        assert_eq!(woken_on_7(kernel, &[]), Some(if flag { 4 } else { 0 }), "{kernel}");
        assert_eq!(woken_on_7(kernel, &[4, 5, 6]), Some(0), "{kernel}");
        // It is busy: the walk goes round the LLC, with SD_CLUSTER round the cluster before.
        assert_eq!(woken_on_7(kernel, &[0]), Some(if flag { 4 } else { 1 }), "{kernel}");
    }
}
