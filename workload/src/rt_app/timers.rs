//! Timers: which threads share one, and what each counts from.

use super::cx::{Cx, Place};
use super::event::Event;
use super::thread::Thread;
use crate::TimerMode;
use crate::error::WorkloadError;
use std::collections::BTreeMap;

/// Whether each thread has a timer of that name for itself, as rt-app says it.
fn unique(name: &str) -> bool {
    name.starts_with("unique")
}

/// Refuses timers that several threads share: rt-app has one `next` for all of them, the model one for each.
pub(super) fn check(cx: &Cx<'_>, threads: &[Thread]) -> Result<(), WorkloadError> {
    let mut users: BTreeMap<&str, (&str, &Place)> = BTreeMap::new();
    for thread in threads {
        let mut mine: Vec<&str> = vec![];
        for step in thread.steps() {
            let Event::Timer { name, .. } = &step.event else { continue };
            if unique(name) || mine.contains(&name.as_str()) {
                continue;
            }
            mine.push(name);
            let what = match users.insert(name, (&thread.name, &step.place)) {
                Some((other, place)) => format!("{other} has the timer {name:?} too (line {})", place.line),
                None if thread.instances > 1 => format!("{} threads have the timer {name:?}", thread.instances),
                None => continue,
            };
            let what =
                format!("{what}, and one that threads share is not modelled; expected a name that begins with unique");
            cx.refuse(&step.place, &what, "each thread has its own")?;
        }
    }
    Ok(())
}

/// The timers of a thread in the order of their first use, which numbers them, with their modes.
///
/// A timer is absolute everywhere if it is so anywhere: rt-app has the mode at the timer, and sets it as it reads.
pub(super) fn of_thread(thread: &Thread, all: &[Thread]) -> Vec<(String, TimerMode)> {
    let mut timers: Vec<(String, TimerMode)> = vec![];
    for step in thread.steps() {
        let Event::Timer { name, .. } = &step.event else { continue };
        if timers.iter().any(|(known, _)| known == name) {
            continue;
        }
        let absolute = |thread: &Thread| {
            thread.steps().any(|step| matches!(&step.event, Event::Timer { name: n, absolute: true, .. } if n == name))
        };
        let absolute = if unique(name) { absolute(thread) } else { all.iter().any(absolute) };
        timers.push((name.clone(), if absolute { TimerMode::Absolute } else { TimerMode::Relative }));
    }
    timers
}
