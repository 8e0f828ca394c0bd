//! One step of a program: `"exit"`, `{run = "50us", jitter = 10}`.

use super::distribution;
use super::resource::{ResourceDef, named, unknown};
use crate::{Call, Deadline, Distribution, Kind, Op, Realtime, TimerMode, Work};
use std::collections::HashMap;
use std::num::NonZeroU32;
use wakelab_input::{InputError, Table, Value, did_you_mean};

/// The names that steps may use.
#[derive(Clone, Debug)]
pub(super) struct Names<'a> {
    pub(super) resources: &'a [ResourceDef],
    pub(super) distributions: &'a [Distribution],
    programs: &'a [&'a str],
    /// By name: the numbers of the resources, and of the programs.
    resource_numbers: HashMap<&'a str, u32>,
    program_numbers: HashMap<&'a str, u32>,
    distribution_numbers: HashMap<&'a str, (NonZeroU32, u64)>,
}

impl<'a> Names<'a> {
    pub(super) fn new(
        resources: &'a [ResourceDef],
        distributions: &'a [Distribution],
        programs: &'a [&'a str],
    ) -> Self {
        let resource_numbers = resources.iter().map(|resource| resource.name.as_str()).zip(0..).collect();
        let program_numbers = programs.iter().copied().zip(0..).collect();
        let numbers = (1..).filter_map(NonZeroU32::new);
        let numbered = |(one, number): (&'a Distribution, _)| (one.name.as_str(), (number, one.mean()));
        let distribution_numbers = distributions.iter().zip(numbers).map(numbered).collect();
        Names { resources, distributions, programs, resource_numbers, program_numbers, distribution_numbers }
    }

    /// The number, from 1, and the mean, ns, of the distribution of a name.
    pub(super) fn distribution(&self, name: &str) -> Option<(NonZeroU32, u64)> {
        self.distribution_numbers.get(name).copied()
    }

    /// The number of the resource of a name.
    pub(super) fn resource(&self, name: &str) -> Option<u32> {
        self.resource_numbers.get(name).copied()
    }
}

/// The timers of a program that have been named so far: their numbers.
pub(super) type Timers = HashMap<String, u32>;

/// Steps written as a word.
const WORDS: [(&str, Step); 6] = [
    ("wait", Step::Op(Op::Wait)),
    ("exit", Step::Op(Op::Exit)),
    ("begin", Step::Op(Op::Begin)),
    ("done", Step::Op(Op::Done)),
    ("yield", Step::Call(Call::Yield)),
    ("exec", Step::Call(Call::Exec)),
];

/// Steps written as a table, with its other keys.
const TABLES: [(&str, &[&str]); 25] = [
    ("run", &["jitter"]),
    ("softirq", &["jitter"]),
    ("sleep", &["jitter"]),
    ("io", &["jitter"]),
    ("sleep_until", &[]),
    ("timer", &["period", "mode"]),
    ("send", &["sync"]),
    ("recv", &["room", "all"]),
    ("lock", &[]),
    ("unlock", &[]),
    ("spin", &["hold", "jitter"]),
    ("cond_wait", &["mutex"]),
    ("signal", &[]),
    ("broadcast", &[]),
    ("barrier", &[]),
    ("down", &[]),
    ("up", &[]),
    ("queue_work", &["workqueue"]),
    ("fork", &[]),
    ("nice", &[]),
    ("policy", &["priority", "runtime", "deadline", "period"]),
    ("slice", &[]),
    ("repeat", &[]),
    ("loop", &["times"]),
    ("phase", &["times"]),
];

/// A step, or a call that becomes one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Op(Op),
    Call(Call),
}

/// A step as it is written.
#[derive(Clone, Debug)]
pub(super) enum Written<'a> {
    /// A word.
    Word(Step),
    /// A table: which step, and the table.
    Table(&'static str, Table<'a>),
}

/// Reads a step in the list `ops` of a table.
pub(super) fn read<'a>(of: &Table<'a>, element: &'a Value<'a>) -> Result<Written<'a>, InputError> {
    let wrong = |what: String| of.wrong_at("ops", element.span().start, what);
    let tables = || TABLES.iter().map(|table| table.0);
    if let Some(text) = element.get_ref().as_str() {
        if let Some((_, step)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(Written::Word(*step));
        }
        if tables().any(|key| key == text) {
            return Err(wrong(format!("the step {text:?} needs a value; expected {{{text} = …}}")));
        }
        let all: Vec<&str> = WORDS.iter().map(|word| word.0).chain(tables()).collect();
        let what = format!("unknown step {text:?}; expected {}", all.join(", "));
        return Err(wrong(what).with_hint_if(did_you_mean(text, all)));
    }
    let Some(entries) = element.get_ref().as_table() else {
        return Err(of.unexpected_at("ops", element, "a step such as {run = \"50us\"}"));
    };
    let kinds: Vec<_> = TABLES.iter().filter(|(key, _)| entries.contains_key(*key)).collect();
    let (kind, more) = match kinds[..] {
        [&kind] => kind,
        [] => {
            let given = entries.keys().next().map_or("", |key| key.get_ref().as_ref());
            let expected = tables().collect::<Vec<_>>().join(", ");
            let what = format!("unknown step {{{given}}}; expected one of {expected}");
            return Err(wrong(what).with_hint_if(did_you_mean(given, tables())));
        }
        [first, second, ..] => {
            return Err(wrong(format!(
                "one step has both {} and {}; expected a separate step for each",
                first.0, second.0
            )));
        }
    };
    let keys: Vec<&str> = [kind].iter().chain(more).copied().collect();
    of.table_at("ops", element, "a step", &keys).map(|table| Written::Table(kind, table))
}

