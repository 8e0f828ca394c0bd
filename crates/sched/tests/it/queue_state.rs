//! A run queue that is put into a recorded state is one that its own checks accept.

use wakelab_kernel::Preset;
use wakelab_sched::runqueue::{Entities, Entity, FairRq, FairRules, Policy, QueueState, TaskId};

#[test]
fn a_queue_in_a_recorded_state_has_the_sums_of_its_tasks() {
    for kernel in Preset::all() {
        let Ok(rules) = FairRules::of(kernel, kernel.features, 8) else { panic!("{}: its run queues", kernel.name) };
        let mut es = Entities::new();
        let base = 1_000_000_000;
        for (n, (policy, nice)) in (0..).zip([(Policy::Normal, 0), (Policy::Normal, -5), (Policy::Idle, 0)]) {
            let mut e = Entity::new(policy, nice, 0);
            (e.vruntime, e.deadline, e.slice) = (base + n * 1000, base + n * 1000 + 3_000_000, 3_000_000);
            (e.vprot, e.on_rq) = (e.deadline, true);
            es.push(e);
        }
        let waiting = [TaskId(1), TaskId(2)];
        let state = QueueState {
            virtual_time: base,
            curr: Some(TaskId(0)),
            waiting: &waiting,
            next: None,
            last: None,
            sum_shift: 0,
        };
        let rq = FairRq::in_state(rules, &mut es, &state);
        assert_eq!(rq.validate(&es), Ok(()), "{}", kernel.name);
        assert_eq!(rq.nr_queued(), 3, "{}", kernel.name);
    }
}
