//! The model's wake-up preemption compared with the kernel's, row by row: the queue that a task joined is restored as
//! it was recorded, and the model's own `wakeup_preempt()` is asked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use wakelab_events::stream::{Source, WakeupPreempt, WakeupPreempts};
use wakelab_events::{ReadError, TopoFile};
use wakelab_sched::runqueue::{
    Entities, Entity, FairRq, FairRules, IN_TASK, NoTunable, Policy, QueueState, Resched, TaskId,
};
use wakelab_sched::select::WakeFlags;

/// The case of a row: the first of these that holds, in the order of the kernel's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// `TIF_NEED_RESCHED` was set already.
    Asked,
    /// `WAKEUP_PREEMPTION` was off.
    Off,
    /// The running task was SCHED_IDLE, and the one that joined was not.
    Idle,
    /// The task that joined was SCHED_BATCH, or SCHED_IDLE.
    NotNormal,
    /// EEVDF: its slice was shorter than that of the running task.
    Short,
    /// It was new (`WF_FORK`).
    Fork,
    /// EEVDF: its dequeue was still delayed.
    Delayed,
    /// The two were compared.
    Compared,
}

impl Case {
    /// The name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Case::Asked => "asked already",
            Case::Off => "switched off",
            Case::Idle => "idle runs",
            Case::NotNormal => "not normal",
            Case::Short => "shorter slice",
            Case::Fork => "fork",
            Case::Delayed => "delayed",
            Case::Compared => "compared",
        }
    }

    fn of(row: &WakeupPreempt, restored: &Restored) -> Self {
        let (curr, p) = (&row.tasks[0], &row.tasks[restored.wakee]);
        let idle_goes = curr.policy == Policy::Idle && p.policy != Policy::Idle;
        // CFS asks whether an idle task runs before it asks for the feature.
        let (on, idle_first) = match &restored.rules {
            FairRules::Cfs(params, _) => (params.wakeup_preemption, true),
            FairRules::Eevdf(params, _) => (params.wakeup_preemption, false),
        };
        if row.resched.0 & NOW != 0 {
            Case::Asked
        } else if !(on || idle_first && idle_goes) {
            Case::Off
        } else if idle_goes {
            Case::Idle
        } else if p.policy != Policy::Normal {
            Case::NotNormal
        } else if p.slice < curr.slice {
            Case::Short
        } else if WakeFlags::from_bits_retain(row.wake_flags).contains(WakeFlags::FORK) {
            Case::Fork
        } else if p.sched_delayed {
            Case::Delayed
        } else {
            Case::Compared
        }
    }
}

/// In a recorded `resched`: `TIF_NEED_RESCHED_LAZY`.
const LAZY: u8 = 1;
/// In a recorded `resched`: `TIF_NEED_RESCHED`.
const NOW: u8 = 2;

/// The state that `wakeup_preempt()` leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The rescheduling request of the running task: 1 `TIF_NEED_RESCHED_LAZY`, 2 `TIF_NEED_RESCHED`, 3 both.
    pub resched: u8,
    /// The pids of the next and the last buddy; 0 for none.
    pub buddies: (i64, i64),
    /// Queued tasks.
    pub nr_queued: u32,
    /// `zero_vruntime` of EEVDF, `min_vruntime` of CFS.
    pub virtual_time: u64,
    /// The running task: `vruntime`, `deadline`, `slice` and `vprot` (before 6.18 `vlag`); of CFS only the first.
    pub curr: [u64; 4],
}

impl Outcome {
    fn recorded(row: &WakeupPreempt) -> Self {
        Outcome {
            resched: row.resched.1,
            buddies: (row.next_pid.1, row.last_pid.1),
            nr_queued: row.nr_queued.1,
            virtual_time: row.virtual_time.1,
            curr: row.curr_after,
        }
    }
}

/// How rows compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreemptAgreement {
    /// The rows that were compared.
    pub rows: u64,
    /// The rows that are equal in everything.
    pub equal: u64,
    /// The rows in which the kernel asked for a reschedule that was not asked for before.
    pub preempted: u64,
    /// The rows in which the model asks for another reschedule, or for none.
    pub resched: u64,
    /// The rows in which it leaves other buddies.
    pub buddies: u64,
    /// The rows in which the queue or the running task is left in another state, or the sums were others before.
    pub state: u64,
}