/// The step that a table describes. `timers` are the names of the program's timers so far. `repeat`, `loop` and `phase`
/// are not single steps and are not read here.
pub(super) fn of_table(
    kind: &str,
    table: &Table<'_>,
    names: &Names<'_>,
    timers: &mut Timers,
) -> Result<Step, InputError> {
    let resource = |key: &str, kind: Kind| named(table, key, kind, names);
    Ok(Step::Op(match kind {
        "run" => Op::Run(work(table, kind, names)?),
        "softirq" => Op::Softirq(work(table, kind, names)?),
        "sleep" => Op::Sleep(work(table, kind, names)?),
        "send" => Op::Send { channel: resource(kind, Kind::Channel)?, sync: table.flag("sync")?.unwrap_or(false) },
        "recv" if table.get("room").is_none() && table.get("all").is_none() => {
            Op::Recv { channel: resource(kind, Kind::Channel)? }
        }
        "fork" => Op::Fork { program: program(table, kind, names)? },
        _ => return call(kind, table, names, resource, timers).map(Step::Call),
    }))
}

fn call(
    kind: &str,
    table: &Table<'_>,
    names: &Names<'_>,
    resource: impl Fn(&str, Kind) -> Result<u32, InputError>,
    timers: &mut Timers,
) -> Result<Call, InputError> {
    Ok(match kind {
        "io" => Call::Io(work(table, kind, names)?),
        "sleep_until" => Call::SleepUntil { at_ns: table.duration(kind)?.unwrap_or(0) },
        "timer" => timer(table, timers)?,
        "lock" => Call::Lock { mutex: resource(kind, Kind::Mutex)? },
        "spin" => {
            if table.get("hold").is_none() {
                return Err(table.missing("hold", "a time such as {spin = \"lock\", hold = \"100ns\"}"));
            }
            Call::Spin { lock: resource(kind, Kind::Spinlock)?, hold: work(table, "hold", names)? }
        }
        "unlock" => Call::Unlock { mutex: resource(kind, Kind::Mutex)? },
        "cond_wait" => {
            Call::CondWait { cond: resource(kind, Kind::Condition)?, mutex: resource("mutex", Kind::Mutex)? }
        }
        "signal" => Call::Signal { cond: resource(kind, Kind::Condition)? },
        "broadcast" => Call::Broadcast { cond: resource(kind, Kind::Condition)? },
        "barrier" => Call::Barrier { barrier: resource(kind, Kind::Barrier)? },
        "down" => Call::Down { semaphore: resource(kind, Kind::Semaphore)? },
        "up" => Call::Up { semaphore: resource(kind, Kind::Semaphore)? },
        "queue_work" => Call::QueueWork {
            workqueue: resource("workqueue", Kind::Workqueue)?,
            program: program(table, kind, names)?,
        },
        "recv" => {
            let room = table.need_number("room", &(1..=u64::from(u32::MAX)))? as u32;
            Call::RecvBatch { channel: resource(kind, Kind::Channel)?, room, all: table.flag("all")?.unwrap_or(false) }
        }
        "nice" => Call::Nice(table.signed(kind, &(-20..=19))?.unwrap_or(0) as i8),
        "slice" => Call::Slice { ns: table.duration(kind)?.unwrap_or(0) },
        "policy" => policy(table)?.unwrap_or(Policy::Normal).call(table)?,
        _ => unreachable!("{kind} is a list of steps"),
    })
}

fn work(table: &Table<'_>, key: &str, names: &Names<'_>) -> Result<Work, InputError> {
    if let Some((number, mean)) = distribution::named(table, key, names)? {
        if table.get("jitter").is_some() {
            return Err(table.wrong("jitter", "a distribution takes no jitter; remove this key"));
        }
        return Ok(Work { distribution: Some(number), ..Work::uniform(mean, 0) });
    }
    let ns = table.duration(key)?.unwrap_or(0);
    Ok(Work::uniform(ns, table.number("jitter", &(0..=100))?.unwrap_or(0) as u32))
}

fn timer(table: &Table<'_>, timers: &mut Timers) -> Result<Call, InputError> {
    let name = table.need_text("timer", "a name in quotes")?;
    let missing = || table.missing("period", "a time such as {timer = \"tick\", period = \"20ms\"}");
    let period_ns = match table.duration("period")?.ok_or_else(missing)? {
        0 => return Err(table.unexpected("period", "more than 0")),
        period => period,
    };
    let modes = [("relative", TimerMode::Relative), ("absolute", TimerMode::Absolute)];
    let mode = table.choice("mode", &modes)?.unwrap_or(TimerMode::Relative);
    let next = timers.len() as u32;
    let timer = *timers.entry(name.to_owned()).or_insert(next);
    Ok(Call::Timer { timer, period_ns, mode })
}

