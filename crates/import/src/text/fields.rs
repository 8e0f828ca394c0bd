//! The fields of the scheduler's events as text: what the kernel prints (`prev_comm=a prev_pid=1 …`), what
//! libtraceevent's plugin for the scheduler makes of it (`a:1 [120] S ==> b:2 [120]`), and babeltrace2's form
//! (`prev_comm = "a", prev_tid = 1, …`).

use crate::event::{EventKind, WhyBad, comm as cut};
use crate::event_format::TASK_SLEEPS;

/// The meaning of an event's fields.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fields {
    /// An event that is read here.
    Event(EventKind),
    /// An event that is not read, or a wake-up of a task that was awake (`success=0` of Linux before 3.0).
    NotRead,
    /// A field is missing or out of range.
    Bad(WhyBad),
}

/// The fields that the wake-ups of a file have had so far: a wake-up that lacks one is cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// `target_cpu`, as three digits at least.
    target_cpu: bool,
}

/// The name of an event that is read here.
pub(super) fn tracepoint(event: &str) -> Option<&'static str> {
    const NAMES: [&str; 7] = [
        "sched_switch",
        "sched_waking",
        "sched_wakeup",
        "sched_wakeup_new",
        "sched_migrate_task",
        "cpu_idle",
        "cpu_frequency",
    ];
    let event = event.strip_prefix("power_").unwrap_or(event);
    NAMES.into_iter().find(|&name| name == event)
}

/// Parses the fields of the event of this name.
pub(super) fn fields(event: &str, text: &str, of_babeltrace: bool, seen: &mut Seen) -> Fields {
    if !of_babeltrace && text.ends_with('>') && tracepoint(event).is_some() {
        return Fields::Bad(WhyBad::CutByPager);
    }
    let bad = || Fields::Bad(if is_cut(event, text, of_babeltrace) { WhyBad::Cut } else { WhyBad::Field });
    let read: fn(&str) -> Option<EventKind> = match (event, of_babeltrace) {
        ("sched_switch", false) => switch,
        ("sched_switch", true) => ctf_switch,
        ("sched_migrate_task", false) => migrate,
        ("sched_migrate_task", true) => ctf_migrate,
        ("cpu_idle", false) => idle,
        ("cpu_idle" | "power_cpu_idle", true) => ctf_idle,
        ("cpu_frequency", false) => frequency,
        ("cpu_frequency" | "power_cpu_frequency", true) => ctf_frequency,
        ("sched_waking" | "sched_wakeup" | "sched_wakeup_new", _) => {
            let wakee = if of_babeltrace { ctf_wakee(text) } else { wakee(text) };
            return match wakee {
                None => bad(),
                Some(Wakee { success: false, .. }) => Fields::NotRead,
                Some(of) if !of_babeltrace && text.starts_with("comm=") && seen.is_cut(&of, text) => {
                    Fields::Bad(WhyBad::Cut)
                }
                Some(Wakee { pid, comm, cpu, .. }) => Fields::Event(match event {
                    "sched_waking" => EventKind::Waking { pid, comm, prev_cpu: cpu },
                    _ => EventKind::Woken { pid, comm, dest_cpu: cpu, new: event == "sched_wakeup_new" },
                }),
            };
        }
        _ => return Fields::NotRead,
    };
    read(text).map_or_else(bad, Fields::Event)
}

impl Seen {
    /// Returns whether a wake-up ends before the fields that the others of its file have: the kernel writes the number
    /// of the CPU with three digits at least, and last.
    fn is_cut(&mut self, of: &Wakee, text: &str) -> bool {
        let digits = text.rsplit_once(" target_cpu=").map_or(0, |(_, cpu)| cpu.trim_end().len());
        let lacks = of.cpu.is_none() || digits < 3;
        self.target_cpu |= !lacks;
        lacks && self.target_cpu
    }
}

/// Returns whether the text of an event that is not understood lacks its last field.
fn is_cut(event: &str, text: &str, of_babeltrace: bool) -> bool {
    if of_babeltrace {
        return !text.ends_with('}');
    }
    let last = match event {
        "sched_switch" if text.starts_with("prev_comm=") => " next_prio=",
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" if text.starts_with("comm=") => " prio=",
        "sched_migrate_task" => " dest_cpu=",
        "cpu_idle" | "cpu_frequency" => " cpu_id=",
        // libtraceevent's plugin ends with the priority in brackets, and of wake-ups with the CPU.
        "sched_switch" => return !text.ends_with(']'),
        _ => return !text.contains(" ["),
    };
    match text.rsplit_once(last) {
        Some((_, number)) => !number.starts_with(|c: char| c.is_ascii_digit() || c == '-'),
        None => true,
    }
}

