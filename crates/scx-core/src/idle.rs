//! The built-in choice of an idle CPU (`kernel/sched/ext/idle.c`, up to 6.18 `ext_idle.c`).

use crate::flags::{
    SCX_OPS_BUILTIN_IDLE_PER_NODE, SCX_OPS_KEEP_BUILTIN_IDLE, SCX_PICK_IDLE_CORE, SCX_PICK_IDLE_IN_NODE, SCX_WAKE_SYNC,
};
use std::sync::Arc;
use wakelab_kernel::{ExtRules, ExtSelectCpu};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{SchedDomains, SdFlags};

/// The facts about the machine that the choice knows.
#[derive(Clone, Debug)]
pub struct IdleTopology {
    nr_cpus: u32,
    /// `cpu_online_mask`.
    online: CpuMask,
    /// The masks below as they are while all CPUs are online.
    possible: Spans,
    smt_active: bool,
    /// By CPU: `cpu_smt_mask()`.
    smt: Vec<Arc<CpuMask>>,
    /// By CPU: the span of `sd_llc`, if there is one.
    llc: Vec<Option<Arc<CpuMask>>>,
    /// By CPU: the span of the first group of `sd_numa`, if there is one.
    numa: Vec<Option<Arc<CpuMask>>>,
    /// By CPU: its node.
    node: Vec<u32>,
    /// By node: the others, from the nearest on.
    others: Vec<Vec<u32>>,
    /// By CPU: `sd_llc_id`.
    llc_id: Vec<Cpu>,
}

/// Spans of CPUs, by CPU.
#[derive(Clone, Debug)]
struct Spans {
    smt: Vec<Arc<CpuMask>>,
    llc: Vec<Option<Arc<CpuMask>>>,
    numa: Vec<Option<Arc<CpuMask>>>,
}

impl IdleTopology {
    /// Builds it from the domains. `distance` is `node_distance()` of two nodes.
    pub fn new(domains: &SchedDomains, distance: impl Fn(u32, u32) -> u32) -> Self {
        let nr_cpus = domains.nr_cpus;
        let llc = |cpu: usize| Some(domains.domains[cpu][domains.sd_llc[cpu]? as usize].span.clone());
        let numa = |cpu: usize| {
            let sd = domains.domains[cpu].iter().find(|sd| sd.flags.contains(SdFlags::NUMA))?;
            Some(Arc::new(sd.groups[sd.first_group as usize].span.clone()))
        };
        let nr_nodes = domains.node.iter().max().map_or(0, |node| node + 1);
        let others = |node: u32| {
            let mut others: Vec<u32> = (0..nr_nodes).filter(|&other| other != node).collect();
            others.sort_by_key(|&other| (distance(node, other), other));
            others
        };
        let possible = Spans {
            smt: domains.smt_mask.clone(),
            llc: (0..nr_cpus as usize).map(llc).collect(),
            numa: (0..nr_cpus as usize).map(numa).collect(),
        };
        let Spans { smt, llc, numa } = possible.clone();
        IdleTopology {
            nr_cpus,
            online: CpuMask::full(nr_cpus),
            possible,
            smt_active: domains.smt_active,
            smt,
            llc,
            numa,
            node: domains.node.clone(),
            others: (0..nr_nodes).map(others).collect(),
            llc_id: domains.sd_llc_id.clone(),
        }
    }

    /// How many CPUs the machine has.
    pub fn nr_cpus(&self) -> u32 {
        self.nr_cpus
    }

    /// How many nodes the machine has (`nr_node_ids`).
    pub fn nr_nodes(&self) -> u32 {
        self.others.len() as u32
    }

    /// `cpu_to_node()`.
    pub fn node_of(&self, cpu: Cpu) -> u32 {
        self.node[cpu as usize]
    }

    /// `sd_llc_id` of a CPU: the first CPU of its last level cache.
    #[inline]
    pub fn sd_llc_id(&self, cpu: Cpu) -> Cpu {
        self.llc_id[cpu as usize]
    }

    /// `cpu_smt_mask()`: the CPUs of a CPU's core.
    pub fn smt_mask(&self, cpu: Cpu) -> &CpuMask {
        &self.smt[cpu as usize]
    }

