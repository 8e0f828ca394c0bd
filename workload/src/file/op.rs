//! One step of a program: `"exit"`, `{run = "50us", jitter = 10}`.

use super::table::Table;
use crate::error::WorkloadError;
use crate::near::did_you_mean;
use crate::{Op, Work};
use toml::Spanned;
use toml::de::DeValue;

/// What steps may name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub(super) channels: &'a [&'a str],
    pub(super) programs: &'a [&'a str],
}

/// Steps that are a word.
const WORDS: [(&str, Op); 4] = [("wait", Op::Wait), ("exit", Op::Exit), ("begin", Op::Begin), ("done", Op::Done)];

/// Steps that are a table, with what else may be in it.
const TABLES: [(&str, &[&str]); 7] = [
    ("run", &["jitter"]),
    ("softirq", &["jitter"]),
    ("sleep", &["jitter"]),
    ("send", &["sync"]),
    ("recv", &[]),
    ("fork", &[]),
    ("repeat", &[]),
];

/// Reads a step of the program in `program`.
pub(super) fn read<'a>(
    program: &Table<'a>,
    element: &'a Spanned<DeValue<'a>>,
    names: Names<'_>,
) -> Result<Op, WorkloadError> {
    let wrong = |what: String| program.wrong_at("ops", &element.span(), what);
    let all = || WORDS.iter().map(|word| word.0).chain(TABLES.iter().map(|table| table.0));
    if let Some(text) = element.get_ref().as_str() {
        if let Some((_, op)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(*op);
        }
        let what = match TABLES.iter().find(|(key, _)| *key == text) {
            Some(_) => format!("the step {text:?} needs to say what; expected {{{text} = …}}"),
            None => format!("unknown step {text:?}; expected {}", all().collect::<Vec<_>>().join(", ")),
        };
        return Err(wrong(what).with_hint(did_you_mean(text, all()).filter(|_| !TABLES.iter().any(|t| t.0 == text))));
    }
    let Some(entries) = element.get_ref().as_table() else {
        let what = format!("expected a step such as {{run = \"50us\"}}, found {}", element.get_ref().type_str());
        return Err(wrong(what));
    };
    let kinds: Vec<_> = TABLES.iter().filter(|(key, _)| entries.contains_key(*key)).collect();
    let (kind, more) = match kinds[..] {
        [&kind] => kind,
        [] => {
            let given = entries.keys().next().map_or("", |key| key.get_ref().as_ref());
            let expected = TABLES.map(|table| table.0).join(", ");
            let hint = did_you_mean(given, TABLES.map(|table| table.0));
            return Err(wrong(format!("unknown step {{{given}}}; expected one of {expected}")).with_hint(hint));
        }
        [first, second, ..] => {
            return Err(wrong(format!("{} and {} in one step; expected a step for each", first.0, second.0)));
        }
    };
    let keys: Vec<&str> = [kind].iter().chain(more).copied().collect();
    let table = Table::new(program.source(), "ops".to_owned(), element.span().start, entries, &keys)?;
    of_table(kind, &table, names)
}

fn of_table(kind: &str, table: &Table<'_>, names: Names<'_>) -> Result<Op, WorkloadError> {
    let channel = || named(table, kind, "channel", names.channels);
    Ok(match kind {
        "run" => Op::Run(work(table, kind)?),
        "softirq" => Op::Softirq(work(table, kind)?),
        "sleep" => Op::Sleep(work(table, kind)?),
        "send" => Op::Send { channel: channel()?, sync: table.flag("sync")?.unwrap_or(false) },
        "recv" => Op::Recv { channel: channel()? },
        "fork" => Op::Fork { program: named(table, kind, "program", names.programs)? },
        _ => {
            let repeat = table.table(kind, &["to", "times"])?;
            let high = i64::from(u32::MAX);
            let to = repeat.number("to", 0, high)?.ok_or_else(|| repeat.missing("to", "{repeat = {to = 0}}"))?;
            let times = repeat.number("times", 1, high)?.map(|times| times as u32);
            Op::Repeat { to: to as u32, times }
        }
    })
}

fn work(table: &Table<'_>, key: &str) -> Result<Work, WorkloadError> {
    let ns = table.duration(key)?.unwrap_or(0);
    Ok(Work { ns, jitter_pct: table.number("jitter", 0, 100)?.unwrap_or(0) as u32 })
}

/// The index of what a step names.
pub(super) fn named(table: &Table<'_>, key: &str, kind: &str, names: &[&str]) -> Result<u32, WorkloadError> {
    let name = table.need_text(key)?;
    names.iter().position(|other| *other == name).map(|index| index as u32).ok_or_else(|| {
        let known = if names.is_empty() { format!("a [[{kind}]] of that name") } else { names.join(", ") };
        let hint = did_you_mean(name, names.iter().copied());
        table.wrong(key, format!("there is no {kind} {name:?}; expected {known}")).with_hint(hint)
    })
}
