//! All tables except that of the wake-ups. docs/formats.md shows the descriptions of the columns; a test compares the
//! two.

use crate::sim::{Queued, ScxStep};
use crate::table::column::{Cpus, Name, Named, Text};
use crate::table::table;
use wakelab_sched::balance::{CpuIdleType, MigrationType, Outcome, Why};
use wakelab_sched::select::{Affine, Reason};

table! {
    /// Steps of tasks under a scheduler of sched_ext.
    Scx, ScxRow, "scx" {
        t_ns: i64 = "When.";
        cpu: i32 = "The CPU on which it happened.";
        pid: i32 = "The task.";
        step: Name<ScxStep> = "`selected`: a CPU was chosen for it; `joins`: it joined a run queue; `stopped`: another \
                               was to run; `held`: `ops.enqueue()` put it on no queue; `queued`: it joined a dispatch \
                               queue; `taken`: a CPU took it from one; `moved`: from one run queue to another; \
                               `reenqueued`: the core took it back, to enqueue it again; `picked`: it was picked to \
                               run.";
        op: Text = "The operation that did it, as `enqueue`; empty for the core.";
        dsq: Text = "The queue that it joined or was taken from: `local:CPU`, `global:NODE`, or the ID of the \
                     scheduler's own; empty for other steps.";
        nr_queued: Option<i32> = "How many tasks were on the queue already when it joined; null for other steps.";
        to_cpu: Option<i32> = "The CPU that was chosen, or whose run queue it joined; null for other steps.";
    }
}

table! {
    /// Tasks that come and go.
    Tasks, TaskRow, "tasks" {
        t_ns: i64 = "When.";
        what: Name<Life> = "`begins` if it enters the run, or `exits`.";
        pid: i32 = "The task.";
        parent_pid: Option<i32> = "The task that forked it; null for tasks that exist from the start, and for those \
                                   that the shell of the workload forks.";
        comm: Text = "Its name; empty if it exits.";
        background: Option<bool> = "Whether it is background noise, not a task of the workload; null if it exits.";
        nice: Option<i32> = "Its nice value when it begins, -20 to 19; null if it exits.";
        policy: Option<i32> = "`SCHED_*` when it begins: 0 is normal, 5 is SCHED_IDLE; null if it exits.";
        affinity: Option<Cpus> = "The CPUs that it may use when it begins; null if it exits.";
    }
}

table! {
    /// Tasks put on run queues.
    Enqueues, EnqueueRow, "enqueues" {
        t_ns: i64 = "When it is visible there to all CPUs.";
        cpu: i32 = "The CPU.";
        pid: i32 = "The task.";
    }
}

table! {
    /// Context switches.
    Switches, SwitchRow, "switches" {
        t_ns: i64 = "When the switch was over.";
        cpu: i32 = "The CPU.";
        prev_pid: Option<i32> = "The task that ran; null for the idle task, and if load balancing has taken the \
                                 running task (`migrations`).";
        prev_sleeps: bool = "Whether it sleeps or has exited; otherwise it was preempted.";
        next_pid: Option<i32> = "The task that runs now; null for the idle task.";
    }
}

table! {
    /// Tasks moved by balancing.
    Migrations, MigrationRow, "migrations" {
        t_ns: i64 = "When.";
        pid: i32 = "The task.";
        from_cpu: i32 = "The CPU whose run queue it leaves.";
        to_cpu: i32 = "The CPU whose run queue it goes to.";
    }
}

table! {
    /// Passes of the balancer.
    Balance, BalanceRow, "balance" {
        t_ns: i64 = "When it ended; what it moved is in `migrations` at the same time.";
        cpu: i32 = "The CPU that balanced.";
        level: i32 = "The level of the domain, 0 for the lowest.";
        idle: Name<CpuIdleType> = "`enum cpu_idle_type`: `idle`, `not-idle`, `newly-idle`.";
        outcome: Name<Outcome> = "`moved`; `failed`: there is an imbalance, and nothing was moved; `one-pinned`: in \
                                  addition the running task may not be pushed; `not-ours`: another CPU of the group \
                                  is to pull (`should_we_balance()`), or this CPU has work already; \
                                  `no-busiest-group`; `no-busiest-queue`; `all-pinned`; `serialized`: another CPU \
                                  balances an SD_SERIALIZE domain.";
        busiest_cpu: Option<i32> = "The busiest CPU, from which tasks were to be moved.";
        migration_type: Option<Name<MigrationType>> = "What was to be moved: `load`, `util`, `task`, `misfit`, \
                                                       `llc-task` (`env->migration_type`).";
        imbalance: Option<i64> = "How much of that (`env->imbalance`): load (1024 is a nice-0 task), utilization \
                                  (1024 is a CPU), or tasks.";
        nr_moved: i32 = "How many waiting tasks were moved.";
        active_balance: bool = "Whether the running task of `busiest_cpu` is to be pushed here; that migration comes \
                                later.";
        nr_rqs: i32 = "How many run queues `update_sg_lb_stats()` read.";
    }
}

table! {
    /// Idle entry and exit.
    Idle, IdleRow, "idle" {
        t_ns: i64 = "When.";
        cpu: i32 = "The CPU.";
        entered: bool = "True: it has entered its idle state. False: it begins to leave it. All CPUs are idle at the \
                         start.";
    }
}

table! {
    /// States that idle governors choose.
    IdleStates, IdleStateRow, "idle_states" {
        t_ns: i64 = "When; a governor may choose again while the CPU is idle.";
        cpu: i32 = "The CPU.";
        state: i32 = "The state's number in the machine's file, 0 the shallowest.";
    }
}

