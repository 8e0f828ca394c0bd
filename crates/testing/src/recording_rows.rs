//! A recording of a small machine, for tests that write one.

use wakelab_events::recording::DecisionRow;

/// A machine of two CPUs that share a core and an LLC.
pub const DOMAINS: &str = r#"{"kernel": "7.2.12", "topology": "2cpus", "cpu_llc": [0, 0], "domains": {
    "0": [{"name": "SMT", "flags": "1297", "imbalance_pct": 110, "span": "3",
           "groups": [{"mask": "1", "capacity": 1024, "flags": "0"}, {"mask": "2", "capacity": 1024, "flags": "0"}]}],
    "1": [{"name": "SMT", "flags": "1297", "imbalance_pct": 110, "span": "3",
           "groups": [{"mask": "2", "capacity": 1024, "flags": "0"}, {"mask": "1", "capacity": 1024, "flags": "0"}]}]
    }}"#;

/// What its files say.
pub fn metadata() -> Vec<(&'static str, String)> {
    [
        ("wakelab.kernel", "7.2"),
        ("wakelab.machine", "2cpus"),
        ("wakelab.workload", "pipe"),
        ("wakelab.variant", "default"),
        ("wakelab.domains", DOMAINS),
    ]
    .map(|(key, value)| (key, value.to_owned()))
    .to_vec()
}

/// A decision on it.
pub fn decision(seq: i64) -> DecisionRow<'static> {
    DecisionRow {
        seq,
        t_ns: 1000 + seq,
        dur_ns: 5,
        stable: true,
        features: "SIS_UTIL TTWU_QUEUE NO_WA_WEIGHT",
        waker_cpu: 1,
        waker_pid: 7,
        waker_comm: "a, \"b\"\n",
        waker_policy: 0,
        waker_flags: 0x40_0040,
        waker_nr_cpus_allowed: 2,
        waker_percpu_kthread: false,
        preempt_count: 0x8000_0001,
        in_task: true,
        wakee_pid: 8,
        wakee_comm: "c",
        wakee_policy: 5,
        wakee_static_prio: 120,
        wakee_flags: 0,
        on_rq: false,
        prev_cpu: 0,
        wake_flags: 0x18,
        wake_flags_text: "TTWU|SYNC",
        chosen_cpu: 0,
        recent_used_cpu: -1,
        recent_used_cpu_after: 0,
        waker_flips_before: 3,
        waker_flips: 4,
        wakee_flips_before: 2,
        wakee_flips: 2,
        last_wakee_is_p: false,
        flip_decay_due: false,
        sd_llc_size: 2,
        affinity: &[3],
        nr_cpus_allowed: 2,
        util_avg: 10,
        runnable_avg: 11,
        util_est: 12,
        load_avg: 13,
        load_weight: 1024,
        task_h_load: 14,
        last_update_time_set: true,
        numa_preferred_nid: -1,
        waker_load_avg: 15,
        waker_load_weight: 1024,
        waker_h_load: 16,
        jiffies: 4_294_895_998,
        wake_stamp: None,
        wake_avg_idle: None,
        avg_idle: 17,
        avg_scan_cost: None,
        idle_mask: &[1],
        idle_mask_exit: &[1],
        curr_idle_mask: &[1],
        ttwu_pending_mask: &[0],
        cpu_nr_running: &[0, 2],
        cpu_h_nr_queued: &[0, 2],
        cpu_h_nr_delayed: &[0, -1],
        cpu_h_nr_idle: &[0, 0],
        cpu_load_avg: &[18, 1 << 33],
        cpu_runnable_avg: &[19, 20],
        cpu_util_avg: &[21, 22],
        cpu_util_est: &[23, 24],
        cpu_capacity: &[1024, 1000],
        llc_ids: &[0],
        llc_has_idle_cores: &[1],
        llc_nr_idle_scan: &[2],
        cpu_idle_stamp: None,
        cpu_idle_exit_latency: None,
        cpu_group_cap_l0: None,
        cpu_group_cap_l1: None,
        cpu_group_cap_l2: None,
        cpu_group_cap_l3: None,
        cpu_group_imbalance: None,
    }
}
