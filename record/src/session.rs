//! A recording from its first record to its last.

use crate::args::{Args, Snapshot};
use crate::bpf_program::RecordSkel;
use crate::kernel::Kernel;
use crate::machine::{self, Machine};
use crate::messages;
use crate::overhead::Overhead;
use crate::refusal::of_load;
use crate::rows::Rows;
use crate::until::Until;
use crate::wire::{KIND_FREQUENCY, KIND_IDLE, KIND_MIGRATION, KIND_SWITCH, Record};
use anyhow::{Context, Result};
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{Link, MapCore, MapFlags, OpenObject, RingBufferBuilder};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};
use wakelab_events::recorded::{FrequencyRow, IdleStateRow, RecordedFolder, RecordedMigrationRow, RecordedSwitchRow};

/// How often the ring buffer is emptied. The program never wakes the reader, which would be a wake-up more for each.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often what has come so far is closed, so that a recorder that is killed leaves it.
const CLOSE_EVERY: Duration = Duration::from_secs(5);

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Decisions of the fair class, recorded or not: of wake-ups, forks and execs.
    pub choices: u64,
    /// Wake-ups of whatever kind.
    pub wakings: u64,
    /// Those of them that came to a decision.
    pub woken: u64,
    /// Decisions that a filter, sampling or the limit left out.
    pub left_out: u64,
    /// Decisions written.
    pub written: u64,
    /// Those that can be compared exactly.
    pub stable: u64,
    /// Decisions that found no room.
    pub lost: u64,
    /// Other events that found none.
    pub lost_events: u64,
    /// What it cost.
    pub overhead: Overhead,
    /// How long it took.
    pub took: Duration,
    /// Exit code of the command.
    pub command: Option<i32>,
}

