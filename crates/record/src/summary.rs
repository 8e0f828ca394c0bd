//! The summary that is printed at the end.

use crate::args::Args;
use crate::session::Outcome;
use std::fmt::Write;
use wakelab_events::recording::CountsRow;

/// The summary, a few lines.
pub fn summary(args: &Args, outcome: &Outcome) -> String {
    let Outcome { counts, overhead, machines, .. } = outcome;
    let CountsRow { choices, wakings, woken, recorded, stable, lost, filtered, sampled, limited, changed, .. } =
        *counts;
    let mut text = format!(
        "{recorded} decisions in {} ({stable} stable), {lost} lost; {} of {choices} left out by filters and sampling\n\
         {woken} of them in wake-ups, {} in forks and execs; {} of {wakings} wake-ups chose no CPU of the fair class: \
         still queued, one CPU only, or another class\n",
        args.output.display(),
        filtered + sampled + limited,
        choices - woken,
        wakings - woken,
    );
    // Writing to a string does not fail.
    if *machines > 1 {
        let _ = writeln!(
            text,
            "the scheduling domains changed {} times, and each version has its own segments; {changed} decisions \
             during the changes are left out",
            machines - 1
        );
    }
    if counts.unfinished != 0 {
        let _ = writeln!(text, "{} began, but their end was not seen", counts.unfinished);
    }
    if counts.events_lost > 0 {
        let lost = counts.events_lost;
        let _ = writeln!(text, "{lost} other events lost; --buffer makes more room, --decisions-only needs less");
    }
    if counts.events_limited > 0 {
        let _ =
            writeln!(text, "{} other events left out by --max-rate: only some waits are known", counts.events_limited);
    }
    if counts.missed > 0 {
        let _ = writeln!(
            text,
            "{} times the kernel skipped a program because it was already running on that CPU; those events are \
             missing",
            counts.missed
        );
    }
    let share = |ns: i64| ns as f64 / counts.elapsed_ns.max(1) as f64 * 100.0;
    if let (Some(programs), true) = (counts.programs_ns, overhead.entries > 0) {
        let each = overhead.entry_ns / overhead.entries + overhead.exit_ns / overhead.exits.max(1);
        let (all, own) = (share(programs), share(counts.recorder_ns));
        let _ = writeln!(
            text,
            "overhead: {each} ns a decision, all programs {all:.2} % of one CPU; the recorder itself {own:.2} %"
        );
    }
    text
}