impl PreemptAgreement {
    fn add(&mut self, before: u8, model: &Outcome, kernel: &Outcome, sums_differ: bool) {
        let state = sums_differ
            || (model.nr_queued, model.virtual_time, model.curr)
                != (kernel.nr_queued, kernel.virtual_time, kernel.curr);
        self.rows += 1;
        self.equal += u64::from(model == kernel && !sums_differ);
        self.preempted += u64::from(kernel.resched & !before != 0);
        self.resched += u64::from(model.resched != kernel.resched);
        self.buddies += u64::from(model.buddies != kernel.buddies);
        self.state += u64::from(state);
    }

    fn merge(&mut self, other: &PreemptAgreement) {
        self.rows += other.rows;
        self.equal += other.equal;
        self.preempted += other.preempted;
        self.resched += other.resched;
        self.buddies += other.buddies;
        self.state += other.state;
    }
}

/// A row that differs.
#[derive(Clone, Debug)]
pub struct PreemptDisagreement {
    /// The recording.
    pub folder: PathBuf,
    /// The preset of the kernel.
    pub preset: &'static str,
    /// The case of the row.
    pub case: Case,
    /// The row.
    pub row: WakeupPreempt,
    /// The kernel's outcome.
    pub kernel: Outcome,
    /// The model's outcome.
    pub model: Outcome,
    /// `sum_w_vruntime` and `sum_weight` that the model computes from the tasks.
    pub sums: Option<(i64, i64)>,
}

/// The rows of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreemptKernel {
    /// The rows that were compared.
    pub scored: PreemptAgreement,
    /// The rows that are not stable, or hold a task that the model cannot have.
    pub not_scored: u64,
}

