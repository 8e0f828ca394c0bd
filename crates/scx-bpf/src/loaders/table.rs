//! What loaders set as it stands in a row, without computing anything: their release, flags and variables.

use super::{Known, Loading, Machine};
use wakelab_scx_core::flags::{
    SCX_OPS_ALLOW_QUEUED_WAKEUP, SCX_OPS_ALWAYS_ENQ_IMMED, SCX_OPS_BUILTIN_IDLE_PER_NODE, SCX_OPS_ENQ_EXITING,
    SCX_OPS_ENQ_LAST, SCX_OPS_ENQ_MIGRATION_DISABLED, SCX_OPS_KEEP_BUILTIN_IDLE, SCX_SLICE_DFL,
};

/// A loader: the first word of `ops.name`, its release, `ops.flags` if it sets them (SCX_OPS_BUILTIN_IDLE_PER_NODE only
/// on machines of several nodes), and the variables that it sets, `NAME=VALUE`. A value is a number, a fact about the
/// machine ([`Machine::fact`]), or one that the loader computes.
pub struct Row(&'static str, pub Known, Option<u64>, &'static str);

/// Most crates.
const V1_1_4: Known = Known::Crate("1.1.4");
/// The flags of scx_tickless.
const TICKLESS: u64 = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_MIGRATION_DISABLED | SCX_OPS_ALLOW_QUEUED_WAKEUP;
/// Those of scx_bpfland and its kin.
const KIN: u64 = TICKLESS | SCX_OPS_ENQ_EXITING | SCX_OPS_BUILTIN_IDLE_PER_NODE;
const LAVD: u64 = SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_MIGRATION_DISABLED | SCX_OPS_KEEP_BUILTIN_IDLE;

/// Those of scx_simple, scx_cpu0 and scx_sdt set what their options say, and leave the rest as it is. 6.12's scx_qmap
/// has no `max_tasks`. There is no energy model in debugfs for scx_lavd.
const LOADERS: [Row; 17] = [
    Row("simple", Known::Tool, None, ""),
    Row("cpu0", Known::Tool, None, ""),
    Row("sdt", Known::Tool, None, ""),
    Row("wakelab", Known::Tool, None, ""),
    Row("flow", Known::Crate("4.8.15"), None, ""),
    Row("central", Known::Tool, None, "central_cpu=0 nr_cpu_ids=nr_cpus slice_ns=SCX_SLICE_DFL"),
    Row("flatcg", Known::Tool, None, "nr_cpus=nr_cpus cgrp_slice_ns=SCX_SLICE_DFL"),
    Row("qmap", Known::Tool, None, "slice_ns=SCX_SLICE_DFL max_tasks=16384"),
    Row(
        "bpfland",
        V1_1_4,
        Some(KIN),
        "debug=0 smt_enabled=smt numa_enabled=numa local_pcpu=0 no_wake_sync=0 sticky_tasks=0 slice_max=1000000
         slice_min=0 slice_lag=40000000 throttle_ns=0 primary_all=1 local_kthreads=0 preferred_idle_scan=0
         cpufreq_perf_lvl=1024",
    ),
    Row(
        "cosmos",
        Known::Crate("1.1.7"),
        Some(KIN),
        "slice_ns=1000000 slice_lag=20000000 cpufreq_enabled=1 flat_idle_scan=0 smt_enabled=smt numa_enabled=numa
         nr_node_ids=nr_node_ids no_wake_sync=0 no_early_clear=0 time_preemption=0 mm_affinity=0 perf_config=0
         perf_sticky=0 busy_threshold=0 overload_thresh_ns=1000000 all_cpus_same_capacity=same_capacity
         preferred_idle_scan=0 primary_all=1 gpu_enabled=0",
    ),
    Row(
        "flash",
        V1_1_4,
        Some(KIN),
        "debug=0 smt_enabled=smt numa_disabled=one_node rr_sched=0 wakeup_throttle=0 tickless_sched=0 slice_max=700000
         slice_lag=20000000 throttle_ns=0 primary_all=1 cpufreq_perf_lvl=1024",
    ),
    Row(
        "beerland",
        V1_1_4,
        Some(KIN | SCX_OPS_ALWAYS_ENQ_IMMED),
        "slice_ns=1000000 slice_lag=20000000 smt_enabled=smt numa_enabled=numa busy_threshold=0 primary_all=1",
    ),
    Row("tickless", V1_1_4, Some(TICKLESS), "smt_enabled=smt nr_cpu_ids=nr_cpus slice_ns=20000000 tick_freq=0"),
    Row(
        "lavd",
        V1_1_4,
        Some(LAVD),
        "no_preemption=0 no_core_compaction=performance no_freq_scaling=0 is_powersave_mode=powersave nr_llcs=nr_llcs
         nr_cpu_ids=nr_cpus is_smt_active=smt is_autopilot_on=balanced verbose=0 slice_max_ns=5000000
         slice_min_ns=500000 pinned_slice_ns=5000000 preempt_shift=6 lat_load_target_pct=100 mig_delta_pct=0
         warm_cpu_ns=0 lb_low_util_wall=256 lb_local_dsq_util_wall=102 xmig_min_gain_ns=xmig_min_gain_ns no_use_em=1
         no_fast_lb=0 no_ovrflw_extend=performance no_wake_sync=0 no_slice_boost=0 per_cpu_dsq=0 enable_cpu_bw=0
         bw_kick_builtin_idle=1 nr_cgrp_max=2048 tree_height_max=32",
    ),
    Row("p2dq", V1_1_4, None, P2DQ),
    Row("chaos", V1_1_4, None, P2DQ),
    Row(
        "rusty",
        V1_1_4,
        None,
        "slice_ns=SCX_SLICE_DFL nr_nodes=nr_nodes nr_doms=nr_llcs nr_cpu_ids=nr_cpus load_half_life=1000000000
         kthreads_local=0 fifo_sched=0 greedy_threshold=1 greedy_threshold_x_numa=0 direct_greedy_numa=0
         mempolicy_affinity=0 debug=0 rusty_perf_mode=0",
    ),
];

