//! A line of a text trace: the columns that its recorder prints before the fields of the event.

/// The program that printed a line.
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
    /// The name of that task; `None` if the line does not have it.
    pub(super) comm: Option<&'a str>,
    /// The name of the event, without its subsystem.
    pub(super) event: &'a str,
    /// The text after the name.
    pub(super) fields: &'a str,
}

/// Parses the columns of an event. Returns `None` if the line has no event.
pub(super) fn columns(line: &str) -> Option<Columns<'_>> {
    if line.starts_with('[')
        && let Some(columns) = babeltrace(line)
    {
        return Some(columns);
    }
    // A name may look like columns without a task.
    let mut found = None;
    for (head, rest) in heads(line).filter(|(_, rest)| event(rest).is_some()) {
        let whole = head.task.is_some();
        if whole || found.is_none() {
            found = Some((head, rest));
        }
        if whole {
            break;
        }
    }
    let (Head { printer, t_ns, cpu, task }, rest) = found?;
    let (system, event, fields) = event(rest)?;
    let printer = if system.is_empty() { printer } else { Printer::Perf };
    let (pid, comm) = task.map_or((None, None), |task| (Some(task.pid), Some(task.comm)));
    let comm = comm.filter(|comm| !comm.is_empty() && !matches!(*comm, "<...>" | "<idle>"));
    Some(Columns { printer, t_ns, cpu, pid, comm, event, fields })
}

/// Whether the line has the columns of a trace, but no event: of another tracer, such as `function`, or of perf about
/// itself.
pub(super) fn is_of_another_tracer(line: &str) -> bool {
    heads(line).any(|(head, _)| head.task.is_some())
}

/// The columns up to the time.
struct Head<'a> {
    printer: Printer,
    t_ns: u64,
    cpu: Option<u32>,
    /// `None` if there is no such column, as of `perf script -F cpu,time,event,trace`.
    task: Option<TaskColumn<'a>>,
}

/// `TASK-PID` of ftrace, `TASK PID` or `TASK PID/TID` of perf.
#[derive(Clone, Copy, Debug)]
struct TaskColumn<'a> {
    printer: Printer,
    comm: &'a str,
    pid: i32,
}

/// Returns the candidates for the columns up to the time, each with the rest of the line: there is one unless a name
/// looks like them. `TASK-PID (TGID) [CPU] FLAGS TIME:` is of ftrace, whose columns TGID and FLAGS are optional and
/// whose TGID was behind the CPU before Linux 5.9, and `TASK PID/TID [CPU] TIME:` is of perf.
///
/// The latency format (`latency-format` of tracefs, `trace-cmd report -l`) has the number of the CPU before the flags,
/// and that of tracefs times since the begin, in us.
///
/// A name may have anything in it. It comes first, so the columns are read from the time backwards.
fn heads(line: &str) -> impl Iterator<Item = (Head<'_>, &str)> {
    line.match_indices(':').filter_map(move |(at, _)| {
        let rest = line[at + 1..].strip_prefix([' ', '\t'])?;
        let (before, time) = last_word(&line[..at]).unwrap_or(("", line[..at].trim()));
        let t_ns = match time.trim_end_matches(['+', '!', '#', '*', '@', '$']).strip_suffix("us") {
            Some(us) => number::<u64>(us)?.checked_mul(1000)?,
            None => {
                let (whole, fraction) = time.split_once('.').map_or((time, None), |(whole, part)| (whole, Some(part)));
                self::time(whole, fraction)?
            }
        };
        let with_flags = || {
            // More characters than any kernel prints; none is a bracket.
            let (before, flags) = last_word(before)?;
            let are_flags = flags.len() <= 12 && !flags.contains(['[', ']', '(', ')', ':']);
            task_and_cpu(before).or_else(|| of_latency_format(before, flags)).filter(|_| are_flags)
        };
        let without_a_cpu = || match before.trim_ascii() {
            "" => Some((None, None)),
            _ => Some((Some(task(before)?), None)),
        };
        let (task, cpu) = task_and_cpu(before).or_else(with_flags).or_else(without_a_cpu)?;
        let printer = task.map_or(Printer::Perf, |task| task.printer);
        Some((Head { printer, t_ns, cpu, task }, rest))
    })
}

