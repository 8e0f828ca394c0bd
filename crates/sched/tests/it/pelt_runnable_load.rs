//! The load of a run queue's queued tasks (`runnable_load_avg`, up to 5.4), compared with the sum over the tasks.

use proptest::collection::vec;
use proptest::prelude::*;
use wakelab_kernel::Preset;
use wakelab_sched::pelt::{
    CfsRqPelt, CfsRqState, EntityState, PeltRules, RunnableLoad, SchedAvg, UpdateFlags, attach_entity_load_avg,
    dequeue_runnable_load_avg, enqueue_runnable_load_avg, init_entity_runnable_average, update_cfs_rq_load_avg,
    update_load_avg,
};

const MS: u64 = 1 << 20;

/// The tasks of one CPU, each of which is queued or sleeps.
struct Cpu {
    rq: CfsRqPelt,
    tasks: Vec<(SchedAvg, u64, bool)>,
    now: u64,
}

impl Cpu {
    fn new(rules: PeltRules, weights: &[u64]) -> Self {
        let mut rq = CfsRqPelt::new(rules);
        let now = 1000 * MS;
        update_cfs_rq_load_avg(now, &mut rq, &CfsRqState::default());
        let tasks = weights.iter().map(|&weight| {
            let mut avg = init_entity_runnable_average(weight);
            attach_entity_load_avg(&mut rq, &mut avg, weight);
            (avg, weight, false)
        });
        Cpu { tasks: tasks.collect(), rq, now }
    }

    fn queue(&self) -> CfsRqState {
        let queued = self.tasks.iter().filter(|(_, _, on_rq)| *on_rq);
        let nr = queued.clone().count() as u32;
        CfsRqState { weight: queued.map(|(_, weight, _)| weight).sum(), h_nr_runnable: nr, curr: nr > 0 }
    }

    /// Updates the averages after `us` µs, then enqueues the task or dequeues it.
    fn toggle(&mut self, us: u64, index: usize) {
        self.now += us * 1024;
        let queue = self.queue();
        let (avg, weight, on_rq) = &mut self.tasks[index];
        let entity = EntityState { weight: *weight, on_rq: *on_rq, sched_delayed: false, curr: false };
        update_load_avg(&mut self.rq, &queue, avg, &entity, self.now, UpdateFlags::empty());
        if *on_rq {
            dequeue_runnable_load_avg(&mut self.rq, avg, *weight);
        } else {
            enqueue_runnable_load_avg(&mut self.rq, avg, *weight);
        }
        *on_rq = !*on_rq;
    }

    /// The sum of the queued tasks' loads, each aged to the run queue's time.
    fn sum_of_queued(&self) -> u64 {
        let aged = self.tasks.iter().filter(|(_, _, on_rq)| *on_rq).map(|(avg, weight, _)| {
            let (mut avg, mut rq) = (*avg, CfsRqPelt::new(PeltRules::V5_10));
            let entity = EntityState { weight: *weight, on_rq: true, sched_delayed: false, curr: false };
            update_load_avg(&mut rq, &CfsRqState::default(), &mut avg, &entity, self.now, UpdateFlags::empty());
            avg.load_avg
        });
        aged.sum()
    }
}

proptest! {
    /// It is the sum of the queued tasks' loads, except for the rounding of each step.
    #[test]
    fn is_the_load_of_the_queued_tasks(
        weights in vec(prop::sample::select(vec![15u64, 335, 1024, 9548]), 1..6),
        steps in vec((0u64..40_000, 0usize..6), 1..60),
    ) {
        let mut cpu = Cpu::new(PeltRules::V5_3, &weights);
        for (us, index) in &steps {
            cpu.toggle(*us, index % weights.len());
        }
        let (is, expected) = (cpu.rq.runnable_load.avg, cpu.sum_of_queued());
        // A step's rounding is below one unit of every weight's sum, and halves in 32 ms.
        let tolerance = weights.iter().sum::<u64>() / 40 + 2 * weights.len() as u64;
        prop_assert!(is.abs_diff(expected) <= tolerance, "{is} against {expected}, within {tolerance}");
        prop_assert!(cpu.queue().weight > 0 || is <= tolerance);
    }
}

#[test]
fn sleepers_load_the_run_queue_but_not_its_runnable_load() {
    let mut cpu = Cpu::new(PeltRules::V5_3, &[1024, 1024]);
    for (us, index) in [(0, 0), (0, 1), (200_000, 1)] {
        cpu.toggle(us, index);
    }
    let both = cpu.rq.avg.load_avg;
    assert!((2000..=2048).contains(&both), "{both}");
    assert!((1000..=1026).contains(&cpu.rq.runnable_load.avg), "{}", cpu.rq.runnable_load.avg);
    cpu.toggle(1000, 0);
    assert!(cpu.rq.runnable_load.avg <= 2, "{}", cpu.rq.runnable_load.avg);
    assert!(cpu.rq.avg.load_avg > 1900);
}

#[test]
fn later_kernels_do_not_have_it() {
    let mut cpu = Cpu::new(PeltRules::V5_10, &[1024]);
    cpu.toggle(0, 0);
    cpu.toggle(10_000, 0);
    assert_eq!(cpu.rq.runnable_load, RunnableLoad::default());
}

#[test]
fn it_is_kept_by_the_versions_whose_placement_reads_it() {
    for preset in Preset::all() {
        assert_eq!(preset.pelt.runnable_load, preset.code.runnable_load, "{}", preset.name);
    }
}
