//! Loads and attaches the BPF programs as the arguments request.

use crate::args::{Args, Snapshot, UsageError};
use crate::bpf_program::{OpenRecordSkel, RecordSkel};
use crate::bpf_variables::BpfVariables;
use crate::counts::verified_instructions;
use crate::machine::{self, Machine};
use crate::refusal::{capture_libbpf_log, load_refusal};
use crate::ring_buffer;
use crate::wire::{BALANCE_SCRATCH_HEAD, Balance, CpuSlow, CpuState, Decision, SCRATCH_HEAD};
use anyhow::{Context, Result};
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{Link, OpenObject};
use std::mem::MaybeUninit;

/// The programs, loaded and attached.
pub struct Loaded<'a> {
    /// A program is detached when its link is dropped.
    pub links: Vec<Link>,
    /// The walk over all tasks; `None` if their groups are not recorded.
    pub each_task: Option<Link>,
    /// Their variables.
    pub variables: BpfVariables<'a>,
    /// Their skeleton, without the variables. The object is closed when it is dropped.
    pub skel: RecordSkel<'a>,
}

/// Loads and attaches the programs. Nothing is counted or recorded until `counting` is set.
pub fn start<'a>(
    place: &'a mut MaybeUninit<OpenObject>,
    args: &Args,
    machine: &Machine,
    inferred: bool,
) -> Result<Loaded<'a>> {
    let mut open = machine::open(place)?;
    select_programs(&mut open, args, inferred);
    if args.wakeup_preempt {
        target_wakeup_preempt(&mut open, machine)?;
    }
    if args.balance.is_some() {
        target_balance(&mut open, machine)?;
    }
    let cpus = machine.nr_cpus;
    open.maps.scratches.set_max_entries(cpus as u32)?;
    let scratch = SCRATCH_HEAD + size_of::<Decision>() + cpus * (size_of::<CpuState>() + size_of::<CpuSlow>());
    open.maps.scratches.set_value_size(scratch as u32)?;
    let ring_bytes = ring_buffer::size(args, cpus);
    open.maps.ring.set_max_entries(ring_bytes)?;
    set_constants(&mut open, args, machine)?;
    let (loaded, log) = capture_libbpf_log(|| open.load());
    let mut skel = loaded.map_err(|e| load_refusal(&e, &log))?;
    let variables = BpfVariables::take(&mut skel.maps.bss_data)?;
    let (links, log) = capture_libbpf_log(|| {
        let each_task = (!args.decisions_only).then(|| skel.progs.on_each_task.attach()).transpose()?;
        Ok::<_, libbpf_rs::Error>((attach(&skel, args, inferred)?, each_task))
    });
    let (links, each_task) = links.map_err(|e| load_refusal(&e, &log))?;
    if args.verbose {
        eprintln!("the ring buffer has {} MiB, the scratch memory {} KiB", ring_bytes >> 20, (scratch * cpus) >> 10);
        eprintln!("the kernel's verifier processed at most {} instructions", verified_instructions(&skel.progs));
    }
    Ok(Loaded { links, each_task, variables, skel })
}

/// Selects the programs to load.
fn select_programs(open: &mut OpenRecordSkel<'_>, args: &Args, inferred: bool) {
    let progs = &mut open.progs;
    for (program, wanted) in [
        (&mut progs.describe, false),
        (&mut progs.on_switch, !args.decisions_only),
        (&mut progs.on_migration, !args.decisions_only),
        (&mut progs.on_idle, !args.decisions_only),
        (&mut progs.on_frequency, !args.decisions_only),
        (&mut progs.on_task_exit, !args.decisions_only),
        (&mut progs.on_each_task, !args.decisions_only),
        (&mut progs.on_entry, !inferred),
        (&mut progs.on_exit, !inferred),
        (&mut progs.infer_waking, inferred),
        (&mut progs.infer_moved, inferred),
        (&mut progs.infer_woken, inferred),
        (&mut progs.on_preempt_entry, args.wakeup_preempt),
        (&mut progs.on_preempt_exit, args.wakeup_preempt),
        (&mut progs.on_balance_entry, args.balance.is_some()),
        (&mut progs.on_balance_exit, args.balance.is_some()),
    ] {
        program.set_autoload(wanted);
    }
}

