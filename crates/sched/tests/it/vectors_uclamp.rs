//! The clamps of a run queue, step by step, against the kernel's own functions: every row is equal.

use crate::support::ablation::Ablation;
use crate::support::vectors::{VectorRow, own_rows};
use wakelab_sched::uclamp::{GroupUclamp, RqUclamp, TaskUclamp, UclampId, UclampSystem};

#[derive(Clone, Copy, Default)]
struct One {
    uclamp: TaskUclamp,
    group: Option<usize>,
    queued: bool,
    rt: bool,
}

/// What is left out, to see what it is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Off {
    Nothing,
    Groups,
    Limits,
    RtDefault,
    Inheritance,
    Buckets,
    Key,
    Dequeue,
}

/// Whether the model gives a row what the kernel gave it: what takes effect of the task's clamps, and the run queue's.
struct Step {
    row: VectorRow,
    equal: bool,
    refused: bool,
    inverted: bool,
}

fn steps(off: Off) -> Vec<Step> {
    let (mut rq, mut tasks, mut system, mut used) =
        (RqUclamp::default(), [One::default(); 6], UclampSystem::default(), false);
    let mut groups = [GroupUclamp { min: 0, max: 0 }; 2];
    let mut steps = Vec::new();
    for row in own_rows("uclamp_rq.csv") {
        if row.get::<u32>("step") == 0 {
            (rq, tasks, used) = (RqUclamp::default(), [One::default(); 6], off == Off::Key);
            let buckets = if off == Off::Buckets { 20 } else { row.get("buckets") };
            system = UclampSystem { buckets, ..UclampSystem::default() };
        }
        let (n, ok): (usize, bool) = (row.get("task"), row.flag("ok"));
        let given = |column| u32::try_from(row.get::<i32>(column)).ok();
        let (a, b) = (given("a"), given("b"));
        let source = a.and_then(|a| tasks.get(a as usize).copied());
        let of = |group: Option<usize>, groups: &[GroupUclamp; 2]| {
            group.filter(|_| off != Off::Groups).map(|group| groups[group])
        };
        let mut requested = true;
        let One { uclamp, group, queued, rt } = &mut tasks[n];
        match row.get::<String>("op").as_str() {
            "enqueue" => {
                *queued = true;
                if used {
                    rq.inc(uclamp, &system, of(*group, &groups));
                }
            }
            "dequeue" => {
                *queued = false;
                if used && off != Off::Dequeue {
                    rq.dec(uclamp);
                }
            }
            "setattr" => {
                requested = { *uclamp }.request(a, b).is_ok();
                if requested {
                    used = true;
                    // Off the run queue's count and back, as the kernel does it.
                    if *queued {
                        rq.dec(uclamp);
                    }
                    uclamp.request(a, b).expect("checked");
                    if *queued {
                        rq.inc(uclamp, &system, of(*group, &groups));
                    }
                }
            }
            "group" => {
                used = true;
                *group = Some(n % 2);
                groups[n % 2] = GroupUclamp { min: a.expect("a minimum"), max: b.expect("a maximum") };
                for task in tasks.iter_mut().filter(|task| task.group == Some(n % 2)) {
                    rq.update_active(&mut task.uclamp, &system, of(task.group, &groups));
                }
            }
            "sysctl" => {
                requested = a <= b;
                used |= requested;
                if requested && off != Off::Limits {
                    system.limit = [a.expect("a limit"), b.expect("a limit")];
                }
            }
            "rt_default" => {
                system.min_rt_default = a.expect("a default");
                *rt = off != Off::RtDefault;
                for task in tasks.iter_mut().filter(|task| task.rt) {
                    task.uclamp.update_util_min_rt_default(&system);
                }
            }
            "fork" => {
                let parent = source.expect("a task");
                let uclamp = if off == Off::Inheritance { TaskUclamp::default() } else { parent.uclamp.fork() };
                tasks[n] = One { uclamp, queued: false, ..parent };
            }
            other => panic!("{row}: {other}"),
        }
        let One { uclamp, group, .. } = &tasks[n];
        let eff = [UclampId::Min, UclampId::Max].map(|id| uclamp.eff_value(id, &system, of(*group, &groups)));
        let [min, max] = [UclampId::Min, UclampId::Max].map(|id| rq.get(id));
        let [own_min, own_max, rq_min, rq_max] =
            ["eff_min", "eff_max", "rq_min", "rq_max"].map(|column| row.get::<u32>(column));
        let switched = used == row.flag("used") || off == Off::Key;
        let equal = (eff, min, max, rq.is_idle()) == ([own_min, own_max], rq_min, rq_max, row.flag("rq_idle"));
        steps.push(Step { equal: equal && switched && requested == ok, refused: !ok, inverted: min > max, row });
    }
    steps
}

#[test]
fn uclamp_rq_equals_the_vectors() {
    let steps = steps(Off::Nothing);
    for step in &steps {
        assert!(step.equal, "{}", step.row);
    }
    // The sequences reach what is refused, and minima above maxima.
    let count = |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count();
    let (refused, inverted) = (count(|step| step.refused), count(|step| step.inverted));
    assert!(refused > 100 && inverted > 30, "{refused} {inverted}");
}

#[test]
fn ablation_of_uclamp_vectors() {
    let mut table = Ablation::new("uclamp", &[]);
    for (off, rule) in [
        (Off::Groups, "the clamps of groups (none)"),
        (Off::Limits, "sched_util_clamp_min, sched_util_clamp_max (1024)"),
        (Off::RtDefault, "sched_util_clamp_min_rt_default (not applied)"),
        (Off::Inheritance, "what a child inherits (nothing)"),
        (Off::Buckets, "the number of buckets (20)"),
        (Off::Key, "sched_uclamp_used (from the start)"),
        (Off::Dequeue, "uclamp_rq_dec() (not called)"),
    ] {
        let steps = steps(off);
        let differing = steps.iter().filter(|step| !step.equal).count();
        table.row("functions/uclamp_rq.csv", rule, steps.len(), differing);
    }
    table.check();
}
