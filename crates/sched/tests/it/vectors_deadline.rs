//! Deadline tasks, fair servers and what is left of a CPU, step by step, against the kernel's own functions: every row
//! is equal.

use crate::support::ablation::Ablation;
use crate::support::vectors::{VectorRow, own_rows};
use wakelab_kernel::PressureForm;
use wakelab_sched::rt::{
    DlBw, DlCharge, DlEntity, DlParams, DlQueue, FairServer, ServerParams, Taken, ZeroLag, capacity_left, to_ratio,
};

/// What is left out, to see what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Off {
    Nothing,
    Overflow,
    Constrained,
    Debt,
    Yield,
    ZeroLag,
    IdleTime,
    StopsIdle,
    Dl,
    Rt,
    Irq,
    Pressure,
    Form,
}

/// The rows of `dl_entity_7_2.csv`, and whether the model gives each what the kernel gave it.
fn entity_steps(off: Off) -> Vec<(VectorRow, bool)> {
    let mut steps = Vec::new();
    let none = DlParams { runtime: 1024, deadline: 1024, period: 1024 };
    let (mut entity, mut queued, mut runnable, mut running) = (DlEntity::new(0, none), true, true, 0u64);
    for row in own_rows("dl_entity_7_2.csv") {
        let now: u64 = row.get("now");
        if row.get::<u32>("step") == 0 {
            let [runtime, deadline, period] = ["dl_runtime", "dl_deadline", "dl_period"].map(|name| row.get(name));
            entity = DlEntity::new(1_000_000_000, DlParams { runtime, deadline, period });
            (queued, runnable, running) = (true, true, entity.params.bw());
        }
        let bw = entity.params.bw();
        match row.get::<String>("op").as_str() {
            op @ ("run" | "yield") => {
                entity.yielded |= op == "yield" && off != Off::Yield;
                queued = entity.charge(now, row.get("delta")) != DlCharge::Throttled;
            }
            "sleep" => {
                (queued, runnable) = (false, false);
                let zero_lag = entity.sleep(now);
                if off == Off::ZeroLag {
                    (entity.non_contending, entity.inactive) = (false, None);
                }
                if zero_lag == ZeroLag::Now || off == Off::ZeroLag {
                    running -= bw;
                }
            }
            "wake" => {
                runnable = true;
                if !entity.contends() {
                    running += bw;
                }
                let (asked, before) = (entity.params, entity);
                if off == Off::Constrained {
                    entity.params.period = asked.deadline;
                }
                queued = entity.wake(now) == DlQueue::Queued;
                entity.params = asked;
                if off == Off::Overflow {
                    (entity.runtime, entity.deadline) = (before.runtime, before.deadline);
                }
            }
            "timer" => {
                entity.timer = None;
                if entity.throttled {
                    queued |= runnable;
                    entity.replenish(now);
                    if off == Off::Debt {
                        entity.runtime = entity.params.runtime as i64;
                    }
                }
            }
            "inactive" => {
                entity.inactive = None;
                if std::mem::take(&mut entity.non_contending) {
                    running -= bw;
                }
            }
            other => panic!("{row}: {other}"),
        }
        let timer = |name: &str| u64::try_from(row.get::<i64>(name)).ok();
        let equal = (entity.runtime, entity.deadline, running)
            == (row.get("runtime"), row.get("deadline"), row.get("running_bw"))
            && [entity.throttled, queued, entity.non_contending]
                == ["throttled", "queued", "non_contending"].map(|name| row.flag(name))
            && [entity.timer, entity.inactive] == ["timer", "inactive"].map(timer);
        steps.push((row, equal));
    }
    steps
}

#[test]
fn deadline_entities_equal_the_vectors() {
    let steps = entity_steps(Off::Nothing);
    for (row, equal) in &steps {
        assert!(*equal, "{row}");
    }
    let count = |op: &str| steps.iter().filter(|(row, _)| row.text("op") == op).count();
    assert!(["run", "yield", "sleep", "wake", "timer", "inactive"].iter().all(|op| count(op) > 30));
}

/// The same of the fair server.
fn server_steps(file: &str, stops_idle: bool, off: Off) -> Vec<(VectorRow, bool)> {
    let (mut steps, mut server) = (Vec::new(), FairServer::default());
    for row in own_rows(file) {
        if row.get::<u32>("step") == 0 {
            server = FairServer::default();
        }
        let stops_idle = stops_idle && off != Off::StopsIdle;
        let params = ServerParams { runtime: row.get("dl_runtime"), period: row.get("dl_period"), stops_idle };
        let (now, delta) = (row.get("now"), row.get("delta"));
        match row.get::<String>("op").as_str() {
            "start" => drop(server.start(now, &params)),
            "stop" => server.stop(),
            "timer" => drop(server.expire(now, &params)),
            "fair" => drop(server.update(now, delta, &params)),
            "idle" if off == Off::IdleTime => {}
            "idle" => drop(server.update_idle(now, delta, &params)),
            other => panic!("{row}: {other}"),
        }
        let timer = u64::try_from(row.get::<i64>("timer")).ok();
        let equal = (server.runtime(), server.deadline(), server.timer())
            == (row.get("runtime"), row.get("deadline"), timer)
            && [server.is_active(), server.is_queued()] == ["active", "queued"].map(|name| row.flag(name));
        steps.push((row, equal));
    }
    steps
}

