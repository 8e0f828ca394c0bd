//! A search as a position in the words of one LLC: the common case of [`Select`] in a form that is cheap to predict.
//!
//! Of a search that the wakee's affinity does not narrow, in an LLC without clusters whose CPUs are alike, it is enough
//! to keep how far it has come. Its end follows from the LLC's idle CPUs and cores, by rank in the LLC; offsets count
//! from the CPU or core at which the scan begins. 8 cores of two CPUs, a scan for an idle core that begins at core 2:
//!
//! ```text
//! offset of the core    0     1     2     3     4     5     6     7
//! core                  2     3     4     5     6     7     0     1
//! CPUs idle           . .   . .   . x   . .   x .   . .   x x   . .
//!                           │           └ kept: idle_cpu              └ end
//!                           └ position after 3 probes: core 1, its first CPU probed
//! ```
//!
//! [`SearchPosition::predict`] works out the end, [`SearchPosition::advance`] makes the probes that are due, of which
//! none ends the search, and [`Reach`] says which CPUs it depends on. The policies are asked by the code that
//! [`Select`] uses. Whatever is not common, [`SearchLlcs::takes`] leaves to [`Select`]; where it does not, both come to
//! the same decision at the same moment, which a property test of the simulator holds.

use super::decision::{Decision, Effects, Reason, ScanCost, SearchCount};
use super::policy::{self, Plan, SearchContext, Verdict};
use super::rank_set::RankSet;
use super::select_task_rq_fair::{Select, Stage};
use super::wake_affine::AffineDetail;
use super::{Cx, Rules, SearchView, Wakeup};
use crate::cpumask::{Cpu, CpuMask};
use wakelab_kernel::{Feature, IdleSearch, SmtScan};

/// No CPU.
const NONE: Cpu = Cpu::MAX;

/// The idle CPUs of one LLC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlcIdle {
    /// By rank of the CPU in the LLC.
    cpus: RankSet,
    /// By rank of the core: some CPU is idle.
    any: RankSet,
    /// All CPUs are.
    all: RankSet,
    /// The lowest is.
    first: RankSet,
}

/// How the CPUs of an LLC's cores lie among the CPUs of the LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Siblings {
    /// There is no SMT.
    Single,
    /// The siblings of core c have the ranks c and c + number of cores.
    Split,
    /// The siblings of core c have the ranks 2c and 2c + 1.
    Adjacent,
}

/// The shape of one LLC.
#[derive(Clone, Debug)]
struct Shape {
    /// Searches in it can be positions.
    usable: bool,
    siblings: Siblings,
    /// How many cores it has.
    cores: u32,
    /// By rank: the CPU, in ascending order.
    cpus: Vec<Cpu>,
}

impl Shape {
    fn nr(&self) -> u32 {
        self.cpus.len() as u32
    }

    #[inline]
    fn core_of(&self, rank: u32) -> u32 {
        match self.siblings {
            Siblings::Single => rank,
            Siblings::Split => {
                if rank < self.cores {
                    rank
                } else {
                    rank - self.cores
                }
            }
            Siblings::Adjacent => rank / 2,
        }
    }

    /// The ranks of a core's CPUs, in ascending order.
    #[inline]
    fn ranks(&self, core: u32) -> [u32; 2] {
        match self.siblings {
            Siblings::Single => [core, core],
            Siblings::Split => [core, core + self.cores],
            Siblings::Adjacent => [2 * core, 2 * core + 1],
        }
    }
}

/// Where a CPU is among the CPUs of its LLC.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    llc: u32,
    rank: u32,
    /// The rank of its core.
    core: u32,
}

/// The LLCs of a machine under a kernel, for searches that are positions.
#[derive(Clone, Debug)]
pub struct SearchLlcs {
    places: Vec<Place>,
    shapes: Vec<Shape>,
    /// Whether the rules allow such searches at all.
    usable: bool,
}

