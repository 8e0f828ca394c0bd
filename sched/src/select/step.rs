//! The decision as a state machine: it names the CPU that it looks at next and waits until it is told to look.

use super::capacity::CapacityScan;
use super::decision::{Decision, Effects, Reason, SearchCount};
use super::policy::Before;
use super::scan::{Scan, ScanEnd};
use super::slow::SlowPath;
use super::wake_affine::{AffineDetail, wake_affine};
use super::{Event, Look, Observer, Rules, Site, View, WakeFlags, Wakeup, wake_wide};
use crate::cpumask::Cpu;
use crate::domain::SdFlags;
use crate::energy::find_energy_efficient_cpu;
use wakelab_kernel::Feature;

/// One decision under way.
///
/// ```text
/// let mut select = Select::default();
/// let mut decision = select.start(&rules, &wakeup, &mut ());
/// while decision.is_none() {
///     // time passes until the CPU `select.looking_at()` is looked at
///     decision = select.step(Cx { rules: &rules, wakeup: &wakeup, view: &view }, &mut ());
/// }
/// ```
///
/// The same rules and wake-up are to be given at each call. The state is plain data: a clone of it can be run ahead on
/// a guess of what it will see, and thrown away. Starting again reuses its memory.
#[derive(Clone, Debug)]
pub struct Select {
    pub(super) stage: Stage,
    pub(super) target: Cpu,
    pub(super) affine: AffineDetail,
    pub(super) imbalance_pct: u32,
    /// Clusters: an idle previous CPU outside the target's cluster.
    pub(super) prev_far: Option<Cpu>,
    /// Clusters: an idle recently used CPU outside the target's cluster.
    pub(super) recent_far: Option<Cpu>,
    pub(super) scan: Scan,
    /// How the walk ended, if it failed.
    pub(super) walk_end: Reason,
    pub(super) capacity: CapacityScan,
    pub(super) slow: SlowPath,
    pub(super) effects: Effects,
    pub(super) count: SearchCount,
}

/// What one step is made under: the rules, the wake-up, and the system as it is at this moment.
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

/// The end of a decision, before it is put together: small, because every step returns one or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) cpu: Cpu,
    pub(super) reason: Reason,
}

/// Where a decision stands: what the next step looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// All CPUs of the performance domains, at one moment.
    Energy,
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
    /// A CPU of the walk.
    Scan(Cpu),
    /// A CPU of the search by capacity.
    Capacity(Cpu),
    /// A CPU of a group.
    Slow(Cpu),
    /// Nothing more.
    Done,
}

impl Default for Select {
    fn default() -> Self {
        Select {
            stage: Stage::Done,
            target: 0,
            affine: AffineDetail::NOT_ASKED,
            imbalance_pct: 0,
            prev_far: None,
            recent_far: None,
            scan: Scan::default(),
            walk_end: Reason::None,
            capacity: CapacityScan::default(),
            slow: SlowPath::default(),
            effects: Effects::default(),
            count: SearchCount::default(),
        }
    }
}

impl Select {
    /// Begins: all of `select_task_rq_fair()` that needs no look at a run queue. `Some` where that decides already.
    ///
    /// `record_wakee()` has been done by the caller: the flips in `wakeup` are those after it.
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