/// The number at the beginning of a text, to a space or its end.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

fn pid(text: &str) -> Option<i32> {
    number(text).filter(|&pid| pid >= 0)
}

/// The number of a field `key=number` behind the names. `key` is without the `=`.
fn value<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    text.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
}

/// Names may have anything in them, so they end at the last place where the next field could begin.
fn switch(text: &str) -> Option<EventKind> {
    let Some(prev) = text.strip_prefix("prev_comm=") else { return plugin_switch(text) };
    let (prev, next) = prev.split_once(" ==> next_comm=").or_else(|| prev.split_once(" next_comm="))?;
    let (prev, state) = prev.rsplit_once(" prev_state=")?;
    let (prev_comm, prev_pid) = prev.rsplit_once(" prev_pid=")?;
    let (next_comm, next_pid) = next.rsplit_once(" next_pid=")?;
    // The priority is the last field. A pid that nothing follows may have lost its last digits.
    value::<i64>(next_pid, "next_prio")?;
    Some(EventKind::Switch {
        prev_pid: pid(prev_pid)?,
        prev_comm: cut(prev_comm),
        prev_sleeps: sleeps(state.trim())?,
        next_pid: pid(next_pid)?,
        next_comm: cut(next_comm),
    })
}

/// Returns whether a task with this `prev_state` sleeps or has exited. The letters are those of the kernel's
/// `TRACE_EVENT(sched_switch)`, of which there may be several (`D|K`, `S|W`); `R+` was preempted. Some recorders print
/// the number.
fn sleeps(state: &str) -> Option<bool> {
    let bits = match state.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => state.parse::<u64>(),
    };
    if let Ok(bits) = bits {
        return Some(bits & TASK_SLEEPS != 0);
    }
    // `?` is a state that the printer does not know: not that of a task that runs.
    let letters = |c: char| c.is_ascii_alphabetic() || matches!(c, '|' | '+' | '?');
    let known = !state.is_empty() && state.len() <= 16 && state.chars().all(letters);
    known.then(|| !state.starts_with('R') && !state.ends_with('+'))
}

/// `a:1 [120] S ==> b:2 [120]`. Kernels before 2.6.36 wrote `task a:1 [120] (S) ==> b:2 [120]`.
fn plugin_switch(text: &str) -> Option<EventKind> {
    let text = text.strip_prefix("task ").unwrap_or(text);
    text.match_indices(" ==> ").find_map(|(at, arrow)| {
        let (prev, state) = text[..at].rsplit_once(' ')?;
        let prev_sleeps = sleeps(state.trim_matches(['(', ')']))?;
        let (prev_comm, prev_pid, _) = plugin_task(prev)?;
        let (next_comm, next_pid, _) = plugin_task(&text[at + arrow.len()..])?;
        Some(EventKind::Switch { prev_pid, prev_comm, prev_sleeps, next_pid, next_comm })
    })
}

/// `a:1 [120] more`: the name, the pid and what follows it.
fn plugin_task(text: &str) -> Option<(String, i32, &str)> {
    text.rmatch_indices(" [").find_map(|(at, _)| {
        let (comm, pid) = text[..at].rsplit_once(':')?;
        Some((cut(comm), pid.parse().ok().filter(|&pid: &i32| pid >= 0)?, &text[at..]))
    })
}

struct Wakee {
    pid: i32,
    comm: String,
    /// `target_cpu`: the CPU whose run queue it is put on, or, of `sched_waking`, on which it ran last.
    cpu: Option<u32>,
    success: bool,
}

fn wakee(text: &str) -> Option<Wakee> {
    let Some(text) = text.strip_prefix("comm=") else { return plugin_wakee(text) };
    let (comm, rest) = text.rsplit_once(" pid=")?;
    // The priority follows; a pid that nothing follows may have lost its last digits.
    value::<i64>(rest, "prio")?;
    Some(Wakee {
        pid: pid(rest)?,
        comm: cut(comm),
        cpu: value(rest, "target_cpu"),
        success: value::<u32>(rest, "success") != Some(0),
    })
}

