/* SPDX-License-Identifier: GPL-2.0-only */
/* What the scheduler keeps. */
#pragma once

/* Set before loading; const, so that the verifier knows the values. The native tests set them for each case. */
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
u32 nr_group_slots;	  /* slots of control groups that have ever been used, and the root's */
u32 groups_without_slot;

/* How far the clock of a queue goes in the time that a task may have to wait. */
struct reach {
	u64 from;	/* the clock when it was looked at */
	u64 ahead;	/* 0 before it was */
};

struct cpu_state {
	/* Written under the CPU's run queue lock. */
	struct pelt avg;
	struct pelt_clock clock;
	u64 vclock;		/* virtual time of the CPU's own queue */
	struct reach reach;
	u64 llc_vtime;		/* and of all tasks of the LLC's queue in it, taken as one */
	u64 curr_vtime;		/* when it began */
	u64 curr_since;		/* ns; 0 while no task of ours runs */
	u64 curr_dur_avg;
	u64 curr_weight;
	u32 curr_home;
	s32 curr_pid;
	u32 perf_target;
	u32 kernel_perf_target;	/* what look_at_kernel() found in the run queue */
	u64 avg_idle;
	u64 idle_since;		/* ns; 0 while busy */
	u64 online_since;	/* ns; 0 if from the beginning */
	struct scan_cost cost;	/* of the CPU as a waker */
	s32 next_cpu;		/* SIS_LIMIT; 0 is none, else the CPU + 1 */
	u32 offline;
	/* Written by anyone, atomically. */
	u64 load_weight;
	u64 util_est;
	u64 removed_load;
	u64 removed_util;
	u64 removed_runnable;
	u32 nr_runnable;
	u32 seems_idle;		/* the timer saw it idle, and claimed by somebody */
	u32 may_wait;		/* 0: nothing waits in the CPU's queue, or it has only just come */
	u32 pad[4];
	struct counts counts;
} __attribute__((aligned(128)));

struct llc_state {
	u64 vclock;
	struct reach reach;
	u64 sum_util;
	s32 nr_idle_scan;
	u32 has_idle_cores;
	u64 load;		/* sum of its CPUs' load_avg, while there are several LLCs */
	u64 pull_load;		/* load that it is to take from another; 0 for none */
	u32 pull_from;
	u32 nr_online;		/* of its CPUs, as the timer has seen last */
	u32 cpus_wait;		/* 0: as may_wait, for the queues of all its CPUs */
	u32 pad[15];
} __attribute__((aligned(128)));

/* A control group. Its place among the others is its slot; 0 is the root group's, of which nothing is kept. */
struct group_state {
	u64 id;		/* the group's; 0 for a slot that is nobody's */
	u64 runnable;	/* what is runnable in it, and its weight: groups.h */
	s64 sum;	/* of the load weights of what is runnable in it */
	u32 weight;	/* load weight: 1024 is a cpu.weight of 100 */
	u32 cpu_weight;	/* 1 to 10000, where it is not idle */
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
	u64 since;		/* ns: where its running is charged from */
	u64 waits_since;	/* ns: runnable and not running */
	u64 slept_at;		/* ns: up to where the average was taken on the wall's clock */
	u64 weight;		/* of virtual time, NICE_0_LOAD being nice 0; what its control groups leave of it */
	u32 nice_weight;	/* the kernel's for its nice level */
	u32 load_weight;	/* of the averages: `weight` without its scale */
	u32 queued_load_weight;	/* what it has added to its CPU's */
	u32 queued_util_est;
	u32 group;		/* slot of its control group; 0 for the root group */
	u32 queued_group;	/* whose sum has it, and with what weight */
	u32 queued_group_weight;
	s32 cpu;		/* whose averages hold it; -1 for none */
	s32 recent_used_cpu;
	u32 home;		/* the queue that its virtual time is of: a CPU, or LLC_DSQ + LLC */
	bool runnable;
	bool running;
	bool stack;		/* the decision was to wait at that CPU */
	bool has_home;
	bool has_avg;
	u64 covers;		/* LLCs, by bit, all of whose CPUs it may use */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

/*
 * An index of the arrays above. Not left to the compiler, which joins tests of bounds so that the verifier sees none.
 * The native tests have no verifier to convince.
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
