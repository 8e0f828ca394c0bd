//! `select_task_rq_fair()`: the decision as a state machine that names the CPU of its next probe and waits until it is
//! told to make it.
//!
//! ```text
//! select_task_rq_fair(p, prev_cpu, wake_flags):
//!     if WF_TTWU:                                                                Select::begin
//!         record_wakee(p)                            the caller, before the decision
//!         if WF_CURRENT_CPU: return this_cpu
//!         find_energy_efficient_cpu(): return it     if wake-ups are placed by energy
//!         SIS_CURRENT: if wake_on_current(): return this_cpu
//!         want_affine = !wake_wide(p) && p may use this_cpu
//!     for_each_domain(this_cpu, sd):                                             Select::walk_domains
//!         if want_affine and sd has SD_WAKE_AFFINE and prev_cpu:
//!             new_cpu = wake_affine(); sd = NULL; break
//!         if sd has the wake-up's balance flag: remember it
//!     if a domain is remembered: return find_idlest_cpu()    the slow path: fork and exec
//!     if WF_TTWU: return select_idle_sibling()               the fast path
//! ```

use super::decision::{Decision, Effects, Reason, SearchCount};
use super::find_idlest_cpu::SlowPath;
use super::select_idle_capacity::CapacityScan;
use super::select_idle_cpu::Scan;
use super::select_idle_node::NodeSearch;
use super::wake_affine::{AffineDetail, wake_affine};
use super::wake_on_current::wake_on_current;
use super::{Event, Observer, Rules, SearchView, View, WakeFlags, Wakeup, wake_wide};
use crate::cpumask::Cpu;
use crate::domain::SdFlags;
use crate::energy::find_energy_efficient_cpu;
use wakelab_kernel::Feature;

/// `select_task_rq_fair()`: where the wakee is placed, decided in one call on a state that does not change meanwhile.
#[inline]
pub fn select_task_rq_fair<V: View, O: Observer>(select: &mut Select, cx: Cx<'_, V>, observer: &mut O) -> Decision {
    match select.begin(cx.rules, cx.wakeup, observer) {
        Some(chosen) => select.decision(chosen),
        None => select.finish(cx, observer),
    }
}

/// One decision under way.
///
/// ```text
/// let mut select = Select::default();
/// let mut decision = select.start(&rules, &wakeup, &mut ());
/// while decision.is_none() {
///     // time passes until the CPU `select.next_probe(&wakeup)` is probed
///     decision = select.probe(Cx { rules: &rules, wakeup: &wakeup, view: &view }, &mut ());
/// }
/// ```
///
/// Each call has to get the same rules and wake-up. The state is plain data: a clone of it can predict the end of the
/// search, and be thrown away. Starting again reuses its memory.
#[derive(Clone, Debug)]
pub struct Select {
    pub(super) stage: Stage,
    pub(super) target: Cpu,
    /// The CPU around which the LLC is scanned: the target, or with SIS_NODE the first of another LLC.
    pub(super) scan_target: Cpu,
    pub(super) affine: AffineDetail,
    pub(super) imbalance_pct: u32,
    /// Clusters: an idle previous CPU outside the target's cluster.
    pub(super) prev_far: Option<Cpu>,
    /// Clusters: an idle recently used CPU outside the target's cluster.
    pub(super) recent_far: Option<Cpu>,
    pub(super) scan: Scan,
    pub(super) node: NodeSearch,
    /// How the scan ended, if it failed.
    pub(super) scan_failed: Reason,
    pub(super) capacity: CapacityScan,
    pub(super) slow: SlowPath,
    pub(super) effects: Effects,
    pub(super) count: SearchCount,
}

/// The context of one probe: the rules, the wake-up, and the system as it is at this moment.
#[derive(Debug)]
pub struct Cx<'a, V> {
    /// The rules of the decision.
    pub rules: &'a Rules<'a>,
    /// Who wakes whom.
    pub wakeup: &'a Wakeup<'a>,
    /// The system now.
    pub view: &'a V,
}

impl<V> Clone for Cx<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Cx<'_, V> {}

/// The end of a decision, before all of it is put together: small, because every probe returns one or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) cpu: Cpu,
    pub(super) reason: Reason,
}