/// `init_open_skel!` of scx_p2dq, which scx_chaos uses.
const P2DQ: &str = "topo_config.nr_cpus=nr_cpus topo_config.nr_llcs=nr_llcs topo_config.nr_nodes=nr_nodes
    topo_config.smt_enabled=smt topo_config.has_little_cores=little_cores timeline_config.min_slice_us=100
    timeline_config.max_exec_ns=10000000 timeline_config.autoslice=0 timeline_config.deadline=0
    lb_config.slack_factor=5 lb_config.min_nr_queued_pick2=0 lb_config.min_llc_runs_pick2=llc_runs
    lb_config.max_dsq_pick2=0 lb_config.eager_load_balance=1 lb_config.dispatch_pick2_disable=optimize_single
    lb_config.dispatch_lb_busy=75 lb_config.dispatch_lb_interactive=1 lb_config.wakeup_lb_busy=0
    lb_config.wakeup_llc_migrations=0 lb_config.single_llc_mode=one_llc p2dq_config.interactive_ratio=10
    p2dq_config.dsq_shift=4 p2dq_config.task_slice=0 p2dq_config.kthreads_local=1 p2dq_config.nr_dsqs_per_llc=3
    p2dq_config.init_dsq_index=0 p2dq_config.saturated_percent=5 p2dq_config.sched_mode=0
    p2dq_config.llc_shards=llc_shards p2dq_config.atq_enabled=0 p2dq_config.dhq_enabled=0
    p2dq_config.dhq_max_imbalance=3 p2dq_config.cpu_priority=0 p2dq_config.freq_control=0
    p2dq_config.interactive_sticky=0 p2dq_config.keep_running_enabled=0 p2dq_config.pelt_enabled=1
    p2dq_config.fork_balance=1 p2dq_config.exec_balance=1 p2dq_config.enable_eas=0
    p2dq_config.small_task_threshold=256 p2dq_config.large_task_threshold=768
    latency_config.latency_priority_enabled=0 latency_config.wakeup_preemption_enabled=0 debug=0 nr_cpu_ids=nr_cpus";

impl Row {
    /// The row of a loader, if it is known.
    pub fn of(name: &str) -> Option<&'static Row> {
        LOADERS.iter().find(|row| row.0 == name)
    }
}

impl Machine<'_> {
    fn fact(&self, name: &str) -> Option<i128> {
        let llcs = self.scx.llcs().len();
        Some(match name {
            "SCX_SLICE_DFL" => SCX_SLICE_DFL.into(),
            "nr_cpus" => self.nr_cpus.into(),
            "nr_node_ids" => self.nr_nodes.into(),
            "nr_nodes" => self.scx.nodes.len() as i128,
            "nr_llcs" => llcs as i128,
            "one_node" => (self.nr_nodes == 1).into(),
            "one_llc" => (llcs == 1).into(),
            "numa" => (self.nr_nodes > 1).into(),
            "smt" => self.smt.into(),
            "little_cores" => self.scx.has_little_cores().into(),
            "same_capacity" => self.cpus().all(|cpu| self.capacity(cpu) == self.capacity(0)).into(),
            _ => return None,
        })
    }
}

impl Loading {
    /// Sets the flags and the variables of the loader's row; `computed` are the values that no number and no fact are.
    pub(super) fn read(&mut self, machine: &Machine<'_>, computed: &[(&str, i128)]) {
        let Some(&Row(_, _, flags, variables)) = machine.row else { return };
        let one_node = if machine.nr_nodes > 1 { 0 } else { SCX_OPS_BUILTIN_IDLE_PER_NODE };
        self.flags = flags.map(|flags| flags & !one_node);
        self.numbers.extend(variables.split_whitespace().map(|variable| {
            let (name, value) = variable.split_once('=').expect("NAME=VALUE");
            let computed = || computed.iter().find(|(of, _)| *of == value).map(|&(_, value)| value);
            let number = value.parse().ok().or_else(computed).or_else(|| machine.fact(value));
            (name.to_owned(), number.unwrap_or_else(|| panic!("{variable}: no such fact")))
        }));
    }
}
