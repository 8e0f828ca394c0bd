/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of the ring buffer. src/wire.rs has the same types; a test compares their sizes. */
#pragma once

#define MAX_CPUS 1024
#define MAX_LEVELS 4

enum kind {
	KIND_DECISION = 1,
	KIND_SWITCH,
	KIND_MIGRATION,
	KIND_IDLE,
	KIND_FREQUENCY,
	KIND_WAKING,
	KIND_PREEMPT,
	KIND_BALANCE,
	KIND_TASK_GROUP,
	KIND_GROUP_MEMBER,
};

/* The state of a CPU when the decision began; `idle_exit` is of its end. */
struct cpu_state {
	u64 load_avg;
	u32 nr_running;
	u32 h_nr_queued;
	s32 h_nr_delayed;
	u32 h_nr_idle;
	u32 runnable_avg;
	u32 util_avg;
	u32 util_est;
	u32 capacity;
	s32 has_idle_cores; /* of its LLC, if it is the first CPU of the LLC */
	s32 nr_idle_scan;
	u8 curr_idle;
	u8 ttwu_pending;
	u8 idle_exit;
	u8 taken; /* 0: this CPU was left out */
	u32 prefer; /* of a pass of the balancer: queued tasks that prefer the LLC of its CPU */
};

/* What only forks and execs read of a CPU. */
struct cpu_slow {
	u64 idle_stamp;
	s32 exit_latency;
	u32 imbalance;
	u32 capacity[MAX_LEVELS];
};

struct task_state {
	s32 pid;
	s32 tgid;
	u32 policy;
	u32 flags;
	s32 static_prio;
	s32 nr_cpus_allowed;
	u32 flips_before;
	u32 flips_after;
	u64 load_avg;
	u64 load_weight;
	u64 h_load;
	char comm[16];
};

/* Fields that this kernel has. */
enum has {
	HAS_WAKE_AVG_IDLE = 1,
	HAS_SCAN_COST = 2,
};

struct decision {
	u32 kind;
	u32 cpus; /* the number of cpu_state that follow */
	u32 slow; /* the number of cpu_slow after them */
	u32 waker_cpu;
	u64 t_ns;
	u64 dur_ns;
	u64 features;
	u64 jiffies;
	u64 wake_stamp;
	u64 wake_avg_idle;
	u64 avg_idle;
	u64 avg_scan_cost;
	struct task_state waker;
	struct task_state wakee;
	u64 util_avg;
	u64 runnable_avg;
	u64 util_est;
	u32 preempt_count;
	u32 last_wakee_is_p;
	u32 flip_decay_due;
	u32 last_update_time_set;
	u32 on_rq;
	s32 prev_cpu;
	u32 wake_flags;
	s32 chosen_cpu;
	s32 recent_used_cpu;
	s32 recent_used_cpu_after;
	s32 numa_preferred_nid;
	s32 sd_llc_size;
	u32 h_load_moved; /* a tick came in between and changed task_h_load() */
	u32 has;
	u32 machine; /* the number of the description of the machine that it refers to */
	u32 changed; /* the domains are not those of that description */
	u64 affinity[MAX_CPUS / 64];
};

/* A record of another kind. */
struct event {
	u32 kind;
	u32 cpu;
	u64 t_ns;
	s32 a; /* switch: prev pid; migration: pid; idle: state, -1 at its end; frequency: kHz */
	s32 b; /* switch: next pid; migration: from */
	s32 c; /* switch: whether prev sleeps; migration: to */
	u32 pad;
};

/* A wake-up that chose no CPU. */
struct waking {
	u32 kind;
	u32 cpu;
	u64 t_ns;
	s32 waker_pid;
	s32 wakee_pid;
	s32 task_cpu;
	u32 preempt_count;
	u32 policy;
	u32 flags;
	s32 static_prio;
	s32 nr_cpus_allowed;
	char waker_comm[16];
	char wakee_comm[16];
};

/* The most waiting tasks of a queue that are recorded. */
#define MAX_WAITING 63

/* A task of a run queue. */
struct queued_task {
	u64 vruntime;
	u64 deadline;
	u64 slice;
	s64 vlag;
	u64 vprot;
	u64 exec_start;
	u64 weight;
	s32 pid;
	u32 policy;
	s32 static_prio;
	u8 on_rq;
	u8 sched_delayed;
	u8 rel_deadline;
	u8 custom_slice;
};

/* What wakeup_preempt() of the fair class may change. */
struct preempt_state {
	struct queued_task curr;
	u64 virtual_time; /* min_vruntime of CFS, zero_vruntime of EEVDF */
	s64 sum_w_vruntime;
	u64 sum_weight;
	u64 features;
	u64 thread_flags;
	s32 next; /* pids; 0: none */
	s32 last;
	u32 nr_queued;
	u32 sum_shift;
};

