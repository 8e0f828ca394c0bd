//! Placements to measure, one for each way through `select_task_rq_fair()`. `crates/sched/benches/select.rs` takes
//! their time, `crates/sched/examples/count_instructions.rs` their instructions.

use std::sync::Arc;
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{DomainOptions, Numbering, SchedDomains, SchedGroup, Uniform, build_sched_domains};
use wakelab_sched::select::{
    AsymView, Cx, Decision, EnergyView, GroupView, IdleStateView, IdleView, LlcView, MaskView, Observer, PolicyView,
    Reason, RqView, Rules, ScanClock, Select, UtilView, WakeFlags, Wakee, Waker, Wakeup, select_task_rq_fair,
};

/// The system as columns of one number per CPU. A CPU that is not idle runs two nice-0 tasks.
#[derive(Clone, Debug)]
pub struct Table {
    /// CPUs that are idle.
    pub idle: CpuMask,
    /// `None` where no CPU runs SCHED_IDLE tasks only.
    pub sched_idle: Option<CpuMask>,
    /// Whether each LLC has an idle core by its hint.
    pub has_idle_cores: bool,
    /// How many CPUs SIS_UTIL lets a search look at.
    pub nr_idle_scan: i32,
    /// The load of each CPU.
    pub load: Vec<u64>,
    /// The number of tasks on each CPU.
    pub nr_running: Vec<u32>,
}

impl IdleView for Table {
    #[inline]
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }
    #[inline]
    fn sched_idle_cpu(&self, cpu: Cpu) -> bool {
        self.sched_idle.as_ref().is_some_and(|mask| mask.test(cpu))
    }
}

impl RqView for Table {
    #[inline]
    fn nr_running(&self, cpu: Cpu) -> u32 {
        self.nr_running[cpu as usize]
    }
    #[inline]
    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.load[cpu as usize]
    }
    #[inline]
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.cpu_load(cpu)
    }
    #[inline]
    fn capacity_of(&self, _: Cpu) -> u64 {
        1024
    }
}

impl LlcView for Table {
    #[inline]
    fn has_idle_cores(&self, _: Cpu) -> bool {
        self.has_idle_cores
    }
    #[inline]
    fn nr_idle_scan(&self, _: Cpu) -> i32 {
        self.nr_idle_scan
    }
}

impl AsymView for Table {}

impl PolicyView for Table {
    #[inline]
    fn scan_clock(&self, _: Cpu) -> ScanClock {
        ScanClock { avg_idle: 512_000_000, wake_avg_idle: 1_000_000, avg_scan_cost: 1000, ..ScanClock::default() }
    }
}

impl MaskView for Table {
    #[inline]
    fn idle_mask(&self) -> Option<&CpuMask> {
        Some(&self.idle)
    }
    #[inline]
    fn sched_idle_mask(&self) -> Option<&CpuMask> {
        self.sched_idle.as_ref()
    }
}

impl UtilView for Table {
    #[inline]
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.load[cpu as usize]
    }
    #[inline]
    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        self.load[cpu as usize] / 2
    }
    #[inline]
    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
        Some(self.load[cpu as usize] / 4)
    }
}

impl GroupView for Table {
    #[inline]
    fn group_capacity(&self, _: usize, group: &SchedGroup) -> u64 {
        group.capacity
    }
    #[inline]
    fn group_imbalance(&self, _: usize, _: &SchedGroup) -> bool {
        false
    }
}

impl IdleStateView for Table {
    #[inline]
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }
    #[inline]
    fn idle_stamp(&self, cpu: Cpu) -> u64 {
        u64::from(cpu * 7919 % 1000)
    }
    #[inline]
    fn idle_exit_latency(&self, cpu: Cpu) -> Option<u32> {
        Some(if cpu.is_multiple_of(3) { 2 } else { 40 })
    }
}

impl EnergyView for Table {}

/// One placement, with all that it depends on.
#[derive(Clone, Debug)]
pub struct Case {
    /// Which way through the placement it takes.
    pub name: &'static str,
    /// How it is to end.
    pub ends: Reason,
    /// The version that decides.
    pub kernel: &'static Preset,
    /// The machine.
    pub domains: Arc<SchedDomains>,
    /// Its state.
    pub table: Table,
    /// The CPU of the waker.
    pub waker: Cpu,
    /// The CPU that the wakee was on last.
    pub prev: Cpu,
    /// The CPU that it was on before.
    pub recent: Option<Cpu>,
    /// The CPUs that it may use.
    pub allowed: CpuMask,
    /// What kind of placement it is.
    pub flags: WakeFlags,
}

