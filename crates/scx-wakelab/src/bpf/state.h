/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of the scheduler: constants, CPUs, LLCs, control groups and tasks. */
#pragma once

/*
 * Set before loading. They are const, so that the verifier knows the values. The native tests set them for each case.
 */
#ifndef SET_BEFORE_LOADING
#define SET_BEFORE_LOADING const volatile
#endif
SET_BEFORE_LOADING u32 nr_cpus = 1;
SET_BEFORE_LOADING u32 nr_llcs = 1;
SET_BEFORE_LOADING u32 nr_levels = 1;
SET_BEFORE_LOADING u32 hz = 250;
SET_BEFORE_LOADING bool smt_active;
SET_BEFORE_LOADING bool asym_capacity;
SET_BEFORE_LOADING u64 scan_interval_ns = 8000000;
SET_BEFORE_LOADING u64 min_granularity_ns = 2800000;
SET_BEFORE_LOADING u64 max_avg_idle_ns = 1000000;
SET_BEFORE_LOADING struct sis_param sis_param = SIS_PARAM_OF_SIS_UTIL;
SET_BEFORE_LOADING struct cpu_info cpu_infos[MAX_CPUS];
SET_BEFORE_LOADING struct llc_info llc_infos[MAX_CPUS];
SET_BEFORE_LOADING u16 llc_cpus[MAX_CPUS];
SET_BEFORE_LOADING u32 level_pct[MAX_LEVELS];
SET_BEFORE_LOADING bool level_affine[MAX_LEVELS];

/* May change while it runs. */
volatile u64 features;
volatile u64 slice_ns = 3000000;
volatile u32 nr_offline;
u64 balanced_at;
u32 nr_group_slots;	  /* slots of control groups that have ever been used, with the root's */
u32 groups_without_slot;

/* How far the clock of a queue advances in the time that a task may wait. */
struct wait_limit {
	u64 from;	/* the clock at the last check */
	u64 ahead;	/* 0 before the first check */
};

struct cpu_state {
	/* Written under the CPU's run queue lock. */
	struct pelt avg;
	struct pelt_clock clock;
	u64 vclock;		/* virtual time of the CPU's own queue */
	struct wait_limit wait_limit;
	u64 llc_vtime;		/* on the same clock: all tasks of the LLC's queue, counted as one */
	u64 curr_vtime;		/* of the running task when it started to run */
	u64 curr_since;		/* ns: when it started; 0 if no task of the scheduler runs */
	u64 curr_dur_avg;
	u64 curr_weight;
	u32 curr_dsq;
	s32 curr_pid;
	u32 perf_target;
	u32 kernel_perf_target;	/* what look_at_kernel() found in the run queue */
	u64 avg_idle;
	u64 idle_since;		/* ns; 0 while busy */
	u64 online_since;	/* ns; 0 if it has been online from the start */
	struct scan_cost cost;	/* of the CPU as a waker */
	s32 next_cpu;		/* SIS_LIMIT: where the next scan begins, as CPU + 1; 0 for none */
	u32 offline;
	u32 sis_failed;		/* SIS_PARAM: searches around this CPU that have failed since it was idle; no lock */
	/* Written by any CPU, atomically. */
	u64 load_weight;
	u64 util_est;
	u64 removed_load;
	u64 removed_util;
	u64 removed_runnable;
	u32 nr_runnable;
	u32 seems_idle;		/* at the last timer tick it ran the idle task and was claimed */
	u32 may_wait;		/* 0 if no task waits in the CPU's queue, except one that was just queued */
	u32 pad[3];
	struct counts counts;
} __attribute__((aligned(128)));

struct llc_state {
	u64 vclock;
	struct wait_limit wait_limit;
	u64 sum_util;
	s32 nr_idle_scan;
	u32 has_idle_cores;
	u64 load;		/* sum of its CPUs' load_avg, if there are several LLCs */
	u64 pull_load;		/* load to pull from another LLC; 0 for none */
	u32 pull_from;
	u32 nr_online;		/* of its CPUs, at the last timer tick */
	u32 cpus_wait;		/* as may_wait, for the queues of all its CPUs */
	u32 pad[15];
} __attribute__((aligned(128)));

