//! All tables except that of the wake-ups. docs/events.md shows the descriptions of the columns; a test compares the two.

use crate::sim::Queued;
use crate::table::column::{Cpus, Name, Named, Text};
use crate::table::table;
use wakelab_sched::balance::{CpuIdleType, MigrationType, Outcome, Why};
use wakelab_sched::select::{Affine, Reason};

table! {
    /// Tasks that come and go.
    Tasks, TaskRow, "tasks" {
        t_ns: i64 = "When.";
        what: Name<Life> = "`begins` or `exits`.";
        pid: i32 = "The task.";
        parent_pid: Option<i32> = "Who forked it; null for those that are there from the start, or that the shell of the workload forks.";
        comm: Text = "What it is called; empty where it exits.";
        background: Option<bool> = "It is background noise, and none of the workload's tasks; null where it exits.";
        nice: Option<i32> = "Nice as it begins, -20 to 19; null where it exits.";
        policy: Option<i32> = "`SCHED_*` as it begins: 0 is normal, 5 is SCHED_IDLE; null where it exits.";
        affinity: Option<Cpus> = "The CPUs that it may use as it begins; null where it exits.";
    }
}

table! {
    /// Tasks put on run queues.
    Enqueues, EnqueueRow, "enqueues" {
        t_ns: i64 = "When all see it there.";
        cpu: i32 = "The CPU.";
        pid: i32 = "The task.";
    }
}

table! {
    /// Context switches.
    Switches, SwitchRow, "switches" {
        t_ns: i64 = "When the switch was over.";
        cpu: i32 = "The CPU.";
        prev_pid: Option<i32> = "Who ran; null for the idle task, and where balancing has taken who ran (`migrations`).";
        prev_sleeps: bool = "Whether it sleeps, or has exited; else it waits for a CPU.";
        next_pid: Option<i32> = "Who runs; null for the idle task.";
    }
}

table! {
    /// Tasks moved by balancing.
    Migrations, MigrationRow, "migrations" {
        t_ns: i64 = "When.";
        pid: i32 = "The task.";
        from_cpu: i32 = "From this CPU's run queue.";
        to_cpu: i32 = "To this CPU's.";
    }
}

table! {
    /// Passes of the balancer.
    Balance, BalanceRow, "balance" {
        t_ns: i64 = "When it was over; what it moved is in `migrations` at the same time.";
        cpu: i32 = "For this CPU.";
        level: i32 = "Over its domain at this level, 0 the lowest.";
        idle: Name<CpuIdleType> = "What the CPU was doing: `idle`, `not-idle`, `newly-idle` (`enum cpu_idle_type`).";
        outcome: Name<Outcome> = "`moved`; `failed`: an imbalance, and nothing moved; `one-pinned`: the same, and the running task may not be pushed; `not-ours`: another CPU of the group is to pull (`should_we_balance()`), or there is work already; `no-busiest-group`; `no-busiest-queue`; `all-pinned`; `serialized`: another CPU balances an SD_SERIALIZE domain.";
        busiest_cpu: Option<i32> = "The CPU that tasks were to be taken from.";
        migration_type: Option<Name<MigrationType>> = "What was to be moved: `load`, `util`, `task`, `misfit` (`env->migration_type`).";
        imbalance: Option<i64> = "How much of that (`env->imbalance`): load (1024 is a nice-0 task), utilisation (1024 is a CPU), or tasks.";
        nr_moved: i32 = "How many waiting tasks were moved.";
        active_balance: bool = "Whether the running task of `busiest_cpu` is to be pushed here; that migration comes later.";
        nr_rqs: i32 = "How many run queues were summed up.";
    }
}

table! {
    /// Idle entry and exit.
    Idle, IdleRow, "idle" {
        t_ns: i64 = "When.";
        cpu: i32 = "The CPU.";
        entered: bool = "True: it is in its idle state. False: it was woken and begins to leave. All CPUs begin idle.";
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
        t_ns: i64 = "When; 0 for what the run begins with.";
        cpu: i32 = "The CPU.";
        khz: i64 = "What it runs at from now on.";
    }
}

table! {
    /// Power of packages.
    Power, PowerRow, "power" {
        t_ns: i64 = "Since when; it lasts until the package's next row, the last one until the end of the run.";
        package: i32 = "The package, as the topology numbers it.";
        mean_uw: i64 = "Mean power of the package with its cores and clusters in that time, µW, rounded down.";
    }
}

table! {
    /// What `available_idle_cpu()` and `sched_idle_cpu()` say.
    Available, AvailableRow, "available" {
        t_ns: i64 = "When it changed; a look at this time sees the change.";
        cpu: i32 = "The CPU.";
        available: bool = "What `available_idle_cpu()` says of it now: its idle task runs, nothing is queued, no wake-up is on the wakelist. At the start it is true of all.";
        sched_idle: bool = "What `sched_idle_cpu()` says of it now: it has tasks, and all are SCHED_IDLE.";
    }
}

table! {
    /// What an LLC's CPUs share.
    Hints, HintRow, "hints" {
        t_ns: i64 = "When it was written; a look at this time sees it.";
        llc_cpu: i32 = "The lowest CPU of the LLC.";
        hint: Name<Hint> = "`has_idle_cores`, written where it changes, or `nr_idle_scan`, written with SIS_UTIL by each periodic balance of the LLC that sums it up.";
        value: Option<i32> = "What it is now; 0 or 1 for `has_idle_cores`; null for `nr_idle_scan` with SIS_UTIL off: the LLC was summed up, and nothing was written.";
        sum_util: Option<i64> = "`nr_idle_scan`: the summed utilisation that it was made of, 1024 for each CPU.";
        llc_weight: Option<i32> = "`nr_idle_scan`: how many CPUs the LLC has.";
    }
}

table! {
    /// Transactions of the workload.
    Transactions, TransactionRow, "transactions" {
        t_ns: i64 = "When it was done.";
        pid: i32 = "Who did it.";
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

/// What changed of an LLC.
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

/// What became of a task.
#[derive(Clone, Copy, Debug)]
pub enum Life {
    /// It came into the run.
    Begins,
    /// It has exited.
    Exits,
}

named!(Life {
    Life::Begins => "begins",
    Life::Exits => "exits",
});
