//! Leaving idle after short and long sleeps, and how exact timers are.

use super::ping::{pass, wait_while};
use super::wake::wait;
use super::{Run, join, on_cpu};
use crate::cpus::pin;
use crate::samples::{Spread, ns};
use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wakelab_sched::cpumask::Cpu;

/// How long the woken CPU was idle, us.
pub const IDLE_US: [u32; 4] = [20, 200, 2_000, 20_000];

/// What the word is while the thread sleeps, while it is woken, and at the end.
const SLEEPS: u32 = 0;
const WOKEN: u32 = 1;
const END: u32 = 2;

/// From the call that wakes a thread to the thread running, and in which idle state its CPU was meanwhile.
pub(super) fn wake_after(cpus: [Cpu; 2], us: u32, run: Run<'_>) -> io::Result<(Spread, Option<String>)> {
    let (word, ran_at) = (&AtomicU32::new(SLEEPS), &AtomicU64::new(0));
    let epoch = Instant::now();
    let now = move || epoch.elapsed().as_nanos() as u64;
    let before = usage(cpus[1]);
    let spread = std::thread::scope(|scope| {
        let sleeper = scope.spawn(move || {
            pin(&[cpus[1]])?;
            while wait_while(word, SLEEPS)? != END {
                ran_at.store(now(), Ordering::Release);
                word.store(SLEEPS, Ordering::Release);
            }
            Ok(())
        });
        let waker = scope.spawn(move || {
            let result = pin(&[cpus[0]]).and_then(|()| {
                run.sample(|| {
                    ran_at.store(0, Ordering::Release);
                    wait(Duration::from_micros(u64::from(us)));
                    let woken_at = now();
                    pass(word, WOKEN)?;
                    let deadline = Instant::now() + Duration::from_millis(100);
                    while ran_at.load(Ordering::Acquire) == 0 && Instant::now() < deadline {
                        std::hint::spin_loop();
                    }
                    let ran_at = ran_at.load(Ordering::Acquire);
                    Ok((ran_at > woken_at).then(|| (ran_at - woken_at) as f64))
                })
            });
            pass(word, END).and(result)
        });
        let (spread, ended) = (join(waker), join(sleeper));
        ended.and(spread)
    })?;
    Ok((spread, before.zip(usage(cpus[1])).and_then(|(before, after)| mostly(&before, &after))))
}

/// By idle state of a CPU: its name, and how often it was entered. `None` where sysfs does not show them.
fn usage(cpu: Cpu) -> Option<Vec<(String, u64)>> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let read =
        |state: usize, file: &str| fs::read_to_string(Path::new(&folder).join(format!("state{state}/{file}"))).ok();
    let one = |state| Some((read(state, "name")?.trim().to_owned(), read(state, "usage")?.trim().parse().ok()?));
    let all: Vec<_> = (0..).map_while(one).collect();
    (!all.is_empty()).then_some(all)
}

/// The state that was entered most.
fn mostly(before: &[(String, u64)], after: &[(String, u64)]) -> Option<String> {
    let entered = |(now, then): (&(String, u64), &(String, u64))| (now.1.saturating_sub(then.1), now.0.clone());
    let all: Vec<(u64, String)> = after.iter().zip(before).map(entered).collect();
    let sum: u64 = all.iter().map(|one| one.0).sum();
    let (most, name) = all.into_iter().max()?;
    (sum > 0).then(|| format!("{:.0}% of {sum} idle times in {name}", 100.0 * most as f64 / sum as f64))
}

/// How much longer than asked sleeps take; `slack` in ns, that of the process if `None`.
pub(super) fn sleeps_too_long(cpu: Cpu, slack: Option<u64>, run: Run<'_>) -> io::Result<Spread> {
    let sleep = Duration::from_micros(200);
    on_cpu(cpu, || {
        let own = current_timer_slack()?;
        set_current_timer_slack(NonZeroU64::new(slack.unwrap_or(own)))?;
        run.sample(|| {
            let began = Instant::now();
            std::thread::sleep(sleep);
            Ok(Some(ns(began.elapsed()) - ns(sleep)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_that_was_entered_most_is_named() {
        let states = |poll, c1| vec![("POLL".to_owned(), poll), ("C1".to_owned(), c1)];
        let text = mostly(&states(10, 100), &states(20, 190));
        assert_eq!(text.as_deref(), Some("90% of 100 idle times in C1"));
        assert_eq!(mostly(&states(1, 2), &states(1, 2)), None);
    }

    #[test]
    fn a_cpu_without_idle_states_has_none() {
        assert_eq!(usage(1_000_000), None);
    }
}
