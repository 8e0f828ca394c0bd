//! The forms that parts of balancing have had.

/// Which domain says that tasks go to siblings first (`sds->prefer_sibling`, `update_sd_lb_stats()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PreferSibling {
    /// The pulling CPU's domain below (6.1).
    ChildDomain,
    /// That of the busiest group (6.12).
    BusiestGroup,
}

/// How uneven siblings are (`sibling_imbalance()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiblingImbalance {
    /// By as many tasks as the busiest group has more (6.1).
    Tasks,
    /// By tasks for each core, and not at all for a CPU that is busy (6.12).
    TasksPerCore,
}

/// When an imbalance between nodes is left alone (`adjust_numa_imbalance()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumaImbalance {
    /// While no more than a pair runs in the busiest group (5.10).
    BusiestPair,
    /// While the destination has no more tasks than its domain's `imb_numa_nr`, and a pair would do (5.18).
    ImbNumaNr,
}

/// Pushing a running task (`need_active_balance()` and what follows in `load_balance()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Push {
    /// After enough failures of any kind. The next passes then take cache-hot tasks, and the interval doubles unless
    /// the push has another reason (`voluntary_active_balance()`). A task that may not be pushed counts as pinned, and
    /// a run queue with one task does not (5.10).
    AnyFailures,
    /// After enough failures of passes that move tasks; the interval starts anew (`imbalanced_active_balance()`, 5.18).
    TaskFailures,
}

/// How much longer a domain's interval is while its CPU is busy (`get_sd_balance_interval()`, `sd->busy_factor`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BusyInterval {
    /// 32 times (5.3; 6e7499135db7 is in 5.10).
    Times32,
    /// 16 times, less a jiffy, so that busy periods of two levels are not multiples of each other (5.10).
    Times16LessOne,
}

/// The walk of `_nohz_idle_balance()`, and how `kick_ilb()` moves `nohz.next_balance` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IlbWalk {
    /// From the first CPU; the walking one is last and does not count for `nohz.next_balance`, which is set though the
    /// walk is given up. A kick for whatever reason delays it by a jiffy (5.3).
    FromFirst,
    /// From the one behind the walking CPU. A kick to balance sets it to the next jiffy (5.10).
    FromNext,
}

/// Which passes over a domain with SD_SERIALIZE exclude each other (`balancing`, `sched_balance_running`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Serialize {
    /// Periodic ones, from before they are known to be due (`rebalance_domains()`, 6.12).
    Visits,
    /// All, once it is known that the CPU pulls for its group: newly-idle ones too (`sched_balance_rq()`, 7.2). One
    /// that does not get its turn counts as one that found balance.
    Passes,
}

/// Forms of newly-idle balancing (`newidle_balance()`, `sched_balance_newidle()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NewidleRules {
    /// A CPU that expects to be idle for less than `sysctl_sched_migration_cost` does not begin; since, the cost of its
    /// lowest domain decides (in 5.10, not in 5.18).
    pub cost_floor: bool,
    /// A rising cost starts the second after which it decays, and the time of `update_blocked_averages()` belongs to
    /// the lowest domain's (`update_newidle_cost()`; in 5.18, not in 5.10).
    pub cost_restarts_decay: bool,
    /// Of the domains of a periodic visit, the highest one's decay counts for the CPU's own maximum; before, any
    /// (`need_decay` in `rebalance_domains()`; in 5.18, not in 5.10).
    pub last_decay_counts: bool,
    /// After a pass without success it goes on until a pass says so (`continue_balancing`; in 6.12); before, until the
    /// CPU has a task or a wake-up on its way (6.1; in 5.10 a task only).
    pub stop: NewidleStop,
    /// A CPU that has made passes does not note that the averages of others are due (`nohz_newidle_balance()` is called
    /// only where none is made; in 5.3, not in 5.10).
    pub blocked_without_pass: bool,
    /// NI_RANDOM throws no dice where every pass succeeds, and NI_RATE lets a domain that is balanced seldom be
    /// balanced surely (`update_newidle_stats()`; in 7.2, not in 6.12).
    pub rate: bool,
}

/// What ends newly-idle balancing before the highest domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NewidleStop {
    /// A task is there (5.10).
    Task,
    /// A task is there or on its way (6.1).
    TaskOrWakeup,
    /// The next pass finds so (6.12).
    NextPass,
}
