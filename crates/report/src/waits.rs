//! Why tasks waited.

use crate::VERSION;
use crate::numbers::{count, duration, pid_name, seconds, share, thousands, us};
use crate::scx_wakeups::{steps_json, steps_text};
use crate::stats::title;
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_events::ReadError;
use wakelab_input::printable;
use wakelab_study::recordings::waits::{
    Began, ByCause, Cause, LongWait, Named, Part, Parts, Ran, RanMeanwhile, RunWaits, RunsWaits, SlowWait, Spent,
};

/// The breakdowns of long waits, in addition to causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Nothing else.
    Cause,
    /// The name of the wakee.
    Comm,
    /// The CPU where the wakee was put.
    Cpu,
    /// The dispatch queue of sched_ext, of those that are no CPU's own.
    Dsq,
}

impl By {
    /// All of them.
    pub const ALL: [By; 4] = [By::Comm, By::Cpu, By::Dsq, By::Cause];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            By::Cause => "cause",
            By::Comm => "comm",
            By::Cpu => "cpu",
            By::Dsq => "dsq",
        }
    }

    fn parts(self, run: &RunWaits) -> Option<&Parts> {
        match self {
            By::Cause => None,
            By::Comm => Some(&run.sums.by_comm),
            By::Cpu => Some(&run.sums.by_cpu),
            By::Dsq => Some(&run.sums.by_dsq),
        }
    }
}

/// The selection of waits to show.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Waits of this length and longer have causes, ns.
    pub over_ns: u64,
    /// The breakdown, in addition to causes.
    pub by: By,
}

/// The lines of a table of names.
const NAMES: usize = 8;
/// The lines of a breakdown.
pub(crate) const PARTS: usize = 20;
/// The tasks that are named of a wait.
const RAN: usize = 5;

/// Sentences and tables.
pub fn text(runs: &RunsWaits, shown: Shown) -> String {
    let mut text = String::new();
    for (number, (run, waits)) in (1..).zip(runs) {
        let gap = if number > 1 { "\n\n" } else { "" };
        let _ = writeln!(text, "{gap}{number}  {}", title(run));
        text += "\nHow long tasks waited until they ran (us)\n\n";
        text += &lengths(waits);
        let long = waits.sums.causes.total();
        if long.n == 0 {
            let _ = writeln!(text, "\nNo wait of {} or longer: --over selects shorter ones.", duration(shown.over_ns));
            text += &notes(waits, shown);
            continue;
        }
        let _ = writeln!(text, "\nThe waits of {} and longer by cause (ms)\n", duration(shown.over_ns));
        text += &causes(&waits.sums.causes);
        if let Some(line) = headline(waits, shown) {
            let _ = writeln!(text, "\n{line}");
        }
        if !waits.sums.behind.is_empty() {
            text += "\nBehind whom (ms)\n\n";
            text += &behind(&waits.sums.behind, long.ns);
        }
        if let Some(parts) = shown.by.parts(waits) {
            let _ = writeln!(text, "\n{} (ms)\n", by_title(shown.by));
            text += &part_table(shown.by, parts);
        }
        if !waits.slowest.is_empty() {
            text += "\nThe longest\n";
            waits.slowest.iter().for_each(|slow| {
                text += &format!("\n{}", story(slow, runs.len() > 1 || waits.runs > 1, waits.knows_llcs))
            });
        }
        text += &notes(waits, shown);
    }
    text
}

pub(crate) fn by_title(by: By) -> &'static str {
    match by {
        By::Cause => "By cause",
        By::Comm => "By name of the task that waited",
        By::Cpu => "By the CPU where the task was queued first",
        By::Dsq => "By the dispatch queue on which the task was, of those that belong to no CPU",
    }
}

fn ms(ns: u64) -> String {
    let us = (ns + 500) / 1000;
    format!("{}.{:03}", thousands(us / 1000), us % 1000)
}

/// A length in words: `12.345 ms`, `5.6 us`.
fn length(ns: u64) -> String {
    if ns >= 1_000_000 { format!("{} ms", ms(ns)) } else { format!("{} us", us(ns)) }
}