/// Records.
pub fn run(args: &Args, kernel: &Kernel, machine: &Machine, folder: RecordedFolder) -> Result<Outcome> {
    let mut place = MaybeUninit::<OpenObject>::uninit();
    let mut open = machine::open(&mut place)?;
    open.progs.describe.set_autoload(false);
    if args.decisions_only {
        open.progs.on_switch.set_autoload(false);
        open.progs.on_migration.set_autoload(false);
        open.progs.on_idle.set_autoload(false);
        open.progs.on_frequency.set_autoload(false);
    }
    for (program, wanted) in [
        (&mut open.progs.on_entry, !args.tracepoints),
        (&mut open.progs.on_exit, !args.tracepoints),
        (&mut open.progs.infer_waking, args.tracepoints),
        (&mut open.progs.infer_moved, args.tracepoints),
        (&mut open.progs.infer_woken, args.tracepoints),
    ] {
        program.set_autoload(wanted);
    }
    open.maps.scratches.set_max_entries(machine.nr_cpus as u32)?;
    open.maps.ring.set_max_entries(args.buffer_bytes(machine.nr_cpus))?;
    let rodata = open.maps.rodata_data.as_mut().context("the program has no constants")?;
    rodata.nr_cpus = machine.nr_cpus as u32;
    rodata.hz = machine.hz;
    rodata.snapshot_mode = match args.snapshot {
        Snapshot::None => 0,
        Snapshot::Llc => 1,
        Snapshot::Full => 2,
    };
    rodata.sample_every = args.sample;
    rodata.max_rate = args.max_rate.map_or(0, u64::from);
    rodata.filter_pid = args.pid.unwrap_or(0);
    rodata.filter_comm_len = args.comm.as_ref().map_or(0, |name| name.len() as u32);
    for (to, from) in rodata.filter_comm.iter_mut().zip(args.comm.iter().flat_map(|name| name.bytes())) {
        *to = from as _;
    }
    rodata.filter_cgroup = crate::cgroup::id(args.cgroup.as_deref())?;
    for (at, cpu) in machine.cpus.iter().enumerate() {
        rodata.llc_first[at] = cpu.llc_first as i32;
        rodata.llc_level[at] = cpu.llc_level.map_or(-1, |level| level as i32);
    }
    let (loaded, said) = messages::gathered(|| open.load());
    let mut skel = loaded.map_err(|e| of_load(&e, &said))?;
    let mut until = Until::new(args.duration)?;
    let stats = crate::overhead::enable();
    let started = Instant::now();
    let mut links = attach(&skel, args)?;

    let to = RefCell::new((Rows::new(kernel, machine, args.tracepoints), folder, None::<anyhow::Error>));
    let mut builder = RingBufferBuilder::new();
    builder.add(&skel.maps.ring, |bytes| {
        let (rows, folder, broken) = &mut *to.borrow_mut();
        match put(rows, folder, bytes) {
            Ok(()) => 0,
            Err(e) => {
                *broken = Some(e);
                -1
            }
        }
    })?;
    let ring = builder.build()?;
    until.start(&args.command)?;
    let mut closed = Instant::now();
    loop {
        let over = until.over()?;
        let before = to.borrow().0.seq;
        let consumed = ring.consume();
        if let Some(error) = to.borrow_mut().2.take() {
            return Err(error);
        }
        consumed.context("the ring buffer cannot be read")?;
        if over {
            break;
        }
        if closed.elapsed() > CLOSE_EVERY {
            to.borrow_mut().1.close_segments()?;
            closed = Instant::now();
        }
        if to.borrow().0.seq == before {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    // The entry first, as it was attached last: whatever has begun is still seen to its end.
    while let Some(link) = links.pop() {
        drop(link);
    }
    ring.consume().context("the ring buffer cannot be read")?;
    drop(ring);
    let (rows, mut folder, broken) = to.into_inner();
    if let Some(error) = broken {
        return Err(error);
    }
    folder.close_segments()?;
    let took = started.elapsed();
    let mut outcome = Outcome {
        written: rows.seq as u64,
        stable: rows.stable,
        overhead: Overhead::read(&skel, stats),
        took,
        command: until.code(),
        ..Outcome::default()
    };
    count(&mut skel, machine.nr_cpus, &mut outcome)?;
    Ok(outcome)
}

fn attach(skel: &RecordSkel<'_>, args: &Args) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    let programs = &skel.progs;
    let (result, said) = messages::gathered(|| -> libbpf_rs::Result<()> {
        if !args.decisions_only {
            links.push(programs.on_switch.attach()?);
            links.push(programs.on_migration.attach()?);
            links.push(programs.on_idle.attach()?);
            links.push(programs.on_frequency.attach()?);
        }
        links.push(programs.on_waking.attach()?);
        if args.tracepoints {
            links.push(programs.infer_moved.attach()?);
            links.push(programs.infer_woken.attach()?);
            links.push(programs.infer_waking.attach()?);
            return Ok(());
        }
        // The exit first: an entry without its exit leaves nothing, an exit without its entry is passed over.
        links.push(programs.on_exit.attach()?);
        links.push(programs.on_entry.attach()?);
        Ok(())
    });
    result.map_err(|e| of_load(&e, &said))?;
    Ok(links)
}

fn put(rows: &mut Rows<'_>, folder: &mut RecordedFolder, bytes: &[u8]) -> Result<()> {
    let event = match Record::parse(bytes) {
        Some(Record::Decision(decision, cpus, slow)) => return rows.write(folder, &decision, cpus, slow),
        Some(Record::Event(event)) => event,
        None => return Ok(()),
    };
    let (t_ns, cpu) = (event.t_ns as i64, event.cpu as i32);
    match event.kind {
        KIND_SWITCH => folder.switch(RecordedSwitchRow {
            t_ns,
            cpu,
            prev_pid: event.a,
            prev_sleeps: event.c != 0,
            next_pid: event.b,
        })?,
        KIND_MIGRATION => {
            folder.migration(RecordedMigrationRow { t_ns, pid: event.a, from_cpu: event.b, to_cpu: event.c })?;
        }
        KIND_IDLE => folder.idle(IdleStateRow { t_ns, cpu, state: (event.a >= 0).then_some(event.a) })?,
        KIND_FREQUENCY => folder.frequency(FrequencyRow { t_ns, cpu, khz: event.a.into() })?,
        _ => {}
    }
    Ok(())
}

/// Reads what the program has counted.
fn count(skel: &mut RecordSkel<'_>, nr_cpus: usize, outcome: &mut Outcome) -> Result<()> {
    let bss = skel.maps.bss_data.as_ref().context("the program has no variables")?;
    (outcome.lost, outcome.lost_events) = (bss.lost, bss.lost_events);
    for cpu in 0..nr_cpus as u32 {
        let scratch = skel.maps.scratches.lookup(&cpu.to_ne_bytes(), MapFlags::ANY)?.context("no such CPU")?;
        let counter =
            |at: usize| scratch.get(at * 8..).and_then(|b| b.first_chunk::<8>()).map_or(0, |b| u64::from_ne_bytes(*b));
        // By their places in struct scratch.
        outcome.choices += counter(3);
        outcome.left_out += counter(4);
        outcome.wakings += counter(6);
        outcome.woken += counter(7);
    }
    Ok(())
}