impl SearchLlcs {
    /// For these rules; `llc_of` has the number of each CPU's LLC, 0 upwards.
    pub fn new(rules: &Rules<'_>, llc_of: &[u32]) -> Self {
        let domains = rules.domains;
        // They replace the search, take CPUs out of the scan, or limit the scan for a core.
        let others = [
            Feature::SIS_ORACLE,
            Feature::SIS_FILTER,
            Feature::SIS_EFF_CORE_LIMIT,
            Feature::SIS_EFF_BUSY,
            Feature::SIS_EFF_FILTER,
            Feature::OWN,
        ];
        let usable = rules.idle_search == IdleSearch::OneScan
            && !rules.single_pass
            && !domains.cluster_active
            && !domains.asym_cpucap_active
            && rules.energy.is_none()
            && !rules.late_reads()
            && !rules.code.core_scan_whole
            && (!domains.smt_active || domains.core_walks.is_some())
            && !others.iter().any(|&feature| rules.features.has(feature));
        let nr_llcs = llc_of.iter().max().map_or(0, |last| last + 1);
        let mut cpus = vec![Vec::new(); nr_llcs as usize];
        for (cpu, &llc) in (0..).zip(llc_of) {
            cpus[llc as usize].push(cpu);
        }
        let shapes: Vec<Shape> = cpus.into_iter().map(|cpus| shape(rules, cpus)).collect();
        let mut places = vec![Place::default(); llc_of.len()];
        for (llc, shape) in (0..).zip(&shapes) {
            for (rank, &cpu) in (0..).zip(&shape.cpus) {
                places[cpu as usize] = Place { llc, rank, core: shape.core_of(rank) };
            }
        }
        SearchLlcs { places, shapes, usable }
    }

    /// The idle CPUs of each LLC.
    pub fn idle(&self, idle: &CpuMask) -> Vec<LlcIdle> {
        let of = |shape: &Shape| {
            let cores = RankSet::new(shape.cores);
            LlcIdle { cpus: RankSet::new(shape.nr()), any: cores.clone(), all: cores.clone(), first: cores }
        };
        let mut llcs: Vec<LlcIdle> = self.shapes.iter().map(of).collect();
        (0..self.places.len() as Cpu).filter(|&cpu| idle.test(cpu)).for_each(|cpu| self.assign(&mut llcs, cpu, true));
        llcs
    }

    /// A CPU becomes idle or busy.
    #[inline]
    pub fn assign(&self, llcs: &mut [LlcIdle], cpu: Cpu, idle: bool) {
        let Place { llc, rank, core } = self.places[cpu as usize];
        let (shape, of) = (&self.shapes[llc as usize], &mut llcs[llc as usize]);
        of.cpus.assign(rank, idle);
        if shape.siblings != Siblings::Single {
            let [first, second] = shape.ranks(core).map(|rank| of.cpus.test(rank));
            of.any.assign(core, first | second);
            of.all.assign(core, first & second);
            of.first.assign(core, first);
        }
    }

    /// The change of a CPU that becomes idle or busy; `llcs` are the idle CPUs before it.
    #[inline]
    pub fn idle_change(&self, llcs: &[LlcIdle], cpu: Cpu, idle: bool) -> IdleChange {
        let place = self.places[cpu as usize];
        let (shape, of) = (&self.shapes[place.llc as usize], &llcs[place.llc as usize]);
        let [first, _] = shape.ranks(place.core);
        let behind_busy = shape.siblings != Siblings::Single && first != place.rank && !of.cpus.test(first);
        IdleChange { cpu, place, idle, behind_busy }
    }

    /// Whether a search that stands before its first probe can be a position. The wakee may use all CPUs, and no task
    /// can be SCHED_IDLE.
    #[inline]
    pub fn takes(&self, rules: &Rules<'_>, select: &Select, wakeup: &Wakeup<'_>) -> bool {
        self.usable
            && select.stage == Stage::Target
            && self.shapes[self.places[select.target as usize].llc as usize].usable
            && !wakeup.waker.per_cpu_kthread
            && rules.domains.sd_llc(wakeup.waker.cpu).is_some()
    }
}

