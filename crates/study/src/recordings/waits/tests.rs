//! Each cause, from events made by hand: 8 CPUs in two LLCs of four.

use super::causes::{Began, Cause, LongWait, Move, common_name};
use super::history::Ran;
use super::idle::IdleMeanwhile;
use super::tracker::{Begins, Ended, Tracker};
use crate::recordings::wakeups::WakeupWithReason;
use std::sync::Arc;
use wakelab_events::stream::{CpuValue, Migration, Switch, Wake};
use wakelab_sched::cpumask::CpuMask;
use wakelab_sched::select::{Reason, SearchCount};

struct Machine(Tracker);

/// A recording of which nothing is known yet.
fn recording() -> Machine {
    Machine(Tracker::new(Some((0..8).map(|cpu| cpu / 4).collect()), false, false, 0))
}

fn simulation() -> Machine {
    Machine(Tracker::new(Some((0..8).map(|cpu| cpu / 4).collect()), true, false, 0))
}

fn wake(t_ns: u64, decided_ns: u64, pid: i64, cpu: u32) -> WakeupWithReason {
    let wake = Wake {
        t_ns,
        decided_ns,
        waker_cpu: 7,
        waker_pid: 70,
        waker_comm: "waker".into(),
        wakee_pid: pid,
        wakee_comm: format!("task{pid}").into(),
        prev_cpu: Some(2),
        dest_cpu: cpu,
        chose: Some(true),
        reason: None,
        count: None,
        background: false,
        exec: false,
    };
    let decision = Some((Reason::Limit, SearchCount::default()));
    WakeupWithReason { wake, decision, place: (0, 0), unscored: false, llcs: None, affinity: None }
}

impl Machine {
    /// All CPUs run the idle task since this time, but for `busy`, which run tasks of the number 100 and the CPU's.
    fn begin(mut self, t_ns: u64, busy: &[u32]) -> Self {
        for cpu in 0..8 {
            self.switch(t_ns, cpu, 1, true, 0);
            if busy.contains(&cpu) {
                self.switch(t_ns, cpu, 0, false, 100 + i64::from(cpu));
            }
        }
        self
    }

    fn switch(&mut self, t_ns: u64, cpu: u32, prev_pid: i64, prev_sleeps: bool, next_pid: i64) -> Option<Ended> {
        let idles = next_pid == 0;
        self.0.switch(t_ns, &Switch { t_ns, cpu, prev_pid, prev_sleeps, next_pid, idles })
    }

    fn wake(&mut self, decided_ns: u64, pid: i64, cpu: u32) {
        self.0.wake(decided_ns, &wake(decided_ns, decided_ns, pid, cpu), None);
    }

    fn moved(&mut self, t_ns: u64, pid: i64, from_cpu: u32, to_cpu: u32) {
        self.0.moved(t_ns, &Migration { t_ns, pid, from_cpu, to_cpu });
    }
}

#[track_caller]
fn long(ended: Option<Ended>) -> LongWait {
    *ended.expect("a wait ends").long.expect("all are long").0
}

fn ran(wait: &LongWait) -> Vec<(Ran, u64)> {
    wait.ran.iter().map(|ran| (ran.ran, ran.ns)).collect()
}

#[test]
fn behind_two_tasks_while_a_cpu_of_the_llc_is_idle() {
    let mut machine = recording().begin(10, &[0, 1, 4, 5, 6, 7]);
    machine.wake(1000, 20, 0);
    // Its own migration is no move.
    machine.moved(1000, 20, 2, 0);
    machine.wake(1500, 21, 0);
    assert!(machine.switch(2000, 0, 100, true, 21).is_some());
    let wait = long(machine.switch(5000, 0, 21, true, 20));
    assert_eq!((wait.wait_ns, wait.cause, wait.cpu, wait.ran_on), (4000, Cause::BehindLlcIdle, 0, 0));
    assert_eq!(ran(&wait), [(Ran::Task(21), 3000), (Ran::Task(100), 1000)]);
    assert_eq!((wait.ahead, &*wait.ran[0].comm, wait.moved, wait.adrift), (1, "task21", 0, false));
    assert_eq!((wait.spent.behind_ns, wait.spent.total_ns()), (4000, 4000));
    let both = IdleMeanwhile { llc_ns: 4000, llc_most: 2, all_ns: 4000, all_most: 2 };
    assert_eq!((wait.meanwhile, wait.allowed), (both, None));
    let Began::Woken { waker_cpu: 7, waker: Some(waker), prev_cpu: Some(2), reason: Some(Reason::Limit), .. } =
        wait.began
    else {
        panic!("{:?}", wait.began)
    };
    assert_eq!((waker.pid, &*waker.comm), (70, "waker"));
}

