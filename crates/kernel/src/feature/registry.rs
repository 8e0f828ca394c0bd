//! The registry: every feature, with where it comes from.

use super::own::own;

macro_rules! features {
    ($($name:ident: $doc:literal, $since:expr, $until:expr, $source:expr, $modelled:literal;)*) => {
        /// A feature, named as in the kernel's `features` file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types)]
        #[repr(u8)]
        pub enum Feature { $(#[doc = $doc] $name),* }

        impl Feature {
            /// All features, in the order they are printed.
            pub const ALL: &[Feature] = &[$(Feature::$name),*];

            /// The name, as in the kernel's `features` file.
            pub fn name(self) -> &'static str {
                if let (Feature::OWN, Some(own)) = (self, own()) {
                    return own.name;
                }
                match self { $(Feature::$name => stringify!($name)),* }
            }

            /// The feature of that name (without `NO_`).
            pub fn by_name(name: &str) -> Option<Feature> {
                if own().is_some_and(|own| own.name == name) {
                    return Some(Feature::OWN);
                }
                match name { $(stringify!($name) => Some(Feature::$name),)* _ => None }
            }

            /// Returns a description, in one line.
            pub fn doc(self) -> &'static str {
                if let (Feature::OWN, Some(own)) = (self, own()) {
                    return own.doc;
                }
                match self { $(Feature::$name => $doc),* }
            }

            /// The first release that has it, if one has.
            pub fn since(self) -> Option<&'static str> {
                match self { $(Feature::$name => $since),* }
            }

            /// The first release that has it no more, if there is one.
            pub fn until(self) -> Option<&'static str> {
                match self { $(Feature::$name => $until),* }
            }

            /// Where it is found: function and version, or posting.
            pub fn source(self) -> &'static str {
                if let (Feature::OWN, Some(own)) = (self, own()) {
                    return own.source;
                }
                match self { $(Feature::$name => $source),* }
            }

            /// Returns whether this build acts on it.
            pub fn modelled(self) -> bool {
                if self == Feature::OWN {
                    return own().is_some();
                }
                match self { $(Feature::$name => $modelled),* }
            }
        }
    };
}

/// In every version back to 5.2 and earlier.
const OLD: Option<&str> = Some("before 5.2");