fn shape(rules: &Rules<'_>, cpus: Vec<Cpu>) -> Shape {
    let domains = rules.domains;
    let nr = cpus.len() as u32;
    let lies_as = |siblings: Siblings, cores: u32| {
        let shape = Shape { usable: true, siblings, cores, cpus: Vec::new() };
        (0..cores).all(|core| {
            let [first, second] = shape.ranks(core).map(|rank| cpus[rank as usize]);
            let mask = &domains.smt_mask[first as usize];
            mask.weight() == 1 + u32::from(first != second) && mask.test(first) && mask.test(second)
        })
    };
    let ways = match domains.smt_active {
        false => vec![(Siblings::Single, nr)],
        true if nr.is_multiple_of(2) => vec![(Siblings::Split, nr / 2), (Siblings::Adjacent, nr / 2)],
        true => Vec::new(),
    };
    let found = ways.into_iter().find(|&(siblings, cores)| lies_as(siblings, cores));
    let whole = cpus.iter().all(|&cpu| domains.sd_llc(cpu).is_some_and(|sd| sd.span_weight == nr));
    let (siblings, cores) = found.unwrap_or((Siblings::Single, nr));
    Shape { usable: found.is_some() && whole, siblings, cores, cpus }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Before its first probe: the fast paths are made again.
    #[default]
    FastPaths,
    /// Among the siblings of the previous CPU.
    Siblings,
    /// In the scan.
    Scan,
}

/// A position in a scan for an idle core.
#[derive(Clone, Copy, Debug, Default)]
struct CorePosition {
    /// The offset of the core that is probed next.
    core: u32,
    /// Its first CPU was probed, and was idle or not.
    half: Option<bool>,
    /// The rank of the idle CPU that is kept.
    kept: Option<u32>,
    /// Probes made.
    probes: u32,
}

/// The predicted end.
#[derive(Clone, Copy, Debug)]
struct End {
    reason: Reason,
    /// The CPU; in a scan the offset of the CPU or core at which it ends.
    found: u32,
    /// Probes made then.
    probes: u32,
}

/// A search. What each prediction reads comes first: there are as many searches as CPUs, and few lines of them should
/// be read.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct SearchPosition {
    at: At,
    /// The scan is for an idle core.
    has_idle_core: bool,
    /// How many siblings of the previous CPU can be probed.
    nr_siblings: u8,
    /// How many are probed before the scan.
    before_scan: u8,
    target: Cpu,
    /// The LLC's number.
    llc: u32,
    /// The rank of the CPU at which the scan begins, and that of its core.
    start: u32,
    start_core: u32,
    position: CorePosition,
    end: End,
    /// The offset of the core after the one whose idle CPU is kept, as predicted.
    keeps_from: u32,
    /// CPUs that are probed before the scan: the previous and the recently used CPU, siblings of the previous one.
    prev: Cpu,
    recent: Cpu,
    siblings: [Cpu; 2],
    /// [`Effects::waker_recent_used_cpu`], the only effect before the first probe.
    waker_recent_used_cpu: Option<Cpu>,
    plan: Plan,
    /// The decision before the first probe.
    affine: AffineDetail,
}

impl Default for SearchPosition {
    fn default() -> Self {
        SearchPosition {
            at: At::FastPaths,
            has_idle_core: false,
            nr_siblings: 0,
            before_scan: 0,
            target: 0,
            llc: 0,
            start: 0,
            start_core: 0,
            position: CorePosition::default(),
            end: End { reason: Reason::None, found: 0, probes: 0 },
            keeps_from: u32::MAX,
            prev: NONE,
            recent: NONE,
            siblings: [NONE; 2],
            waker_recent_used_cpu: None,
            plan: Plan::new(0),
            affine: AffineDetail::NOT_ASKED,
        }
    }
}

/// The values on which a search by position depends.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// CPUs that may still be probed before the scan.
    before_scan: [Cpu; 5],
    /// The offset 0 of the scan: the rank of a CPU or core.
    start: u32,
    /// How many CPUs or cores the LLC has.
    nr: u32,
    /// Offsets at which a CPU that becomes idle changes the end: from, and up to but not including.
    idle: [u32; 2],
    /// Offsets at which a CPU that becomes busy does.
    busy: [u32; 2],
    by_core: bool,
    /// From this offset on an idle CPU is kept: the second CPU of a core is probed only if the first is idle.
    keeps_from: u32,
    /// `has_idle_cores` is still to be read.
    pub reads_idle_cores: bool,
    /// The policies are still to be asked.
    pub asks_policies: bool,
}