/// Returns the function that the programs of a flag are attached to. They loop with `bpf_loop()`.
fn target(flag: &str, function: Option<&'static str>, without: &str) -> Result<&'static str> {
    let missing = |what: &str| UsageError(format!("{flag}: this kernel has {what}"));
    if !crate::probe::has_bpf_loop() {
        return Err(missing("no bpf_loop(), which was added in 5.17").into());
    }
    Ok(function.ok_or_else(|| missing(without))?)
}

/// Selects the function of this kernel that decides on wake-up preemption.
fn target_wakeup_preempt(open: &mut OpenRecordSkel<'_>, machine: &Machine) -> Result<()> {
    let function = target("--wakeup-preempt", crate::probe::wakeup_preempt(), "no function of the fair class for it")?;
    open.progs.on_preempt_entry.set_attach_target(0, Some(function.to_owned()))?;
    open.progs.on_preempt_exit.set_attach_target(0, Some(function.to_owned()))?;
    open.maps.preempt_scratches.set_max_entries(machine.nr_cpus as u32)?;
    Ok(())
}

/// Selects the function of this kernel that finds the group to pull from.
fn target_balance(open: &mut OpenRecordSkel<'_>, machine: &Machine) -> Result<()> {
    let function = target("--balance", crate::probe::find_busiest_group(), "inlined find_busiest_group()")?;
    open.progs.on_balance_entry.set_attach_target(0, Some(function.to_owned()))?;
    open.progs.on_balance_exit.set_attach_target(0, Some(function.to_owned()))?;
    open.maps.balance_scratches.set_max_entries(machine.nr_cpus as u32)?;
    let scratch = BALANCE_SCRATCH_HEAD + size_of::<Balance>() + machine.nr_cpus * size_of::<CpuState>();
    open.maps.balance_scratches.set_value_size(scratch as u32)?;
    Ok(())
}

/// Sets the constants of the programs (`.rodata`), which are not mapped by the kernel yet.
fn set_constants(open: &mut OpenRecordSkel<'_>, args: &Args, machine: &Machine) -> Result<()> {
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
    rodata.balance_every = args.balance.unwrap_or(1);
    rodata.wakings_too = u32::from(!args.decisions_only);
    rodata.max_rate = args.max_rate.map_or(0, u64::from);
    rodata.filter_pid = args.pid.unwrap_or(0);
    rodata.filter_comm_len = args.comm.as_ref().map_or(0, |name| name.len() as u32);
    for (to, from) in rodata.filter_comm.iter_mut().zip(args.comm.iter().flat_map(|name| name.bytes())) {
        *to = from as _;
    }
    rodata.filter_cgroup = crate::args::cgroup_id(args.cgroup.as_deref())?;
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
        links.push(programs.on_task_exit.attach()?);
    }
    if args.wakeup_preempt {
        links.push(programs.on_preempt_exit.attach()?);
        links.push(programs.on_preempt_entry.attach()?);
    }
    if args.balance.is_some() {
        links.push(programs.on_balance_exit.attach()?);
        links.push(programs.on_balance_entry.attach()?);
    }
    links.push(programs.on_waking.attach()?);
    if inferred {
        links.push(programs.infer_moved.attach()?);
        links.push(programs.infer_woken.attach()?);
        links.push(programs.infer_waking.attach()?);
    } else {
        // The exit is attached first: an exit without its entry is ignored, while an entry without its exit would be
        // counted and never recorded.
        links.push(programs.on_exit.attach()?);
        links.push(programs.on_entry.attach()?);
    }
    Ok(links)
}