    /// What comes after energy-aware placement, or in its stead.
    #[inline]
    fn begin_domains<O: Observer>(
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
            if want_affine && sd.flags.contains(SdFlags::WAKE_AFFINE) && sd.span.test(prev_cpu) {
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

    /// The CPU that the next step looks at; `None` when there is no next step. A step by energy looks at all CPUs of the
    /// performance domains, and is named by the previous one.
    #[inline]
    pub fn looking_at(&self, wakeup: &Wakeup<'_>) -> Option<Cpu> {
        match self.stage {
            Stage::Energy | Stage::Affine | Stage::Prev => Some(wakeup.wakee.prev_cpu),
            Stage::Target => Some(self.target),
            Stage::Recent(cpu) | Stage::Smt(cpu) | Stage::Scan(cpu) | Stage::Capacity(cpu) | Stage::Slow(cpu) => {
                Some(cpu)
            }
            Stage::Done => None,
        }
    }

    /// Looks at one CPU and goes on to the next, or to the decision.
    #[inline]
    pub fn step<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Decision> {
        self.look(cx, observer).map(|chosen| self.decision(chosen))
    }

    #[inline]
    pub(super) fn look<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
        match self.stage {
            Stage::Energy => self.look_at_energy(cx, observer),
            Stage::Affine => {
                let (target, detail) = wake_affine(cx.rules, cx.wakeup, self.imbalance_pct, cx.view);
                observer.event(Event::Affine { detail, target });
                self.target = target;
                self.affine = detail;
                self.begin_search();
                None
            }
            Stage::Target if cx.rules.features.has(Feature::SIS_ORACLE) => self.ask_oracle(cx, observer),
            Stage::Target | Stage::Prev | Stage::Recent(_) if cx.rules.domains.asym_cpucap_active => {
                self.look_asym(cx, observer)
            }
            Stage::Target => self.look_at_target::<false, V, O>(cx, observer),
            Stage::Prev => self.look_at_prev::<false, V, O>(cx, observer),
            Stage::Recent(cpu) => self.look_at_recent::<false, V, O>(cpu, cx, observer),
            Stage::Smt(cpu) => self.look_at_sibling(cpu, cx, observer),
            Stage::Scan(cpu) => {
                let end = self.scan.look(cpu, cx, self.target, &mut self.count, observer);
                self.scan_goes_on(end, cx, observer)
            }
            Stage::Capacity(cpu) => self.look_at_capacity(cpu, cx, observer),
            Stage::Slow(cpu) => match self.slow.look(cpu, cx, observer) {
                Ok(next) => {
                    self.stage = Stage::Slow(next);
                    None
                }
                Err(chosen) => self.done(chosen, Reason::Slow),
            },
            Stage::Done => None,
        }
    }

    /// find_energy_efficient_cpu(), and the rest of select_task_rq_fair() where that does not decide.
    #[cold]
    #[inline(never)]
    fn look_at_energy<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Option<Chosen> {
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

    /// Enters select_idle_sibling(). The fast paths count as one scan, whatever they look at.
    #[inline]
    pub(super) fn begin_search(&mut self) {
        self.stage = Stage::Target;
        self.count = SearchCount { search: 1, domain_search: 0, scanned: 1, failed: 0 };
    }

    /// Goes on after the walk was prepared or has looked at a CPU.
    #[inline]
    pub(super) fn scan_goes_on<V: View, O: Observer>(
        &mut self,
        end: ScanEnd,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        match end {
            ScanEnd::LookAt(cpu) => {
                self.stage = Stage::Scan(cpu);
                None
            }
            ScanEnd::Found(cpu, reason) => {
                self.scan.close(reason, cx, self.target, self.looks(), &mut self.effects);
                self.done(cpu, reason)
            }
            ScanEnd::Failed(reason) => {
                self.scan.close(reason, cx, self.target, self.looks(), &mut self.effects);
                if self.scan.only_for_cores(cx.rules) {
                    return self.begin_walk(false, cx, observer);
                }
                self.walk_end = reason;
                self.after_walk(cx, observer)
            }
        }
    }

    /// Prepares select_idle_cpu()'s walk.
    #[inline]
    pub(super) fn begin_walk<V: View, O: Observer>(
        &mut self,
        has_idle_core: bool,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        observer.event(Event::Walk { cores: has_idle_core });
        let before = self.scan.prepare(cx, has_idle_core, self.target, self.looks(), &mut self.effects, observer);
        let end = match before {
            Before::Overloaded => ScanEnd::Failed(Reason::Overloaded),
            Before::Take(cpu, reason) => ScanEnd::Found(cpu, reason),
            Before::Walk => self.scan.advance(cx.rules, self.target, &mut self.count),
        };
        self.scan_goes_on(end, cx, observer)
    }

    #[inline]
    pub(super) fn done(&mut self, cpu: Cpu, reason: Reason) -> Option<Chosen> {
        self.stage = Stage::Done;
        Some(Chosen { cpu, reason })
    }

    /// The decision with all that led to it.
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

/// Looks at one run queue as the kernel does where it wants an idle CPU: idle, or running SCHED_IDLE tasks only
/// (`choose_idle_cpu()` of 7.0; before, `available_idle_cpu() || sched_idle_cpu()`).
#[inline]
pub(super) fn choose_idle_cpu<V: View, O: Observer>(site: Site, cpu: Cpu, cx: Cx<'_, V>, observer: &mut O) -> bool {
    let idle = cx.view.available_idle_cpu(cpu);
    let asks = !idle && cx.rules.code.sched_idle_cpus;
    let sched_idle = asks && cx.view.sched_idle_cpu(cpu);
    observer.event(Event::Look(Look { site, cpu, idle, sched_idle: asks.then_some(sched_idle) }));
    idle || (sched_idle && takes_sched_idle(cx.rules, cx.wakeup))
}

/// Whether a CPU that runs SCHED_IDLE tasks only is free for this wakee.
#[inline]
pub(super) fn takes_sched_idle(rules: &Rules<'_>, wakeup: &Wakeup<'_>) -> bool {
    !(rules.code.sched_idle_not_for_idle && wakeup.wakee.idle_policy)
}