fn lengths(waits: &RunWaits) -> String {
    let mut table = table(&["after", "waits", "mean", "p50", "p95", "p99", "max"], 1);
    for (name, of) in [("a wake-up", &waits.sums.wakeups), ("a preemption", &waits.sums.preemptions)] {
        let latency = of.latency();
        let mut line = vec![name.to_owned(), thousands(latency.n)];
        let values = [latency.mean.round() as u64, latency.p50, latency.p95, latency.p99, latency.max];
        line.extend(values.map(|ns| if latency.n == 0 { "-".to_owned() } else { us(ns) }));
        table.add_row(line);
    }
    table_text(&table)
}

fn causes(causes: &ByCause) -> String {
    let mut table = table(&["cause", "waits", "sum", "% of waiting", "longest"], 1);
    let total = causes.total();
    let mut line = |name: &str, sum: wakelab_study::recordings::waits::Sum| {
        table.add_row([name.to_owned(), thousands(sum.n), ms(sum.ns), share(sum.ns, total.ns), ms(sum.max_ns)]);
    };
    for cause in met(causes) {
        line(cause.name(), causes.of(cause));
    }
    line("all", total);
    let mut text = table_text(&table) + "\n";
    for cause in met(causes) {
        let _ = writeln!(text, "  {:<20}{}", cause.name(), cause.meaning());
    }
    text
}

/// The causes that some wait has.
pub(crate) fn met(causes: &ByCause) -> impl Iterator<Item = Cause> + '_ {
    Cause::ALL.into_iter().filter(|cause| causes.of(*cause).n > 0)
}

/// The name of a part as it is shown.
pub(crate) fn part_name(part: &Part) -> String {
    match part {
        Part::Comm(comm) if comm.is_empty() => "(no name)".to_owned(),
        Part::Comm(comm) => printable(comm).into_owned(),
        Part::Cpu(cpu) => cpu.to_string(),
        Part::Dsq(dsq) => printable(dsq).into_owned(),
        Part::Other => "(others)".to_owned(),
    }
}

/// The parts with the most time first; CPUs in their order.
pub(crate) fn sorted(parts: &Parts) -> Vec<(&Part, &ByCause)> {
    let mut all: Vec<_> = parts.iter().collect();
    if all.iter().any(|(part, _)| !matches!(part, Part::Cpu(_))) {
        all.sort_by(|a, b| b.1.total().ns.cmp(&a.1.total().ns).then(a.0.cmp(b.0)));
    }
    all
}

/// The cause with the largest share of the waiting, and the task behind which most of it was.
pub(crate) fn headline(waits: &RunWaits, shown: Shown) -> Option<String> {
    let all = &waits.sums.causes;
    let total = all.total().ns;
    // Of equal ones the first, of tasks by name.
    let first_of_most = |most: Cause, one: Cause| if all.of(one).ns > all.of(most).ns { one } else { most };
    let cause = Cause::ALL.into_iter().reduce(first_of_most).filter(|&cause| all.of(cause).ns > 0)?;
    let was = match cause {
        Cause::BehindLlcIdle => "on a chosen busy CPU while a CPU of the same LLC was idle",
        Cause::BehindOtherIdle => "on a chosen busy CPU while an idle CPU existed elsewhere",
        Cause::BehindNoneIdle => "on a busy CPU while no CPU was idle",
        Cause::Preempted => "after a preemption",
        Cause::SharedDsq => "on a dispatch queue that belongs to no CPU",
        Cause::LeavingIdle => "for a CPU to come out of idle",
        Cause::Choosing => "for a CPU to be chosen",
        Cause::Unknown => "for unknown reasons",
    };
    let behind = |causes: &ByCause| BEHIND.iter().map(|&cause| causes.of(cause).ns).sum::<u64>();
    let parts = waits.sums.behind.iter().map(|(part, causes)| (behind(causes), part_name(part)));
    let most = parts.reduce(|most, one| if one.0 > most.0 { one } else { most }).filter(|(ns, _)| *ns > 0);
    let behind = most.map_or_else(String::new, |(ns, name)| format!("; {}% was behind {name}", share(ns, total)));
    Some(format!(
        "{}% of waiting in waits of {} and longer was {was}{behind}.",
        share(all.of(cause).ns, total),
        duration(shown.over_ns)
    ))
}

/// The causes in which a task ran before another.
const BEHIND: [Cause; 4] = [Cause::BehindLlcIdle, Cause::BehindOtherIdle, Cause::BehindNoneIdle, Cause::Preempted];
pub(crate) const BEHIND_TITLES: [&str; 4] = ["LLC idle", "other idle", "none idle", "preempted"];

