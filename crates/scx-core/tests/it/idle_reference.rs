//! The choice of an idle CPU once more, slowly: the kernel's functions one by one, with sets of CPUs as lists of flags,
//! from the machine's shape and without domains.

use wakelab_sched::domain::Topology;
use wakelab_scx_core::flags::{SCX_PICK_IDLE_CORE, SCX_PICK_IDLE_IN_NODE, SCX_WAKE_SYNC};

pub type Set = Vec<bool>;

fn and(a: &Set, b: &Set) -> Set {
    a.iter().zip(b).map(|(&a, &b)| a && b).collect()
}

fn weight(set: &Set) -> usize {
    set.iter().filter(|&&cpu| cpu).count()
}

/// The machine, and what is idle in it.
pub struct Reference {
    pub machine: Topology,
    /// By node, or one for all: `cpu`, `smt`.
    pub masks: Vec<(Set, Set)>,
    pub per_node: bool,
    distribute: Vec<usize>,
}

/// What a task and its waker have.
pub struct Wakee {
    pub cpus_ptr: Set,
    pub this_cpu: usize,
    pub exiting: bool,
    pub local_nr: u32,
}

impl Reference {
    pub fn new(machine: Topology, per_node: bool) -> Self {
        let nr = machine.cpus.len();
        let nodes = machine.node_distance.len();
        let of =
            |node: usize| -> Set { machine.cpus.iter().map(|cpu| !per_node || cpu.node as usize == node).collect() };
        let masks = (0..if per_node { nodes } else { 1 }).map(|node| (of(node), of(node))).collect();
        Reference { masks, per_node, distribute: vec![0; nr], machine }
    }

    fn nr(&self) -> usize {
        self.machine.cpus.len()
    }

    fn set(&self, of: impl Fn(usize) -> bool) -> Set {
        (0..self.nr()).map(of).collect()
    }

    fn smt(&self, cpu: usize) -> Set {
        self.set(|other| self.machine.cpus[other].core == self.machine.cpus[cpu].core)
    }

    pub fn smt_active(&self) -> bool {
        (0..self.nr()).any(|cpu| weight(&self.smt(cpu)) > 1)
    }

    /// A CPU by itself has no domain.
    fn llc_span(&self, cpu: usize) -> Option<Set> {
        let span = self.set(|other| self.machine.cpus[other].llc == self.machine.cpus[cpu].llc);
        (weight(&span) > 1).then_some(span)
    }

    fn numa_span(&self, cpu: usize) -> Option<Set> {
        let span = self.set(|other| self.machine.cpus[other].node == self.machine.cpus[cpu].node);
        (self.machine.node_distance.len() > 1).then_some(span)
    }

    fn topo_llc(&self) -> bool {
        self.llc_span(0).is_some_and(|span| weight(&span) < self.nr())
    }

    fn topo_numa(&self) -> bool {
        let of = |span: Option<Set>| span.map_or(0, |span| weight(&span));
        let mismatch = (0..self.nr()).any(|cpu| of(self.llc_span(cpu)) != of(self.numa_span(cpu)));
        let numa = of(self.numa_span(0));
        !self.per_node && numa > 0 && numa < self.nr() && mismatch
    }

    fn node(&self, cpu: usize) -> usize {
        if self.per_node { self.machine.cpus[cpu].node as usize } else { 0 }
    }

    pub fn test_and_clear(&mut self, cpu: usize) -> bool {
        let node = self.node(cpu);
        if self.smt_active() {
            let smt = self.smt(cpu);
            let idle_smts = &mut self.masks[node].1;
            idle_smts.iter_mut().zip(smt).for_each(|(idle, sibling)| *idle &= !sibling);
        }
        std::mem::replace(&mut self.masks[node].0[cpu], false)
    }