/// `a:1 [120] success=1 CPU:003`, of old kernels `task a:1 [120] success=1 [003]`.
fn plugin_wakee(text: &str) -> Option<Wakee> {
    let (comm, pid, rest) = plugin_task(text.strip_prefix("task ").unwrap_or(text))?;
    let cpu = match rest.rsplit_once(" CPU:") {
        Some((_, cpu)) => number(cpu),
        None => rest
            .rsplit_once(" [")
            .and_then(|(before, cpu)| before.contains(" success=").then(|| cpu.strip_suffix(']')?.parse().ok())?),
    };
    Some(Wakee { pid, comm, cpu, success: !rest.contains(" success=0") })
}

fn migrate(text: &str) -> Option<EventKind> {
    let (comm, rest) = text.rsplit_once(" pid=")?;
    let (from_cpu, to_cpu) = (value(rest, "orig_cpu")?, value(rest, "dest_cpu")?);
    let comm = cut(comm.strip_prefix("comm=").unwrap_or_default());
    Some(EventKind::Migrate { pid: pid(rest)?, comm, from_cpu, to_cpu })
}

fn idle(text: &str) -> Option<EventKind> {
    Some(idle_state(value(text, "cpu_id")?, value(text, "state")?))
}

/// `PWR_EVENT_EXIT` is -1; the field is unsigned, but some printers show it signed.
fn idle_state(cpu: u32, state: i64) -> EventKind {
    let state = state as u32;
    EventKind::Idle { cpu, state: (state != u32::MAX).then_some(state as i32) }
}

fn frequency(text: &str) -> Option<EventKind> {
    Some(EventKind::Frequency { cpu: value(text, "cpu_id")?, khz: value(text, "state")? })
}

/// The text after `key = `, where it begins a field.
fn ctf_field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find(key)?;
        from = at + key.len();
        let begins = text[..at].ends_with(", ") || text[..at].ends_with("{ ");
        if let Some(value) = text[from..].strip_prefix(" = ").filter(|_| begins) {
            return Some(value);
        }
    }
}

/// A number, which may be that of an enumeration: `( "TASK_RUNNING" : container = 0 )`.
fn ctf_number<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    let value = ctf_field(text, key)?;
    let value = match value.strip_prefix('(') {
        Some(of_enumeration) => of_enumeration.split_once("container = ")?.1,
        None => value,
    };
    value.split([',', ' ', '}']).next()?.parse().ok()
}

/// The payload of an event, its last group of fields.
fn payload(text: &str) -> &str {
    text.rfind("}, { ").map_or(text, |at| &text[at + 3..])
}

/// A string, and the text behind it.
fn ctf_text<'a>(text: &'a str, key: &str) -> Option<(String, &'a str)> {
    let quoted = ctf_field(text, key)?.strip_prefix('"')?;
    let mut found = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((found, &quoted[at + 1..])),
            '\\' => found.push(chars.next()?.1),
            c => found.push(c),
        }
    }
    None
}

/// LTTng calls a task's number `tid`, the kernel `pid`.
fn ctf_pid(text: &str, lttng: &str, kernel: &str) -> Option<i32> {
    ctf_number(text, lttng).or_else(|| ctf_number(text, kernel)).filter(|&pid| pid >= 0)
}

fn ctf_switch(text: &str) -> Option<EventKind> {
    let (prev_comm, rest) = ctf_text(text, "prev_comm")?;
    let state: u64 = ctf_number::<i64>(rest, "prev_state")? as u64;
    let (prev_pid, next) = (ctf_pid(rest, "prev_tid", "prev_pid")?, rest);
    let (next_comm, rest) = ctf_text(next, "next_comm")?;
    let next_pid = ctf_pid(rest, "next_tid", "next_pid")?;
    Some(EventKind::Switch { prev_pid, prev_comm, prev_sleeps: state & TASK_SLEEPS != 0, next_pid, next_comm })
}

fn ctf_wakee(text: &str) -> Option<Wakee> {
    let (comm, rest) = ctf_text(text, "comm")?;
    let pid = ctf_pid(rest, "tid", "pid")?;
    let success = ctf_number::<u32>(rest, "success") != Some(0);
    Some(Wakee { pid, comm, cpu: ctf_number(rest, "target_cpu"), success })
}

