//! What scheduling operations cost.

use serde::Serialize;
use std::ops::RangeInclusive;

/// Where a value was taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A publication that has the value: a paper, posting or table.
    Source(String),
    /// It was measured on this machine: when, and how (`wakelab calibrate`).
    Measured(String),
    /// Nobody published it: the reason for this value.
    Assumed(String),
}

/// The unit of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds on an otherwise idle core at nominal frequency.
    Ns,
    /// Per cent.
    Pct,
}

impl Unit {
    /// Returns the unit as it is written behind a number: `ns`, `%`.
    pub fn suffix(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Pct => "%",
        }
    }

    /// The key of a machine file that holds the value.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Pct => "pct",
        }
    }

    /// The unit as messages call it.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Unit::Ns => "nanoseconds",
            Unit::Pct => "per cent",
        }
    }

    /// Values that a cost of this name and unit and its range can have. No cost is longer than a second: such a value
    /// was meant to be in another unit.
    pub(crate) fn limits(self, name: &str) -> RangeInclusive<u64> {
        match (name, self) {
            // Two threads of a core share it: work takes as long as without SMT, up to four times as long.
            ("smt_slowdown", _) => 100..=400,
            (_, Unit::Pct) => 0..=100,
            (_, Unit::Ns) => 0..=1_000_000_000,
        }
    }
}

/// The value of a cost with its range and origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The value that is used.
    pub value: u64,
    /// The lowest it may be.
    pub low: u64,
    /// The highest it may be.
    pub high: u64,
    /// Where the value was taken from.
    pub origin: Origin,
}

impl Cost {
    /// [`Costs::cluster_line`] where nothing is published: clusters make no difference. Where there are `clusters`, it
    /// may be anything from a fifth of a line of the LLC.
    pub(crate) fn unknown_cluster_line(clusters: bool) -> Self {
        let (low, why) = match clusters {
            true => (20, "as a line of the LLC: nothing is known of the clusters"),
            false => (100, "there are no clusters: nothing reads it"),
        };
        Cost { value: 100, low, high: 100, origin: Origin::Assumed(why.to_owned()) }
    }
}

macro_rules! costs {
    ($($name:ident: $unit:ident, $doc:literal;)*) => {
        /// What scheduling operations cost on a machine.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        pub struct Costs { $(#[doc = $doc] pub $name: Cost,)* }

        impl Costs {
            /// The names of all costs, in the order of the documentation.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// What each of [`Costs::NAMES`] counts.
            pub const DOCS: &'static [&'static str] = &[$($doc),*];

            /// Returns the unit of the cost of that name. Returns `None` for an unknown name.
            pub fn unit(name: &str) -> Option<Unit> {
                match name {
                    $(stringify!($name) => Some(Unit::$unit),)*
                    _ => None,
                }
            }

            /// Returns every cost: name, unit, what it counts, value.
            pub fn list(&self) -> Vec<(&'static str, Unit, &'static str, &Cost)> {
                vec![$((stringify!($name), Unit::$unit, $doc, &self.$name)),*]
            }

            /// Returns the cost of that name, to change it. Returns `None` for an unknown name.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut Cost> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }

            /// Builds all costs with a function of name and unit.
            ///
            /// # Errors
            ///
            /// The first error of the function.
            pub fn try_from_fn<E>(mut f: impl FnMut(&'static str, Unit) -> Result<Cost, E>) -> Result<Self, E> {
                Ok(Costs { $($name: f(stringify!($name), Unit::$unit)?,)* })
            }
        }
    };
}

costs! {
    context_switch: Ns, "`__schedule()` from one task to another.";
    switch_mm: Ns, "The part of `context_switch` that loads another address space: a switch between two threads of one \
        process has none of it.";
    wakeup: Ns, "`try_to_wake_up()` without the search and the enqueue.";
    probe: Ns, "One probe of a run queue in the search for an idle CPU.";
    enqueue_local: Ns, "Locking the own run queue and enqueueing a task on it.";
    enqueue_remote: Ns, "Locking a run queue whose cache lines another CPU of the LLC holds, and enqueueing a task on \
        it.";
    enqueue_far: Ns, "Locking a run queue of another LLC, and enqueueing a task on it.";
    enqueue_visible: Pct, "The part of an enqueue after which other CPUs see the run queue's new `nr_running`.";
    wakelist: Ns, "Putting a task on another CPU's wakelist (TTWU_QUEUE), and its IPI, for the sender.";
    wakelist_flush: Ns, "`sched_ttwu_pending()`: entering the IPI and enqueueing the tasks of the wakelist.";
    ipi: Ns, "From the send of an IPI (or the write to `need_resched` of a polling idle task) to its arrival, within a \
        package.";
    ipi_far: Ns, "From the send of an IPI to its arrival, between packages.";
    idle_exit: Ns, "From the arrival to the idle task calling `schedule()`.";
    idle_entry: Ns, "From the switch to the idle task until it can be woken.";
    cold_task: Ns, "Cache misses of a task that runs on another CPU of its LLC than before.";
    cold_task_far: Ns, "Cache misses of a task that runs in another LLC than before.";
    cold_message: Ns, "Cache misses of reading a message that another CPU of the LLC wrote.";
    cold_message_far: Ns, "Cache misses of reading a message that a CPU of another LLC wrote.";
    cluster_line: Pct, "What a cache line of another CPU of the cluster costs, of what one of the rest of the LLC \
                        does.";
    tick: Ns, "One scheduler tick.";
    balance: Ns, "One balance pass over a domain, without reading its run queues.";
    balance_cpu: Ns, "Reading one run queue in a balance pass.";
    newidle_max_smt: Ns, "`max_newidle_lb_cost` of the SMT domain at the start: the longest that a newly-idle balance \
        has lately taken.";
    newidle_max_llc: Ns, "`max_newidle_lb_cost` of the domains above SMT up to the LLC at the start.";
    smt_slowdown: Pct, "How much longer work takes while the SMT sibling is busy: 150 is half as long again. \
        Each further busy sibling adds as much.";
}