/// `TASK-PID (TGID) [CPU]`, or the CPU before the thread group. There may be no task, or one without its number.
fn task_and_cpu(text: &str) -> Option<(Option<TaskColumn<'_>>, Option<u32>)> {
    let (before, cpu) = without_tgid(text).trim_ascii_end().strip_suffix(']')?.rsplit_once('[')?;
    let cpu = number(cpu.trim_ascii())?;
    Some((task(without_tgid(before)), Some(cpu)))
}

/// `TASK-PID` and, before the flags, the number of the CPU: `3d..2`.
fn of_latency_format<'a>(before: &'a str, flags: &str) -> Option<(Option<TaskColumn<'a>>, Option<u32>)> {
    let letters = flags.trim_start_matches(|c: char| c.is_ascii_digit());
    let cpu = number(&flags[..flags.len() - letters.len()])?;
    let are_flags = (3..=7).contains(&letters.len());
    Some((Some(task(before).filter(|task| are_flags && task.printer == Printer::Ftrace)?), Some(cpu)))
}

/// The text without a thread group at its end, `(  123)` or `(-----)`.
fn without_tgid(text: &str) -> &str {
    let tgid = text.trim_ascii_end().strip_suffix(')').and_then(|text| text.rsplit_once('('));
    let (before, tgid) = tgid.unwrap_or((text, "x"));
    if tgid.bytes().all(|c| c.is_ascii_digit() || matches!(c, b' ' | b'-')) { before } else { text }
}

fn task(text: &str) -> Option<TaskColumn<'_>> {
    let text = text.trim_ascii_end();
    let before = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let pid = number(&text[before.len()..])?;
    let (printer, comm) = match before.as_bytes().last() {
        Some(b'-') => (Printer::Ftrace, &before[..before.len() - 1]),
        // `perf script -F tid,…` has no name.
        Some(b' ' | b'\t') | None => (Printer::Perf, before),
        Some(b'/') => {
            let process = &before[..before.len() - 1];
            let (comm, process) = last_word(process).unwrap_or(("", process.trim_ascii_start()));
            number::<i32>(process)?;
            (Printer::Perf, comm)
        }
        Some(_) => return None,
    };
    Some(TaskColumn { printer, comm: comm.trim_ascii(), pid })
}

/// The last word, and the text before it with the space between them.
fn last_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_ascii_end();
    let at = text.rfind(|c: char| c.is_ascii_whitespace())? + 1;
    Some((&text[..at], &text[at..]))
}

/// `PERIOD SYSTEM:EVENT: FIELDS`, the first two of perf only: the system, the event and the fields.
fn event(text: &str) -> Option<(&str, &str, &str)> {
    let word = |text: &'_ str| text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len());
    let mut text = text.trim_ascii_start();
    let period = word(text);
    if number::<u64>(&text[..period]).is_some() {
        text = text[period..].trim_ascii_start();
    }
    let end = word(text);
    let name = text[..end].strip_suffix(':')?;
    let (system, event) = name.rsplit_once(':').unwrap_or(("", name));
    let is_name = |name: &str| name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'));
    (!event.is_empty() && is_name(event) && is_name(system)).then(|| (system, event, text[end..].trim_ascii()))
}

/// Digits without a sign.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| text.bytes().all(|c| c.is_ascii_digit()))
}

