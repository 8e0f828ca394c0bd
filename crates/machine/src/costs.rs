//! The costs of scheduling operations.

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
    /// Picoseconds at nominal frequency: an instruction takes less than a nanosecond.
    Ps,
}

impl Unit {
    /// All units.
    pub(crate) const ALL: [Unit; 3] = [Unit::Ns, Unit::Pct, Unit::Ps];
}

impl Unit {
    /// Returns the unit as it is written behind a number: `ns`, `%`, `ps`.
    pub fn suffix(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Pct => "%",
            Unit::Ps => "ps",
        }
    }

    /// The key of a machine file that holds the value.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Pct => "pct",
            Unit::Ps => "ps",
        }
    }

    /// The unit as messages call it.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Unit::Ns => "nanoseconds",
            Unit::Pct => "per cent",
            Unit::Ps => "picoseconds",
        }
    }

    /// Values that a cost of this name and unit and its range can have. No cost is longer than a second: such a value
    /// was meant to be in another unit.
    pub(crate) fn limits(self, name: &str) -> RangeInclusive<u64> {
        match (name, self) {
            // Two threads of a core share it: work takes as long as without SMT, up to four times as long.
            ("smt_slowdown", _) => 100..=400,
            (_, Unit::Pct) => 0..=100,
            (_, Unit::Ps) => 0..=1_000_000,
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
            true => (20, "the same as a line of the LLC: nothing is known about the clusters"),
            false => (100, "not used: there are no clusters"),
        };
        Cost { value: 100, low, high: 100, origin: Origin::Assumed(why.to_owned()) }
    }
}