    pub fn update(&mut self, cpu: usize, idle: bool) {
        let node = self.node(cpu);
        self.masks[node].0[cpu] = idle;
        if !self.smt_active() {
            return;
        }
        let smt = self.smt(cpu);
        let all = and(&smt, &self.masks[node].0) == smt;
        let siblings = (0..self.nr()).filter(|&sibling| smt[sibling]);
        let siblings: Vec<usize> = siblings.collect();
        for sibling in siblings {
            if !idle {
                self.masks[node].1[sibling] = false;
            } else if all {
                self.masks[node].1[sibling] = true;
            }
        }
    }

    fn any_and_distribute(&mut self, this_cpu: usize, a: &Set, b: &Set) -> Option<usize> {
        let both = and(a, b);
        let after = self.distribute[this_cpu] + 1;
        let next = (0..self.nr()).map(|at| (after + at) % self.nr()).find(|&cpu| both[cpu])?;
        self.distribute[this_cpu] = next;
        Some(next)
    }

    pub fn any(&mut self, this_cpu: usize, allowed: &Set) -> Option<usize> {
        self.any_and_distribute(this_cpu, allowed, allowed)
    }

    pub fn any_in_node(&mut self, this_cpu: usize, allowed: &Set, node: usize) -> Option<usize> {
        let of_node = self.set(|cpu| self.machine.cpus[cpu].node as usize == node);
        self.any_and_distribute(this_cpu, &of_node, allowed)
    }

    fn pick_in_node(&mut self, this_cpu: usize, allowed: &Set, node: usize, flags: u64) -> Option<usize> {
        loop {
            let (cpus, smts) = self.masks[node].clone();
            let mut cpu = None;
            if self.smt_active() {
                cpu = self.any_and_distribute(this_cpu, &smts, allowed);
                if cpu.is_none() && flags & SCX_PICK_IDLE_CORE != 0 {
                    return None;
                }
            }
            let cpu = match cpu {
                Some(cpu) => cpu,
                None => self.any_and_distribute(this_cpu, &cpus, allowed)?,
            };
            if self.test_and_clear(cpu) {
                return Some(cpu);
            }
        }
    }

    pub fn pick(&mut self, this_cpu: usize, allowed: &Set, node: usize, flags: u64) -> Option<usize> {
        let mut cpu = self.pick_in_node(this_cpu, allowed, node, flags);
        if !self.per_node || flags & SCX_PICK_IDLE_IN_NODE != 0 {
            return cpu;
        }
        // for_each_node_numadist()
        let mut unvisited: Vec<usize> = (0..self.masks.len()).filter(|&other| other != node).collect();
        while cpu.is_none() && !unvisited.is_empty() {
            let mut nearest = unvisited[0];
            for &other in &unvisited {
                if self.machine.node_distance[node][other] < self.machine.node_distance[node][nearest] {
                    nearest = other;
                }
            }
            cpu = self.pick_in_node(this_cpu, allowed, nearest, flags);
            unvisited.retain(|&other| other != nearest);
        }
        cpu
    }

    /// `scx_select_cpu_dfl()`, 6.12.
    pub fn select_6_12(&mut self, p: &Wakee, prev_cpu: usize, wake_flags: u64) -> Option<usize> {
        if wake_flags & SCX_WAKE_SYNC != 0
            && weight(&self.masks[0].0) != 0
            && !p.exiting
            && p.local_nr == 0
            && p.cpus_ptr[p.this_cpu]
        {
            return Some(p.this_cpu);
        }
        if self.smt_active() {
            if self.masks[0].1[prev_cpu] && self.test_and_clear(prev_cpu) {
                return Some(prev_cpu);
            }
            let cpu = self.pick(p.this_cpu, &p.cpus_ptr, 0, SCX_PICK_IDLE_CORE);
            if cpu.is_some() {
                return cpu;
            }
        }
        if self.test_and_clear(prev_cpu) {
            return Some(prev_cpu);
        }
        self.pick(p.this_cpu, &p.cpus_ptr, 0, 0)
    }

