//! The actions of the program, by its arguments.

use crate::args::Args;
use crate::messages::say;
use crate::recording::Recording;
use crate::scheduler::{Scheduler, Settings};
use crate::stats::Metrics;
use crate::{ab, costs, messages, refusal, server};
use anyhow::{Context, Result};
use rustix::thread::CapabilitySet;
use std::io::{ErrorKind, Write};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wakelab_input::printable;
use wakelab_process::capabilities;
use wakelab_process::signals::Signals;
use wakelab_scx_decisions::features;

/// How often the end is checked for.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How often the ring buffer is read, if decisions are recorded.
const RECORD_INTERVAL: Duration = Duration::from_millis(10);
/// How long --costs measures if --duration is not given.
const COSTS_DURATION: Duration = Duration::from_secs(10);

/// Does what the arguments request. Returns the exit code.
///
/// # Errors
/// Fails if the scheduler cannot run, or the kernel has disabled it because of an error.
pub fn run(args: &Args) -> Result<u8> {
    messages::listen(args.verbose);
    if let Some(list) = &args.set {
        let on: String = server::request(&[("target", "set"), ("features", list)])?;
        println!("{}", printable(&on));
        return Ok(0);
    }
    let signals = Signals::catch().context("cannot catch signals")?;
    if args.monitor {
        return monitor(args.once, &signals).map(|()| 0);
    }
    if args.costs {
        costs::print(args.duration.unwrap_or(COSTS_DURATION), args.json, &signals)?;
        return Ok(signals.exit_code().unwrap_or(0));
    }
    refusal::check()?;
    schedule(args, &signals)
}

/// Prints the statistics and the state of the running scheduler, until a signal comes.
fn monitor(once: bool, signals: &Signals) -> Result<()> {
    let mut before: Metrics = server::request(&[])?;
    if once {
        return heard(before.write(&mut std::io::stdout(), true)).map(drop);
    }
    while signals.caught().is_none() {
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

/// Whether the output still has a reader. `| head` closes it when it has enough.
fn heard(written: std::io::Result<()>) -> Result<bool> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => Ok(written.map(|()| true)?),
    }
}

/// The folder of a recording. After a restart the machine is another one, and so is the recording (`rec`, `rec-2`,
/// ...).
fn part(path: &Path, restarts: usize) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    if restarts > 0 {
        path.push(format!("-{}", restarts + 1));
    }
    path.into()
}

fn schedule(args: &Args, signals: &Signals) -> Result<u8> {
    let mut on = features::switched(features::defaults(), args.features.as_deref().unwrap_or_default())?;
    let start = Instant::now();
    let mut restarts = 0;
    loop {
        let settings = Settings {
            features: on,
            sis_param: args.param.clone(),
            slice_ns: args.slice_us * 1000,
            recording: args.record.is_some(),
            verbose: args.verbose,
        };
        let mut place = MaybeUninit::uninit();
        let mut scheduler = Scheduler::start(&mut place, &settings)?;
        if args.ab.is_some() {
            capabilities::drop_unneeded(CapabilitySet::all()).context("cannot drop capabilities")?;
            let complete = ab::run(args, &mut scheduler, signals);
            scheduler.leave().report()?;
            return complete.map(|complete| if complete { 0 } else { signals.exit_code().unwrap_or(0) });
        }
        let mut recording = match &args.record {
            Some(path) => {
                Some(Recording::begin(&part(path, restarts), &scheduler.skel, &scheduler.machine, scheduler.hz)?)
            }
            None => None,
        };
        // The program is loaded, and the folder is made. Both may be needed again after a restart.
        capabilities::drop_unneeded(CapabilitySet::all()).context("cannot drop capabilities")?;
        let server = server::open()?;
        let wait = if recording.is_some() { RECORD_INTERVAL } else { POLL_INTERVAL };
        say(&format!("scx_wakelab: enabled, {}", features::text(scheduler.features())));
        let (mut told, mut before) = (Instant::now(), Metrics::read(&scheduler));
        while signals.caught().is_none()
            && !scheduler.ended()
            && args.duration.is_none_or(|most| start.elapsed() < most)
        {
            server::answer(&server, &mut scheduler, wait);
            if let Some(recording) = &mut recording {
                recording.consume()?;
            }
            if args.stats.is_some_and(|every| told.elapsed() >= every) {
                let now = Metrics::read(&scheduler);
                // A closed terminal or pipe does not end the scheduler.
                let _ = now.since(&before).write(&mut std::io::stdout(), false);
                (told, before) = (Instant::now(), now);
            }
        }
        on = scheduler.features();
        drop(server);
        let last = Metrics::read(&scheduler);
        if let Some(recording) = recording {
            let (written, stable) = recording.end()?;
            say(&format!("scx_wakelab: {written} decisions recorded ({stable} stable), {} lost", last.lost_records));
        }
        let info = scheduler.leave();
        info.report()?;
        if !info.should_restart() {
            // Without --duration a signal is how the scheduler is ended.
            return Ok(args.duration.and(signals.exit_code()).unwrap_or(0));
        }
        restarts += 1;
        capabilities::restore().context("cannot restore capabilities")?;
        say("scx_wakelab: a new CPU came online: restarting");
    }
}
