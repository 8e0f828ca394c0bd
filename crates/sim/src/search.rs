//! A search for an idle CPU, which takes time.
//!
//! Each probe has a moment of its own, but not an event of its own: the search is predicted on a copy, and has one
//! event at its predicted end. If a CPU that is still to be probed becomes idle or busy meanwhile, or something else
//! changes that it is still to read, the search is brought up to that moment and predicted again. The result is the
//! same as with an event for each probe, because nothing that a search reads changes unannounced:
//!
//! | a search reads | which is announced by |
//! |---|---|
//! | idle CPUs | [`Sim::update_idle`] |
//! | `has_idle_cores`, `nr_idle_scan` | [`Sim::set_idle_cores`], [`Sim::set_nr_idle_scan`] |
//! | states of search policies | `system/search_policies.rs` |
//! | SIS_PROP: jiffies, `wake_avg_idle`, `avg_idle` | [`Sim::next_jiffy`], [`Sim::update_rq_avg_idle`] |
//! | SIS_SHORT: the target's only task | [`Sim::update_only_task`] |
//!
//! Of the common search no copy is made: its position and the idle CPUs of its LLC give its end
//! (`search_position.rs` of the package wakelab-sched).
//!
//! Probes of the fast paths take no time. They are made when the search begins and, as long as they fail, again at each
//! announced change up to the first probe of the domain search.
//!
//! ```text
//! began        now: CPU 5 becomes idle                       end: search_ends()
//!   ├──┬──┬──┬──┼──┬──┬──┬──┬──┬──┬──┬──┬──┬──┬─── wakeup ───┤
//!   │ probes made │ probes predicted; is CPU 5 among them?
//!   └─ `select` ──┘  if so: change_seen_by_searches() predicts anew, and moves the end
//! ```

use crate::cpu::{Doing, Waking};
use crate::engine::Sim;
use crate::system::System;
use wakelab_events::sim::{Event, Inputs, Sink};
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Cx, Decision, IdleView, Reach, ScanRange, SearchPosition, Select, Wakeup};

/// How a search is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    /// As a state machine, and a copy of it that was run to its end.
    #[default]
    Steps,
    /// As a position in its LLC.
    Position,
}

/// The search of one CPU. What every search reads is small and lies on few lines, so that thousands of them stay in the
/// caches.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Search<'m> {
    form: Form,
    /// Where the search is on the list of its LLC, if it is a position.
    place: u32,
    /// When the search began, ns. Probe number i, from 0, is made `(i + 1) × probe` later.
    pub began: u64,
    /// Time between two probes, ns.
    pub probe: u64,
    /// Time from the last probe to the end, ns, at the speed that the CPU had when the search began.
    pub wakeup_cost: u64,
    /// The search as a position, its predicted end included.
    position: SearchPosition,
    /// Who wakes whom.
    pub wakeup: Option<Wakeup<'m>>,
    /// The search as a state machine; `None` before the CPU's first that is one.
    steps: Option<Box<Steps>>,
}

/// A search as a state machine.
#[derive(Clone, Debug, Default)]
struct Steps {
    /// The search with the probes that have been made.
    select: Select,
    /// The copy of it that was run to its end.
    predicted: Select,
    /// The decision of the copy, or of the state machine without a probe.
    decision: Option<Decision>,
    /// The LLCs on whose lists the search is (`Model::searches_of`).
    llcs: (u32, u32),
}

/// A search on the list of an LLC, with what shows quickly that it does not depend on a CPU.
#[derive(Clone, Copy, Debug)]
pub struct SearchEntry {
    /// The CPU that searches.
    pub cpu: Cpu,
    /// CPUs that are probed before the scan: the target, the previous CPU, the recently used one.
    pub before_scan: [Cpu; 3],
    /// The CPUs that the scan probes, as predicted.
    pub scan_range: ScanRange,
    /// When the last probe is made, as predicted, ns.
    pub last_probe: u64,
}

/// A search that is a position, on the list of its LLC.
#[derive(Clone, Copy, Debug)]
pub struct PositionEntry {
    /// The CPU that searches.
    cpu: Cpu,
    /// When the last probe is made, as predicted, ns.
    last_probe: u64,
    /// The values on which the predicted end depends.
    reach: Reach,
}