/// Times behind tasks of a name, by the cause of the wait, and what is left.
pub(crate) fn behind_times(causes: &ByCause) -> [u64; 5] {
    let [llc, other, none, preempted] = BEHIND.map(|cause| causes.of(cause).ns);
    [llc, other, none, preempted, causes.total().ns - llc - other - none - preempted]
}

fn behind(parts: &Parts, total: u64) -> String {
    let mut header = vec!["task"];
    header.extend(BEHIND_TITLES);
    header.extend(["rest", "sum", "% of waiting"]);
    let mut table = table(&header, 1);
    let all = sorted(parts);
    for (part, causes) in all.iter().take(NAMES) {
        let mut line = vec![part_name(part)];
        line.extend(behind_times(causes).map(ms));
        line.extend([ms(causes.total().ns), share(causes.total().ns, total)]);
        table.add_row(line);
    }
    table_text(&table) + &more(all.len(), NAMES, "JSON has all")
}

fn more(all: usize, shown: usize, hint: &str) -> String {
    let left = all.saturating_sub(shown);
    if left > 0 { format!("and {} more ({hint})\n", thousands(left as u64)) } else { String::new() }
}

fn part_table(by: By, parts: &Parts) -> String {
    let mut header = vec![by.name(), "waits", "sum", "longest"];
    let present: Vec<Cause> =
        Cause::ALL.into_iter().filter(|cause| parts.values().any(|causes| causes.of(*cause).n > 0)).collect();
    header.extend(present.iter().map(|cause| cause.name()));
    let mut table = table(&header, 1);
    let all = sorted(parts);
    for (part, causes) in all.iter().take(PARTS) {
        let total = causes.total();
        let mut line = vec![part_name(part), thousands(total.n), ms(total.ns), ms(total.max_ns)];
        line.extend(present.iter().map(|cause| ms(causes.of(*cause).ns)));
        table.add_row(line);
    }
    table_text(&table) + &more(all.len(), PARTS, "JSON has all")
}

fn task(named: &Named) -> String {
    pid_name(&named.comm, named.pid)
}

/// What a CPU did, in words.
fn did(ran: &RanMeanwhile) -> String {
    match ran.ran {
        Ran::Task(pid) => format!("{} {}", pid_name(&ran.comm, pid), length(ran.ns)),
        Ran::Idle(None) => format!("idle {}", length(ran.ns)),
        Ran::Idle(Some(state)) => format!("idle (state {state}) {}", length(ran.ns)),
        Ran::Unknown => format!("unknown {}", length(ran.ns)),
    }
}

/// Whose wait it is, and how long it took.
pub(crate) fn wait_title(wait: &LongWait) -> String {
    format!("{}  {} from {}", length(wait.wait_ns), pid_name(&wait.comm, wait.pid), seconds(wait.t_ns))
}

/// All that is known of a wait, in lines.
pub(crate) fn story(slow: &SlowWait, with_source: bool, knows_llcs: bool) -> String {
    let wait = &slow.wait;
    let mut text = format!("{}: {}\n", wait_title(wait), wait.cause.name());
    if with_source {
        let _ = writeln!(text, "  in {}", printable(&slow.source.to_string_lossy()));
    }
    let before = match wait.spent.before_ns {
        0 => String::new(),
        ns => format!(", queued after {}", length(ns)),
    };
    let ahead = match wait.ahead {
        0 => "nothing ran or waited there".to_owned(),
        n => format!("{} running or waiting there", count(n, "task")),
    };
    let _ = match &wait.began {
        Began::Woken { waker_cpu, waker, prev_cpu, reason, chose } => {
            let waker = waker.as_ref().map_or("an interrupt of the idle task".to_owned(), task);
            let prev = prev_cpu.map_or(String::new(), |prev| format!(", last on {prev}"));
            let unknown = match chose {
                _ if !wait.steps.is_empty() => "sched_ext",
                Some(false) => "no choice was made",
                _ => "the reason is not known",
            };
            let reason = reason.map_or(unknown, |reason| reason.name());
            writeln!(text, "  woken by {waker} on cpu {waker_cpu}{prev} → {} [{reason}]{before}; {ahead}", wait.cpu)
        }
        Began::Preempted { by: Some(by) } => {
            writeln!(text, "  preempted on cpu {} by {}; {ahead}", wait.cpu, task(by))
        }
        Began::Preempted { by: None } => {
            writeln!(text, "  taken off cpu {}, which went idle (throttled?); {ahead}", wait.cpu)
        }
        Began::Taken => writeln!(text, "  taken while it ran, by load balancing; {ahead}"),
    };
    for step in steps_text(&wait.steps, &wait.names, wait.t_ns) {
        let _ = writeln!(text, "  {step}");
    }
    let mut did: Vec<String> = wait.ran.iter().take(RAN).map(did).collect();
    let rest = wait.ran.iter().skip(RAN).map(|ran| ran.ns).sum::<u64>() + wait.ran_others.1;
    let others = wait.ran.len().saturating_sub(RAN) as u64 + wait.ran_others.0;
    if others > 0 {
        did.push(format!("{} {}", count(others, "other"), length(rest)));
    }
    if !did.is_empty() {
        let _ = writeln!(text, "  meanwhile: {}", did.join(", "));
    }
    for moved in &wait.moves {
        let _ = writeln!(text, "  moved from {} to {} at {}", moved.from_cpu, moved.to_cpu, seconds(moved.t_ns));
    }
    text += &match wait.moved as usize - wait.moves.len() {
        0 => String::new(),
        left => format!("  and moved {} more times\n", left),
    };
    let _ = writeln!(text, "  ran on {} at {}", wait.ran_on, seconds(wait.t_ns + wait.wait_ns));
    text += &idle_meanwhile(wait, knows_llcs);
    if wait.adrift {
        text += "  where it was queued is not known: a migration was not recorded, or it was throttled\n";
    }
    text
}