impl Reach {
    /// Everything, of a search that is still to be predicted.
    pub const ALL: Reach = Reach {
        before_scan: [NONE; 5],
        start: 0,
        nr: 1,
        idle: [0, u32::MAX],
        busy: [0, u32::MAX],
        by_core: false,
        keeps_from: u32::MAX,
        reads_idle_cores: true,
        asks_policies: true,
    };

    /// Whether the end can change when a CPU of this LLC becomes idle or busy.
    #[inline]
    pub fn has(&self, change: &IdleChange) -> bool {
        let at = if self.by_core { change.place.core } else { change.place.rank };
        let offset = offset_of(self.start, self.nr, at);
        let [from, to] = if change.idle { self.idle } else { self.busy };
        (offset >= from && offset < to && !(change.behind_busy && offset >= self.keeps_from))
            || (self.asks_policies && self.before_scan.contains(&change.cpu))
    }
}

/// A CPU becomes idle or busy.
#[derive(Clone, Copy, Debug)]
pub struct IdleChange {
    cpu: Cpu,
    place: Place,
    idle: bool,
    /// It is the second CPU of a core whose first is busy.
    behind_busy: bool,
}

impl SearchPosition {
    /// Begins where [`Select`] stands before its first probe.
    #[inline]
    pub fn begin(&mut self, select: &Select, rules: &Rules<'_>, llcs: &SearchLlcs, wakeup: &Wakeup<'_>) {
        let (target, prev) = (select.target, wakeup.wakee.prev_cpu);
        let llc = llcs.places[target as usize].llc;
        let shape = &llcs.shapes[llc as usize];
        let of_prev = llcs.places[prev as usize];
        let near = of_prev.llc == llc;
        (self.at, self.target, self.llc) = (At::FastPaths, target, llc);
        let waker_recent_used_cpu = select.effects.waker_recent_used_cpu;
        debug_assert_eq!(select.effects, Effects { waker_recent_used_cpu, ..Effects::default() });
        (self.affine, self.waker_recent_used_cpu) = (select.affine, waker_recent_used_cpu);
        self.prev = if near && prev != target { prev } else { NONE };
        self.recent = match wakeup.wakee.recent_used_cpu {
            Some(recent) if recent != prev && recent != target && llcs.places[recent as usize].llc == llc => recent,
            _ => NONE,
        };
        (self.nr_siblings, self.siblings) = (0, [NONE; 2]);
        if shape.siblings != Siblings::Single && near {
            for other in shape.ranks(of_prev.core) {
                if rules.code.smt_scan != SmtScan::WholeCore && other == of_prev.rank {
                    continue;
                }
                self.siblings[self.nr_siblings as usize] = shape.cpus[other as usize];
                self.nr_siblings += 1;
            }
        }
    }

    #[inline]
    fn start_at(&mut self, shape: &Shape, rank: u32) {
        self.start = if rank < shape.nr() { rank } else { 0 };
        self.start_core = shape.core_of(self.start);
    }

    /// The target of the search.
    #[inline]
    pub fn target(&self) -> Cpu {
        self.target
    }

    /// The number of the LLC that it searches: it depends on no other.
    #[inline]
    pub fn llc(&self) -> u32 {
        self.llc
    }

    /// How many probes have been made.
    #[inline]
    pub fn made(&self) -> u32 {
        match self.at {
            At::FastPaths => 0,
            At::Siblings | At::Scan => self.position.probes,
        }
    }

    /// How many probes will have been made at the predicted end.
    #[inline]
    pub fn probes(&self) -> u32 {
        self.end.probes
    }

    /// Whether it goes past the fast paths, as predicted.
    #[inline]
    pub fn searches_domain(&self) -> bool {
        !matches!(self.end.reason, Reason::Target | Reason::Prev | Reason::Recent)
    }

