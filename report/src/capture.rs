//! `wakelab capture`: what was captured, and what could not be.

use crate::numbers::{count, fixed, thousands};
use crate::table::{table, text as table_text};
use std::fmt::Write;
use wakelab_input::{duration_text, printable};
use wakelab_study::capture::{Captured, CapturedGroup, Losses};

/// The most groups that are listed.
const MOST_GROUPS: usize = 12;

/// What was captured, for a terminal.
pub fn text(captured: &Captured) -> String {
    let (_, length) = captured.window_ns;
    let transactions = match captured.transactions {
        0 => String::new(),
        n => format!(", {}", count(n, "transaction")),
    };
    let mut text = format!(
        "{} captured, CPUs busy {}% of it{transactions}; --load {} is what was recorded\n\n",
        duration_text(length),
        fixed(100.0 * captured.busy, 1),
        captured.load
    );
    let mut groups = table(&["groups", "tasks", "names", "what they do"], 0);
    for group in captured.groups.iter().take(MOST_GROUPS) {
        groups.add_row([thousands(group.instances.into()), thousands(group.nr_tasks as u64), names(group), does(group).to_owned()]);
    }
    text += &table_text(&groups);
    if let Some(more) = captured.groups.len().checked_sub(MOST_GROUPS).filter(|&more| more > 0) {
        let _ = writeln!(text, "and {}", count(more as u64, "smaller group"));
    }
    let losses = losses(&captured.losses);
    if !losses.is_empty() {
        text.push('\n');
    }
    losses.iter().for_each(|loss| _ = writeln!(text, "{loss}"));
    text
}

fn names(group: &CapturedGroup) -> String {
    const MOST: usize = 4;
    let shown: Vec<_> = group.tasks.iter().take(MOST).map(|name| printable(name).into_owned()).collect();
    let more = group.tasks.len().saturating_sub(MOST);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

fn does(group: &CapturedGroup) -> &'static str {
    match group {
        CapturedGroup { cycles: true, .. } => "a round for ever",
        CapturedGroup { kernel: true, .. } => "the window again and again, background",
        _ => "the window again and again",
    }
}

/// What could not be followed, a line each.
pub fn losses(losses: &Losses) -> Vec<String> {
    let Losses { unseen_wakeups, attributed, woken_awake, unknown_wakers, never_ran } = *losses;
    let lines = [
        (unseen_wakeups, "sleep", format!("without a wake-up in the source; {attributed} were taken for those of the task's usual waker, others for timers")),
        (woken_awake, "wake-up", "of tasks that were awake as far as was seen, left out".to_owned()),
        (unknown_wakers, "wake-up", "by tasks that did not run there as far as was seen".to_owned()),
        (never_ran, "task", "woken and never seen to run".to_owned()),
    ];
    let line = |(n, what, how): (u64, &str, String)| (n > 0).then(|| format!("{} {how}", count(n, what)));
    lines.into_iter().filter_map(line).collect()
}