/// Where a decision is: what it probes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// All CPUs of the performance domains, at one moment.
    Energy,
    /// The waking CPU, for wake_on_current().
    Current,
    /// The waking and the previous CPU, for wake_affine().
    Affine,
    /// The target.
    Target,
    /// The previous CPU.
    Prev,
    /// The recently used CPU.
    Recent(Cpu),
    /// A sibling.
    Smt(Cpu),
    /// A CPU of the scan.
    Scan(Cpu),
    /// A CPU of select_idle_capacity().
    Capacity(Cpu),
    /// A CPU of a group, in the slow path.
    Slow(Cpu),
    /// Nothing more.
    Done,
}

impl Default for Select {
    fn default() -> Self {
        Select {
            stage: Stage::Done,
            target: 0,
            scan_target: 0,
            affine: AffineDetail::NOT_ASKED,
            imbalance_pct: 0,
            prev_far: None,
            recent_far: None,
            scan: Scan::default(),
            node: NodeSearch::default(),
            scan_failed: Reason::None,
            capacity: CapacityScan::default(),
            slow: SlowPath::default(),
            effects: Effects::default(),
            count: SearchCount::default(),
        }
    }
}

/// The stages of select_idle_sibling(), and others that are given. It is one `match`, because a second one costs every
/// probe another jump.
macro_rules! match_stage {
    ($self:ident, $cx:ident, $observer:ident, { $($stage:pat => $body:expr,)* }) => {
        match $self.stage {
            $($stage => $body,)*
            Stage::Target if $cx.rules.features.has(Feature::SIS_ORACLE) => $self.sis_oracle($cx, $observer),
            Stage::Target | Stage::Prev | Stage::Recent(_) if $cx.rules.domains.asym_cpucap_active => {
                $self.probe_asym($cx, $observer)
            }
            Stage::Target => $self.probe_target::<false, V, O>($cx, $observer),
            Stage::Prev => $self.probe_prev::<false, V, O>($cx, $observer),
            Stage::Recent(cpu) => $self.probe_recent::<false, V, O>(cpu, $cx, $observer),
            Stage::Smt(cpu) => $self.probe_sibling(cpu, $cx, $observer),
            Stage::Scan(cpu) => {
                let next = $self.scan.probe(cpu, $cx, $self.scan_target, &mut $self.count, $observer);
                $self.continue_scan(next, $cx, $observer)
            }
            Stage::Capacity(cpu) => $self.probe_capacity(cpu, $cx, $observer),
        }
    };
}

impl Select {
    /// Begins: all of `select_task_rq_fair()` that reads no run queue. `Some` if that decides already.
    ///
    /// The caller has called `record_wakee()`: the flips in `wakeup` are those after it.
    #[inline]
    pub fn start<O: Observer>(&mut self, rules: &Rules<'_>, wakeup: &Wakeup<'_>, observer: &mut O) -> Option<Decision> {
        self.begin(rules, wakeup, observer).map(|chosen| self.decision(chosen))
    }

    #[inline]
    pub(super) fn begin<O: Observer>(
        &mut self,
        rules: &Rules<'_>,
        wakeup: &Wakeup<'_>,
        observer: &mut O,
    ) -> Option<Chosen> {
        let (this_cpu, prev_cpu) = (wakeup.waker.cpu, wakeup.wakee.prev_cpu);
        self.target = prev_cpu;
        self.affine = AffineDetail::NOT_ASKED;
        self.prev_far = None;
        self.recent_far = None;
        self.effects = Effects::default();
        self.count = SearchCount::default();

        if wakeup.flags.contains(WakeFlags::TTWU) {
            let allowed = wakeup.wakee.cpus_ptr.test(this_cpu);
            if rules.code.current_cpu && wakeup.flags.contains(WakeFlags::CURRENT_CPU) && allowed {
                return self.done(this_cpu, Reason::CurrentCpu);
            }
            if rules.energy.is_some() {
                self.stage = Stage::Energy;
                return None;
            }
        }
        self.begin_domains(rules, wakeup, observer)
    }

    /// What comes after energy-aware placement, or without it.
    #[inline]
    fn begin_domains<O: Observer>(
        &mut self,
        rules: &Rules<'_>,
        wakeup: &Wakeup<'_>,
        observer: &mut O,
    ) -> Option<Chosen> {
        if rules.features.has(Feature::SIS_CURRENT)
            && wakeup.flags.contains(WakeFlags::TTWU)
            && wakeup.wakee.cpus_ptr.test(wakeup.waker.cpu)
        {
            self.stage = Stage::Current;
            return None;
        }
        self.walk_domains(rules, wakeup, observer)
    }