    /// Predicts the end from where the search is.
    #[inline]
    pub fn predict<V: SearchView>(&mut self, cx: Cx<'_, V>, llcs: &SearchLlcs, idle: &LlcIdle) {
        let is_idle = |cpu: Cpu| cpu != NONE && cx.view.available_idle_cpu(cpu);
        let mut made = 0;
        match self.at {
            At::FastPaths => {
                if is_idle(self.target) {
                    return self.ends(Reason::Target, self.target, 0);
                }
                if is_idle(self.prev) {
                    return self.ends(Reason::Prev, self.prev, 0);
                }
                if is_idle(self.recent) {
                    return self.ends(Reason::Recent, self.recent, 0);
                }
                self.has_idle_core = cx.rules.domains.smt_active
                    && cx.rules.features.has(Feature::SIS_CORE)
                    && cx.view.has_idle_cores(self.target);
                self.before_scan = if self.has_idle_core { 0 } else { self.nr_siblings };
            }
            At::Siblings => made = self.position.probes,
            At::Scan => return self.predict_scan(self.position, cx.rules, llcs, idle),
        }
        for n in made..u32::from(self.before_scan) {
            if is_idle(self.siblings[n as usize]) {
                return self.ends(Reason::Smt, self.siblings[n as usize], n + 1);
            }
        }
        let probes = u32::from(self.before_scan);
        match self.ask_policies(cx) {
            Verdict::Scan => {
                let after = u32::from(cx.rules.code.scan_after_target);
                let rank = match self.plan.start {
                    start if start == self.target + after => llcs.places[self.target as usize].rank + after,
                    start => llcs.places[start as usize].rank,
                };
                self.start_at(&llcs.shapes[self.llc as usize], rank);
                self.predict_scan(CorePosition { probes, ..CorePosition::default() }, cx.rules, llcs, idle);
            }
            Verdict::Overloaded => self.ends(Reason::Overloaded, self.target, probes),
            Verdict::Take(cpu, reason) => self.ends(reason, cpu, probes),
        }
    }

    #[inline]
    fn ends(&mut self, reason: Reason, found: u32, probes: u32) {
        self.end = End { reason, found, probes };
    }

