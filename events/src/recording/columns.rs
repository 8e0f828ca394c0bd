//! The columns of a recording.

macro_rules! columns {
    ($($name:ident),* $(,)?) => {
        /// A column of a recording, by its name in the header.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(super) enum Column { $($name),* }

        impl Column {
            /// All columns, in the order in which the recorder writes them.
            pub(super) const ALL: &[Column] = &[$(Column::$name),*];

            /// The name in the header.
            pub(super) fn name(self) -> &'static str {
                match self { $(Column::$name => stringify!($name)),* }
            }
        }
    };
}

columns! {
    kernel, topology, load, variant, features, seq, t_ns, dur_ns, stable,
    waker_cpu, waker_pid, waker_comm, waker_policy, waker_flags, waker_nr_cpus_allowed, waker_percpu_kthread,
    preempt_count, in_task,
    wakee_pid, wakee_comm, wakee_policy, wakee_static_prio, wakee_flags, on_rq, prev_cpu, wake_flags, wake_flags_text,
    chosen_cpu, recent_used_cpu, recent_used_cpu_after,
    waker_flips_before, waker_flips, wakee_flips_before, wakee_flips, last_wakee_is_p, flip_decay_due, sd_llc_size,
    affinity, nr_cpus_allowed, util_avg, runnable_avg, util_est, load_avg, load_weight, task_h_load,
    last_update_time_set, numa_preferred_nid, waker_load_avg, waker_load_weight, waker_h_load,
    idle_mask, idle_mask_exit, curr_idle_mask, ttwu_pending_mask,
    cpu_nr_running, cpu_h_nr_queued, cpu_h_nr_delayed, cpu_h_nr_idle,
    cpu_load_avg, cpu_runnable_avg, cpu_util_avg, cpu_util_est, cpu_capacity,
    llc_ids, llc_has_idle_cores, llc_nr_idle_scan,
    cpu_idle_stamp, cpu_idle_exit_latency, cpu_group_cap_l0, cpu_group_cap_l1, cpu_group_cap_l2, cpu_group_imbalance,
    jiffies, wake_stamp, wake_avg_idle, avg_idle, avg_scan_cost,
}

impl Column {
    /// Whether a recording may lack it: only SIS_PROP reads these.
    pub(super) fn is_optional(self) -> bool {
        use Column::{avg_idle, avg_scan_cost, jiffies, wake_avg_idle, wake_stamp};
        matches!(self, jiffies | wake_stamp | wake_avg_idle | avg_idle | avg_scan_cost)
    }
}