table! {
    /// Frequencies of CPUs.
    Frequencies, FrequencyRow, "frequencies" {
        t_ns: i64 = "When; 0 for the first frequency.";
        cpu: i32 = "The CPU.";
        khz: i64 = "Its frequency from now on.";
    }
}

table! {
    /// Power of packages.
    Power, PowerRow, "power" {
        t_ns: i64 = "Since when. The value holds until the next row of the package, or until the end of the run.";
        package: i32 = "The package, as the topology numbers it.";
        mean_uw: i64 = "Mean power of the package with its cores and clusters in that time, µW, rounded down.";
    }
}

table! {
    /// The results of `available_idle_cpu()` and `sched_idle_cpu()`.
    Available, AvailableRow, "available" {
        t_ns: i64 = "When it changed; a probe at this time sees the change.";
        cpu: i32 = "The CPU.";
        available: bool = "`available_idle_cpu()` from now on: its idle task runs, nothing is queued, no wake-up is \
                           on the wakelist. It is true for all CPUs at the start.";
        sched_idle: bool = "`sched_idle_cpu()` from now on: it has tasks, and all are SCHED_IDLE.";
    }
}

table! {
    /// The state that an LLC's CPUs share.
    Hints, HintRow, "hints" {
        t_ns: i64 = "When it was written; a probe at this time sees it.";
        llc_cpu: i32 = "The lowest CPU of the LLC.";
        hint: Name<Hint> = "`has_idle_cores`, written when it changes, or `nr_idle_scan`, written with SIS_UTIL by \
                            each periodic balance that sums the utilization of the LLC.";
        value: Option<i32> = "The new value; 0 or 1 for `has_idle_cores`; null for `nr_idle_scan` with SIS_UTIL off: \
                              the utilization was summed, and nothing was written.";
        sum_util: Option<i64> = "`nr_idle_scan`: the summed utilization that it was computed from, 1024 for each CPU.";
        llc_weight: Option<i32> = "`nr_idle_scan`: how many CPUs the LLC has.";
    }
}

table! {
    /// Transactions of the workload.
    Transactions, TransactionRow, "transactions" {
        t_ns: i64 = "When it was completed.";
        pid: i32 = "The task that completed it.";
        latency_ns: i64 = "How long it took.";
    }
}

macro_rules! named {
    ($ty:ty { $($variant:pat => $name:literal,)* }) => {
        impl Named for $ty {
            fn names() -> Vec<&'static str> {
                vec![$($name),*]
            }

            #[inline]
            fn index(self) -> i8 {
                let mut index = 0;
                $(if matches!(self, $variant) { return index; } index += 1;)*
                unreachable!("name {index} of {:?}", self)
            }
        }
    };
}

impl Named for Reason {
    fn names() -> Vec<&'static str> {
        let mut all = Reason::ALL;
        all.sort_by_key(|&reason| reason as u8);
        all.map(Reason::name).to_vec()
    }

    #[inline]
    fn index(self) -> i8 {
        self as i8
    }
}

named!(Queued {
    Queued::Direct => "direct",
    Queued::Wakelist => "wakelist",
    Queued::OnCpu => "on-cpu",
    Queued::Delayed => "delayed",
});

impl Named for ScxStep {
    fn names() -> Vec<&'static str> {
        ScxStep::ALL.map(ScxStep::name).to_vec()
    }

    #[inline]
    fn index(self) -> i8 {
        self as i8
    }
}

named!(Affine {
    Affine::NotAsked => "not-asked",
    Affine::WakerIdle => "waker-idle",
    Affine::BothIdle => "both-idle",
    Affine::Sync => "sync",
    Affine::PrevIdle => "prev-idle",
    Affine::Short => "short",
    Affine::Weight => "weight",
    Affine::Prev => "prev",
});

named!(CpuIdleType {
    CpuIdleType::Idle => "idle",
    CpuIdleType::NotIdle => "not-idle",
    CpuIdleType::NewlyIdle => "newly-idle",
});

named!(MigrationType {
    MigrationType::Load => "load",
    MigrationType::Util => "util",
    MigrationType::Task => "task",
    MigrationType::Misfit => "misfit",
    MigrationType::LlcTask => "llc-task",
});

named!(Outcome {
    Outcome::Moved => "moved",
    Outcome::Failed => "failed",
    Outcome::OnePinned => "one-pinned",
    Outcome::Balanced(Why::NotOurs) => "not-ours",
    Outcome::Balanced(Why::NoBusiestGroup) => "no-busiest-group",
    Outcome::Balanced(Why::NoBusiestQueue) => "no-busiest-queue",
    Outcome::Balanced(Why::AllPinned) => "all-pinned",
    Outcome::Balanced(Why::Serialized) => "serialized",
});

/// The field of `struct sched_domain_shared` that was written.
#[derive(Clone, Copy, Debug)]
pub enum Hint {
    /// `has_idle_cores`.
    HasIdleCores,
    /// `nr_idle_scan`.
    NrIdleScan,
}

named!(Hint {
    Hint::HasIdleCores => "has_idle_cores",
    Hint::NrIdleScan => "nr_idle_scan",
});

/// Whether a task enters the run or exits.
#[derive(Clone, Copy, Debug)]
pub enum Life {
    /// It enters the run.
    Begins,
    /// It exits.
    Exits,
}

named!(Life {
    Life::Begins => "begins",
    Life::Exits => "exits",
});