/// The result of the comparison.
#[derive(Clone, Debug, Default)]
pub struct PreemptConformance {
    /// By preset and release.
    pub kernels: BTreeMap<(&'static str, String), PreemptKernel>,
    /// By preset and case.
    pub cases: BTreeMap<(&'static str, Case), PreemptAgreement>,
    /// The first rows that differ.
    pub disagreements: Vec<PreemptDisagreement>,
}

impl PreemptConformance {
    /// The sum over all kernels.
    pub fn total(&self) -> PreemptKernel {
        let mut total = PreemptKernel::default();
        for kernel in self.kernels.values() {
            total.scored.merge(&kernel.scored);
            total.not_scored += kernel.not_scored;
        }
        total
    }

    /// Whether there were rows.
    pub fn any(&self) -> bool {
        !self.kernels.is_empty()
    }
}

/// Compares all stable rows of the recordings at `paths`, and keeps the first `limit` that differ. Also returns the
/// errors of files that could not be read to their end.
pub fn conform_preempts(paths: &[PathBuf], limit: usize) -> (PreemptConformance, Vec<ReadError>) {
    let (mut found, mut errors) = (PreemptConformance::default(), Vec::new());
    // What cannot be listed is reported by the reader of decisions.
    for source in super::sources::sources(paths).0 {
        if !source.preempts().is_empty() {
            errors.extend(of_recording(&source, limit, &mut found).err());
        }
    }
    (found, errors)
}

fn of_recording(source: &Source, limit: usize, found: &mut PreemptConformance) -> Result<(), ReadError> {
    let mut rows = WakeupPreempts::new(source.preempts().to_vec());
    while let Some((row, topo)) = rows.next_preempt()? {
        let restored = if row.stable { Restored::of(&row, &topo) } else { Ok(None) };
        let restored = restored.map_err(|e| ReadError::of_file(source.path(), e.to_string()))?;
        let kernel = found.kernels.entry((topo.preset.name, topo.release.clone())).or_default();
        let Some(restored) = restored else {
            kernel.not_scored += 1;
            continue;
        };
        let case = Case::of(&row, &restored);
        let sums = restored.sums();
        let (model, kernel_did) = (restored.wakeup_preempt(&row), Outcome::recorded(&row));
        let differs = sums != row.sums;
        kernel.scored.add(row.resched.0, &model, &kernel_did, differs);
        let by_case = found.cases.entry((topo.preset.name, case)).or_default();
        by_case.add(row.resched.0, &model, &kernel_did, differs);
        if (model != kernel_did || differs) && found.disagreements.len() < limit {
            let (folder, preset) = (source.path().to_owned(), topo.preset.name);
            let kernel = kernel_did;
            found.disagreements.push(PreemptDisagreement { folder, preset, case, row, kernel, model, sums });
        }
    }
    Ok(())
}

/// A recorded queue as one of the model.
struct Restored {
    rq: FairRq,
    es: Entities,
    rules: FairRules,
    pids: Vec<i64>,
    /// The index of the task that joined.
    wakee: usize,
}

impl Restored {
    /// The queue of a row; `None` if the model cannot have it, because a buddy or the task that joined is not on it, or
    /// a weight is not that of the task's nice value.
    fn of(row: &WakeupPreempt, topo: &Arc<TopoFile>) -> Result<Option<Self>, NoTunable> {
        let mut rules = FairRules::of(topo.preset, row.features.set, topo.cpu_llc.len())?;
        set_tunables(&mut rules, row.tunables);
        let by_vruntime = matches!(&rules, FairRules::Eevdf(_, rules) if rules.protects_by_vruntime());
        let mut es = Entities::new();
        for task in &row.tasks {
            let mut e = Entity::new(task.policy, task.nice, 0);
            if u64::from(e.load.weight) != task.weight {
                return Ok(None);
            }
            (e.vruntime, e.deadline, e.slice, e.vlag) = (task.vruntime, task.deadline, task.slice, task.vlag);
            (e.on_rq, e.sched_delayed) = (task.on_rq, task.sched_delayed);
            (e.rel_deadline, e.custom_slice) = (task.rel_deadline, task.custom_slice);
            e.vprot = if by_vruntime { task.vprot } else { task.vlag as u64 };
            es.push(e);
        }
        let pids: Vec<i64> = row.tasks.iter().map(|task| task.pid).collect();
        let ids: Vec<TaskId> = (0..pids.len() as u32).map(TaskId).collect();
        es[ids[0]].exec_start = row.exec_start;
        let place = |pid: i64| pids.iter().position(|&other| other == pid);
        let buddy = |pid: i64| if pid == 0 { Some(None) } else { place(pid).map(|at| Some(ids[at])) };
        let (Some(wakee), Some(next), Some(last)) =
            (place(row.wakee_pid), buddy(row.next_pid.0), buddy(row.last_pid.0))
        else {
            return Ok(None);
        };
        let state = QueueState {
            virtual_time: row.virtual_time.0,
            curr: Some(ids[0]),
            waiting: &ids[1..],
            next,
            last,
            sum_shift: row.sum_shift,
        };
        let rq = FairRq::in_state(rules, &mut es, &state);
        Ok((rq.nr_queued() == row.nr_queued.0 && wakee != 0).then_some(Restored { rq, es, rules, pids, wakee }))
    }

    /// `sum_w_vruntime` and `sum_weight`, as the model computes them from the tasks.
    fn sums(&self) -> Option<(i64, i64)> {
        match &self.rq {
            FairRq::Cfs(_) => None,
            FairRq::Eevdf(rq) => Some((rq.sum_w_vruntime(), rq.sum_weight())),
            FairRq::Groups(_) => unreachable!("a recorded queue is that of the root group"),
        }
    }

    /// Asks the model.
    fn wakeup_preempt(mut self, row: &WakeupPreempt) -> Outcome {
        let mut flags = WakeFlags::from_bits_retain(row.wake_flags);
        flags.set(IN_TASK, row.in_task);
        let need_resched = row.resched.0 & NOW != 0;
        let wakee = TaskId(self.wakee as u32);
        let preempted = self.rq.wakeup_preempt(&mut self.es, row.clock_task, wakee, flags, need_resched);
        let asked = match preempted.resched {
            Resched::No => 0,
            Resched::Lazy => LAZY,
            Resched::Now => NOW,
        };
        let pid = |task: Option<TaskId>| task.map_or(0, |task| self.pids[task.0 as usize]);
        let e = &self.es[TaskId(0)];
        let (buddies, virtual_time, curr) = match &self.rq {
            FairRq::Cfs(rq) => ((pid(rq.next()), pid(rq.last())), rq.min_vruntime(), [e.vruntime, 0, 0, 0]),
            FairRq::Eevdf(rq) => ((pid(rq.next()), 0), rq.zero_vruntime(), [e.vruntime, e.deadline, e.slice, e.vprot]),
            FairRq::Groups(_) => unreachable!("a recorded queue is that of the root group"),
        };
        Outcome { resched: row.resched.0 | asked, buddies, nr_queued: self.rq.nr_queued(), virtual_time, curr }
    }
}

/// Sets the tunables that were recorded.
fn set_tunables(rules: &mut FairRules, recorded: [Option<u64>; 4]) {
    let [base_slice, migration_cost, wakeup_granularity, nr_latency] = recorded;
    match rules {
        FairRules::Cfs(params, _) => {
            params.wakeup_granularity_ns = wakeup_granularity.unwrap_or(params.wakeup_granularity_ns);
            params.nr_latency = nr_latency.map_or(params.nr_latency, |nr| nr as u32);
        }
        FairRules::Eevdf(params, _) => {
            params.base_slice_ns = base_slice.unwrap_or(params.base_slice_ns);
            params.migration_cost_ns = migration_cost.unwrap_or(params.migration_cost_ns);
        }
    }
}