impl Case {
    /// The rules of the version on this machine.
    pub fn rules(&self) -> Rules<'_> {
        Rules::new(self.kernel, self.kernel.features, &self.domains).expect("the machine is modelled")
    }

    /// The waker and the wakee.
    pub fn wakeup(&self) -> Wakeup<'_> {
        Wakeup {
            waker: Waker {
                cpu: self.waker,
                exiting: false,
                in_task: true,
                per_cpu_kthread: false,
                wakee_flips: 1,
                h_load: 300,
            },
            wakee: Wakee {
                recent_used_cpu: self.recent,
                wakee_flips: 1,
                h_load: 200,
                util_avg: 200,
                runnable_avg: 220,
                util_est: 180,
                ..Wakee::new(self.prev, &self.allowed)
            },
            flags: self.flags,
        }
    }
}

/// A placement made one look at a time.
#[inline]
pub fn step_by_step(select: &mut Select, cx: Cx<'_, Table>, observer: &mut impl Observer) -> Decision {
    let mut decision = select.start(cx.rules, cx.wakeup, observer);
    loop {
        match decision {
            Some(decision) => return decision,
            None => decision = select.probe(cx, observer),
        }
    }
}

/// A machine of two threads per core: `packages` packages of `llcs` LLCs of `cores` cores.
pub fn machine(packages: u32, llcs: u32, cores: u32, numbering: Numbering) -> Arc<SchedDomains> {
    let shape = Uniform { packages, llcs, nodes: packages, numbering, ..Uniform::new(cores, 2) };
    let options = DomainOptions::of(Preset::get("v7.2").unwrap());
    Arc::new(build_sched_domains(&shape.topology(), &options).expect("a machine that can be"))
}

/// The machines, by name.
pub fn machines() -> Vec<(&'static str, Arc<SchedDomains>)> {
    vec![
        ("8 CPUs", machine(1, 1, 4, Numbering::Adjacent)),
        ("112 CPUs", machine(1, 1, 56, Numbering::Split)),
        ("1024 CPUs, LLCs of 16", machine(2, 32, 8, Numbering::Adjacent)),
        ("1024 CPUs, one LLC", machine(1, 1, 512, Numbering::Split)),
    ]
}

