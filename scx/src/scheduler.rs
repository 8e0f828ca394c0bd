//! The program in the kernel: opened, told of the machine, loaded and attached.

use crate::bpf_skel::{BpfSkel, BpfSkelBuilder, OpenBpfSkel};
use crate::machine::Machine;
use crate::{hz, messages, refusal};
use anyhow::{Context, Result};
use libbpf_rs::{Link, OpenObject};
use scx_utils::{UserExitInfo, compat, scx_ops_attach, scx_ops_load, scx_ops_open, uei_exited, uei_read};
use std::mem::MaybeUninit;

/// What the program is told before it is loaded.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its features, by bit.
    pub features: u64,
    /// Its slice, ns.
    pub slice_ns: u64,
    /// Whether it records what it decides.
    pub recording: bool,
    /// Whether the kernel's dump of all run queues is shown where it ends it.
    pub verbose: bool,
}

/// The scheduler while it runs. Dropped, it leaves, and the kernel's own scheduler takes over.
pub struct Scheduler<'a> {
    /// The program and its state.
    pub skel: BpfSkel<'a>,
    link: Option<Link>,
    /// The machine that it was told of.
    pub machine: Machine,
    /// Ticks a second.
    pub hz: u32,
}

impl<'a> Scheduler<'a> {
    /// Loads and attaches it.
    ///
    /// # Errors
    /// Where the kernel refuses: one line says why.
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
            // The kernel's dump of all run queues is no line that says why.
            open.struct_ops.wakelab_mut().exit_dump_len = 1;
        }
        let loaded: Result<BpfSkel<'a>> = scx_ops_load!(open, wakelab, uei);
        let mut skel = loaded.map_err(|e| refusal::of_load(&e, &messages::take()))?;
        let attached: Result<Link> = scx_ops_attach!(skel, wakelab);
        let link = attached.map_err(|e| refusal::of_load(&e, &messages::take()))?;
        Ok(Scheduler { skel, link: Some(link), machine, hz })
    }

    /// Whether the kernel has ended it.
    pub fn ended(&self) -> bool {
        uei_exited!(&self.skel, uei)
    }

    /// Leaves, and gives why: by itself, or what the kernel said.
    pub fn leave(mut self) -> UserExitInfo {
        drop(self.link.take());
        uei_read!(&self.skel, uei)
    }

    /// What is on, by bit.
    pub fn features(&self) -> u64 {
        self.skel.maps.bss_data.as_ref().map_or(0, |bss| bss.features)
    }

    /// Switches features.
    pub fn set_features(&mut self, features: u64) {
        if let Some(bss) = self.skel.maps.bss_data.as_mut() {
            // SAFETY: the place is mapped, and the program reads it in one access.
            unsafe { std::ptr::write_volatile(&raw mut bss.features, features) };
        }
    }
}

/// A kernel without group scheduling (CONFIG_EXT_GROUP_SCHED) has no place for these; scx_utils looks for
/// cgroup_set_idle.
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