    /// wake_on_current(), and the rest of select_task_rq_fair() if that does not decide.
    #[cold]
    fn probe_current<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        if wake_on_current(cx) {
            return self.done(cx.wakeup.waker.cpu, Reason::CurrentCpu);
        }
        self.walk_domains(cx.rules, cx.wakeup, observer)
    }

    /// wake_affine(), the slow path or the search.
    #[inline]
    fn walk_domains<O: Observer>(
        &mut self,
        rules: &Rules<'_>,
        wakeup: &Wakeup<'_>,
        observer: &mut O,
    ) -> Option<Chosen> {
        let (this_cpu, prev_cpu) = (wakeup.waker.cpu, wakeup.wakee.prev_cpu);
        let ttwu = wakeup.flags.contains(WakeFlags::TTWU);
        let mut want_affine = false;
        if ttwu {
            let allowed = wakeup.wakee.cpus_ptr.test(this_cpu);
            let llc_size = rules.domains.sd_llc_size[this_cpu as usize];
            let (waker_flips, wakee_flips) = (wakeup.waker.wakee_flips, wakeup.wakee.wakee_flips);
            let wide = wake_wide(waker_flips, wakee_flips, llc_size);
            observer.event(Event::WakeWide { waker_flips, wakee_flips, llc_size, wide });
            want_affine = !wide && allowed;
        }

        let sd_flag = balance_flag(wakeup.flags);
        let mut slow_level = None;
        for (level, sd) in rules.domains.domains[this_cpu as usize].iter().enumerate() {
            // A CPU's own domains have it, which saves a look at a mask as wide as the machine.
            let has_prev = || this_cpu == prev_cpu || sd.span.test(prev_cpu);
            if want_affine && sd.flags.contains(SdFlags::WAKE_AFFINE) && has_prev() {
                slow_level = None;
                if this_cpu != prev_cpu {
                    self.note_waker(rules, wakeup, want_affine);
                    self.imbalance_pct = sd.imbalance_pct;
                    self.stage = Stage::Affine;
                    return None;
                }
                break;
            }
            if sd.flags.intersects(sd_flag) {
                slow_level = Some(level);
            } else if !want_affine {
                break;
            }
        }

        match slow_level {
            Some(level) => match self.slow.start(rules, wakeup, level, sd_flag, observer) {
                Ok(cpu) => self.stage = Stage::Slow(cpu),
                Err(cpu) => return self.done(cpu, Reason::Slow),
            },
            None if ttwu => {
                self.note_waker(rules, wakeup, want_affine);
                self.begin_search();
            }
            None => return self.done(prev_cpu, Reason::Stay),
        }
        None
    }

    /// The CPU that is probed next; `None` if the decision is made. `wake_affine()` and energy-aware placement, which
    /// read more than one CPU in one step, are named by the previous CPU.
    #[inline]
    pub fn next_probe(&self, wakeup: &Wakeup<'_>) -> Option<Cpu> {
        match self.stage {
            Stage::Energy | Stage::Affine | Stage::Prev => Some(wakeup.wakee.prev_cpu),
            Stage::Target => Some(self.target),
            Stage::Recent(cpu) | Stage::Smt(cpu) | Stage::Scan(cpu) | Stage::Capacity(cpu) | Stage::Slow(cpu) => {
                Some(cpu)
            }
            Stage::Current => Some(wakeup.waker.cpu),
            Stage::Done => None,
        }
    }

    /// Probes one CPU and advances to the next, or to the decision.
    #[inline]
    pub fn probe<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Decision> {
        self.probe_stage(cx, observer).map(|chosen| self.decision(chosen))
    }

    /// Makes all probes that are left.
    ///
    /// If nobody observes single probes and the view keeps its idle CPUs as a mask, the scan of the LLC reads words of
    /// it (`scan_by_mask.rs`); the decision and its counts are the same.
    #[inline]
    pub fn finish<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Decision {
        loop {
            let chosen = match self.scan_by_mask(cx, observer).or_else(|| self.finish_slow_part(cx, observer)) {
                Some(chosen) => chosen,
                None => self.probe_stage(cx, observer),
            };
            if let Some(chosen) = chosen {
                return self.decision(chosen);
            }
        }
    }

    /// Makes all probes that are left of select_idle_sibling(), unless it has ended with `chosen`.
    #[inline]
    pub(super) fn finish_search<V: SearchView, O: Observer>(
        &mut self,
        mut chosen: Option<Chosen>,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Decision {
        loop {
            if let Some(chosen) = chosen {
                return self.decision(chosen);
            }
            chosen = match self.scan_by_mask(cx, observer) {
                Some(chosen) => chosen,
                None => self.probe_search_stage(cx, observer),
            };
        }
    }

    /// The rest of the scan in one step; `None` if it has to be probed CPU by CPU.
    #[inline(always)]
    fn scan_by_mask<V: SearchView, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Option<Chosen>> {
        if !O::PROBES
            && let Stage::Scan(cpu) = self.stage
            && let Some(idle) = cx.view.idle_mask()
        {
            let next = self.scan.by_mask(cpu, cx, self.scan_target, idle, &mut self.count);
            return Some(self.continue_scan(next, cx, observer));
        }
        None
    }

    /// A comparison of groups or of CPUs in the slow path in one step; `None` if it has to be probed CPU by CPU.
    #[inline(always)]
    fn finish_slow_part<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, _: &mut O) -> Option<Option<Chosen>> {
        if !O::PROBES
            && let Stage::Slow(cpu) = self.stage
        {
            let next = self.slow.finish_part(cpu, cx)?;
            return Some(self.continue_slow(next));
        }
        None
    }

    /// Goes on with the next CPU of the slow path, or ends with the chosen one.
    #[inline]
    fn continue_slow(&mut self, next: Result<Cpu, Cpu>) -> Option<Chosen> {
        match next {
            Ok(next) => {
                self.stage = Stage::Slow(next);
                None
            }
            Err(chosen) => self.done(chosen, Reason::Slow),
        }
    }

    /// Probes what the stage names.
    #[inline]
    pub(super) fn probe_stage<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        match_stage!(self, cx, observer, {
            Stage::Energy => self.probe_energy(cx, observer),
            Stage::Current => self.probe_current(cx, observer),
            Stage::Affine => {
                let (target, detail) = wake_affine(cx.rules, cx.wakeup, self.imbalance_pct, cx.view);
                observer.event(Event::Affine { detail, target });
                self.target = target;
                self.affine = detail;
                self.begin_search();
                None
            },
            Stage::Slow(cpu) => {
                let next = self.slow.probe(cpu, cx, observer);
                self.continue_slow(next)
            },
            Stage::Done => None,
        })
    }

    /// Probes what a stage of select_idle_sibling() names. The view need not have what the other stages read.
    #[inline]
    fn probe_search_stage<V: SearchView, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        match_stage!(self, cx, observer, {
            Stage::Energy | Stage::Current | Stage::Affine | Stage::Slow(_) | Stage::Done => None,
        })
    }

    /// find_energy_efficient_cpu(), and the rest of select_task_rq_fair() if that does not decide.
    #[cold]
    #[inline(never)]
    fn probe_energy<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        match find_energy_efficient_cpu(cx.rules, cx.wakeup, cx.view, observer) {
            Some(cpu) => self.done(cpu, Reason::Energy),
            None => self.begin_domains(cx.rules, cx.wakeup, observer),
        }
    }

    /// Before 5.12 the fast path ended by making the waking CPU the waker's own `recent_used_cpu`.
    #[inline]
    fn note_waker(&mut self, rules: &Rules<'_>, wakeup: &Wakeup<'_>, want_affine: bool) {
        if want_affine && !rules.code.recent_used_always {
            self.effects.waker_recent_used_cpu = Some(wakeup.waker.cpu);
        }
    }

    #[inline]
    pub(super) fn done(&mut self, cpu: Cpu, reason: Reason) -> Option<Chosen> {
        self.stage = Stage::Done;
        Some(Chosen { cpu, reason })
    }

    /// The decision with all that belongs to it.
    #[inline]
    pub(super) fn decision(&self, Chosen { cpu, reason }: Chosen) -> Decision {
        Decision { cpu, reason, target: self.target, affine: self.affine, effects: self.effects, count: self.count }
    }
}

/// The domain flag of a wake-up: the first four bits of `WF_*` are those of `SD_BALANCE_*`.
fn balance_flag(flags: WakeFlags) -> SdFlags {
    let mut sd = SdFlags::empty();
    sd.set(SdFlags::BALANCE_EXEC, flags.contains(WakeFlags::EXEC));
    sd.set(SdFlags::BALANCE_FORK, flags.contains(WakeFlags::FORK));
    sd.set(SdFlags::BALANCE_WAKE, flags.contains(WakeFlags::TTWU));
    sd
}