/// The placements of a machine. The waker is on the first core, the wakee was on the third, and before on the fourth.
pub fn cases(domains: &Arc<SchedDomains>) -> Vec<Case> {
    let nr_cpus = domains.nr_cpus;
    let kernel = Preset::get("v7.3").expect("a preset");
    let llc = domains.sd_llc(0).expect("CPUs share a cache").span.clone();
    // CPUs of the LLC in the order of their cores: core by core, and in a core thread by thread.
    let mut by_core: Vec<Cpu> = llc.iter().collect();
    by_core.sort_by_key(|&cpu| (domains.smt_mask[cpu as usize].first(), cpu));
    let (waker, prev, recent) = (by_core[0], by_core[4], by_core[6]);
    let sibling = by_core[5];
    // What a walk that begins behind `waker` comes to half-way or soon after, and that is none of these.
    let walk: Vec<Cpu> = llc.iter_wrap(waker + 1).collect();
    let apart = |&cpu: &Cpu| [waker, prev, recent].iter().all(|&core| !domains.smt_mask[core as usize].test(cpu));
    let middle = walk.iter().copied().cycle().skip(walk.len() / 2).find(apart).expect("a fourth core");
    // The same for a walk over cores, which passes a core at the first of its CPUs that it meets.
    let leads = |&cpu: &Cpu| walk.iter().find(|&&first| domains.smt_mask[cpu as usize].test(first)) == Some(&cpu);
    let cores: Vec<Cpu> = walk.iter().copied().filter(leads).collect();
    let middle_core = cores.iter().copied().cycle().skip(cores.len() / 2).find(apart).expect("a fourth core");
    let cpus = |cpus: &[Cpu]| CpuMask::from_cpus(nr_cpus, cpus.iter().copied());

    let busy = Case {
        name: "",
        ends: Reason::None,
        kernel,
        domains: domains.clone(),
        table: Table {
            idle: CpuMask::new(nr_cpus),
            sched_idle: None,
            has_idle_cores: false,
            nr_idle_scan: nr_cpus as i32 * 2,
            load: (0..nr_cpus).map(|cpu| 2048 + u64::from(cpu % 7)).collect(),
            nr_running: vec![2; nr_cpus as usize],
        },
        waker,
        prev,
        recent: Some(recent),
        allowed: CpuMask::full(nr_cpus),
        flags: WakeFlags::TTWU,
    };
    // A sync waker that is alone on its CPU draws the wakee there.
    let mut sync = Case { flags: WakeFlags::TTWU | WakeFlags::SYNC, ..busy.clone() };
    sync.table.nr_running[waker as usize] = 1;
    let with = |case: &Case, name, ends, change: &dyn Fn(&mut Table)| {
        let mut case = Case { name, ends, ..case.clone() };
        for cpu in 0..nr_cpus as usize {
            let idle = case.table.idle.test(cpu as Cpu);
            case.table.load[cpu] = if idle { 10 } else { case.table.load[cpu] };
        }
        change(&mut case.table);
        case
    };
    let idle = |case: &Case, name, ends, idle: &[Cpu]| with(case, name, ends, &|table| table.idle = cpus(idle));
    let mut fork = idle(&busy, "fork", Reason::Slow, &[middle, sibling]);
    fork.flags = WakeFlags::FORK;
    let mut one_thread = with(&sync, "core fails, half the threads allowed", Reason::None, &|table| {
        table.has_idle_cores = true;
    });
    one_thread.allowed = CpuMask::from_cpus(nr_cpus, llc.iter().filter(|&cpu| is_first(domains, cpu)));
    one_thread.allowed.set(prev);
    let mut cases = vec![
        idle(&busy, "target", Reason::Target, &[prev]),
        idle(&sync, "prev", Reason::Prev, &[prev]),
        idle(&sync, "recent", Reason::Recent, &[recent]),
        with(&busy, "recent after wake_affine_weight", Reason::Recent, &|table| {
            table.idle = cpus(&[recent]);
            table.load[waker as usize] = 500;
        }),
        idle(&sync, "smt", Reason::Smt, &[sibling]),
        idle(&sync, "scan half the LLC", Reason::Scan, &[middle]),
        with(&sync, "scan fails", Reason::None, &|_| ()),
        with(&sync, "scan fails, some SCHED_IDLE elsewhere", Reason::None, &|table| {
            let last = nr_cpus - 1;
            table.sched_idle = Some(CpuMask::from_cpus(nr_cpus, (!llc.test(last)).then_some(last)));
        }),
        with(&sync, "limit", Reason::Limit, &|table| table.nr_idle_scan = walk.len() as i32 / 4),
        with(&sync, "overloaded", Reason::Overloaded, &|table| table.nr_idle_scan = 0),
        with(&sync, "core half-way", Reason::Core, &|table| {
            table.has_idle_cores = true;
            domains.smt_mask[middle_core as usize].iter().for_each(|cpu| table.idle.set(cpu));
        }),
        with(&sync, "core fails", Reason::None, &|table| table.has_idle_cores = true),
        with(&sync, "core fails, half of each core idle", Reason::CoreCpu, &|table| {
            table.has_idle_cores = true;
            let busy = [waker, prev, recent];
            llc.iter().filter(|&cpu| is_first(domains, cpu)).for_each(|cpu| table.idle.set(cpu));
            busy.iter().for_each(|&cpu| table.idle.clear(cpu));
        }),
        one_thread,
        fork,
    ];
    // Two of three CPUs busy: what a loaded machine looks like.
    let mixed = with(&sync, "scan, a third of the CPUs idle", Reason::Scan, &|table| {
        let taken = [waker, prev, recent, sibling];
        llc.iter().filter(|cpu| cpu % 3 == 2 && !taken.contains(cpu)).for_each(|cpu| table.idle.set(cpu));
    });
    if !mixed.table.idle.is_empty() {
        cases.push(mixed);
    }
    for case in &cases {
        let (rules, wakeup) = (case.rules(), case.wakeup());
        let cx = Cx { rules: &rules, wakeup: &wakeup, view: &case.table };
        let decision = select_task_rq_fair(&mut Select::default(), cx, &mut ());
        assert_eq!(decision.reason, case.ends, "{}: {decision:?}", case.name);
        assert_eq!(decision, step_by_step(&mut Select::default(), cx, &mut ()), "{}", case.name);
    }
    cases
}

fn is_first(domains: &SchedDomains, cpu: Cpu) -> bool {
    domains.smt_mask[cpu as usize].first() == Some(cpu)
}