/* A control group. Its index is its slot. Slot 0 is the root group, whose state is not used. */
struct group_state {
	u64 id;		/* of the cgroup; 0 for a free slot */
	u64 runnable;	/* how much is runnable in it, and its weight; see groups.h */
	s64 sum;	/* of the load weights of its runnable tasks and groups */
	u32 weight;	/* load weight: 1024 is a cpu.weight of 100 */
	u32 cpu_weight;	/* 1 to 10000, if it is not idle */
	u32 parent;
	u32 depth;
	u32 idle;
	u32 pad[19];
} __attribute__((aligned(128)));

struct group_state groups[MAX_GROUPS];
struct cpu_state cpu_states[MAX_CPUS];
struct llc_state llc_states[MAX_CPUS];

struct task_state {
	struct pelt avg;
	struct wakee_flips flips;
	struct dur_avg dur;
	u64 sum_exec;
	u64 since;		/* ns: the last charge */
	u64 waits_since;	/* ns: since when it is runnable and does not run */
	u64 slept_at;		/* ns: the wall clock at the last update of its average */
	u64 weight;		/* for virtual time, scaled by its control groups; NICE_0_LOAD is nice 0 */
	u32 nice_weight;	/* the kernel's weight of its nice level */
	u32 load_weight;	/* for the averages: `weight` >> LOAD_SHIFT */
	u32 queued_load_weight;	/* what it has added to the sum of its CPU */
	u32 queued_util_est;
	u32 group;		/* slot of its control group; 0 for the root group */
	u32 queued_group;	/* the group to whose sum it has added queued_group_weight */
	u32 queued_group_weight;
	s32 cpu;		/* the CPU that its average is attached to; -1 for none */
	s32 recent_used_cpu;
	u32 dsq;		/* the queue on whose clock its virtual time is: a CPU, or LLC_DSQ + LLC */
	bool runnable;
	bool running;
	bool stack;		/* SIS_SHORT chose the busy CPU */
	bool has_dsq;
	bool has_avg;
	u64 covers;		/* a mask of the LLCs of which it may use all CPUs */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

/*
 * Bounds an index of the arrays above. The compiler may merge bounds checks so that the verifier does not see them, so
 * this is assembly. The native tests need none.
 */
static __always_inline u64 at(u64 index)
{
#ifdef WAKELAB_NATIVE
	return index & 1023;
#else
	asm volatile("%[index] &= 1023" : [index] "+r"(index));
	return index;
#endif
}

_Static_assert(MAX_CPUS == 1024, "at() has the number, too");

static __always_inline struct task_state *task_state_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, 0);
}

static __always_inline struct cpu_state *cpu_state_of(s32 cpu)
{
	if ((u32)cpu >= MAX_CPUS)
		return NULL;
	return &cpu_states[at((u32)cpu)];
}

static __always_inline const volatile struct cpu_info *info_of(s32 cpu)
{
	if ((u32)cpu >= MAX_CPUS)
		return NULL;
	return &cpu_infos[at((u32)cpu)];
}

static __always_inline u32 llc_of(s32 cpu)
{
	return (u32)cpu < MAX_CPUS ? cpu_infos[at((u32)cpu)].llc : 0;
}

static __always_inline struct llc_state *llc_state_of(u32 llc)
{
	if (llc >= MAX_CPUS)
		return NULL;
	return &llc_states[at(llc)];
}

static __always_inline struct counts *my_counts(void)
{
	return &cpu_states[at(bpf_get_smp_processor_id())].counts;
}

#define count(what) (my_counts()->what++)

static __always_inline bool share_cache(s32 a, s32 b)
{
	return llc_of(a) == llc_of(b);
}

static __always_inline bool is_offline(s32 cpu)
{
	return (u32)cpu >= MAX_CPUS || cpu_states[at((u32)cpu)].offline;
}
