//! One step of a program: `"exit"`, `{run = "50us", jitter = 10}`.

use super::distribution;
use super::resource::{ResourceDef, named, unknown};
use crate::{Call, Distribution, Kind, MESSAGE_LINES, Op, TimerMode, Work};
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
const TABLES: [(&str, &[&str]); 22] = [
    ("run", &["jitter"]),
    ("softirq", &["jitter"]),
    ("sleep", &["jitter"]),
    ("io", &["jitter"]),
    ("sleep_until", &[]),
    ("timer", &["period", "mode"]),
    ("send", &["sync"]),
    ("recv", &["room", "all", "lines"]),
    ("lock", &[]),
    ("unlock", &[]),
    ("spin", &["hold", "jitter", "lines"]),
    ("cond_wait", &["mutex"]),
    ("signal", &[]),
    ("broadcast", &[]),
    ("barrier", &[]),
    ("fork", &[]),
    ("nice", &[]),
    ("policy", &[]),
    ("slice", &[]),
    ("repeat", &[]),
    ("loop", &["times"]),
    ("phase", &["times"]),
];

/// The most cache lines that a message or what a lock guards can have: a page's.
const MAX_LINES: u64 = 64;

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
            return Err(wrong(format!("{} and {} in one step; expected a step for each", first.0, second.0)));
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
        "recv" if ["room", "all", "lines"].iter().all(|key| table.get(key).is_none()) => {
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
            let lines = table.number("lines", &(0..=MAX_LINES))?.unwrap_or(0) as u32;
            Call::Spin { lock: resource(kind, Kind::Spinlock)?, hold: work(table, "hold", names)?, lines }
        }
        "unlock" => Call::Unlock { mutex: resource(kind, Kind::Mutex)? },
        "cond_wait" => {
            Call::CondWait { cond: resource(kind, Kind::Condition)?, mutex: resource("mutex", Kind::Mutex)? }
        }
        "signal" => Call::Signal { cond: resource(kind, Kind::Condition)? },
        "broadcast" => Call::Broadcast { cond: resource(kind, Kind::Condition)? },
        "barrier" => Call::Barrier { barrier: resource(kind, Kind::Barrier)? },
        "recv" => {
            let room = table.need_number("room", &(1..=u64::from(u32::MAX)))? as u32;
            let all = table.flag("all")?.unwrap_or(false);
            let lines = table.number("lines", &(0..=MAX_LINES))?.map_or(MESSAGE_LINES, |lines| lines as u32);
            Call::RecvBatch { channel: resource(kind, Kind::Channel)?, room, all, lines }
        }
        "nice" => Call::Nice(table.signed(kind, &(-20..=19))?.unwrap_or(0) as i8),
        "slice" => Call::Slice { ns: table.duration(kind)?.unwrap_or(0) },
        "policy" => Call::IdlePolicy(idle_policy(table)?.unwrap_or(false)),
        _ => unreachable!("{kind} is a list of steps"),
    })
}

fn work(table: &Table<'_>, key: &str, names: &Names<'_>) -> Result<Work, InputError> {
    if let Some((number, mean)) = distribution::named(table, key, names)? {
        if table.get("jitter").is_some() {
            return Err(table.wrong("jitter", "a distribution has no jitter; expected no such key"));
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
            let what = format!("the minimum clamp {least} is above the maximum {most}; expected no more than that");
            Err(table.wrong("uclamp_min", what))
        }
        _ => Ok([min, max]),
    }
}

/// Whether the key `policy` of a table names SCHED_IDLE; `None` if there is no such key.
pub(super) fn idle_policy(table: &Table<'_>) -> Result<Option<bool>, InputError> {
    table.choice("policy", &[("normal", false), ("idle", true)])
}
