//! A line of a text trace: the columns that its recorder prints before the fields of the event.

use regex::Regex;
use std::sync::LazyLock;

/// What printed a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Printer {
    /// `trace` and `trace_pipe` of tracefs, `trace-cmd report`, atrace.
    Ftrace,
    /// `perf script`.
    Perf,
    /// babeltrace2.
    Babeltrace,
}

/// The columns of an event before its fields, and these as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns<'a> {
    pub(super) printer: Printer,
    pub(super) t_ns: u64,
    /// `None` if the line does not have it, as of `perf record` without `-a`.
    pub(super) cpu: Option<u32>,
    /// The task that ran there; `None` if the line does not have it.
    pub(super) pid: Option<i32>,
    /// The name of the event, without its subsystem.
    pub(super) event: &'a str,
    /// What follows the name.
    pub(super) fields: &'a str,
}

/// `TASK-PID (TGID) [CPU] FLAGS TIME: EVENT:` of ftrace, whose columns TGID and FLAGS are optional and whose TGID was
/// behind the CPU before Linux 5.9, and `TASK PID/TID [CPU] TIME: PERIOD SYSTEM:EVENT:` of perf. A name may have
/// anything in it, so it is not matched: the leftmost match of the rest has the columns.
const COLUMNS: &str = concat!(
    r"([-\s])(\d{1,10})(?:/(\d{1,10}))?\s+",
    r"(?:\(\s*[\d-]+\)\s+)?(?:\[(\d{1,9})\]\s+)?(?:\(\s*[\d-]+\)\s+)?(?:[!-'*-9;-Z\\^-~]{1,12}\s+)?",
    r"(\d{1,20})(?:\.(\d{1,9}))?:\s+",
);
static OF_AN_EVENT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!(r"(?-u){COLUMNS}(?:\d+\s+)?(?:(\w+):)?(\w+):(?:\s+|$)")).expect("a regex"));
/// A line of another tracer, such as `function`, or of perf about itself.
static OF_ANOTHER: LazyLock<Regex> = LazyLock::new(|| Regex::new(&format!("(?-u){COLUMNS}")).expect("a regex"));
/// `[TIME] (+DELTA) HOST EVENT: { cpu_id = N }`; the time is seconds, or the time of the day.
static OF_BABELTRACE: LazyLock<Regex> = LazyLock::new(|| {
    let time = r"^\[(?:[\d-]+ )?(?:(\d{1,2}):(\d{1,2}):)?(\d{1,19})\.(\d{9})\] ";
    Regex::new(&format!(r"(?-u){time}(?:\(\+[!-~]+\) )?(?:[!-~]+ )?(?:[!-z|-~]+:)?(\w+): \{{ cpu_id = (\d{{1,9}})\b"))
        .expect("a regex")
});

/// Parses the columns of an event. Returns `None` if the line has no event.
pub(super) fn columns(line: &str) -> Option<Columns<'_>> {
    if line.starts_with('[') {
        return babeltrace(line);
    }
    let found = OF_AN_EVENT.captures(line)?;
    let group = |at| found.get(at).map(|group| group.as_str());
    let by_perf = group(3).is_some() || group(7).is_some() || group(1) != Some("-");
    Some(Columns {
        printer: if by_perf { Printer::Perf } else { Printer::Ftrace },
        t_ns: time(group(5)?, group(6))?,
        cpu: group(4).and_then(|cpu| cpu.parse().ok()),
        pid: group(3).or(group(2))?.parse().ok(),
        event: group(8)?,
        fields: line[found.get(0)?.end()..].trim_end(),
    })
}

/// Whether the line has the columns of a trace, but no event.
pub(super) fn is_of_another_tracer(line: &str) -> bool {
    OF_ANOTHER.is_match(line)
}

fn babeltrace(line: &str) -> Option<Columns<'_>> {
    let found = OF_BABELTRACE.captures(line)?;
    let group = |at| found.get(at).map(|group| group.as_str());
    let of_day = |at, seconds: u64| group(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) * seconds;
    let seconds = time(group(3)?, group(4))?;
    let fields = line[found.get(0)?.end()..].trim_end();
    // perf has the task in the payload, LTTng in a context before it if it was asked for (`lttng add-context -t tid`).
    let context = fields.rfind("}, { ").map_or("", |payload| &fields[..payload]);
    let pid = [("common_pid = ", fields), ("perf_tid = ", fields), (" tid = ", context)].into_iter().find_map(|of| {
        let (_, number) = of.1.split_once(of.0)?;
        number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    });
    Some(Columns {
        printer: Printer::Babeltrace,
        t_ns: (of_day(1, 3600) + of_day(2, 60)).checked_mul(1_000_000_000)?.checked_add(seconds)?,
        cpu: group(6)?.parse().ok(),
        pid,
        event: group(5)?,
        fields,
    })
}