impl<'m> Search<'m> {
    /// How many probes have been made at the predicted end.
    #[inline]
    pub fn probes(&self) -> u32 {
        match self.form {
            Form::Steps => self.steps.as_ref().map_or(0, |steps| steps.predicted.probes()),
            Form::Position => self.position.probes(),
        }
    }

    /// The LLCs besides the target's whose `has_idle_cores` becomes false when the search ends.
    #[inline]
    pub fn cleared_idle_cores(&self, decision: &Decision) -> &[Cpu] {
        match self.form {
            // A decision without a domain search may have been made at once: `predicted` is that of another search.
            Form::Steps if decision.count.domain_search != 0 => self.steps().predicted.cleared_idle_cores(),
            _ => &[],
        }
    }

    /// The search as the state machine that it is.
    #[inline]
    fn steps(&self) -> &Steps {
        self.steps.as_ref().expect("the search is a state machine")
    }

    /// An LLC on whose list the search is; any, if it was decided at once and is on none.
    fn list(&self) -> u32 {
        match self.form {
            Form::Steps => self.steps.as_ref().map_or(0, |steps| steps.llcs.0),
            Form::Position => self.position.llc(),
        }
    }

    /// The target of the search.
    pub fn target(&self) -> Cpu {
        match self.form {
            Form::Steps => self.steps().select.target(),
            Form::Position => self.position.target(),
        }
    }

    /// How many probes are made before `now`.
    fn probes_due(&self, now: u64) -> u32 {
        (now.saturating_sub(self.began).saturating_sub(1) / self.probe) as u32
    }
}