    /// `scx_select_cpu_dfl()`, 7.2, or 6.18.35 if not `of_7_2`.
    pub fn select_6_18(
        &mut self,
        of_7_2: bool,
        p: &Wakee,
        prev_cpu: usize,
        wake_flags: u64,
        cpus_allowed: Option<&Set>,
        flags: u64,
    ) -> Option<usize> {
        let affinity_all = weight(&p.cpus_ptr) == self.nr();
        let node = self.node(prev_cpu);
        let mut allowed = p.cpus_ptr.clone();
        if let Some(cpus_allowed) = cpus_allowed {
            allowed = if affinity_all { cpus_allowed.clone() } else { and(cpus_allowed, &p.cpus_ptr) };
            if !affinity_all && weight(&allowed) == 0 {
                return None;
            }
        }
        let is_prev_allowed = allowed[prev_cpu];
        let usable = |span: Option<Set>| {
            if cpus_allowed.is_none() && affinity_all {
                return span;
            }
            span.map(|span| and(&allowed, &span)).filter(|cpus| weight(cpus) != 0)
        };
        let numa_cpus = if self.topo_numa() { usable(self.numa_span(prev_cpu)) } else { None };
        let llc_cpus = if self.topo_llc() { usable(self.llc_span(prev_cpu)) } else { None };
        if wake_flags & SCX_WAKE_SYNC != 0 {
            let cpu = p.this_cpu;
            let shares = self.machine.cpus[cpu].llc == self.machine.cpus[prev_cpu].llc;
            if is_prev_allowed && shares && self.test_and_clear(prev_cpu) {
                return Some(prev_cpu);
            }
            let waker_node = self.node(cpu);
            if !p.exiting
                && p.local_nr == 0
                && (flags & SCX_PICK_IDLE_IN_NODE == 0 || waker_node == node)
                && weight(&self.masks[waker_node].0) != 0
                && allowed[cpu]
            {
                if of_7_2 {
                    self.test_and_clear(cpu);
                }
                return Some(cpu);
            }
        }
        let this_cpu = p.this_cpu;
        if self.smt_active() {
            if is_prev_allowed && self.masks[node].1[prev_cpu] && self.test_and_clear(prev_cpu) {
                return Some(prev_cpu);
            }
            if let Some(cpus) = &llc_cpus {
                let cpu = self.pick_in_node(this_cpu, cpus, node, SCX_PICK_IDLE_CORE);
                if cpu.is_some() {
                    return cpu;
                }
            }
            if let Some(cpus) = &numa_cpus {
                let cpu = self.pick_in_node(this_cpu, cpus, node, SCX_PICK_IDLE_CORE);
                if cpu.is_some() {
                    return cpu;
                }
            }
            let cpu = self.pick(this_cpu, &allowed, node, flags | SCX_PICK_IDLE_CORE);
            if cpu.is_some() || flags & SCX_PICK_IDLE_CORE != 0 {
                return cpu;
            }
        }
        if is_prev_allowed && self.test_and_clear(prev_cpu) {
            return Some(prev_cpu);
        }
        if of_7_2 && self.smt_active() {
            let siblings = and(&self.smt(prev_cpu), &allowed);
            for (cpu, sibling) in siblings.into_iter().enumerate() {
                if sibling && cpu != prev_cpu && self.test_and_clear(cpu) {
                    return Some(cpu);
                }
            }
        }
        if let Some(cpus) = &llc_cpus {
            let cpu = self.pick_in_node(this_cpu, cpus, node, 0);
            if cpu.is_some() {
                return cpu;
            }
        }
        if let Some(cpus) = &numa_cpus {
            let cpu = self.pick_in_node(this_cpu, cpus, node, 0);
            if cpu.is_some() {
                return cpu;
            }
        }
        self.pick(this_cpu, &allowed, node, flags)
    }
}