/// A time in ns: seconds with a fraction, or, without one, ns as clocks that do not count seconds are printed.
fn time(whole: &str, fraction: Option<&str>) -> Option<u64> {
    let whole: u64 = whole.parse().ok()?;
    let Some(fraction) = fraction else { return Some(whole) };
    let unit = 10_u64.pow(9 - fraction.len() as u32);
    whole.checked_mul(1_000_000_000)?.checked_add(fraction.parse::<u64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns of a line, written in short.
    fn short(line: &str) -> Option<String> {
        let Columns { printer, t_ns, cpu, pid, event, fields } = columns(line)?;
        Some(format!("{printer:?} {t_ns} {cpu:?} {pid:?} {event} {fields}"))
    }

    #[test]
    fn the_columns_of_each_printer_are_found() {
        for (line, expected) in [
            // tracefs and trace-cmd: flags of four, five and six characters, or none; the thread group in both places.
            ("  a-7  [003] d..2  1.000002: e: x", "Ftrace 1000002000 Some(3) Some(7) e x"),
            ("  a-7  [003] d..2.  1.000002: e: x", "Ftrace 1000002000 Some(3) Some(7) e x"),
            ("  a-7  [003] dNh2..  1.000002: e: x", "Ftrace 1000002000 Some(3) Some(7) e x"),
            ("  a-7  [003]  1.000002003: e:   x y ", "Ftrace 1000002003 Some(3) Some(7) e x y"),
            ("<idle>-0 (-----) [000] d..3 1.5: e:", "Ftrace 1500000000 Some(0) Some(0) e "),
            ("  a-7 (    7) [000] .... 1.5: e: x", "Ftrace 1500000000 Some(0) Some(7) e x"),
            ("  a-7 [000] (    7) .... 1.5: e: x", "Ftrace 1500000000 Some(0) Some(7) e x"),
            // A clock in ns.
            ("  a-7 [000] .... 1234567890123: e: x", "Ftrace 1234567890123 Some(0) Some(7) e x"),
            // perf: a thread of a process, a period, no CPU.
            ("  a  7 [001]  1.000002:  sched:e: x", "Perf 1000002000 Some(1) Some(7) e x"),
            ("  a  7/8 [001]  1.000002:  1 sched:e: x", "Perf 1000002000 Some(1) Some(8) e x"),
            ("  a  7   1.000002:  sched:e: x", "Perf 1000002000 None Some(7) e x"),
            ("[1.000000002] e: { cpu_id = 4 }, { x = 1 }", "Babeltrace 1000000002 Some(4) None e  }, { x = 1 }"),
            (
                "[01:01:01.000000002] (+?.?????????) host s:e: { cpu_id = 4 }, { common_pid = 7, x = 1 }",
                "Babeltrace 3661000000002 Some(4) Some(7) e  }, { common_pid = 7, x = 1 }",
            ),
        ] {
            assert_eq!(short(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn names_may_look_like_columns() {
        for name in
            ["a b", "a-1", "a [1] b", "kworker/u12:1-x", "-", "x => y", "<...>", "a-12 [001] b", "1.5: e:", "ü", "a 1"]
        {
            let line = format!("{name}-7 [002] d..2 1.5: sched_switch: x");
            assert_eq!(short(&line).as_deref(), Some("Ftrace 1500000000 Some(2) Some(7) sched_switch x"), "{line}");
            let line = format!("{name} 7 [002] 1.5: sched:sched_switch: x");
            assert_eq!(short(&line).as_deref(), Some("Perf 1500000000 Some(2) Some(7) sched_switch x"), "{line}");
        }
    }

    #[test]
    fn lines_without_an_event_have_no_columns() {
        for line in ["", "# tracer: nop", "a-7", "a-7 [000]", "a-7 [000] 1.5", "a-7 [000] d..1 1.5: do_it <-caller"] {
            assert_eq!(short(line), None, "{line}");
        }
        assert!(is_of_another_tracer("a-7 [000] d..1 1.5: do_it <-caller"));
        assert!(!is_of_another_tracer("a-7 [000] d..1"));
        assert_eq!(short("a-7 [000] 99999999999999999999.0: e: x"), None, "a time beyond 64 bits");
    }
}
