//! From the first line to the last.

use crate::args::Args;
use crate::recording::Recording;
use crate::scheduler::{Scheduler, Settings};
use crate::stats::Metrics;
use crate::{ab, costs, features, messages, refusal, server};
use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether the end has come.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The same while records come.
const RECORD_EVERY: Duration = Duration::from_millis(10);
/// How long --costs looks.
const COSTS_OF: Duration = Duration::from_secs(10);

/// Does what the arguments say; gives the exit code.
///
/// # Errors
/// Where the scheduler cannot run, or the kernel has ended it.
pub fn run(args: &Args) -> Result<u8> {
    messages::listen(args.verbose);
    if let Some(list) = &args.set {
        let on: String = server::request(&[("target", "set"), ("features", list)])?;
        println!("{on}");
        return Ok(0);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    ctrlc::set_handler(move || seen.store(true, Ordering::Relaxed)).context("signals cannot be waited for")?;
    if args.monitor {
        return monitor(args.once, &stop).map(|()| 0);
    }
    if args.costs {
        return costs::print(args.duration.unwrap_or(COSTS_OF), args.json, &stop).map(|()| 0);
    }
    refusal::check()?;
    schedule(args, &stop)
}

/// Prints what the scheduler that runs says of itself.
fn monitor(once: bool, stop: &AtomicBool) -> Result<()> {
    let mut before: Metrics = server::request(&[])?;
    if once {
        return heard(before.write(&mut std::io::stdout(), true)).map(drop);
    }
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(1));
        let now: Metrics = server::request(&[])?;
        let mut to = std::io::stdout();
        if !heard(now.since(&before).write(&mut to, true).and_then(|()| writeln!(to)))? {
            break;
        }
        before = now;
    }
    Ok(())
}

/// Whether there is still a reader of what was written: `| head` goes when it has enough.
fn heard(written: std::io::Result<()>) -> Result<bool> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => Ok(written.map(|()| true)?),
    }
}

/// The folder of a recording: another machine, once it has begun anew, is another recording (`rec`, `rec-2`, ...).
fn part(path: &Path, restarts: usize) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    if restarts > 0 {
        path.push(format!("-{}", restarts + 1));
    }
    path.into()
}

fn schedule(args: &Args, stop: &AtomicBool) -> Result<u8> {
    let mut on = features::switched(features::defaults(), args.features.as_deref().unwrap_or_default())?;
    let start = Instant::now();
    let mut restarts = 0;
    loop {
        let settings = Settings {
            features: on,
            slice_ns: args.slice_us * 1000,
            recording: args.record.is_some(),
            verbose: args.verbose,
        };
        let mut place = MaybeUninit::uninit();
        let mut scheduler = Scheduler::start(&mut place, &settings)?;
        if args.ab.is_some() {
            let result = ab::run(args, &mut scheduler, stop);
            scheduler.leave().report()?;
            return result.map(|()| 0);
        }
        let server = server::open()?;
        let mut recording = match &args.record {
            Some(path) => {
                Some(Recording::begin(&part(path, restarts), &scheduler.skel, &scheduler.machine, scheduler.hz)?)
            }
            None => None,
        };
        let wait = if recording.is_some() { RECORD_EVERY } else { LOOK_EVERY };
        eprintln!("scx_wakelab: enabled, {}", features::text(scheduler.features()));
        let (mut told, mut before) = (Instant::now(), Metrics::read(&scheduler));
        while !stop.load(Ordering::Relaxed)
            && !scheduler.ended()
            && args.duration.is_none_or(|most| start.elapsed() < most)
        {
            server::answer(&server, &mut scheduler, wait);
            if let Some(recording) = &mut recording {
                recording.consume()?;
            }
            if args.stats.is_some_and(|every| told.elapsed() >= every) {
                let now = Metrics::read(&scheduler);
                now.since(&before).write(&mut std::io::stdout(), false)?;
                (told, before) = (Instant::now(), now);
            }
        }
        on = scheduler.features();
        drop(server);
        let last = Metrics::read(&scheduler);
        if let Some(recording) = recording {
            let (written, stable) = recording.end()?;
            eprintln!("scx_wakelab: {written} decisions recorded ({stable} stable), {} lost", last.lost_records);
        }
        let info = scheduler.leave();
        info.report()?;
        if !info.should_restart() {
            return Ok(0);
        }
        restarts += 1;
        eprintln!("scx_wakelab: begins anew");
    }
}