    fn shares_cache(&self, a: Cpu, b: Cpu) -> bool {
        self.llc_id[a as usize] == self.llc_id[b as usize]
    }

    /// `llc_numa_mismatch()`.
    fn llc_numa_mismatch(&self) -> bool {
        let weight = |mask: &Option<Arc<CpuMask>>| mask.as_ref().map_or(0, |mask| mask.weight());
        self.online.iter().any(|cpu| weight(&self.llc[cpu as usize]) != weight(&self.numa[cpu as usize]))
    }

    /// These CPUs are online from now on: the masks of siblings and the domains are without the others, which have
    /// none.
    fn set_online(&mut self, online: &CpuMask) {
        self.online.clone_from(online);
        let within =
            |mask: &Arc<CpuMask>| if mask.is_subset(online) { mask.clone() } else { Arc::new(mask.and(online)) };
        let spans = |of: &[Option<Arc<CpuMask>>]| of.iter().map(|mask| mask.as_ref().map(within)).collect();
        self.smt = self.possible.smt.iter().map(within).collect();
        (self.llc, self.numa) = (spans(&self.possible.llc), spans(&self.possible.numa));
        for cpu in (0..self.nr_cpus).filter(|&cpu| !online.test(cpu)) {
            self.smt[cpu as usize] = Arc::new(CpuMask::new(self.nr_cpus));
            (self.llc[cpu as usize], self.numa[cpu as usize]) = (None, None);
        }
        self.smt_active = self.smt.iter().any(|siblings| siblings.weight() > 1);
    }
}

/// `struct scx_idle_cpus`.
#[derive(Clone, Debug)]
struct IdleCpus {
    /// CPUs that are idle and not claimed.
    cpu: CpuMask,
    /// CPUs of cores that are idle as a whole.
    smt: CpuMask,
}

/// Why no CPU is returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdleError {
    /// `-EBUSY`: none is idle.
    Busy,
    /// The scheduler asked for what its flags exclude: it ends with this message.
    Scx(String),
}

/// The idle masks, and the choice among them.
#[derive(Clone, Debug)]
pub struct Idle {
    topology: IdleTopology,
    form: ExtSelectCpu,
    /// A sync wakee claims its waker's CPU.
    sync_claims: bool,
    /// Siblings of the previous CPU come first.
    prev_siblings: bool,
    /// `scx_builtin_idle_enabled`.
    enabled: bool,
    /// `scx_builtin_idle_per_node`.
    per_node: bool,
    /// `scx_selcpu_topo_llc`.
    by_llc: bool,
    /// `scx_selcpu_topo_numa`.
    by_numa: bool,
    /// One of all CPUs, or one by node.
    masks: Vec<IdleCpus>,
    /// By CPU: `distribute_cpu_mask_prev`, of the CPU that asks.
    distribute: Vec<Cpu>,
    /// How many words of masks were read, for costs.
    pub words: u64,
}

/// A task that asks.
#[derive(Clone, Copy, Debug)]
pub struct Asks<'a> {
    /// `p->cpus_ptr`.
    pub cpus_ptr: &'a CpuMask,
    /// The task may run on all CPUs (`task_affinity_all()`).
    pub on_all: bool,
    /// `smp_processor_id()`.
    pub this_cpu: Cpu,
    /// `current->flags & PF_EXITING`.
    pub exiting: bool,
    /// `cpu_rq(cpu)->scx.local_dsq.nr` of this CPU.
    pub local_nr: u32,
}