    fn context<'a, V>(&self, cx: Cx<'a, V>, probes: u32) -> SearchContext<'a> {
        let sd = cx.rules.domains.sd_llc(self.target).expect("the target has an LLC domain");
        let (target, has_idle_core) = (self.target, self.has_idle_core);
        SearchContext { rules: cx.rules, wakeup: cx.wakeup, sd, target, has_idle_core, probes }
    }

    #[inline]
    fn ask_policies<V: SearchView>(&mut self, cx: Cx<'_, V>) -> Verdict {
        // The last probe before the scan is counted when it has been made.
        let context = self.context(cx, u32::from(self.before_scan.saturating_sub(1)));
        self.plan.reset(self.target + u32::from(cx.rules.code.scan_after_target));
        let mut effects = Effects::default();
        let verdict = policy::before_scan(&context, cx.view, &mut self.plan, &mut effects, &mut ());
        debug_assert_eq!(effects, Effects { scan_cost: self.scan_cost(), ..Effects::default() });
        verdict
    }

    /// The averages of SIS_PROP at the beginning of the scan: what policies change before it.
    #[inline]
    fn scan_cost(&self) -> Option<ScanCost> {
        self.plan.sis_prop.as_ref().map(|run| run.cost)
    }

    #[inline]
    fn predict_scan(&mut self, position: CorePosition, rules: &Rules<'_>, llcs: &SearchLlcs, idle: &LlcIdle) {
        let shape = &llcs.shapes[self.llc as usize];
        if self.has_idle_core {
            self.predict_core_scan(position, shape, idle);
        } else {
            self.predict_cpu_scan(position.probes, rules, shape, idle);
        }
    }

    /// A scan for an idle CPU: of the next idle CPU, or up to the limit.
    #[inline]
    fn predict_cpu_scan(&mut self, made: u32, rules: &Rules<'_>, shape: &Shape, idle: &LlcIdle) {
        let nr = shape.nr();
        let before = u32::from(self.before_scan);
        let allowed = self.allowed(rules);
        let next = idle.cpus.next(self.start, made - before);
        if next < nr.min(allowed) {
            self.ends(Reason::Scan, next, before + next + 1);
        } else if nr > allowed {
            self.ends(Reason::Limit, allowed, before + allowed);
        } else {
            self.ends(Reason::None, nr - 1, before + nr);
        }
    }

    /// How many CPUs a scan for a CPU may probe: it counts down before each, and ends at 0.
    #[inline]
    fn allowed(&self, rules: &Rules<'_>) -> u32 {
        match self.plan.nr {
            nr if nr > 0 => nr as u32 - 1,
            _ if rules.code.cluster_scan => 0,
            _ => u32::MAX,
        }
    }

    /// A scan for an idle core. As long as no idle CPU is kept, both CPUs of a busy core are probed, then the second
    /// only if the first is idle.
    fn predict_core_scan(&mut self, mut position: CorePosition, shape: &Shape, idle: &LlcIdle) {
        let (start, nr) = (self.start_core, shape.cores);
        self.keeps_from = u32::MAX;
        if let Some(first) = position.half {
            let [_, second] = shape.ranks(core_at(start, nr, position.core));
            position.probes += 1;
            if idle.cpus.test(second) {
                if first {
                    return self.ends(Reason::Core, position.core, position.probes);
                }
                position.kept.get_or_insert(second);
            }
            position.core += 1;
        }
        if position.kept.is_none() {
            let at = idle.any.next(start, position.core);
            if at == nr {
                return self.ends(Reason::None, nr - 1, position.probes + 2 * (nr - position.core));
            }
            position.probes += 2 * (at - position.core) + 2;
            let core = core_at(start, nr, at);
            if idle.all.test(core) {
                return self.ends(Reason::Core, at, position.probes);
            }
            position.kept = Some(shape.ranks(core)[usize::from(!idle.first.test(core))]);
            position.core = at + 1;
        }
        self.keeps_from = position.core;
        let end = idle.all.next(start, position.core);
        let halves = idle.first.count(start, position.core, end);
        let probes = position.probes + (end - position.core) + halves;
        match position.kept {
            _ if end < nr => self.ends(Reason::Core, end, probes + 2),
            Some(kept) => self.ends(Reason::CoreCpu, shape.cpus[kept as usize], probes),
            None => unreachable!("without an idle CPU the scan has ended above"),
        }
    }

    /// Makes probes until there are `due` of them: fewer than at the predicted end, so that none ends the search.
    /// `idle` is what they saw.
    #[inline]
    pub fn advance(&mut self, due: u32, llcs: &SearchLlcs, idle: &LlcIdle) {
        if due <= self.made() {
            return;
        }
        debug_assert!(due < self.end.probes);
        let before = u32::from(self.before_scan);
        if self.at != At::Scan {
            if due < before {
                self.at = At::Siblings;
                self.position.probes = due;
                return;
            }
            self.at = At::Scan;
            self.position = CorePosition { probes: before, ..CorePosition::default() };
        }
        if self.has_idle_core {
            self.advance_core_scan(due, &llcs.shapes[self.llc as usize], idle);
        }
        self.position.probes = due;
    }

    fn advance_core_scan(&mut self, due: u32, shape: &Shape, idle: &LlcIdle) {
        let (start, nr) = (self.start_core, shape.cores);
        let position = &mut self.position;
        let mut left = due - position.probes;
        while left != 0 {
            let [first, second] = shape.ranks(core_at(start, nr, position.core));
            if position.half.take().is_some() {
                if idle.cpus.test(second) {
                    position.kept.get_or_insert(second);
                }
                position.core += 1;
                left -= 1;
            } else if position.kept.is_none() {
                // Both CPUs of each busy core.
                let to = idle.any.next(start, position.core);
                let cores = (to - position.core).min(left / 2);
                if cores != 0 {
                    position.core += cores;
                    left -= 2 * cores;
                    continue;
                }
                let is_idle = idle.cpus.test(first);
                position.kept = is_idle.then_some(first);
                position.half = Some(is_idle);
                left -= 1;
            } else if left > 1 {
                // One CPU of each core whose first is busy, two of the others.
                let to = idle.all.next(start, position.core);
                let cores = (to - position.core).min(left / 2);
                let halves = idle.first.count(start, position.core, position.core + cores);
                position.core += cores;
                left -= cores + halves;
            } else {
                if idle.cpus.test(first) {
                    position.half = Some(true);
                } else {
                    position.core += 1;
                }
                left = 0;
            }
        }
    }

    /// Returns the values on which the predicted end depends.
    #[inline]
    pub fn reach(&self, llcs: &SearchLlcs) -> Reach {
        let shape = &llcs.shapes[self.llc as usize];
        let by_core = self.has_idle_core;
        let (start, nr) = if by_core { (self.start_core, shape.cores) } else { (self.start, shape.nr()) };
        let End { reason, found, .. } = self.end;
        let mut reach = Reach {
            before_scan: [NONE; 5],
            start,
            nr,
            idle: [0; 2],
            busy: [0; 2],
            by_core,
            keeps_from: u32::MAX,
            reads_idle_cores: self.at == At::FastPaths,
            asks_policies: self.at != At::Scan,
        };
        if reach.asks_policies {
            reach.before_scan = [self.target, self.prev, self.recent, self.siblings[0], self.siblings[1]];
        }
        let before = u32::from(self.before_scan);
        let from = match self.at {
            At::Scan if by_core => self.position.core,
            At::Scan => self.position.probes - before,
            _ => 0,
        };
        if by_core {
            reach.keeps_from = match self.position.kept {
                // The first CPU of the core may have become busy since it was probed.
                Some(_) if self.at == At::Scan => from + u32::from(self.position.half.is_some()),
                _ => self.keeps_from,
            };
        }
        match reason {
            // A busy CPU on the way is passed whatever it does but become idle, and the end is idle.
            Reason::Scan => (reach.idle, reach.busy) = ([from, found], [found, found + 1]),
            Reason::Limit => reach.idle = [from, found],
            Reason::None if !by_core => reach.idle = [from, nr],
            Reason::Core => (reach.idle, reach.busy) = ([from, found + 1], [from, found + 1]),
            Reason::None | Reason::CoreCpu => (reach.idle, reach.busy) = ([from, nr], [from, nr]),
            _ => {}
        }
        reach
    }

    /// The predicted decision, when the search has ended.
    pub fn decision<V: SearchView>(&self, cx: Cx<'_, V>, llcs: &SearchLlcs) -> Decision {
        let shape = &llcs.shapes[self.llc as usize];
        let End { reason, found, probes } = self.end;
        let waker_recent_used_cpu = self.waker_recent_used_cpu;
        let mut effects = Effects { waker_recent_used_cpu, ..Effects::default() };
        if reason == Reason::Recent
            || (cx.rules.code.recent_used_always && !matches!(reason, Reason::Target | Reason::Prev))
        {
            effects.recent_used_cpu = Some(cx.wakeup.wakee.prev_cpu);
        }
        let cpu_at = |offset: u32| shape.cpus[core_at(self.start, shape.nr(), offset) as usize];
        let cpu = match reason {
            Reason::Scan => cpu_at(found),
            Reason::Core => {
                // The CPU of the core to which the scan comes first.
                let order = |rank: u32| offset_of(self.start, shape.nr(), rank);
                let [a, b] = shape.ranks(core_at(self.start_core, shape.cores, found));
                shape.cpus[if order(a) < order(b) { a } else { b } as usize]
            }
            Reason::None | Reason::Limit => self.target,
            _ => found,
        };
        if self.searches_domain() && reason != Reason::Smt {
            effects.scan_cost = self.scan_cost();
            // The last probe is counted when it has been made.
            let context = self.context(cx, probes.saturating_sub(1));
            if self.plan.report_last {
                let last = matches!(reason, Reason::Scan | Reason::Limit | Reason::None).then(|| cpu_at(found));
                policy::scan_ended(&context, last, &mut effects);
            }
            if matches!(reason, Reason::Scan | Reason::CoreCpu | Reason::None) {
                if self.has_idle_core {
                    effects.clear_idle_cores = Some(self.target);
                }
                policy::after_scan(&context, cx.view, &self.plan, &mut effects);
            }
        }
        Decision {
            cpu,
            reason,
            target: self.target,
            affine: self.affine,
            effects,
            count: SearchCount {
                search: 1,
                domain_search: u32::from(self.searches_domain()),
                scanned: 1 + probes,
                failed: u32::from(reason.is_failed_search()),
            },
        }
    }
}

/// The rank at an offset from `start`.
#[inline]
fn core_at(start: u32, nr: u32, offset: u32) -> u32 {
    let rank = start + offset;
    if rank < nr { rank } else { rank - nr }
}

/// The offset of a rank from `start`.
#[inline]
fn offset_of(start: u32, nr: u32, rank: u32) -> u32 {
    if rank >= start { rank - start } else { rank + nr - start }
}