fn ctf_migrate(text: &str) -> Option<EventKind> {
    let (comm, rest) = ctf_text(text, "comm")?;
    let (from_cpu, to_cpu) = (ctf_number(rest, "orig_cpu")?, ctf_number(rest, "dest_cpu")?);
    Some(EventKind::Migrate { pid: ctf_pid(rest, "tid", "pid")?, comm: cut(&comm), from_cpu, to_cpu })
}

fn ctf_idle(text: &str) -> Option<EventKind> {
    let text = payload(text);
    Some(idle_state(ctf_number(text, "cpu_id")?, ctf_number(text, "state")?))
}

fn ctf_frequency(text: &str) -> Option<EventKind> {
    let text = payload(text);
    Some(EventKind::Frequency { cpu: ctf_number(text, "cpu_id")?, khz: ctf_number(text, "state")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(event: &str, text: &str, of_babeltrace: bool) -> Fields {
        super::fields(event, text, of_babeltrace, &mut Seen::default())
    }

    fn switched(text: &str, of_babeltrace: bool) -> Option<(String, i32, bool, String, i32)> {
        match fields("sched_switch", text, of_babeltrace) {
            Fields::Event(EventKind::Switch { prev_pid, prev_comm, prev_sleeps, next_pid, next_comm }) => {
                Some((prev_comm, prev_pid, prev_sleeps, next_comm, next_pid))
            }
            _ => None,
        }
    }

    #[test]
    fn switches_of_each_form_have_any_name_and_state() {
        let names = ["a", "", "a b", "a-1", "[x]", "u:1", "a ==> b", "x=>y", "a pid=3", "k:1 [2", "<...>", "(ü)"];
        for name in names {
            let of = |sleeps| Some((name.to_owned(), 7, sleeps, name.to_owned(), 9));
            for (state, sleeps) in [
                ("S", true),
                ("R", false),
                ("R+", false),
                ("S|W", true),
                ("x", true),
                ("D|K", true),
                ("?", true),
                ("0x400", false),
            ] {
                let kernel = format!(
                    "prev_comm={name} prev_pid=7 prev_prio=120 prev_state={state} ==> next_comm={name} next_pid=9 \
                     next_prio=-1"
                );
                assert_eq!(switched(&kernel, false), of(sleeps), "{kernel}");
                for plugin in [
                    format!("{name}:7 [120] {state} ==> {name}:9 [120]"),
                    format!("task {name}:7 [120] ({state}) ==> {name}:9 [120]"),
                ] {
                    assert_eq!(switched(&plugin, false), of(sleeps), "{plugin}");
                }
            }
            let quoted = name.replace('"', "\\\"");
            for state in ["1", "( \"TASK_INTERRUPTIBLE\" : container = 1 )"] {
                let ctf = format!(
                    " }}, {{ prev_comm = \"{quoted}\", prev_tid = 7, prev_prio = 20, prev_state = {state}, next_comm = \
                     \"{quoted}\", next_tid = 9, next_prio = 20 }}"
                );
                assert_eq!(switched(&ctf, true), of(true), "{ctf}");
            }
        }
        // Numbers of trace-cmd report: 4096, 512 and 256 are preempted tasks of 4.13, 3.8 and new kernels.
        for (state, sleeps) in [(0, false), (1, true), (64, true), (256, false), (4096, false), (512, false)] {
            let text =
                format!("prev_comm=a prev_pid=7 prev_prio=120 prev_state={state} next_comm=a next_pid=9 next_prio=120");
            assert_eq!(switched(&text, false), Some(("a".into(), 7, sleeps, "a".into(), 9)), "{text}");
        }
    }

    #[test]
    fn wakees_of_each_form_have_what_there_is() {
        let woken = |comm: &str, cpu| {
            Fields::Event(EventKind::Woken { pid: 9, comm: comm.to_owned(), dest_cpu: cpu, new: false })
        };
        for (text, comm, cpu) in [
            ("comm=a b pid=9 prio=120 target_cpu=003", "a b", Some(3)),
            ("comm=a pid=9 prio=120 success=1 target_cpu=012", "a", Some(12)),
            ("comm=a pid=1 pid=9 prio=120", "a pid=1", None),
            ("a:9 [120] success=1 CPU:003", "a", Some(3)),
            ("a:9 [120]<CANT FIND FIELD success> CPU:003", "a", Some(3)),
            ("a [1]:9 [120]", "a [1]", None),
            ("task a:9 [120] success=1 [003]", "a", Some(3)),
        ] {
            assert_eq!(fields("sched_wakeup", text, false), woken(comm, cpu), "{text}");
        }
        let ctf = " }, { tid = 1 }, { comm = \"a \\\"b\", tid = 9, prio = 20, target_cpu = 3 }";
        assert_eq!(fields("sched_wakeup", ctf, true), woken("a \"b", Some(3)));
        for awake in ["comm=a pid=9 prio=120 success=0 target_cpu=003", "a:9 [120] success=0 CPU:003"] {
            assert_eq!(fields("sched_wakeup", awake, false), Fields::NotRead, "{awake}");
        }
        for cut in ["comm=a", "comm=a pid=12", "comm=a pid=12 prio=", "a:9"] {
            assert_eq!(fields("sched_wakeup", cut, false), Fields::Bad(WhyBad::Cut), "{cut}");
        }
        for bad in ["comm=a pid=x prio=120", "comm=a pid=-9 prio=120", "a [120]"] {
            assert_eq!(fields("sched_wakeup", bad, false), Fields::Bad(WhyBad::Field), "{bad}");
        }
    }

    #[test]
    fn the_other_events_of_each_form_are_read() {
        let moved = Fields::Event(EventKind::Migrate { pid: 9, comm: "a".into(), from_cpu: 1, to_cpu: 3 });
        assert_eq!(fields("sched_migrate_task", "comm=a pid=9 prio=120 orig_cpu=1 dest_cpu=3", false), moved);
        let text = "}, { comm = \"a\", tid = 9, prio = 20, orig_cpu = 1, dest_cpu = 3 }";
        assert_eq!(fields("sched_migrate_task", text, true), moved);
        for (state, printed) in [(None, "4294967295"), (None, "-1"), (Some(2), "2")] {
            let idle = Fields::Event(EventKind::Idle { cpu: 3, state });
            assert_eq!(fields("cpu_idle", &format!("state={printed} cpu_id=3"), false), idle);
            let text = format!(" }}, {{ state = {printed}, cpu_id = 3 }}");
            assert_eq!(fields("power_cpu_idle", &text, true), idle);
        }
        let frequency = Fields::Event(EventKind::Frequency { cpu: 3, khz: 450_000 });
        assert_eq!(fields("cpu_frequency", "state=450000 cpu_id=3", false), frequency);
        assert_eq!(fields("power_cpu_frequency", "}, { state = 450000, cpu_id = 3 }", true), frequency);
        assert_eq!(fields("sched_stat_runtime", "comm=a pid=1", false), Fields::NotRead);
        assert_eq!(fields("cpu_idle", "state=1", false), Fields::Bad(WhyBad::Cut));
    }

    #[test]
    fn a_line_that_was_cut_is_no_event_of_another_task() {
        let whole = "prev_comm=a prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=b next_pid=1234 next_prio=120";
        for end in 1..whole.len() {
            let found = fields("sched_switch", &whole[..end], false);
            // Of the last number any part may be missing.
            let complete = end > whole.len() - "120".len();
            assert_eq!(matches!(found, Fields::Event(_)), complete, "{}", &whole[..end]);
            if !complete && !whole[..end].ends_with('>') {
                assert_eq!(found, Fields::Bad(WhyBad::Cut), "{}", &whole[..end]);
            }
        }
        let pager = fields("sched_switch", "prev_comm=a prev_pid=7 prev_prio=120 prev_state=R ==> next_co>", false);
        assert_eq!(pager, Fields::Bad(WhyBad::CutByPager));
        let pager = fields("sched_wakeup", "comm=a pid=9 prio=120 target_cpu=00>", false);
        assert_eq!(pager, Fields::Bad(WhyBad::CutByPager));
        // Where others have the CPU with three digits, one with fewer is cut.
        let mut seen = Seen::default();
        let mut woken = |text: &str| super::fields("sched_wakeup", text, false, &mut seen);
        assert!(matches!(woken("comm=a pid=9 prio=120 target_cpu=1"), Fields::Event(_)), "of another printer");
        assert!(matches!(woken("comm=a pid=9 prio=120 target_cpu=012"), Fields::Event(_)));
        for cut in ["comm=a pid=9 prio=120 target_cpu=01", "comm=a pid=9 prio=120 target_cpu=", "comm=a pid=9 prio=120"]
        {
            assert_eq!(woken(cut), Fields::Bad(WhyBad::Cut), "{cut}");
        }
    }
}