impl<'m, S: Sink> Sim<'m, '_, S> {
    /// Begins the search of a wake-up on `cpu`.
    pub fn begin_search(&mut self, cpu: Cpu, waking: Waking, wakeup: Wakeup<'m>) {
        let model = self.sys.model;
        let began = self.sys.now;
        let probe = self.slowed(cpu, model.costs.probe);
        let wakeup_cost = self.slowed(cpu, model.costs.wakeup);
        self.emit_inputs(&wakeup, Some(probe));
        let rules = &self.sys.rules;
        // The state machine of a search that is a position is needed no longer than here.
        let select = &mut self.beginning;
        let mut decision = select.start(rules, &wakeup, &mut ());
        let mut probes = 0;
        while decision.is_none() && select.reads_averages() {
            // wake_affine() compares loads, and energies follow from utilisations. Both change all the time: they are
            // read when the search begins. Energies take a probe of each CPU.
            probes = model.probes_for_energy();
            decision = select.probe(Cx { rules, wakeup: &wakeup, view: &self.sys }, &mut ());
        }
        let decided = decision.is_some();
        let position = !decided
            && !self.sys.idle.may_be_sched_idle()
            && std::ptr::eq(wakeup.wakee.cpus_ptr, &raw const model.masks[0])
            && model.search_llcs.takes(rules, select, &wakeup);
        let search = &mut self.searches[cpu];
        (search.began, search.probe, search.wakeup_cost) = (began, probe, wakeup_cost);
        search.form = if position { Form::Position } else { Form::Steps };
        let end = if decided {
            search.steps.get_or_insert_default().decision = decision;
            search.wakeup = Some(wakeup);
            began + probes * probe + wakeup_cost
        } else if position {
            search.position.begin(select, rules, &model.search_llcs, &wakeup);
            search.wakeup = Some(wakeup);
            let positions = &mut self.sys.llcs[search.position.llc()].positions;
            search.place = positions.len() as u32;
            positions.push(PositionEntry { cpu, last_probe: 0, reach: Reach::ALL });
            self.predict_position(cpu)
        } else {
            let prev = wakeup.wakee.prev_cpu;
            let recent = wakeup.wakee.recent_used_cpu.unwrap_or(prev);
            let llcs = (model.searches_of[cpu], model.searches_of[prev]);
            let steps = search.steps.get_or_insert_default();
            std::mem::swap(&mut steps.select, select);
            (steps.llcs, search.wakeup) = (llcs, Some(wakeup));
            let before_scan = [cpu, prev, recent];
            let entry = SearchEntry { cpu, before_scan, scan_range: ScanRange::All, last_probe: 0 };
            self.sys.llcs[llcs.0].searches.push(entry);
            if llcs.1 != llcs.0 {
                self.sys.llcs[llcs.1].searches.push(entry);
            }
            self.predict(cpu)
        };
        self.begin_until(cpu, Doing::Search(waking), end);
    }

    /// Sends the sink what a choice that begins now is made from.
    #[inline]
    pub fn emit_inputs(&mut self, wakeup: &Wakeup<'_>, probe: Option<u64>) {
        if S::INPUTS {
            let (rules, view) = (&self.sys.rules, &self.sys);
            self.sink.inputs(self.sys.now, &Inputs { wakeup, rules, view, probe });
        }
    }

    /// Predicts the rest of a search, and returns when it will end, ns.
    fn predict(&mut self, cpu: Cpu) -> u64 {
        let model = self.sys.model;
        let search = &mut self.searches[cpu];
        self.sys.probing = (search.began, search.probe);
        let Steps { select, predicted, decision, llcs } =
            &mut **search.steps.as_mut().expect("the search is a state machine");
        predicted.clone_from(select);
        let wakeup = search.wakeup.as_ref().expect("a search is under way");
        let found = predicted.finish(Cx { rules: &self.sys.rules, wakeup, view: &self.sys }, &mut ());
        let last_probe = search.began + u64::from(predicted.probes()) * search.probe;
        let mut end = last_probe + search.wakeup_cost;
        if found.count.domain_search != 0 {
            end += model.observer_cost;
        }
        let scan_range = predicted.scan_range(&self.sys.rules, &found);
        *decision = Some(found);
        let (a, b) = *llcs;
        for llc in [Some(a), (b != a).then_some(b)].into_iter().flatten() {
            let entry = self.sys.llcs[llc].searches.iter_mut().find(|entry| entry.cpu == cpu);
            let entry = entry.expect("the search is on the list");
            (entry.scan_range, entry.last_probe) = (scan_range, last_probe);
        }
        end
    }

    /// The same for a search that is a position.
    fn predict_position(&mut self, cpu: Cpu) -> u64 {
        let model = self.sys.model;
        let search = &mut self.searches[cpu];
        self.sys.probing = (search.began, search.probe);
        let wakeup = search.wakeup.as_ref().expect("a search is under way");
        let llc = search.position.llc();
        let position = &mut search.position;
        let cx = Cx { rules: &self.sys.rules, wakeup, view: &self.sys };
        position.predict(cx, &model.search_llcs, self.sys.idle.of_llc(llc));
        let last_probe = search.began + u64::from(position.probes()) * search.probe;
        let observed = if position.searches_domain() { model.observer_cost } else { 0 };
        let reach = position.reach(&model.search_llcs);
        self.sys.llcs[llc].positions[search.place as usize] = PositionEntry { cpu, last_probe, reach };
        last_probe + search.wakeup_cost + observed
    }

    /// `cpu` may have become idle or busy, or have SCHED_IDLE tasks only: updates `System::idle`, and all searches that
    /// depend on it.
    pub fn update_idle(&mut self, cpu: Cpu) {
        let idle = self.sys.available_idle_now(cpu);
        let sched_idle = self.sys.idle.may_be_sched_idle() && self.sys.cpus[cpu].sched_idle_rq();
        if idle != self.sys.available_idle_cpu(cpu) || sched_idle != self.sys.sched_idle_cpu(cpu) {
            self.set_idle(cpu, idle, sched_idle);
        }
    }

    /// What `available_idle_cpu()` and `sched_idle_cpu()` return has changed.
    fn set_idle(&mut self, cpu: Cpu, idle: bool, sched_idle: bool) {
        let model = self.sys.model;
        let llc = model.searches_of[cpu];
        let smt_mask = &model.domains.smt_mask;
        let idle_change = self.sys.idle.change(model, cpu, idle);
        self.bring_up_positions(model.llc_of[cpu], |entry, _| entry.reach.has(&idle_change));
        self.change_seen_by_searches(
            llc,
            |entry| {
                let [a, b, c] = entry.before_scan;
                a == cpu || b == cpu || c == cpu || entry.scan_range.may_contain(cpu) || smt_mask[b as usize].test(cpu)
            },
            |search, wakeup| {
                let Steps { select, predicted, decision, .. } = search.steps();
                decision.as_ref().is_some_and(|end| select.may_probe(&model.rules(), wakeup, predicted, end, cpu))
            },
            |sys| sys.idle.set(model, cpu, idle, sched_idle),
        );
        self.emit_detail(|_| Event::Available { cpu, available: idle, sched_idle });
    }

    /// Tasks have left the run queue of a busy CPU, which may leave SCHED_IDLE tasks only, or one task only.
    #[inline]
    pub fn tasks_have_left(&mut self, cpu: Cpu) {
        if self.sys.idle.may_be_sched_idle() {
            self.update_idle(cpu);
        }
        self.update_only_task(cpu);
    }

    /// Sets `has_idle_cores` of an LLC, or of the LLCs that share one ([`Model::idle_cores_of`](crate::model::Model)).
    pub fn set_idle_cores(&mut self, llc: u32, value: bool) {
        if self.sys.llcs[llc].has_idle_cores != value {
            let change = |sys: &mut System<'_>| sys.llcs[llc].has_idle_cores = value;
            let rules = self.sys.rules;
            self.bring_up_positions(llc, |entry, _| entry.reach.reads_idle_cores);
            self.change_seen_by_searches(
                self.searches_in(llc),
                |_| true,
                |search, _| search.steps().select.before_scan(&rules),
                change,
            );
            for &first in &self.sys.model.idle_cores_readers[llc] {
                self.emit_detail(|_| Event::IdleCores { llc: first, has_idle_cores: value });
            }
        }
    }

    /// Sets `nr_idle_scan` of an LLC.
    pub fn set_nr_idle_scan(&mut self, llc: u32, value: i32) {
        if self.sys.llcs[llc].nr_idle_scan != value {
            let change = |sys: &mut System<'_>| sys.llcs[llc].nr_idle_scan = value;
            self.change_seen_by_policies(self.searches_in(llc), |_, _| true, change);
        }
    }

    /// The LLC on whose list the searches of `llc` are.
    fn searches_in(&self, llc: u32) -> u32 {
        let model = self.sys.model;
        model.searches_of[model.llc_first[llc]]
    }

    /// Makes a change that searches on the list of an LLC see. Those for which `depends` holds are brought up to this
    /// moment first, and predicted anew if it still holds then.
    pub fn change_seen_by_searches(
        &mut self,
        llc: u32,
        may_depend: impl Fn(&SearchEntry) -> bool,
        depends: impl Fn(&Search<'m>, &Wakeup<'m>) -> bool,
        change: impl FnOnce(&mut System<'m>),
    ) {
        self.bring_up(llc, may_depend, depends);
        change(&mut self.sys);
        self.predict_dependent();
    }

    /// Makes a change that search policies read: seen by searches on the list of an LLC that are still to ask them, and
    /// for which `depends` holds.
    pub fn change_seen_by_policies(
        &mut self,
        llc: u32,
        depends: impl Fn(Cpu, &Search<'m>) -> bool,
        change: impl FnOnce(&mut System<'m>),
    ) {
        self.bring_up_to_policies(llc, depends);
        change(&mut self.sys);
        self.predict_dependent();
    }

    fn bring_up_to_policies(&mut self, llc: u32, depends: impl Fn(Cpu, &Search<'m>) -> bool) {
        self.bring_up_positions(llc, |entry, search| entry.reach.asks_policies && depends(entry.cpu, search));
        let rules = self.sys.rules;
        self.bring_up(
            llc,
            |_| true,
            |search, wakeup| search.steps().select.before_policies(&rules) && depends(wakeup.waker.cpu, search),
        );
    }

    /// The jiffies counter goes on, which SIS_PROP reads.
    pub fn next_jiffy(&mut self) {
        if self.sys.model.features.has(Feature::SIS_PROP) {
            for llc in 0..self.sys.llcs.len() as u32 {
                // A search can be on two lists.
                self.bring_up_to_policies(llc, |_, search| search.list() == llc);
            }
        }
        self.sys.jiffies += 1;
        self.predict_dependent();
    }

    /// Updates a CPU's averages of its idle time, which SIS_PROP reads. The CPU itself may search, in an interrupt.
    #[inline]
    pub fn update_rq_avg_idle(&mut self, cpu: Cpu) {
        if self.sys.cpus[cpu].idle_stamp == 0 {
            return;
        }
        if matches!(self.sys.cpus[cpu].doing, Doing::Search(_)) && self.sys.model.features.has(Feature::SIS_PROP) {
            let llc = self.searches[cpu].list();
            self.change_seen_by_policies(llc, |waker, _| waker == cpu, |sys| sys.update_rq_avg_idle(cpu));
        } else {
            self.sys.update_rq_avg_idle(cpu);
        }
    }

    /// Brings the searches on the list of an LLC up to this moment for which `depends` holds, and notes those for which
    /// it still does then.
    fn bring_up(
        &mut self,
        llc: u32,
        may_depend: impl Fn(&SearchEntry) -> bool,
        depends: impl Fn(&Search<'m>, &Wakeup<'m>) -> bool,
    ) {
        let rules = self.sys.rules;
        for at in 0..self.sys.llcs[llc].searches.len() {
            let entry = self.sys.llcs[llc].searches[at];
            // With all probes made the decision stands, and only the rest of the wake-up takes its time.
            if self.sys.now > entry.last_probe || !may_depend(&entry) {
                continue;
            }
            let searcher = entry.cpu;
            let search = &mut self.searches[searcher];
            let Some(wakeup) = &search.wakeup else { continue };
            if !depends(search, wakeup) {
                continue;
            }
            let due = search.probes_due(self.sys.now);
            if let Some(steps) = &mut search.steps
                && steps.select.probes() < due
            {
                // What was probed up to now had not changed since it was predicted.
                self.sys.probing = (search.began, search.probe);
                let _ = steps.select.probe_until(due, Cx { rules: &rules, wakeup, view: &self.sys });
                if !depends(search, wakeup) {
                    continue;
                }
            }
            self.dependent_searches.push(searcher);
        }
    }

    /// The same for searches that are positions. What does not move an end must not move what a search has seen either,
    /// because its probes up to now may be made later, by the idle CPUs of then.
    fn bring_up_positions(&mut self, llc: u32, depends: impl Fn(&PositionEntry, &Search<'m>) -> bool) {
        let now = self.sys.now;
        for entry in &mut self.sys.llcs[llc].positions {
            let search = &mut self.searches[entry.cpu];
            if now > entry.last_probe || !depends(entry, search) {
                continue;
            }
            let due = search.probes_due(now);
            if search.position.made() < due {
                let llcs = &self.sys.model.search_llcs;
                search.position.advance(due, llcs, self.sys.idle.of_llc(llc));
                entry.reach = search.position.reach(llcs);
                if !depends(entry, search) {
                    continue;
                }
            }
            self.dependent_positions.push(entry.cpu);
        }
    }

    /// Predicts the noted searches anew.
    fn predict_dependent(&mut self) {
        for at in 0..self.dependent_searches.len() {
            let searcher = self.dependent_searches[at];
            let end = self.predict(searcher).max(self.sys.now);
            self.timeline.set(searcher, end);
        }
        self.dependent_searches.clear();
        for at in 0..self.dependent_positions.len() {
            let searcher = self.dependent_positions[at];
            let end = self.predict_position(searcher).max(self.sys.now);
            self.timeline.set(searcher, end);
        }
        self.dependent_positions.clear();
    }

    /// The search is over: takes it off the lists and returns its decision.
    pub fn take_search(&mut self, cpu: Cpu) -> Decision {
        let search = &mut self.searches[cpu];
        debug_assert_eq!(search.wakeup.as_ref().map(|wakeup| wakeup.waker.cpu), Some(cpu));
        if search.form == Form::Position {
            return self.take_position(cpu);
        }
        let (a, b) = search.steps.as_ref().map_or((0, 0), |steps| steps.llcs);
        for llc in [a, b] {
            let entries = &mut self.sys.llcs[llc].searches;
            if let Some(at) = entries.iter().position(|entry| entry.cpu == cpu) {
                entries.swap_remove(at);
            }
        }
        search.wakeup = None;
        search.steps.as_mut().and_then(|steps| steps.decision.take()).expect("a search is under way")
    }

    /// The same for a search that is a position.
    fn take_position(&mut self, cpu: Cpu) -> Decision {
        let model = self.sys.model;
        let search = &mut self.searches[cpu];
        let place = search.place;
        let positions = &mut self.sys.llcs[search.position.llc()].positions;
        positions.swap_remove(place as usize);
        let moved = positions.get(place as usize).map(|entry| entry.cpu);
        self.sys.probing = (search.began, search.probe);
        let wakeup = search.wakeup.as_ref().expect("a search is under way");
        let cx = Cx { rules: &self.sys.rules, wakeup, view: &self.sys };
        let decision = search.position.decision(cx, &model.search_llcs);
        search.wakeup = None;
        if let Some(moved) = moved {
            self.searches[moved].place = place;
        }
        decision
    }
}

#[cfg(test)]
mod probe_by_probe;
