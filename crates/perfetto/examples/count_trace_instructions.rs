//! Writes traces for `cargo xtask bench instructions`, which counts what an event of each costs.
//!
//! As with the sibling in the package wakelab-sched, what is to be counted happens in calls of [`measured`]; the names
//! are printed in that order, each with the number of events. An argument chooses the traces whose names contain it.

use std::io;
use wakelab_perfetto::{Argument, Search, Trace};

const CPUS: u32 = 112;
const TASKS: i32 = 448;
const EVENTS: u64 = 100_000;

/// What is counted: each task is woken by the one before it, and runs.
#[inline(never)]
fn measured(trace: &mut Trace<io::Sink>, searches: bool) -> io::Result<()> {
    for n in 0..EVENTS / 2 {
        let (cpu, waker_cpu) = (n as u32 * 7 % CPUS, n as u32 % CPUS);
        let (waker, wakee) = (1 + n as i32 % TASKS, 1 + (n as i32 + 1) % TASKS);
        let arguments = [
            (Argument::Wakee, i64::from(wakee)),
            (Argument::PrevCpu, i64::from(waker_cpu)),
            (Argument::ChosenCpu, i64::from(cpu)),
            (Argument::DomainSearch, 1),
            (Argument::Scanned, 20),
            (Argument::Failed, 0),
        ];
        let now = n * 1000;
        let search = Search { from_ns: now, to_ns: now + 600, reason: "scan", arguments: &arguments };
        trace.wake(now, (waker_cpu, waker), wakee, cpu, searches.then_some(search))?;
        trace.switch(now + 900, cpu, waker, true, wakee)?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    for (name, searches) in [("with searches", true), ("without", false)] {
        let name = format!("trace: wake-ups and switches, {name}");
        if std::env::args().nth(1).is_none_or(|part| name.contains(&part)) {
            let mut trace = Trace::new(io::sink(), CPUS)?;
            (1..=TASKS).for_each(|task| trace.name(task, &format!("hackbench-{task}")));
            measured(&mut trace, searches)?;
            println!("{EVENTS}\t{name}");
        }
    }
    Ok(())
}