impl Idle {
    /// The masks when a scheduler is enabled (`scx_idle_enable()`): all CPUs count as idle. `updates` says whether the
    /// scheduler has `ops.update_idle()`.
    pub fn new(topology: IdleTopology, rules: &ExtRules, flags: u64, updates: bool) -> Self {
        let per_node = flags & SCX_OPS_BUILTIN_IDLE_PER_NODE != 0;
        let nr_cpus = topology.nr_cpus;
        let all = |cpus: CpuMask| IdleCpus { cpu: cpus.clone(), smt: cpus };
        let masks = match per_node {
            false => vec![all(CpuMask::full(nr_cpus))],
            true => (0..topology.nr_nodes())
                .map(|node| all(CpuMask::from_cpus(nr_cpus, (0..nr_cpus).filter(|&cpu| topology.node_of(cpu) == node))))
                .collect(),
        };
        let mut idle = Idle {
            by_llc: false,
            by_numa: false,
            distribute: vec![0; nr_cpus as usize],
            enabled: !updates || flags & SCX_OPS_KEEP_BUILTIN_IDLE != 0,
            topology,
            form: rules.select_cpu,
            sync_claims: rules.sync_claims_waker,
            prev_siblings: rules.prev_siblings,
            per_node,
            masks,
            words: 0,
        };
        idle.update_selcpu_topology();
        idle
    }

    /// `scx_idle_update_selcpu_topology()`, which asks the first CPU that is online, the CPU 0.
    pub fn update_selcpu_topology(&mut self) {
        let (topology, nr_online) = (&self.topology, self.topology.online.weight());
        let fewer = |mask: &Option<Arc<CpuMask>>| mask.as_ref().is_some_and(|mask| mask.weight() < nr_online);
        let with_topology = self.form == ExtSelectCpu::Topology;
        self.by_llc = with_topology && fewer(&topology.llc[0]);
        self.by_numa = with_topology && !self.per_node && fewer(&topology.numa[0]) && topology.llc_numa_mismatch();
    }

    /// These CPUs are online from now on. Whether a CPU counts as idle does not change: one that went offline as it was
    /// idle does, until somebody claims it.
    pub fn set_online(&mut self, online: &CpuMask) {
        self.topology.set_online(online);
    }

    /// A CPU is offline when the scheduler is enabled (`reset_idle_masks()`).
    pub fn begins_offline(&mut self, cpu: Cpu) {
        for masks in &mut self.masks {
            masks.cpu.clear(cpu);
            masks.smt.clear(cpu);
        }
        self.update_selcpu_topology();
    }

    /// The facts about the machine that the choice knows.
    pub fn topology(&self) -> &IdleTopology {
        &self.topology
    }

    /// Whether CPUs are tracked by node.
    pub fn per_node(&self) -> bool {
        self.per_node
    }

    /// `check_builtin_idle_enabled()`.
    ///
    /// # Errors
    /// Fails if the scheduler tracks idle CPUs itself.
    pub fn check_enabled(&self) -> Result<(), IdleError> {
        match self.enabled {
            true => Ok(()),
            false => Err(IdleError::Scx("built-in idle tracking is disabled".to_owned())),
        }
    }

    /// `validate_node()`.
    ///
    /// # Errors
    /// Fails if CPUs are not tracked by node, or the machine has no such node.
    pub fn check_node(&self, node: i32) -> Result<usize, IdleError> {
        if !self.per_node {
            return Err(IdleError::Scx("per-node idle tracking is disabled".to_owned()));
        }
        match usize::try_from(node) {
            Ok(node) if node < self.masks.len() => Ok(node),
            // NUMA_NO_NODE
            Err(_) if node == -1 => Err(IdleError::Busy),
            _ => Err(IdleError::Scx(format!("invalid node {node}"))),
        }
    }

    /// `idle_cpumask(node)->cpu` and `->smt`; without a node that of all CPUs.
    pub fn masks(&self, node: usize) -> (&CpuMask, &CpuMask) {
        let masks = &self.masks[node];
        (&masks.cpu, if self.topology.smt_active { &masks.smt } else { &masks.cpu })
    }

    fn node_if_enabled(&self, cpu: Cpu) -> usize {
        if self.per_node { self.topology.node_of(cpu) as usize } else { 0 }
    }

    /// `update_builtin_idle()`.
    pub fn update(&mut self, cpu: Cpu, idle: bool) {
        if !self.enabled {
            return;
        }
        let node = self.node_if_enabled(cpu);
        let masks = &mut self.masks[node];
        masks.cpu.assign(cpu, idle);
        if self.topology.smt_active {
            let siblings = &self.topology.smt[cpu as usize];
            if !idle {
                masks.smt.andnot_with(siblings);
            } else if siblings.is_subset(&masks.cpu) {
                masks.smt.or_with(siblings);
            }
        }
    }

