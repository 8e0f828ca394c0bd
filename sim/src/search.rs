//! A search for a CPU that takes time.
//!
//! Each look happens at its own moment. The search is run ahead on a copy and given one event, at its guessed end; where
//! a CPU that is still to be looked at goes idle or busy on the way, the search is brought up to that moment and run ahead
//! anew. The result is the same as with an event for each look.

use crate::cpu::Doing;
use crate::engine::Sim;
use crate::system::System;
use wakelab_events::sim::{Event, Inputs, Sink};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Cx, Decision, ScanRange, Select, Wakeup};

/// One CPU's search.
#[derive(Clone, Debug, Default)]
pub struct Slot<'m> {
    /// The search as far as its looks have been made.
    pub select: Select,
    /// The copy that was run ahead.
    pub ahead: Select,
    /// What it decided.
    pub guess: Option<Decision>,
    /// Who wakes whom.
    pub wakeup: Option<Wakeup<'m>>,
    /// When the search began, ns: look number i (from 0) is made `(i + 1) × probe` later.
    pub began: u64,
    /// How far looks lie apart, ns.
    pub probe: u64,
    /// LLCs that know of the search (`Model::searches_of`).
    pub llcs: (u32, u32),
}

/// What tells quickly that a search does not depend on a CPU.
#[derive(Clone, Copy, Debug)]
pub struct Searching {
    /// The CPU that searches.
    pub cpu: Cpu,
    /// CPUs that are looked at before the walk: the target, the previous CPU, the recently used one.
    pub early: [Cpu; 3],
    /// What the walk passes, by the guess.
    pub path: ScanRange,
    /// When the last look is made, by the guess, ns.
    pub until: u64,
}

impl<'m> Slot<'m> {
    /// How many looks are due before `now`.
    fn due(&self, now: u64) -> u32 {
        (now.saturating_sub(self.began).saturating_sub(1) / self.probe) as u32
    }
}