/* Fields that this kernel has, and what makes a record uncertain. */
enum preempt_has {
	PREEMPT_EEVDF = 1,
	PREEMPT_VPROT = 2,
	PREEMPT_GROUPS = 4, /* group entities: the tasks were not recorded */
	PREEMPT_PROXY = 8, /* rq->donor is not rq->curr */
	PREEMPT_CUT = 16, /* more tasks than there is room for */
};

/* A wake-up preemption: what check_preempt_wakeup() or its successor read and did. */
struct preempt {
	u32 kind;
	u32 cpu; /* the CPU of the queue */
	u64 t_ns;
	u64 clock_task;
	u32 waker_cpu;
	s32 wakee_pid;
	u32 wake_flags;
	u32 has;
	u32 in_task;
	u32 waiting; /* the number of queued_task that follow */
	/* Tunables, ns; 0: this kernel does not have it. */
	u32 base_slice;
	u32 migration_cost;
	u32 wakeup_granularity;
	u32 nr_latency;
	char curr_comm[16];
	char wakee_comm[16];
	struct preempt_state before;
	struct preempt_state after;
};

/* The most groups of a domain that are recorded. */
#define MAX_GROUPS 64

/* What a pass of the balancer reads of a group besides its CPUs. */
struct balance_group {
	u64 capacity;
	u64 imbalance;
	/* Of the LLC of its first CPU, when the pass begins and when it ends; without such a domain NO_LLC. */
	u64 llc_util;
	u64 llc_capacity;
	u64 llc_util_after;
	u64 llc_capacity_after;
};
#define NO_LLC (~0ULL)

/* What makes the record of a pass uncertain. */
enum balance_has {
	BALANCE_CHANGED = 1, /* a run queue or a group was another at the end, or the CPUs of the pass were */
	BALANCE_MACHINE = 2, /* the domain is not one of the description */
	BALANCE_CUT = 4, /* more groups than there is room for */
};

/* A pass of the balancer: what find_busiest_group() or its successor read and found. */
struct balance {
	u32 kind;
	u32 cpus; /* the number of cpu_state that follow */
	u64 t_ns;
	u64 dur_ns;
	u64 features;
	u64 features_after;
	u32 cpu; /* the CPU that it runs on */
	u32 dst_cpu;
	s32 level;
	u32 idle; /* 0 idle, 1 not idle, 2 newly idle */
	u32 has;
	u32 machine;
	u32 nr_groups;
	s32 busiest; /* the place of the group in the ring that begins with the CPU's own; -1: none */
	s64 imbalance;
	u32 migration_type;
	s32 sched_cache; /* cache-aware balancing: 0 off, 1 on, -1 this kernel does not have it, nor what follows */
	u32 nr_balance_failed;
	u32 llc_overaggr_pct;
	u32 llc_imb_pct;
	u32 pad;
	u64 dst_llc_util;
	u64 dst_llc_capacity;
	u64 span[MAX_CPUS / 64]; /* of the domain */
	u64 env_cpus[MAX_CPUS / 64]; /* those that the pass may take from, and to */
	struct balance_group groups[MAX_GROUPS];
};

/* Numbers of autogroups, which are counted apart from cgroups, have this bit. */
#define AUTOGROUP (1ULL << 62)
/* Longer names of cgroups are cut. */
#define MAX_GROUP_NAME 192

/* Fields that this kernel has. */
enum task_group_has {
	GROUP_BANDWIDTH = 1,
	GROUP_UCLAMP = 2,
};

/* A task group. */
struct task_group_record {
	u32 kind;
	u32 has;
	u64 t_ns;
	u64 id; /* the inode number of the cgroup, or AUTOGROUP and the number of the autogroup */
	u64 parent; /* 0: the root */
	u64 shares; /* 1024 << 10: that of a task of nice 0 */
	u64 quota; /* ns; RUNTIME_INF, all bits: no limit */
	u64 period; /* ns */
	u64 burst; /* ns */
	u32 idle;
	u32 uclamp_min;
	u32 uclamp_max;
	u32 pad;
	char name[MAX_GROUP_NAME]; /* of the cgroup, without those above */
};

/* The group that a task is in. */
struct group_member {
	u32 kind;
	s32 pid;
	u64 t_ns;
	u64 group;
};

/* A scheduling domain and one of its groups, as `describe` reads them. */
struct domain_part {
	u64 domain; /* its address */
	u64 next_group;
	u64 first_group;
	u64 span[MAX_CPUS / 64];
	u64 group[MAX_CPUS / 64];
	u64 group_capacity;
	u32 group_flags;
	u32 group_weight;
	u32 flags;
	u32 imbalance_pct;
	u32 imb_numa_nr;
	u32 span_weight;
	s32 sd_llc_id;
	u32 exists;
	s32 sd_llc_size;
	u32 cpu_capacity_orig; /* 0: this kernel does not have it (since 6.7) */
	char name[16];
};