#[test]
fn behind_a_task_while_only_the_other_llc_is_idle_and_while_nothing_is() {
    let mut machine = recording().begin(10, &[0, 1, 2, 3, 4]);
    machine.wake(1000, 20, 0);
    let wait = long(machine.switch(2000, 0, 100, true, 20));
    let other = IdleMeanwhile { llc_ns: 0, llc_most: 0, all_ns: 1000, all_most: 3 };
    assert_eq!((wait.cause, wait.meanwhile), (Cause::BehindOtherIdle, other));

    let mut machine = recording().begin(10, &[0, 1, 2, 3, 4, 5, 6, 7]);
    machine.wake(1000, 20, 0);
    // Idle for less than half of it.
    machine.switch(1100, 6, 106, true, 0);
    machine.switch(1400, 6, 0, true, 106);
    let wait = long(machine.switch(2000, 0, 100, true, 20));
    assert_eq!((wait.cause, wait.meanwhile.all_ns, wait.meanwhile.all_most), (Cause::BehindNoneIdle, 300, 1));
}

#[test]
fn a_cpu_with_a_task_queued_is_not_idle_and_neither_is_one_that_the_task_may_not_use() {
    let mut machine = recording().begin(10, &[0, 1, 2, 4, 5, 6, 7]);
    machine.wake(500, 30, 3);
    machine.wake(1000, 20, 0);
    let wait = long(machine.switch(2000, 0, 100, true, 20));
    assert_eq!((wait.cause, wait.meanwhile), (Cause::BehindNoneIdle, IdleMeanwhile::default()));

    let mut machine = recording().begin(10, &[0, 4, 5, 6, 7]);
    let two = Arc::new(CpuMask::from_cpus(8, [0, 3]));
    machine.0.wake(1000, &wake(1000, 1000, 20, 0), Some(&two));
    machine.switch(1200, 3, 0, true, 103);
    let ended = machine.switch(2000, 0, 100, true, 20).expect("a wait");
    assert_eq!((ended.woken, ended.t_ns, ended.wait_ns), (true, 1000, 1000));
    let wait = long(Some(ended));
    let only = IdleMeanwhile { llc_ns: 200, llc_most: 1, all_ns: 200, all_most: 1 };
    assert_eq!((wait.cause, wait.meanwhile, wait.allowed), (Cause::BehindNoneIdle, only, Some(2)));
}

#[test]
fn the_way_out_of_idle_has_the_idle_state() {
    let mut machine = recording().begin(10, &[]);
    machine.0.idle_state(100, &CpuValue { t_ns: 100, cpu: 3, value: Some(2) });
    machine.wake(1000, 20, 3);
    machine.0.idle_state(1700, &CpuValue { t_ns: 1700, cpu: 3, value: None });
    let wait = long(machine.switch(1800, 3, 0, true, 20));
    assert_eq!((wait.cause, wait.spent.idle_ns, wait.ahead), (Cause::LeavingIdle, 800, 0));
    assert_eq!(ran(&wait), [(Ran::Idle(Some(2)), 700), (Ran::Idle(None), 100)]);
    // The others were idle, but not its own.
    assert_eq!((wait.meanwhile.llc_most, wait.meanwhile.all_most), (3, 7));
}