/// `[TIME] (+DELTA) HOST EVENT: { cpu_id = N }, …`; the time is seconds, or the time of the day. perf has the CPU as
/// `perf_cpu` among the fields, if the packets are not of one CPU each.
fn babeltrace(line: &str) -> Option<Columns<'_>> {
    let (time, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let (head, fields) = rest.split_once(": {")?;
    let number_at = |text: &str| number(text.split(|c: char| !c.is_ascii_digit()).next()?);
    let (cpu, fields) = match fields.strip_prefix(" cpu_id = ") {
        Some(fields) => {
            let digits = fields.find(|c: char| !c.is_ascii_digit()).unwrap_or(fields.len());
            (number_at(fields), &fields[digits..])
        }
        None => (number_at(fields.split_once("perf_cpu = ")?.1), &rest[head.len() + 2..]),
    };
    let (day, fraction) = time.rsplit(' ').next()?.split_once('.')?;
    // Hours, minutes and seconds, or only these.
    let mut seconds = 0_u64;
    for part in day.split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(number(part)?)?;
    }
    let t_ns = seconds.checked_mul(1_000_000_000)?.checked_add(self::time("0", Some(fraction))?)?;
    // perf has the task in the payload, LTTng in a context before it if it was asked for (`lttng add-context -t tid`).
    let context = fields.rfind("}, { ").map_or("", |payload| &fields[..payload]);
    let pid = [("perf_tid = ", fields), ("common_pid = ", fields), (" tid = ", context)].into_iter().find_map(|of| {
        let (_, pid) = of.1.split_once(of.0)?;
        number(pid.split([',', ' ']).next()?)
    });
    let event = head.rsplit([' ', ':']).next()?;
    let fields = fields.trim_ascii_end();
    Some(Columns { printer: Printer::Babeltrace, t_ns, cpu, pid, comm: None, event, fields })
}

/// A time in ns: seconds with a fraction, or, without one, ns as clocks that do not count seconds are printed.
fn time(whole: &str, fraction: Option<&str>) -> Option<u64> {
    let whole: u64 = number(whole)?;
    let Some(fraction) = fraction else { return Some(whole) };
    let unit = 10_u64.pow(9_u32.checked_sub(fraction.len() as u32)?);
    whole.checked_mul(1_000_000_000)?.checked_add(number::<u64>(fraction)? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns of a line, written in short.
    fn short(line: &str) -> Option<String> {
        let Columns { printer, t_ns, cpu, pid, event, fields, .. } = columns(line)?;
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
            // Subsets of perf's columns.
            (" [001] 1.000002: sched:e: x", "Perf 1000002000 Some(1) None e x"),
            ("[001] 1.000002: e: x", "Perf 1000002000 Some(1) None e x"),
            ("a b [001] 1.000002: sched:e: x", "Perf 1000002000 Some(1) None e x"),
            ("   7/8 [001] 1.000002: sched:e: x", "Perf 1000002000 Some(1) Some(8) e x"),
            ("   8 [001] 1.000002: sched:e: x", "Perf 1000002000 Some(1) Some(8) e x"),
            (" 1.000002: sched:e: x", "Perf 1000002000 None None e x"),
            // The latency format of trace-cmd and of tracefs.
            ("   a-7       3d..2.  1.000002: e: x", "Ftrace 1000002000 Some(3) Some(7) e x"),
            ("  <idle>-0   12dNh3    4us+: e: x", "Ftrace 4000 Some(12) Some(0) e x"),
            ("  a-7   0d..2   11us : e: x", "Ftrace 11000 Some(0) Some(7) e x"),
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
    fn the_column_of_the_task_has_its_name() {
        let comm = |line: &str| columns(line).and_then(|columns| columns.comm.map(str::to_owned));
        for (line, expected) in [
            ("       my waker-11 [000] d... 1.5: e: x", Some("my waker")),
            ("   a-1-11 (   11) [000] d... 1.5: e: x", Some("a-1")),
            ("  a b  7/8 [001] 1.5: sched:e: x", Some("a b")),
            ("  a b  8 [001] 1.5: sched:e: x", Some("a b")),
            ("<...>-11 [000] d... 1.5: e: x", None),
            ("<idle>-0 [000] d... 1.5: e: x", None),
            ("  8 [001] 1.5: sched:e: x", None),
            ("[001] 1.5: sched:e: x", None),
        ] {
            assert_eq!(comm(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn perf_has_the_cpu_and_the_thread_among_the_fields_of_ctf() {
        let line = "[1.000000100] (+?.?????????) box sched:sched_wakeup: { perf_ip = 0x0, perf_tid = 11, \
                    perf_pid = 10, perf_cpu = 3, common_pid = 11, comm = \"beta\" }";
        let found = columns(line).expect("an event");
        assert_eq!(
            (found.printer, found.cpu, found.pid, found.event),
            (Printer::Babeltrace, Some(3), Some(11), "sched_wakeup")
        );
        assert!(found.fields.starts_with("{ perf_ip"), "{}", found.fields);
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
