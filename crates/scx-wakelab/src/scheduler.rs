//! The BPF program: opened, configured for the machine, loaded and attached.

use crate::bpf_skel::{BpfSkel, BpfSkelBuilder, OpenBpfSkel};
use crate::bpf_variables::BpfVariables;
use crate::exit::Exit;
use crate::machine::Machine;
use crate::sis_param::SisParam;
use crate::{hz, messages, refusal};
use anyhow::{Context, Result};
use libbpf_rs::{Link, OpenObject};
use scx_utils::{compat, scx_ops_attach, scx_ops_load, scx_ops_open};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

/// The settings of the program, which are fixed before it is loaded.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The features that are on, by bit. They can be switched later.
    pub features: u64,
    /// The parameters of SIS_PARAM.
    pub sis_param: SisParam,
    /// The slice, ns.
    pub slice_ns: u64,
    /// Whether the program records decisions.
    pub recording: bool,
    /// Whether the kernel's dump of all run queues is printed if the kernel disables the scheduler.
    pub verbose: bool,
}

/// The scheduler while it runs. When this is dropped, the kernel disables it, and the fair class takes over.
pub struct Scheduler<'a> {
    link: Option<Link>,
    /// The variables of the program.
    pub variables: BpfVariables<'a>,
    /// The program and its maps, without the variables.
    pub skel: BpfSkel<'a>,
    /// The machine that the program was configured for.
    pub machine: Machine,
    /// `HZ` of the kernel.
    pub hz: u32,
}

impl<'a> Scheduler<'a> {
    /// Loads and attaches the program.
    ///
    /// # Errors
    /// Fails with one line that says why, if the kernel refuses the program.
    pub fn start(place: &'a mut MaybeUninit<OpenObject>, settings: &Settings) -> Result<Self> {
        let machine = Machine::read().context("the machine's topology cannot be read from /sys/devices/system")?;
        messages::take();
        let opened: Result<OpenBpfSkel<'a>> = scx_ops_open!(
            BpfSkelBuilder::default(),
            place,
            wakelab,
            None::<libbpf_rs::libbpf_sys::bpf_object_open_opts>
        );
        let mut open = opened.map_err(|e| refusal::of_load(&e, &messages::take()))?;
        let hz = hz::measure()?;
        describe(&mut open, &machine, settings, hz)?;
        without_groups(&mut open);
        if !settings.verbose {
            // Without --verbose the reason takes one line, so no dump is wanted.
            open.struct_ops.wakelab_mut().exit_dump_len = 1;
        }
        let loaded: Result<BpfSkel<'a>> = scx_ops_load!(open, wakelab, uei);
        let mut skel = loaded.map_err(|e| refusal::of_load(&e, &messages::take()))?;
        let variables = BpfVariables::take(&mut skel.maps.bss_data, &mut skel.maps.data_data)?;
        let attached: Result<Link> = scx_ops_attach!(skel, wakelab);
        let link = attached.map_err(|e| refusal::of_load(&e, &messages::take()))?;
        Ok(Scheduler { link: Some(link), variables, skel, machine, hz })
    }

    /// Whether the kernel has disabled the scheduler.
    pub fn ended(&self) -> bool {
        self.variables.has_exited()
    }

    /// Disables the scheduler if it still runs. Returns why it has ended.
    pub fn leave(mut self) -> Exit {
        drop(self.link.take());
        Exit::of(&self.variables.exit_info())
    }

    /// The features that are on, by bit.
    pub fn features(&self) -> u64 {
        self.variables.features().load(Ordering::Relaxed)
    }

    /// Sets the features that are on. Decisions that begin later read them.
    pub fn set_features(&self, features: u64) {
        self.variables.features().store(features, Ordering::Relaxed);
    }
}

/// Removes the callbacks of control groups on a kernel that does not have them (without CONFIG_EXT_GROUP_SCHED).
/// scx_utils handles cgroup_set_idle.
fn without_groups(open: &mut OpenBpfSkel<'_>) {
    if compat::struct_has_field("sched_ext_ops", "cgroup_init").unwrap_or(false) {
        return;
    }
    let ops = open.struct_ops.wakelab_mut();
    ops.cgroup_init = std::ptr::null_mut();
    ops.cgroup_exit = std::ptr::null_mut();
    ops.cgroup_move = std::ptr::null_mut();
    ops.cgroup_set_weight = std::ptr::null_mut();
}

/// Sets the constants and the initial values of the variables, which the kernel has not mapped yet.
fn describe(open: &mut OpenBpfSkel<'_>, machine: &Machine, settings: &Settings, hz: u32) -> Result<()> {
    let rodata = open.maps.rodata_data.as_mut().context("the program has no constants")?;
    rodata.nr_cpus = machine.nr_cpus as u32;
    rodata.nr_llcs = machine.llcs.len() as u32;
    rodata.nr_levels = machine.levels.len() as u32;
    rodata.hz = hz;
    rodata.smt_active = machine.smt;
    rodata.asym_capacity = machine.asym;
    rodata.scan_interval_ns = machine.scan_interval_ns();
    rodata.min_granularity_ns = machine.base_slice_ns();
    rodata.recording = settings.recording;
    settings.sis_param.set(&mut rodata.sis_param);
    for (at, level) in machine.levels.iter().enumerate() {
        rodata.level_pct[at] = level.imbalance_pct;
        rodata.level_affine[at] = level.affine;
    }
    let mut first = 0;
    for (at, cpus) in machine.llcs.iter().enumerate() {
        let llc = &mut rodata.llc_infos[at];
        (llc.first, llc.nr, llc.imbalance_pct) = (first as u32, cpus.len() as u32, machine.llc_pct(at));
        for (place, &cpu) in cpus.iter().enumerate() {
            rodata.llc_cpus[first + place] = cpu as u16;
        }
        first += cpus.len();
    }
    for cpu in &machine.cpus {
        let info = &mut rodata.cpu_infos[cpu.id];
        (info.llc, info.llc_pos, info.capacity) = (cpu.llc as u32, cpu.llc_pos as u32, cpu.capacity);
        info.nr_smt = cpu.smt.len() as u32;
        for (to, &sibling) in info.smt.iter_mut().zip(&cpu.smt) {
            *to = sibling as u16;
        }
        info.level[..cpu.levels.len()].copy_from_slice(&cpu.levels);
    }
    let bss = open.maps.bss_data.as_mut().context("the program has no variables")?;
    bss.features = settings.features;
    let data = open.maps.data_data.as_mut().context("the program has no data")?;
    data.slice_ns = settings.slice_ns;
    Ok(())
}