macro_rules! costs {
    ($(#[$of:meta])* $costs:ident: $($name:ident: $unit:ident, $doc:literal;)*) => {
        $(#[$of])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        pub struct $costs { $(#[doc = $doc] pub $name: Cost,)* }

        impl $costs {
            /// The names of all costs, in the order of the documentation.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// A description of each of [`Self::NAMES`].
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
                Ok($costs { $($name: f(stringify!($name), Unit::$unit)?,)* })
            }
        }
    };
}

costs! {
    /// The costs of scheduling operations on a machine.
    Costs:
    context_switch: Ns, "`__schedule()` from one task to another.";
    switch_mm: Ns, "The part of `context_switch` that loads another address space: a switch between two threads of one \
        process has none of it.";
    wakeup: Ns, "`try_to_wake_up()` without the search and the enqueue.";
    probe: Ns, "One probe of a run queue in the search for an idle CPU.";
    enqueue_local: Ns, "Locking a CPU's own run queue and enqueueing a task on it.";
    enqueue_remote: Ns, "Locking a run queue whose cache lines another CPU of the LLC holds, and enqueueing a task on \
        it.";
    enqueue_far: Ns, "Locking a run queue of another LLC, and enqueueing a task on it.";
    enqueue_visible: Pct, "The part of an enqueue after which other CPUs see the run queue's new `nr_running`.";
    wakelist: Ns, "Putting a task on another CPU's wakelist (TTWU_QUEUE), and its IPI, for the sender.";
    wakelist_flush: Ns, "`sched_ttwu_pending()`: entering the IPI and enqueueing the tasks of the wakelist.";
    ipi: Ns, "From sending an IPI (or writing `need_resched` of a polling idle task) to its arrival, within a package.";
    ipi_far: Ns, "From sending an IPI to its arrival, between packages.";
    idle_exit: Ns, "From the arrival to the idle task calling `schedule()`.";
    idle_entry: Ns, "From the switch to the idle task until it can be woken.";
    cold_task: Ns, "Cache misses of a task that runs on another CPU of its LLC than before.";
    cold_task_far: Ns, "Cache misses of a task that runs in another LLC than before.";
    cold_message: Ns, "Cache misses of reading a message that another CPU of the LLC wrote.";
    cold_message_far: Ns, "Cache misses of reading a message that a CPU of another LLC wrote.";
    cluster_line: Pct, "The cost of a cache line of another CPU of the cluster, relative to one of the rest of the \
                        LLC.";
    tick: Ns, "One scheduler tick.";
    balance: Ns, "One balance pass over a domain, without reading its run queues.";
    balance_cpu: Ns, "Reading one run queue in a balance pass.";
    newidle_max_smt: Ns, "`max_newidle_lb_cost` of the SMT domain at the start: the longest that a recent newly-idle \
                          balance took.";
    newidle_max_llc: Ns, "`max_newidle_lb_cost` of the domains above SMT up to the LLC at the start.";
    smt_slowdown: Pct, "How much longer work takes while the SMT sibling is busy: 150 is half as long again. \
        Each further busy sibling adds as much.";
}

costs! {
    /// The costs of sched_ext on a machine, when a scheduler is loaded.
    ScxCosts:
    scx_op: Ns, "Calling an operation of a scheduler and coming back: `SCX_CALL_OP()` and the trampoline.";
    scx_dsq: Ns, "How long a CPU that was the last to hold a dispatch queue's lock holds it for a task that joins or \
                  leaves.";
    scx_line: Ns, "A cache line of a dispatch queue from another CPU of the LLC: two of them move if another CPU held \
                   the lock last.";
    scx_line_far: Ns, "The same from another LLC.";
    scx_move: Ns, "Moving a task between run queues: `deactivate_task()`, the other lock, `activate_task()`.";
    scx_idle_words: Ns, "Reading 64 words of a mask for an idle CPU.";
    bpf_insn: Ps, "An instruction of a program in BPF, as the JIT compiles it.";
    bpf_call: Ns, "Calling a helper or a kernel function, besides what it does.";
    bpf_map: Ns, "Finding an element of a map.";
    bpf_atomic: Ns, "An atomic operation, or taking a lock that is free.";
}

/// A cache line of another core of the LLC, where nothing is known of a machine: the value and its range, ns.
const LLC_LINE: (u64, [u64; 2]) = (55, [26, 72]);
/// One of another LLC.
const FAR_LINE: (u64, [u64; 2]) = (135, [90, 260]);

impl ScxCosts {
    /// The same with cache lines of a machine on which they are known. `far` is `None` if there is one LLC.
    pub(crate) fn with_lines(mut self, llc: Cost, far: Option<Cost>) -> Self {
        self.scx_line = llc;
        self.scx_line_far = far.unwrap_or(self.scx_line_far);
        self
    }
}

impl Default for ScxCosts {
    /// The costs of a machine file that gives none. None of them was measured with a real scheduler.
    fn default() -> Self {
        let cost = |name: &'static str, _: Unit| {
            let (value, [low, high], why) = match name {
                "scx_op" => (20, [5, 60], "an indirect call or two, the trampoline and some stores: 15 to 200 cycles"),
                "scx_dsq" => {
                    (25, [10, 100], "an atomic operation, a list and a counter in lines of the CPU's own cache")
                }
                "scx_line" => (LLC_LINE.0, LLC_LINE.1, "36 to 72 ns on a Xeon W9-3475X (KCORES core-to-core-latency)"),
                "scx_line_far" => (FAR_LINE.0, FAR_LINE.1, "120 to 150 ns between two sockets of it, more on others"),
                "scx_move" => (150, [50, 600], "two locks, one of which is in another CPU's cache, and two enqueues"),
                "scx_idle_words" => (64, [16, 256], "a word a nanosecond: 8 words are a line, which others write"),
                "bpf_insn" => (400, [150, 800], "one to a few of the processor's, at one to three a cycle"),
                "bpf_call" => (2, [1, 10], "a direct call, and the registers that it saves"),
                "bpf_map" => (10, [3, 40], "an index and a bound for arrays, a hash and a bucket for the others"),
                _ => (6, [5, 30], "20 cycles if the line is in the CPU's own cache"),
            };
            let origin = Origin::Assumed(format!("not measured for any scheduler: {why}"));
            Ok::<_, std::convert::Infallible>(Cost { value, low, high, origin })
        };
        let Ok(costs) = ScxCosts::try_from_fn(cost);
        costs
    }
}
