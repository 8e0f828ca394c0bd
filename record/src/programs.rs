//! The BPF programs, loaded and attached as the arguments ask.

use crate::args::{Args, Snapshot};
use crate::bpf_program::{OpenRecordSkel, RecordSkel};
use crate::buffer;
use crate::machine::{self, Machine};
use crate::messages;
use crate::refusal::of_load;
use crate::wire::{CpuSlow, CpuState, Decision, SCRATCH_HEAD};
use anyhow::{Context, Result};
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{Link, OpenObject};
use std::mem::MaybeUninit;

/// Loads and attaches; nothing is counted or taken down yet.
pub fn start<'a>(
    place: &'a mut MaybeUninit<OpenObject>,
    args: &Args,
    machine: &Machine,
    inferred: bool,
) -> Result<(RecordSkel<'a>, Vec<Link>)> {
    let mut open = machine::open(place)?;
    choose(&mut open, args, inferred);
    let cpus = machine.nr_cpus;
    open.maps.scratches.set_max_entries(cpus as u32)?;
    let scratch = SCRATCH_HEAD + size_of::<Decision>() + cpus * (size_of::<CpuState>() + size_of::<CpuSlow>());
    open.maps.scratches.set_value_size(scratch as u32)?;
    let room = buffer::bytes(args, cpus);
    open.maps.ring.set_max_entries(room)?;
    set(&mut open, args, machine)?;
    let (started, said) = messages::gathered(|| {
        let skel = open.load()?;
        let links = attach(&skel, args, inferred)?;
        Ok((skel, links))
    });
    let (skel, links) = started.map_err(|e| of_load(&e, &said))?;
    if args.verbose {
        eprintln!("the buffer has {} MiB, the places of the CPUs {} KiB", room >> 20, (scratch * cpus) >> 10);
        eprintln!("the kernel's verifier went through {} instructions at most", crate::overhead::verified(&skel.progs));
    }
    Ok((skel, links))
}

/// Which programs there are to be.
fn choose(open: &mut OpenRecordSkel<'_>, args: &Args, inferred: bool) {
    let progs = &mut open.progs;
    for (program, wanted) in [
        (&mut progs.describe, false),
        (&mut progs.on_switch, !args.decisions_only),
        (&mut progs.on_migration, !args.decisions_only),
        (&mut progs.on_idle, !args.decisions_only),
        (&mut progs.on_frequency, !args.decisions_only),
        (&mut progs.on_entry, !inferred),
        (&mut progs.on_exit, !inferred),
        (&mut progs.infer_waking, inferred),
        (&mut progs.infer_moved, inferred),
        (&mut progs.infer_woken, inferred),
    ] {
        program.set_autoload(wanted);
    }
}

/// Sets their constants.
fn set(open: &mut OpenRecordSkel<'_>, args: &Args, machine: &Machine) -> Result<()> {
    let rodata = open.maps.rodata_data.as_mut().context("the program has no constants")?;
    rodata.nr_cpus = machine.nr_cpus as u32;
    rodata.has_bpf_loop = u32::from(crate::probe::has_bpf_loop());
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
    Ok(())
}

fn attach(skel: &RecordSkel<'_>, args: &Args, inferred: bool) -> libbpf_rs::Result<Vec<Link>> {
    let mut links = Vec::new();
    let programs = &skel.progs;
    if !args.decisions_only {
        links.push(programs.on_switch.attach()?);
        links.push(programs.on_migration.attach()?);
        links.push(programs.on_idle.attach()?);
        links.push(programs.on_frequency.attach()?);
    }
    links.push(programs.on_waking.attach()?);
    if inferred {
        links.push(programs.infer_moved.attach()?);
        links.push(programs.infer_woken.attach()?);
        links.push(programs.infer_waking.attach()?);
    } else {
        // The exit first: an entry without its exit leaves nothing, an exit without its entry is passed over.
        links.push(programs.on_exit.attach()?);
        links.push(programs.on_entry.attach()?);
    }
    Ok(links)
}