#[test]
fn load_balancing_moves_a_waiting_task() {
    let mut machine = recording().begin(10, &[0, 5]);
    machine.wake(1000, 20, 0);
    machine.moved(4000, 20, 0, 5);
    let wait = long(machine.switch(6000, 5, 105, true, 20));
    assert_eq!(wait.moves, [Move { t_ns: 4000, from_cpu: 0, to_cpu: 5 }]);
    assert_eq!((wait.moved, wait.cpu, wait.ran_on, wait.adrift), (1, 0, 5, false));
    assert_eq!(ran(&wait), [(Ran::Task(100), 3000), (Ran::Task(105), 2000)]);
    assert_eq!((wait.cause, wait.meanwhile.llc_ns, wait.meanwhile.all_ns), (Cause::BehindLlcIdle, 5000, 5000));
}

#[test]
fn a_preempted_task_waits_and_a_wake_up_does_not_end_that_wait() {
    let mut machine = recording().begin(10, &[0]);
    assert!(machine.switch(1000, 0, 100, false, 50).is_none());
    let wait = long(machine.switch(3000, 0, 50, true, 100));
    assert!(matches!(&wait.began, Began::Preempted { by: Some(by) } if by.pid == 50), "{:?}", wait.began);
    assert_eq!((wait.cause, wait.t_ns, wait.wait_ns, wait.ahead), (Cause::Preempted, 1000, 2000, 1));
    assert_eq!(ran(&wait), [(Ran::Task(50), 2000)]);

    // It had set its state, and was taken off the CPU on its way to sleep: the wake-up finds it queued.
    machine.switch(4000, 0, 100, false, 51);
    machine.wake(4500, 100, 0);
    let wait = long(machine.switch(5000, 0, 51, true, 100));
    assert_eq!((wait.cause, wait.t_ns, wait.wait_ns), (Cause::Preempted, 4000, 1000));
}

#[test]
fn a_task_that_the_idle_task_takes_over_from_slept_if_it_is_woken() {
    let mut machine = recording().begin(10, &[0]);
    // An idle kworker of 4.14 is switched from as `R+`.
    machine.switch(1000, 0, 100, false, 0);
    machine.wake(6000, 100, 0);
    let wait = long(machine.switch(6010, 0, 0, true, 100));
    assert!(matches!(wait.began, Began::Woken { .. }), "{:?}", wait.began);
    assert_eq!((wait.t_ns, wait.wait_ns, wait.cause), (6000, 10, Cause::LeavingIdle));
    // One that runs again without a wake-up was throttled.
    machine.switch(7000, 0, 100, false, 0);
    let wait = long(machine.switch(9000, 0, 0, true, 100));
    assert_eq!((wait.began, wait.wait_ns), (Began::Preempted { by: None }, 2000));
}

#[test]
fn who_ran_before_the_first_switch_of_a_cpu_is_known_from_it() {
    let begins = |first: &[(u32, i64)], since: &[(u32, u64)]| Begins {
        first_prev: first.iter().copied().collect(),
        since_ns: since.iter().copied().collect(),
    };
    let with = |begins| Machine(recording().0.with_begins(begins));
    let mut machine = with(begins(&[(0, 100), (1, 0)], &[]));
    machine.wake(1000, 20, 0);
    let wait = long(machine.switch(2000, 0, 100, true, 20));
    assert_eq!((wait.cause, ran(&wait)), (Cause::BehindLlcIdle, vec![(Ran::Task(100), 1000)]));
    // Its buffer was overwritten up to this time: nothing is known of what came before.
    let mut machine = with(begins(&[(0, 100)], &[(0, 1400)]));
    machine.wake(1000, 20, 0);
    let wait = long(machine.switch(2000, 0, 100, true, 20));
    assert_eq!((wait.cause, wait.spent.unknown_ns), (Cause::Unknown, 1000));
    // The task that wakes others there runs there, if the CPU has no switch at all.
    let mut machine = with(begins(&[], &[]));
    machine.wake(500, 30, 3);
    machine.wake(1000, 20, 7);
    machine.moved(2000, 20, 7, 3);
    let wait = long(machine.switch(3000, 3, 0, true, 20));
    assert!(ran(&wait).contains(&(Ran::Task(70), 1000)), "{:?}", wait.ran);
    // A waker that the first switch does not know: switches are missing.
    let mut machine = with(begins(&[(7, 71)], &[]));
    machine.wake(1000, 20, 7);
    let wait = long(machine.switch(2000, 7, 71, true, 20));
    assert_eq!(wait.cause, Cause::Unknown);
}