/// The index of the program that a table names under `key`.
pub(super) fn program(table: &Table<'_>, key: &str, names: &Names<'_>) -> Result<u32, InputError> {
    let name = table.need_text(key, "the name of a program in quotes")?;
    let number = names.program_numbers.get(name).copied();
    number.ok_or_else(|| unknown(table, key, "program", name, names.programs))
}

/// The utilisation clamps of a table, minimum and maximum; `None` for what is not there. `sched_setattr()` refuses what
/// is refused here.
pub(super) fn uclamp(table: &Table<'_>) -> Result<[Option<u32>; 2], InputError> {
    let clamp = |key| Ok::<_, InputError>(table.number(key, &(0..=1024))?.map(|value| value as u32));
    let (min, max) = (clamp("uclamp_min")?, clamp("uclamp_max")?);
    match (min, max) {
        (Some(least), Some(most)) if least > most => {
            let what = format!("the minimum clamp {least} is above the maximum {most}; expected at most the maximum");
            Err(table.wrong("uclamp_min", what))
        }
        _ => Ok([min, max]),
    }
}

/// `policy` of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Normal,
    Idle,
    Fifo,
    Rr,
    Deadline,
}

/// The key `policy` of a table; `None` if there is no such key.
pub(super) fn policy(table: &Table<'_>) -> Result<Option<Policy>, InputError> {
    let all = [
        ("normal", Policy::Normal),
        ("idle", Policy::Idle),
        ("fifo", Policy::Fifo),
        ("rr", Policy::Rr),
        ("deadline", Policy::Deadline),
    ];
    table.choice("policy", &all)
}

impl Policy {
    /// The policy above the fair class, with its `priority` or its reservation; `None` for one of the fair class.
    pub(super) fn realtime(self, table: &Table<'_>) -> Result<Option<Realtime>, InputError> {
        let reserves = ["runtime", "deadline", "period"].into_iter().find(|key| table.get(key).is_some());
        if let Some(key) = reserves.filter(|_| self != Policy::Deadline) {
            let what = "only tasks of SCHED_DEADLINE have it; set policy = \"deadline\" too";
            return Err(table.wrong(key, what));
        }
        let priority = table.number("priority", &(1..=99))?.map(|priority| priority as u8);
        let realtime = match (self, priority) {
            (Policy::Fifo, Some(priority)) => Realtime::Fifo(priority),
            (Policy::Rr, Some(priority)) => Realtime::Rr(priority),
            (Policy::Deadline, None) => Realtime::Deadline(deadline(table)?),
            (Policy::Fifo | Policy::Rr, None) => {
                let what = "realtime tasks need a priority; set priority = 1 (the least urgent) to 99 too";
                return Err(table.wrong("policy", what));
            }
            (Policy::Normal | Policy::Idle | Policy::Deadline, Some(_)) => {
                let what = "only realtime tasks have a priority; set policy = \"fifo\" or \"rr\" too, or use `nice`";
                return Err(table.wrong("priority", what));
            }
            (Policy::Normal | Policy::Idle, None) => return Ok(None),
        };
        match ["nice", "slice"].into_iter().find(|key| table.get(key).is_some()) {
            Some(key) => Err(table.wrong(key, "it belongs to the fair class; a realtime task takes only `priority`")),
            None => Ok(Some(realtime)),
        }
    }

    /// The change to this policy.
    pub(super) fn call(self, table: &Table<'_>) -> Result<Call, InputError> {
        Ok(match self.realtime(table)? {
            Some(realtime) => Call::Realtime(realtime),
            None => Call::IdlePolicy(self == Policy::Idle),
        })
    }
}

/// The reservation of a task of SCHED_DEADLINE. The deadline defaults to the period, and the period to the deadline.
fn deadline(table: &Table<'_>) -> Result<Deadline, InputError> {
    let time = |key: &str| table.duration(key);
    let Some(runtime_ns) = time("runtime")? else {
        let what = "tasks of SCHED_DEADLINE reserve time; set runtime and period too, such as runtime = \"5ms\" and \
                    period = \"20ms\"";
        return Err(table.wrong("policy", what));
    };
    let (deadline, period) = (time("deadline")?, time("period")?);
    let Some(deadline_ns) = deadline.or(period) else {
        let what = "tasks of SCHED_DEADLINE need a period; set period, such as period = \"20ms\", or deadline too";
        return Err(table.wrong("policy", what));
    };
    let deadline = Deadline { runtime_ns, deadline_ns, period_ns: period.unwrap_or(deadline_ns) };
    let key = if period.is_some() { "period" } else { "deadline" };
    deadline.check().map_err(|what| table.wrong(key, what)).map(|()| deadline)
}