impl<'m, S: Sink> Sim<'m, '_, S> {
    /// Begins the search of a wake-up on `cpu`.
    pub fn search_begins(&mut self, cpu: Cpu, wakeup: Wakeup<'m>) {
        let model = self.sys.model;
        let began = self.sys.now;
        let probe = self.slowed(cpu, model.costs.probe);
        let llcs = (model.searches_of[cpu as usize], model.searches_of[wakeup.wakee.prev_cpu as usize]);
        self.tell_inputs(&wakeup, Some(probe));
        let slot = &mut self.slots[cpu as usize];
        (slot.began, slot.probe, slot.llcs) = (began, probe, llcs);
        slot.guess = slot.select.start(&model.rules(), &wakeup, &mut ());
        slot.wakeup = Some(wakeup);
        let mut looks = 0;
        while slot.guess.is_none() && slot.select.reads_averages() {
            // wake_affine() compares loads and energies are of utilisations, which move all the time: they are asked when the
            // search begins. Energies take a look at each CPU.
            looks = model.looks_for_energy();
            slot.guess = slot.select.probe(Cx { rules: &model.rules(), wakeup: &wakeup, view: &self.sys }, &mut ());
        }
        let slot = &mut self.slots[cpu as usize];
        let end = if slot.guess.is_some() {
            began + looks * probe + self.slowed(cpu, model.costs.wakeup)
        } else {
            let prev = wakeup.wakee.prev_cpu;
            let early = [cpu, prev, wakeup.wakee.recent_used_cpu.unwrap_or(prev)];
            let entry = Searching { cpu, early, path: ScanRange::All, until: 0 };
            self.sys.llcs[llcs.0 as usize].searching.push(entry);
            if llcs.1 != llcs.0 {
                self.sys.llcs[llcs.1 as usize].searching.push(entry);
            }
            self.run_ahead(cpu)
        };
        self.begin_until(cpu, Doing::Search, end);
    }

    /// Tells the sink what a choice that begins now is made from.
    #[inline]
    pub fn tell_inputs(&mut self, wakeup: &Wakeup<'_>, probe: Option<u64>) {
        if S::INPUTS {
            let model = self.sys.model;
            let (rules, view) = (&model.rules(), &self.sys);
            self.sink.inputs(self.sys.now, &Inputs { wakeup, rules, view, probe });
        }
    }

    /// Guesses the end of a search from where it is, and returns when that will be.
    fn run_ahead(&mut self, cpu: Cpu) -> u64 {
        let model = self.sys.model;
        let wakeup_cost = self.slowed(cpu, model.costs.wakeup);
        let slot = &mut self.slots[cpu as usize];
        self.sys.probing = (slot.began, slot.probe);
        slot.ahead.clone_from(&slot.select);
        let wakeup = slot.wakeup.as_ref().expect("a search is under way");
        let guess = slot.ahead.finish(Cx { rules: &model.rules(), wakeup, view: &self.sys }, &mut ());
        let mut end = slot.began + u64::from(slot.ahead.probes()) * slot.probe + wakeup_cost;
        if guess.count.domain_search != 0 {
            end += model.observer_cost;
        }
        let until = slot.began + u64::from(slot.ahead.probes()) * slot.probe;
        let path = slot.ahead.scan_range(&model.rules(), &guess);
        slot.guess = Some(guess);
        let (a, b) = slot.llcs;
        for llc in [Some(a), (b != a).then_some(b)].into_iter().flatten() {
            let entry = self.sys.llcs[llc as usize].searching.iter_mut().find(|entry| entry.cpu == cpu);
            let entry = entry.expect("the search is on the list");
            (entry.path, entry.until) = (path, until);
        }
        end
    }

    /// `cpu` may have become idle or busy, or have SCHED_IDLE tasks only: brings `System::idle` up to date, and all searches that depend on it.
    pub fn update_idle(&mut self, cpu: Cpu) {
        let idle = self.sys.looks_idle(cpu);
        let sched_idle = self.sys.sched_idle.is_some() && self.sys.cpus[cpu as usize].rq.sched_idle();
        let was = self.sys.sched_idle.as_ref().is_some_and(|mask| mask.test(cpu));
        if idle == self.sys.idle.test(cpu) && sched_idle == was {
            return;
        }
        let model = self.sys.model;
        let llc = model.searches_of[cpu as usize];
        let smt_mask = &model.domains.smt_mask;
        self.changes(
            llc,
            |entry| {
                let [a, b, c] = entry.early;
                a == cpu || b == cpu || c == cpu || entry.path.may_contain(cpu) || smt_mask[b as usize].test(cpu)
            },
            |slot, wakeup, guess| slot.select.may_probe(&model.rules(), wakeup, &slot.ahead, guess, cpu),
            |sys| {
                sys.idle.assign(cpu, idle);
                if let Some(mask) = &mut sys.sched_idle {
                    mask.assign(cpu, sched_idle);
                }
                sys.idle_cores.update(&sys.idle, &model.domains.smt_mask[cpu as usize]);
            },
        );
        self.tell_all(|_| Event::Available { cpu, available: idle, sched_idle });
    }

    /// Tasks have left the run queue of a busy CPU, which may leave SCHED_IDLE tasks only.
    #[inline]
    pub fn sched_idle_changes(&mut self, cpu: Cpu) {
        if self.sys.sched_idle.is_some() {
            self.update_idle(cpu);
        }
    }

    /// `has_idle_cores` of an LLC becomes `value`.
    pub fn set_idle_cores(&mut self, llc: u32, value: bool) {
        if self.sys.llcs[llc as usize].has_idle_cores != value {
            let change = |sys: &mut System<'_>| sys.llcs[llc as usize].has_idle_cores = value;
            self.changes(self.searches_in(llc), |_| true, |slot, _, _| slot.select.before_scan(), change);
            self.tell_all(|sys| Event::IdleCores { llc: sys.model.llc_first[llc as usize], has_idle_cores: value });
        }
    }

    /// `nr_idle_scan` of an LLC becomes `value`.
    pub fn set_nr_idle_scan(&mut self, llc: u32, value: i32) {
        if self.sys.llcs[llc as usize].nr_idle_scan != value {
            let change = |sys: &mut System<'_>| sys.llcs[llc as usize].nr_idle_scan = value;
            self.changes(self.searches_in(llc), |_| true, |slot, _, _| slot.select.before_scan(), change);
        }
    }

    /// The LLC that knows of the searches in `llc`.
    fn searches_in(&self, llc: u32) -> u32 {
        let model = self.sys.model;
        model.searches_of[model.llc_first[llc as usize] as usize]
    }

    /// `next_cpu` of a CPU becomes `next`. The kernel writes it at each look; here the walk's last write, at its end, stands for
    /// all: SIS_LIMIT keeps walks to a few looks.
    pub fn set_next_cpu(&mut self, cpu: Cpu, next: Cpu) {
        if self.sys.cpus[cpu as usize].next_cpu != Some(next) {
            let llc = self.sys.model.searches_of[cpu as usize];
            let change = |sys: &mut System<'_>| sys.cpus[cpu as usize].next_cpu = Some(next);
            self.changes(llc, |_| true, |slot, _, _| slot.select.before_scan(), change);
        }
    }

    /// Makes a change that the searches in an LLC look at for which `depends` holds. They are brought up to this moment
    /// first, and those that still depend on it then are run ahead anew.
    pub fn changes(
        &mut self,
        llc: u32,
        may_depend: impl Fn(&Searching) -> bool,
        depends: impl Fn(&Slot<'m>, &Wakeup<'m>, &Decision) -> bool,
        change: impl FnOnce(&mut System<'m>),
    ) {
        let rules = self.sys.model.rules();
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        for at in 0..self.sys.llcs[llc as usize].searching.len() {
            let entry = self.sys.llcs[llc as usize].searching[at];
            // With all looks made the decision stands, and only the rest of the wake-up takes its time.
            if self.sys.now > entry.until || !may_depend(&entry) {
                continue;
            }
            let searcher = entry.cpu;
            let slot = &mut self.slots[searcher as usize];
            let (Some(wakeup), Some(guess)) = (&slot.wakeup, &slot.guess) else { continue };
            if !depends(slot, wakeup, guess) {
                continue;
            }
            let due = slot.due(self.sys.now);
            if slot.select.probes() < due {
                // What was looked at up to now had not changed since it was guessed.
                self.sys.probing = (slot.began, slot.probe);
                let _ = slot.select.probe_until(due, Cx { rules: &rules, wakeup, view: &self.sys });
                if !depends(slot, wakeup, guess) {
                    continue;
                }
            }
            touched.push(searcher);
        }
        change(&mut self.sys);
        for &searcher in &touched {
            let end = self.run_ahead(searcher).max(self.sys.now);
            self.timeline.set(searcher, end);
        }
        self.touched = touched;
    }

    /// The search is over: takes it off the lists and gives the wake-up and its decision.
    pub fn search_taken(&mut self, cpu: Cpu) -> (Wakeup<'m>, Decision) {
        let slot = &mut self.slots[cpu as usize];
        let (a, b) = slot.llcs;
        for llc in [a, b] {
            let searching = &mut self.sys.llcs[llc as usize].searching;
            if let Some(at) = searching.iter().position(|entry| entry.cpu == cpu) {
                searching.swap_remove(at);
            }
        }
        let taken = (slot.wakeup.take(), slot.guess.take());
        (taken.0.expect("a search is under way"), taken.1.expect("a search is under way"))
    }
}