const SERVERS: [(&str, bool); 2] = [("dl_server_6_12.csv", false), ("dl_server_7_2.csv", true)];

#[test]
fn fair_servers_equal_the_vectors() {
    for (file, stops_idle) in SERVERS {
        for (row, equal) in server_steps(file, stops_idle, Off::Nothing) {
            assert!(equal, "{row}");
        }
    }
}

#[test]
fn admission_equals_the_vectors() {
    let mut refused = 0;
    for row in own_rows("dl_params_7_2.csv") {
        let [runtime, deadline, period] = ["runtime", "deadline", "period"].map(|name| row.get::<u64>(name));
        let period = if period == 0 { deadline } else { period };
        let bw = to_ratio(period, runtime);
        assert_eq!(bw, row.get::<u64>("bw"), "{row}");
        let all = DlBw { bw: Some(row.get("limit_bw")), total: row.get("total_bw") };
        let overflows = all.overflows(row.get("capacity"), row.get("old_bw"), bw);
        refused += u32::from(overflows);
        assert_eq!(overflows, row.flag("overflow"), "{row}");
    }
    assert!((300..1700).contains(&refused), "{refused}");
}

const CAPACITIES: [(&str, PressureForm); 2] =
    [("scale_rt_capacity_6_1.csv", PressureForm::Thermal), ("scale_rt_capacity_7_2.csv", PressureForm::Hw)];

fn capacity_steps(file: &str, form: PressureForm, off: Off) -> Vec<(VectorRow, bool)> {
    let rows = own_rows(file).into_iter();
    rows.map(|row| {
        let of = |name: &str, by: Off| if off == by { 0 } else { row.get(name) };
        let taken = Taken {
            rt: of("rt", Off::Rt),
            dl: of("dl", Off::Dl),
            irq: of("irq", Off::Irq),
            hw_load_avg: of("hw_load_avg", Off::Pressure),
            cpufreq: of("cpufreq", Off::Pressure),
        };
        let other = if form == PressureForm::Hw { PressureForm::Thermal } else { PressureForm::Hw };
        let form = if off == Off::Form { other } else { form };
        // update_cpu_capacity() makes 1 of 0.
        let equal = capacity_left(form, row.get("capacity"), &taken) == row.get::<u64>("left").max(1);
        (row, equal)
    })
    .collect()
}

#[test]
fn what_is_left_of_a_cpu_equals_the_vectors() {
    for (file, form) in CAPACITIES {
        for (row, equal) in capacity_steps(file, form, Off::Nothing) {
            assert!(equal, "{row}");
        }
    }
}

#[test]
fn ablation_of_deadline_vectors() {
    let mut table = Ablation::new("deadline", &[]);
    let mut row = |file: &str, rule: &str, steps: Vec<(VectorRow, bool)>| {
        let differing = steps.iter().filter(|(_, equal)| !equal).count();
        table.row(format!("functions/{file}"), rule, steps.len(), differing);
    };
    for (off, rule) in [
        (Off::Overflow, "dl_entity_overflow() (a wake-up keeps runtime and deadline)"),
        (Off::Constrained, "deadlines before the period's end (as implicit ones)"),
        (Off::Debt, "runtime that was exceeded (forgiven)"),
        (Off::Yield, "dl_yielded (nothing)"),
        (Off::ZeroLag, "task_non_contending() (the bandwidth ends at once)"),
    ] {
        row("dl_entity_7_2.csv", rule, entity_steps(off));
    }
    for (file, stops_idle) in SERVERS {
        row(file, "dl_server_update_idle() (not called)", server_steps(file, stops_idle, Off::IdleTime));
    }
    row("dl_server_7_2.csv", "dl_defer_idle (that of 6.12)", server_steps("dl_server_7_2.csv", true, Off::StopsIdle));
    for (file, form) in CAPACITIES {
        for (off, rule) in [
            (Off::Rt, "cpu_util_rt() (0)"),
            (Off::Dl, "cpu_util_dl() (0)"),
            (Off::Irq, "cpu_util_irq() (0)"),
            (Off::Pressure, "pressure (0)"),
            (Off::Form, "the form of pressure (the other one)"),
        ] {
            row(file, rule, capacity_steps(file, form, off));
        }
    }
    table.check();
}