    /// `scx_idle_test_and_clear_cpu()`: claims a CPU. Returns whether it was idle.
    pub fn test_and_clear(&mut self, cpu: Cpu) -> bool {
        let node = self.node_if_enabled(cpu);
        let masks = &mut self.masks[node];
        if self.topology.smt_active {
            // Its core is not idle as a whole, whether this CPU is or not. One that is offline is not its own sibling.
            masks.smt.andnot_with(&self.topology.smt[cpu as usize]);
            masks.smt.clear(cpu);
        }
        let was = masks.cpu.test(cpu);
        masks.cpu.clear(cpu);
        was
    }

    /// `pick_idle_cpu_in_node()`: takes CPUs in turn (`cpumask_any_and_distribute()`), from idle cores first.
    fn pick_in_node(&mut self, this_cpu: Cpu, allowed: &CpuMask, node: usize, flags: u64) -> Option<Cpu> {
        loop {
            let masks = &self.masks[node];
            let prev = &mut self.distribute[this_cpu as usize];
            let words = allowed.words().len() as u64;
            let mut next = None;
            if self.topology.smt_active {
                self.words += words;
                next = masks.smt.any_and_distribute(allowed, prev);
                if next.is_none() && flags & SCX_PICK_IDLE_CORE != 0 {
                    return None;
                }
            }
            if next.is_none() {
                self.words += words;
                next = masks.cpu.any_and_distribute(allowed, prev);
            }
            let cpu = next?;
            // The mask of cores can have a CPU that is not idle itself.
            if self.test_and_clear(cpu) {
                return Some(cpu);
            }
        }
    }

    /// `scx_pick_idle_cpu()`. `node` is where it begins if CPUs are tracked by node.
    pub fn pick(&mut self, this_cpu: Cpu, allowed: &CpuMask, node: usize, flags: u64) -> Option<Cpu> {
        if let Some(cpu) = self.pick_in_node(this_cpu, allowed, node, flags) {
            return Some(cpu);
        }
        if !self.per_node || flags & SCX_PICK_IDLE_IN_NODE != 0 {
            return None;
        }
        (0..self.topology.others[node].len()).find_map(|other| {
            let node = self.topology.others[node][other] as usize;
            self.pick_in_node(this_cpu, allowed, node, flags)
        })
    }

    /// Any CPU of `allowed`, whether it is idle or not, if none is (`cpumask_any_distribute()` in
    /// `scx_bpf_pick_any_cpu()`).
    pub fn any(&mut self, this_cpu: Cpu, allowed: &CpuMask) -> Option<Cpu> {
        allowed.any_and_distribute(allowed, &mut self.distribute[this_cpu as usize])
    }

    /// The same, of the CPUs of a node (`scx_bpf_pick_any_cpu_node()` with SCX_PICK_IDLE_IN_NODE).
    pub fn any_in_node(&mut self, this_cpu: Cpu, allowed: &CpuMask, node: usize) -> Option<Cpu> {
        let nr_cpus = self.topology.nr_cpus;
        let of_node = (0..nr_cpus).filter(|&cpu| self.topology.node_of(cpu) as usize == node);
        let of_node = CpuMask::from_cpus(nr_cpus, of_node);
        of_node.any_and_distribute(allowed, &mut self.distribute[this_cpu as usize])
    }

    /// `scx_select_cpu_dfl()`: claims an idle CPU for a task whose last one was `prev_cpu`. `within` restricts it
    /// (`scx_bpf_select_cpu_and()`).
    pub fn select_cpu_dfl(
        &mut self,
        asks: &Asks<'_>,
        prev_cpu: Cpu,
        wake_flags: u64,
        within: Option<&CpuMask>,
        flags: u64,
    ) -> Option<Cpu> {
        match self.form {
            ExtSelectCpu::Anywhere => self.select_anywhere(asks, prev_cpu, wake_flags),
            ExtSelectCpu::Topology => self.select_by_topology(asks, prev_cpu, wake_flags, within, flags),
        }
    }