#[test]
fn the_balancer_of_the_simulator_takes_a_running_task() {
    let mut machine = simulation();
    machine.wake(0, 20, 0);
    machine.switch(100, 0, 0, true, 20);
    machine.moved(500, 20, 0, 4);
    let wait = long(machine.switch(700, 4, 0, true, 20));
    assert_eq!((wait.began.clone(), wait.cause, wait.t_ns), (Began::Taken, Cause::Preempted, 500));
    // Where no switch was seen a simulated CPU is idle.
    assert_eq!((wait.meanwhile.llc_most, wait.meanwhile.all_most), (3, 7));
}

#[test]
fn what_is_not_known_is_said() {
    // Nothing is known of a CPU before its first switch.
    let mut machine = recording();
    machine.wake(1000, 20, 0);
    let wait = long(machine.switch(2000, 0, 100, true, 20));
    assert_eq!((wait.cause, wait.spent.unknown_ns), (Cause::Unknown, 1000));

    // A switch was lost: 100 ran, but 55 is switched out.
    let mut machine = recording().begin(10, &[0]);
    machine.wake(1000, 20, 0);
    let wait = long(machine.switch(2000, 0, 55, true, 20));
    assert_eq!((wait.cause, ran(&wait)), (Cause::Unknown, vec![(Ran::Unknown, 1000)]));

    // It ran where nobody moved it.
    let mut machine = recording().begin(10, &[0]);
    machine.wake(1000, 20, 0);
    let wait = long(machine.switch(2000, 6, 0, true, 20));
    assert_eq!((wait.cause, wait.adrift, wait.ran_on), (Cause::Unknown, true, 6));

    // Its CPU goes idle, and is idle for others from then on.
    let mut machine = recording().begin(10, &[0, 1, 2, 3]);
    machine.wake(1000, 20, 0);
    machine.wake(1000, 21, 1);
    machine.switch(2_000_000, 0, 100, true, 0);
    let wait = long(machine.switch(3_000_000, 1, 101, true, 21));
    assert_eq!((wait.cause, wait.meanwhile.llc_ns, wait.meanwhile.llc_most), (Cause::BehindOtherIdle, 1_000_000, 1));
    let wait = long(machine.switch(4_000_000, 0, 0, true, 20));
    assert_eq!((wait.cause, wait.spent.unknown_ns, wait.spent.total_ns()), (Cause::Unknown, 2_000_000, 3_999_000));
}

#[test]
fn the_choice_and_the_way_off_the_old_cpu_come_before_the_queue() {
    let mut machine = recording().begin(10, &[0]);
    machine.0.wake(1800, &wake(1000, 1800, 20, 0), None);
    let wait = long(machine.switch(2000, 0, 100, true, 20));
    assert_eq!((wait.cause, wait.spent.before_ns, wait.spent.behind_ns), (Cause::Choosing, 800, 200));

    // 100 is woken before it is off its CPU.
    machine.switch(2500, 0, 20, true, 100);
    machine.wake(3000, 100, 0);
    machine.switch(3400, 0, 100, true, 20);
    let wait = long(machine.switch(3500, 0, 20, true, 100));
    assert_eq!((wait.cause, wait.spent.before_ns, wait.spent.behind_ns), (Cause::Choosing, 400, 100));
}

#[test]
fn names_with_numbers_are_one() {
    let common = |name: &str| common_name(&name.into()).to_string();
    let names = ["ksoftirqd/3", "kworker/u8:2", "kworker/1:0H", "sender 1.12", "worker#3", "a b", "x/y", ""];
    assert_eq!(names.map(common), ["ksoftirqd/*", "kworker/u*", "kworker/*", "sender *", "worker#*", "a b", "x/y", ""]);
}