fn idle_meanwhile(wait: &LongWait, knows_llcs: bool) -> String {
    let of = |ns: u64, most: u32| match ns {
        0 => "never".to_owned(),
        ns => format!("{} (at most {most} at a time)", length(ns)),
    };
    let idle = &wait.meanwhile;
    let whose = match wait.allowed {
        Some(n) => format!("of the {} that it may use", count(n.into(), "CPU")),
        None => "of all CPUs (its affinity is not known)".to_owned(),
    };
    let llc = if knows_llcs { format!("in the LLC {}, ", of(idle.llc_ns, idle.llc_most)) } else { String::new() };
    format!("  idle meanwhile, {whose}: {llc}anywhere {}\n", of(idle.all_ns, idle.all_most))
}

/// What the numbers leave out.
pub(crate) fn notes(waits: &RunWaits, shown: Shown) -> String {
    let mut text = String::new();
    if waits.unseen > 0 {
        let _ = writeln!(
            text,
            "\n{} not seen to run before the recording ended, the next wake-up came, or at all: not shown.",
            count(waits.unseen, "wakee")
        );
    }
    if !waits.knows_llcs {
        text += "\nThe topology of the machine is not known, so nothing says which idle CPUs shared a cache with the \
                 one that a task waited for.\nA trace that is imported with --machine MACHINE has it: a name from \
                 `wakelab machine list`, or a file of `wakelab machine import`.\n";
    }
    if waits.unknown_affinity > 0 {
        let _ = writeln!(
            text,
            "\nThe affinity is not known in {} of {} and longer: any idle CPU counts there.",
            count(waits.unknown_affinity, "wait"),
            duration(shown.over_ns)
        );
    }
    if waits.lost > 0 {
        let _ = writeln!(
            text,
            "\n{} lost by the recorder: a wait whose end was lost ends at a later switch.",
            count(waits.lost, "event")
        );
    }
    if waits.dropped > 0 {
        let _ = writeln!(
            text,
            "\n{} of the CPUs' work did not fit: what ran at the beginning of the longest waits is unknown.",
            count(waits.dropped, "part")
        );
    }
    text
}

/// All that was found; `errors` are what could not be read to its end.
pub fn json(runs: &RunsWaits, shown: Shown, errors: &[ReadError]) -> Value {
    let runs: Vec<Value> = runs
        .iter()
        .map(|(run, waits)| {
            let sums = &waits.sums;
            let mut value = json!({
                "kind": run.kind, "kernel": run.kernel, "machine": run.machine, "workload": run.workload,
                "variant": run.variant, "runs": waits.runs, "unseen": waits.unseen,
                "from_ns": waits.span.map(|span| span.0), "to_ns": waits.span.map(|span| span.1),
                "wait_ns": latency_json(&sums.wakeups), "preempted_ns": latency_json(&sums.preemptions),
                "over_ns": shown.over_ns, "long": causes_json(&sums.causes), "spent": spent_json(&sums.spent),
                "behind": parts_json(&sums.behind),
                "knows_llcs": waits.knows_llcs, "unknown_affinity": waits.unknown_affinity,
                "lost": waits.lost, "dropped": waits.dropped,
                "slowest": waits.slowest.iter().map(|slow| wait_json(slow, waits.knows_llcs)).collect::<Vec<_>>(),
            });
            if let Some(parts) = shown.by.parts(waits) {
                value[shown.by.name()] = parts_json(parts);
            }
            value
        })
        .collect();
    json!({"wakelab": VERSION, "runs": runs, "errors": errors.iter().map(crate::conform::error).collect::<Vec<_>>()})
}