    fn select_anywhere(&mut self, asks: &Asks<'_>, prev_cpu: Cpu, wake_flags: u64) -> Option<Cpu> {
        let sync = wake_flags & SCX_WAKE_SYNC != 0 && !asks.exiting && asks.local_nr == 0;
        if sync && !self.masks[0].cpu.is_empty() && asks.cpus_ptr.test(asks.this_cpu) {
            return Some(asks.this_cpu);
        }
        if self.topology.smt_active {
            if self.masks[0].smt.test(prev_cpu) && self.test_and_clear(prev_cpu) {
                return Some(prev_cpu);
            }
            if let Some(cpu) = self.pick(asks.this_cpu, asks.cpus_ptr, 0, SCX_PICK_IDLE_CORE) {
                return Some(cpu);
            }
        }
        if self.test_and_clear(prev_cpu) {
            return Some(prev_cpu);
        }
        self.pick(asks.this_cpu, asks.cpus_ptr, 0, 0)
    }

    fn select_by_topology(
        &mut self,
        asks: &Asks<'_>,
        prev_cpu: Cpu,
        wake_flags: u64,
        within: Option<&CpuMask>,
        flags: u64,
    ) -> Option<Cpu> {
        let node = self.node_if_enabled(prev_cpu);
        let both;
        let allowed = match within {
            None => asks.cpus_ptr,
            Some(within) if asks.on_all => within,
            Some(within) => {
                both = within.and(asks.cpus_ptr);
                &both
            }
        };
        if allowed.is_empty() {
            return None;
        }
        let is_prev_allowed = allowed.test(prev_cpu);
        let whole = within.is_none() && asks.on_all;
        let part = |on: bool, spans: &[Option<Arc<CpuMask>>]| {
            let span = spans[prev_cpu as usize].as_ref().filter(|_| on)?;
            if whole { Some(span.clone()) } else { Some(Arc::new(allowed.and(span))).filter(|part| !part.is_empty()) }
        };
        let numa_cpus = part(self.by_numa, &self.topology.numa);
        let llc_cpus = part(self.by_llc, &self.topology.llc);
        let this_cpu = asks.this_cpu;
        if wake_flags & SCX_WAKE_SYNC != 0 {
            if is_prev_allowed && self.topology.shares_cache(this_cpu, prev_cpu) && self.test_and_clear(prev_cpu) {
                return Some(prev_cpu);
            }
            let waker_node = self.node_if_enabled(this_cpu);
            if !asks.exiting
                && asks.local_nr == 0
                && (flags & SCX_PICK_IDLE_IN_NODE == 0 || waker_node == node)
                && !self.masks[waker_node].cpu.is_empty()
                && allowed.test(this_cpu)
            {
                if self.sync_claims {
                    self.test_and_clear(this_cpu);
                }
                return Some(this_cpu);
            }
        }
        let nearby = [&llc_cpus, &numa_cpus];
        if self.topology.smt_active {
            if is_prev_allowed && self.masks[node].smt.test(prev_cpu) && self.test_and_clear(prev_cpu) {
                return Some(prev_cpu);
            }
            for cpus in nearby.into_iter().flatten() {
                if let Some(cpu) = self.pick_in_node(this_cpu, cpus, node, SCX_PICK_IDLE_CORE) {
                    return Some(cpu);
                }
            }
            if let Some(cpu) = self.pick(this_cpu, allowed, node, flags | SCX_PICK_IDLE_CORE) {
                return Some(cpu);
            }
            if flags & SCX_PICK_IDLE_CORE != 0 {
                return None;
            }
        }
        if is_prev_allowed && self.test_and_clear(prev_cpu) {
            return Some(prev_cpu);
        }
        if self.prev_siblings && self.topology.smt_active {
            let mut from = 0;
            while let Some(cpu) = self.topology.smt[prev_cpu as usize].next_from_and(allowed, from) {
                if cpu != prev_cpu && self.test_and_clear(cpu) {
                    return Some(cpu);
                }
                from = cpu + 1;
            }
        }
        for cpus in nearby.into_iter().flatten() {
            if let Some(cpu) = self.pick_in_node(this_cpu, cpus, node, 0) {
                return Some(cpu);
            }
        }
        self.pick(this_cpu, allowed, node, flags)
    }
}