features! {
    GENTLE_FAIR_SLEEPERS: "Give a sleeper half of the latency period as credit instead of all of it.",
        OLD, Some("6.6"), "place_entity(), 6.1", true;
    START_DEBIT: "Place a new task a slice behind, so that it waits its turn.",
        OLD, Some("6.6"), "place_entity(), 6.1", true;
    PLACE_LAG: "Keep a task's lag across its sleep.",
        Some("6.6"), None, "place_entity(), 6.12", true;
    PLACE_DEADLINE_INITIAL: "Give a new task half a slice for its first deadline.",
        Some("6.6"), None, "place_entity(), 6.12", true;
    PLACE_REL_DEADLINE: "Keep the relative deadline of a task that migrates.",
        Some("6.12"), None, "place_entity() and dequeue_entity(), 6.12", true;
    RUN_TO_PARITY: "Protect the picked task from wake-up preemption for a while.",
        Some("6.6"), None, "pick_eevdf(), 6.12; set_protect_slice(), 7.2", true;
    PREEMPT_SHORT: "Let a wakee with a shorter slice cancel that protection.",
        Some("6.12"), None, "do_preempt_short(), 6.12", true;
    NEXT_BUDDY: "Prefer the task that was woken last at the next pick.",
        OLD, None, "check_preempt_wakeup(), 6.1; check_preempt_wakeup_fair(), 6.12; set_preempt_buddy(), 7.2", true;
    NEXT_BUDDY_POSTED: "Reschedule a waker that is no longer eligible, as the posting of today's NEXT_BUDDY did. On \
                        v6.18, for which it was posted, everything that it changes.",
        Some("6.19"), Some("after 6.19"),
        "\"[PATCH 2/2] sched/fair: Reimplement NEXT_BUDDY to align with EEVDF goals\", Mel Gorman, v5, e837456fdca8; \
            reverted by 15257cc2f905, January 2026; the name is wakelab's",
        true;
    LAST_BUDDY: "Prefer the task that was preempted by a wake-up at the next pick.",
        OLD, Some("6.6"), "check_preempt_wakeup(), 6.1", true;
    PICK_BUDDY: "Let the pick take the next buddy if it is eligible.",
        Some("after 6.1, by 6.12.107"), None, "pick_next_entity(), 6.12; pick_eevdf(), 7.2", true;
    CACHE_HOT_BUDDY: "Count buddies as cache-hot when balancing.",
        OLD, None, "task_hot(), 6.1 and 6.12", true;
    DELAY_DEQUEUE: "Keep a sleeper that is not eligible queued until it is.",
        Some("6.12"), None, "dequeue_entity(), 6.12", true;
    DELAY_ZERO: "Let such a task keep no positive lag.",
        Some("6.12"), None, "requeue_delayed_entity(), 6.12; update_entity_lag(), 7.2", true;
    PARANOID_AVG: "Check the sums that the average vruntime is computed from.",
        Some("after 6.12, by 7.2"), None, "fair.c, 7.2", true;
    WAKEUP_PREEMPTION: "Let a wakee preempt the running task.",
        OLD, None, "check_preempt_wakeup(), 6.1; check_preempt_wakeup_fair(), 6.12", true;
    HRTICK: "End slices by a high-resolution timer; on by default where the timer can be re-armed late (x86 in 7.2).",
        OLD, None, "features.h, 6.12 and 7.2; hrtick_enabled()", true;
    HRTICK_DL: "The same for the deadline class.",
        Some("5.12"), None, "features.h of 5.12-rc3 has it, 5.10's has not; start_hrtick_dl()", true;
    DOUBLE_TICK: "Let the tick preempt though a high-resolution timer is set.",
        OLD, Some("after 6.12, by 6.18"), "entity_tick(), 6.1 and 6.12", true;
    LB_BIAS: "Bias the loads that balancing compares by their decayed history.",
        OLD, Some("5.3"), "the posting that removes it, May 2019; the release is from the changelog", false;
    NONTASK_CAPACITY: "Take the time of interrupts from a CPU's capacity.",
        OLD, None, "update_rq_clock_task(), 6.12", true;
    IRQ_TIME_ACCOUNTING: "Do not charge the time of interrupts to the tasks that they interrupt; a configuration \
                          option.",
        None, None, "update_rq_clock_task(), 6.12; CONFIG_IRQ_TIME_ACCOUNTING is not set in Debian's configurations of \
            6.1, 6.12 and 7.2", true;
    TTWU_QUEUE: "Let the target CPU do the enqueue of a remote wake-up; off by default with PREEMPT_RT.",
        OLD, None, "ttwu_queue_wakelist(), 6.12", true;
    TTWU_BY_NODE: "Let the target CPU enqueue wake-ups to another node, instead of wake-ups to another LLC.",
        None, None, "the thread of SIS_NODE, Chen Yu, July 2023; the name is wakelab's", true;
    SIS_AVG_CPU: "Skip the scan for an idle CPU when its average cost exceeds the average idle time.",
        OLD, Some("5.12"), "select_idle_cpu(), 5.10; features.h of 5.12-rc3 has it no more", false;
    SIS_PROP: "Limit the scan for an idle CPU in proportion to the average idle time.",
        OLD, Some("6.7"), "select_idle_cpu(), 5.10, 5.18 and 6.1; removed by 984ffb6a4366", true;
    SIS_UTIL: "Limit the scan for an idle CPU by the LLC's utilisation.",
        Some("6.0"), None, "update_idle_cpu_scan() and select_idle_cpu(), 6.1; 70fb5ccf2ebb, posted as v4 in June \
            2022", true;
    WARN_DOUBLE_CLOCK: "Warn when a run queue's clock is updated twice under one lock.",
        OLD, None, "features.h, 6.12", false;
    RT_PUSH_IPI: "Pull realtime tasks by asking the overloaded CPU to push.",
        OLD, None, "features.h, 6.1 and 6.18.15 (on), and 6.12.107 (on only with PREEMPT_RT)", false;
    RT_RUNTIME_SHARE: "Let a CPU borrow realtime bandwidth from others.",
        OLD, None, "balance_runtime(), 6.12", false;
    LB_MIN: "Skip tasks with little load when balancing.",
        OLD, None, "detach_tasks(), 6.12", true;
    ATTACH_AGE_LOAD: "Age a task's load when it is attached to a run queue.",
        OLD, None, "attach_entity_cfs_rq(), 6.12", false;
    WA_IDLE: "Wake to an idle waking or previous CPU (`wake_affine_idle()`).",
        OLD, None, "wake_affine_idle(), 5.10 to 7.3", true;
    WA_WEIGHT: "Compare the loads of the waking and the previous CPU (`wake_affine_weight()`).",
        OLD, None, "wake_affine_weight(), 5.10 to 7.3", true;
    WA_BIAS: "Favour the waking CPU in that comparison by half of `imbalance_pct`'s excess.",
        OLD, None, "wake_affine_weight(), 5.10 to 7.3", true;
    UTIL_EST: "Use estimated utilisation.",
        OLD, None, "cpu_util(), 6.12", true;
    UTIL_EST_FASTUP: "Let the estimate follow a rising utilisation at once; unconditional after its removal.",
        Some("5.5"), Some("6.8"), "util_est_update(), 5.10 and 6.1; posted October 2019, removal posted November \
            2023", true;
    LATENCY_WARN: "Warn when a task waits long for a reschedule.",
        Some("after 5.12-rc3, by 6.1"), None, "features.h, 5.12-rc3 and 6.1", false;
    HZ_BW: "Keep the tick of a task whose bandwidth is limited.",
        Some("6.6"), Some("after 6.8, by 6.12"), "sched_fair_update_stop_tick(), 6.6 and 6.8", false;
    ALT_PERIOD: "Compute the period from the whole hierarchy's task count.",
        Some("5.13, and 5.10 as maintained"), Some("6.6"), "sched_slice(), 5.10.262 and 6.1", false;
    BASE_SLICE: "Do not let a slice fall below the minimum granularity.",
        Some("5.13, and 5.10 as maintained"), Some("6.6"), "sched_slice(), 5.10.262 and 6.1", true;
    NI_RANDOM: "Do newly-idle balancing at random, in proportion to its success.",
        Some("after 6.12, and 6.1 and 6.12 as maintained"), None,
        "newidle_balance(), 6.1.176; sched_balance_newidle(), 6.12.107", true;
    NI_RATE: "Scale that by the rate of newly-idle balancing.",
        Some("after 6.12, by 7.2"), None, "features.h and fair.c, 7.2", true;
    PREEMPT_VOLUNTARY: "Heed each request to reschedule at once, where the version's configuration has PREEMPT_LAZY.",
        Some("6.18"), None,
        "resched_curr_lazy(), get_lazy_tif_bit(), 6.18: preempt=none, voluntary and full ask for no lazy reschedule; \
            the name is wakelab's",
        true;
    SCHED_IDLE_NOT_FOR_IDLE: "Do not take a CPU that runs only SCHED_IDLE tasks for a wakee that is SCHED_IDLE itself, \
                              where the version does not; the switch turns it off.",
        Some("7.0"), None,
        "choose_sched_idle_rq(), 7.2; fd54d81c2c0e; no kernel has a switch, and the name is wakelab's", true;
    ASYM_SMT: "On unequal CPUs, prefer idle cores and limit the search by SIS_UTIL, where the version does; the switch \
        turns it off.",
        Some("7.2"), None,
        "select_idle_capacity(), asym_fits_cpu() and update_sd_pick_busiest(), 7.2; no kernel has a switch, and the \
            name is wakelab's",
        true;
    NI_COST_BUMP: "Count a newly-idle balance that finds nothing as half as long again as the longest, up to the \
                   migration cost.",
        Some("6.17"), Some("6.19"),
        "sched_balance_newidle(), 155213a2aed4, reverted by d206fbad9328; the name is wakelab's", true;
    NI_MIGRATION_COST_GATE: "Do not begin a newly-idle balance on a CPU that expects to be idle for less than the \
                             migration cost.",
        None, Some("5.16"), "newidle_balance() before c5b0a7eefc70; the name is wakelab's", true;
    SCHED_CACHE: "Draw the tasks of a process to one LLC (`CONFIG_SCHED_CACHE`), in the version's form, or in that of \
        7.2.",
        Some("7.2"), None,
        "fair.c, 7.2 and 7.3; the kernel's switch is llc_balancing/enabled in debugfs, and the name that of the \
            posting's feature",
        true;
    SCHED_CACHE_V1: "The same as first posted.",
        None, None,
        "\"[PATCH 00/19] Cache Aware Scheduling\", Tim Chen, October 2025, where its name is SCHED_CACHE; this one is \
            wakelab's",
        true;
    SCHED_CACHE_LB: "The same as in the RFC, version 4: by balancing only.",
        None, None, "\"[RFC PATCH v4 00/28] Cache aware load-balancing\", Chen Yu and Tim Chen, August 2025", true;
    SIS_CORE: "Allow the search for an idle core; every kernel does, and the switch turns it off.",
        None, None, "\"[PATCH v3 0/7] Improve scheduler scalability for fast path\", subhra mazumdar, June 2019", true;
    SIS_LIMIT: "Limit the scan to between one and two cores, starting each where the last on that CPU ended \
        (`next_cpu`).",
        None, None,
        "\"[PATCH v3 0/7] Improve scheduler scalability for fast path\", subhra mazumdar, June 2019, where it has no \
            switch; the name is wakelab's",
        true;
    SIS_SHORT: "Wake to a CPU whose only task is short: the waking CPU; the target, if the wakee is short, too.",
        None, None,
        "\"[PATCH v3 2/2] sched/fair: Choose the CPU where short task is running during wake up\", Chen Yu, December \
            2022",
        true;
    SIS_SHORT_V6: "Wake to the waking CPU where waker and wakee are short and few CPUs would be scanned.",
        None, None,
        "\"[PATCH v6 2/2] sched/fair: Introduce SIS_SHORT to wake up short task on current CPU\", Chen Yu, February \
            2023; the name is wakelab's",
        true;
    SIS_CURRENT: "Wake to the waking CPU where waker and wakee are short and only wake each other.",
        None, None,
        "\"[PATCH v8 2/2] sched/fair: Introduce SIS_CURRENT to wake up short task on current CPU\", Chen Yu, April \
            2023",
        true;
    SIS_ORACLE: "Find an idle CPU of the LLC at no cost if there is one: a bound on what a search can find, not on \
                 throughput.",
        None, None, "wakelab's own", true;
    SIS_UTIL_V1: "SIS_UTIL as first posted: no limit up to 85% utilisation, no search above.",
        None, None,
        "\"[PATCH] sched/fair: Stop searching for an idle CPU if the LLC is overloaded\", Chen Yu, February 2022, as \
         its later versions describe it",
        true;
    SIS_UTIL_V2: "SIS_UTIL as posted second: the scan shrinks in proportion to the utilisation to 4 run queues at 50%.",
        None, None,
        "\"[PATCH v2] sched/fair: Change SIS_PROP to search idle CPU based on sum of util_avg\", Chen Yu, March 2022, \
         as its later versions describe it",
        true;
    SIS_UTIL_V3: "SIS_UTIL as posted before its merge: the scan shrinks by the square of the utilisation, over 72, \
        in percent.",
        None, None,
        "\"[PATCH v3] sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of util_avg\", Chen Yu, 2022, \
            as quoted in its replies",
        true;
    SIS_UTIL_SMALL_LLC: "SIS_UTIL for small LLCs: of up to 16 CPUs, 32 / llc_weight times as many run queues are \
        probed.",
        None, None, "the threads of SIS_UTIL, 2022", true;
    SIS_UTIL_NEWIDLE: "Update nr_idle_scan in newly-idle balancing, too, and not only in periodic passes.",
        None, None, "the thread of SIS_UTIL v4, June 2022, where it was rejected for the writes to a shared line", true;
    SIS_FILTER: "Leave CPUs that were overloaded at their last tick out of the scan for an idle CPU.",
        None, None,
        "\"[PATCH v4 6/7] sched/fair: skip busy cores in SIS search\", Abel Wu, June 2022, in the form that Chen Yu \
            measured in July 2022",
        true;
    SIS_NODE: "Go on with the node's other LLCs if the search of the target's LLC finds no idle CPU.",
        None, None,
        "\"sched/fair: Multi-LLC select_idle_sibling()\", Peter Zijlstra, June 2023 (c5214e13ad60 in tip, dropped in \
            July)",
        true;
    SIS_NODE_LIMIT: "SIS_NODE with four other LLCs at most.",
        None, None, "the thread of SIS_NODE, June 2023; the name is wakelab's", true;
    SIS_NODE_TOPOEXT: "SIS_NODE with a domain of two neighbouring LLCs (MMC), so that there is one other LLC.",
        None, None, "the thread of SIS_NODE, June 2023; the name is wakelab's",
        true;
    SIS_NODE_PAIR: "SIS_NODE, but not for a wakee that only its waker wakes and that wakes nobody else.",
        None, None, "the thread of SIS_NODE, Chen Yu, July 2023; the name is wakelab's", true;
    SIS_EFF_IDLE_CORE: "Search for an idle core whatever SIS_UTIL's limit says.",
        None, None,
        "patch 1 of \"[PATCH v5 0/5] sched/fair: Improve scan efficiency of SIS\", Abel Wu, September 2022; the name \
            is wakelab's",
        true;
    SIS_EFF_CORE_LIMIT: "Look for an idle core at two CPUs where SIS_UTIL would not search.",
        None, None,
        "patch 2 of \"[PATCH v5 0/5] sched/fair: Improve scan efficiency of SIS\", Abel Wu, September 2022; the name \
            is wakelab's",
        true;
    SIS_EFF_PENDING: "Do not let a CPU to which a wake-up is on its way set the hint of idle cores.",
        None, None,
        "patch 3 of \"[PATCH v5 0/5] sched/fair: Improve scan efficiency of SIS\", Abel Wu, September 2022; the name \
            is wakelab's",
        true;
    SIS_EFF_BUSY: "After a search that finds nothing, do not search the LLC again until one of its CPUs goes idle.",
        None, None,
        "patch 4 of \"[PATCH v5 0/5] sched/fair: Improve scan efficiency of SIS\", Abel Wu, September 2022; the name \
            is wakelab's",
        true;
    SIS_EFF_FILTER: "SIS_EFF_BUSY, and then search only cores that have gone idle since.",
        None, None,
        "patch 5 of \"[PATCH v5 0/5] sched/fair: Improve scan efficiency of SIS\", Abel Wu, September 2022; the name \
            is wakelab's", true;
    SIS_CLUSTER: "Scan the target's cluster before the LLC, where the version does; the switch turns it off.",
        Some("6.7"), None,
        "select_idle_cpu() and select_idle_sibling(), 6.12; 8881e1639f1f; no kernel has a switch", true;
    SIS_CLUSTER_V5: "SIS_CLUSTER as posted in v5: in ascending order, and no CPU outside of the cluster is kept.",
        None, None,
        "\"[PATCH v5] sched/fair: Scan cluster before scanning LLC in wake-up path\", Barry Song and Yicong Yang, \
            June 2022; the name is wakelab's",
        true;
    SIS_CLUSTER_V7: "SIS_CLUSTER as posted in v7: no idle CPU outside of the cluster is kept.",
        None, None,
        "\"[PATCH v7] sched/fair: Scan cluster before scanning LLC in wake-up path\", Barry Song and Yicong Yang, \
            August 2022; the name is wakelab's",
        true;
    SIS_CLUSTER_V8: "SIS_CLUSTER as posted in v8: an idle previous or recently used CPU is kept as a last resort.",
        None, None,
        "\"[PATCH v8] sched/fair: Scan cluster before scanning LLC in wake-up path\", Barry Song and Yicong Yang, \
            May 2023; the name is wakelab's",
        true;
    SIS_CLUSTER_V9: "SIS_CLUSTER as posted in v9: such a CPU is taken as a last resort if it is still idle.",
        None, None,
        "\"[PATCH v9] sched/fair: Scan cluster before scanning LLC in wake-up path\", Barry Song and Yicong Yang, \
            July 2023; the name is wakelab's",
        true;
    SIS_CLUSTER_V10: "SIS_CLUSTER as posted in v10 without its third patch: no idle CPU outside of the cluster is \
        kept.",
        None, None,
        "\"[PATCH v10 2/3] sched/fair: Scan cluster before scanning LLC in wake-up path\", Barry Song and Yicong Yang, \
            October 2023; the name is wakelab's",
        true;
    SIS_CACHE: "Reserve the CPU of a short sleeper for it: the scan of the LLC passes over idle CPUs that expect one.",
        None, None,
        "\"[PATCH 2/2] sched/fair: skip the cache hot CPU in select_idle_cpu()\", Chen Yu, 26 September 2023 (v1)",
        true;
    SIS_PARAM: "SIS_UTIL with parameters (sis_param_*); without any it is SIS_UTIL.",
        None, None, "wakelab's own", true;
    SIS_SINGLE_PASS: "Search for a core and a CPU in one scan, where the version makes three.",
        None, None,
        "\"[PATCH v5 0/4] Scan for an idle sibling in a single pass\", Mel Gorman, January 2021, merged for 5.12; the \
            name is wakelab's",
        true;
    RUNNABLE_BOOST: "Let runnable_avg raise a CPU's utilisation for frequency, energy and balancing, as the version's \
        cpu_util() does; unconditional since 6.5.",
        None, None, "cpu_util(), 6.12 and 7.3; where the version has none, in the form of 7.3", true;
    RUNNABLE_BOOST_FREQ: "RUNNABLE_BOOST in schedutil's request; on by default, and read where boosting is on.",
        None, None, "cpu_util_cfs_boost() in sugov_get_util(), 6.12; the switch is wakelab's", true;
    RUNNABLE_BOOST_EAS: "RUNNABLE_BOOST in the highest utilisation of a performance domain; on by default, and read \
        where boosting is on.",
        None, None, "eenv_pd_max_util(), 6.12; the switch is wakelab's", true;
    RUNNABLE_BOOST_LB: "RUNNABLE_BOOST where balancing between LLCs moves utilisation; on by default, and read where \
        boosting is on.",
        None, None, "cpu_util_cfs_boost() in sched_balance_find_src_rq(), 6.12; the switch is wakelab's", true;
    RUNNABLE_BOOST_POSTED: "The same without the task's own runnable_avg, raising the estimated utilisation too.",
        None, None,
        "\"[PATCH v2 0/2] sched: Consider CPU contention in frequency, EAS max util & load-balance busiest CPU \
            selection\", Dietmar Eggemann, May 2023; merged as 7d0583cf9ec7",
        true;
    RUNNABLE_BOOST_V1: "The larger of util_avg and runnable_avg for frequency and busiest-CPU selection, but not for \
        energy.",
        None, None,
        "\"[PATCH 1/1] sched: Consider CPU contention in frequency & load-balance busiest CPU selection\", Dietmar \
            Eggemann, April 2023",
        true;
    UTIL_EST_FASTER: "Let a CPU's utilisation follow a task that runs for long as if PELT had half its half-life.",
        None, None,
        "the thread of \"sched/pelt: Change PELT halflife at runtime\", Peter Zijlstra, November 2022, and Dietmar \
            Eggemann, February and March 2023",
        true;
    UTIL_EST_FASTER_FREQ: "UTIL_EST_FASTER in schedutil's request; on by default, and read where UTIL_EST_FASTER is \
        on.",
        None, None,
        "the thread of \"sched/pelt: Change PELT halflife at runtime\", Peter Zijlstra, November 2022, and Dietmar \
            Eggemann, February and March 2023; the switch is wakelab's",
        true;
    UTIL_EST_FASTER_LB: "UTIL_EST_FASTER in load balance; on by default, and read where UTIL_EST_FASTER is on.",
        None, None,
        "the thread of \"sched/pelt: Change PELT halflife at runtime\", Peter Zijlstra, November 2022, and Dietmar \
            Eggemann, February and March 2023; the switch is wakelab's",
        true;
    UTIL_EST_FASTER_OU: "UTIL_EST_FASTER in cpu_overutilized(); on by default, and read where UTIL_EST_FASTER is on.",
        None, None,
        "the thread of \"sched/pelt: Change PELT halflife at runtime\", Peter Zijlstra, November 2022, and Dietmar \
            Eggemann, February and March 2023; the switch is wakelab's",
        true;
    UTIL_EST_FASTER_SLOWPATH: "UTIL_EST_FASTER in the placement of forks and execs; on by default, and read where \
        UTIL_EST_FASTER is on.",
        None, None,
        "the thread of \"sched/pelt: Change PELT halflife at runtime\", Peter Zijlstra, November 2022, and Dietmar \
            Eggemann, February and March 2023; the switch is wakelab's",
        true;
    UTIL_EST_FASTER_SCALED: "Scale the time that a task has run by the CPU's capacity and frequency in \
        UTIL_EST_FASTER; on by default.",
        None, None,
        "the thread of \"sched/pelt: Change PELT halflife at runtime\", Peter Zijlstra, November 2022, and Dietmar \
            Eggemann, February and March 2023; the switch is wakelab's",
        true;
    FREQ_INVARIANCE: "Make utilisation independent of the frequency: on x86 by APERF and MPERF, on arm64 by cpufreq.",
        Some("5.7 on x86, before 5.2 on arm64"), None,
        "arch_scale_freq_tick(), 5.10, and the posting of September 2019; no kernel has a switch, and the name is \
         wakelab's",
        true;
    OWN: "The search policy of a program that uses wakelab as a library; it has its name and source there.",
        None, None, "none until a program adds one: docs/extending.md", false;
}