fn latency_json(waits: &wakelab_measure::Waits) -> Value {
    let latency = waits.latency();
    json!({
        "n": latency.n, "mean": latency.mean, "p50": latency.p50, "p95": latency.p95, "p99": latency.p99,
        "max": latency.max,
    })
}

fn causes_json(causes: &ByCause) -> Value {
    let sum = |sum: wakelab_study::recordings::waits::Sum| json!({"n": sum.n, "ns": sum.ns, "max_ns": sum.max_ns});
    let mut value = sum(causes.total());
    let by: serde_json::Map<_, _> = met(causes).map(|cause| (cause.name().to_owned(), sum(causes.of(cause)))).collect();
    value["causes"] = by.into();
    value
}

fn parts_json(parts: &Parts) -> Value {
    let line = |(part, causes): (&Part, &ByCause)| {
        let mut value = causes_json(causes);
        value["name"] = match part {
            Part::Comm(comm) => (**comm).into(),
            Part::Cpu(cpu) => cpu.to_string().into(),
            Part::Dsq(dsq) => (**dsq).into(),
            Part::Other => "(others)".into(),
        };
        value
    };
    sorted(parts).into_iter().map(line).collect()
}

fn spent_json(spent: &Spent) -> Value {
    json!({
        "before_ns": spent.before_ns, "behind_ns": spent.behind_ns, "idle_ns": spent.idle_ns,
        "unknown_ns": spent.unknown_ns,
    })
}

/// Null is what is not known.
fn wait_json(slow: &SlowWait, knows_llcs: bool) -> Value {
    let wait = &slow.wait;
    let named = |named: &Named| json!({"pid": named.pid, "comm": &*named.comm});
    let began = match &wait.began {
        Began::Woken { waker_cpu, waker, prev_cpu, reason, chose } => json!({
            "how": "woken", "chose": chose, "waker_cpu": waker_cpu, "waker": waker.as_ref().map(named),
            "prev_cpu": prev_cpu,
            "reason": reason.map(|reason| reason.name()),
        }),
        Began::Preempted { by } => json!({"how": "preempted", "by": by.as_ref().map(named)}),
        Began::Taken => json!({"how": "taken"}),
    };
    let ran = |ran: &RanMeanwhile| match ran.ran {
        Ran::Task(pid) => json!({"what": "task", "pid": pid, "comm": &*ran.comm, "ns": ran.ns}),
        Ran::Idle(state) => json!({"what": "idle", "state": state, "ns": ran.ns}),
        Ran::Unknown => json!({"what": "unknown", "ns": ran.ns}),
    };
    let moves = wait.moves.iter().map(|of| json!({"t_ns": of.t_ns, "from_cpu": of.from_cpu, "to_cpu": of.to_cpu}));
    let idle = &wait.meanwhile;
    json!({
        "source": slow.source.to_string_lossy(), "pid": wait.pid, "comm": &*wait.comm, "t_ns": wait.t_ns,
        "wait_ns": wait.wait_ns, "cause": wait.cause.name(), "began": began, "cpu": wait.cpu, "ahead": wait.ahead,
        "spent": spent_json(&wait.spent), "ran": wait.ran.iter().map(ran).collect::<Vec<_>>(),
        "others": {"n": wait.ran_others.0, "ns": wait.ran_others.1},
        "moves": moves.collect::<Vec<_>>(), "moved": wait.moved, "ran_on": wait.ran_on,
        "idle_meanwhile": {
            "allowed": wait.allowed,
            "llc_ns": knows_llcs.then_some(idle.llc_ns), "llc_most": knows_llcs.then_some(idle.llc_most),
            "all_ns": idle.all_ns, "all_most": idle.all_most,
        },
        "adrift": wait.adrift, "steps": steps_json(&wait.steps),
    })
}
