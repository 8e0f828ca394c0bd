/* SPDX-License-Identifier: GPL-2.0-only */
/* Constants that the recorder sets before loading, so that the verifier knows them, and variables. */
#pragma once

enum { SNAPSHOT_NONE, SNAPSHOT_LLC, SNAPSHOT_FULL };

#define WF_EXEC 0x02
#define WF_FORK 0x04
#define WF_TTWU 0x08
#define WINDOW_NS 10000000ULL
#define WINDOWS 100 /* in a second */

const volatile u32 nr_cpus = 1;
const volatile u32 snapshot_mode = SNAPSHOT_FULL;
const volatile u32 sample_every = 1;
const volatile u64 max_rate = 0;
/* With max_rate, switches, migrations, idle states and frequencies are limited to this many for each decision. */
#define EVENTS_A_DECISION 10
const volatile u32 hz = 250;
const volatile s32 filter_pid = 0;
const volatile u32 filter_comm_len = 0;
const volatile char filter_comm[16] = {};
const volatile u64 filter_cgroup = 0;
/* Whether wake-ups that choose no CPU are recorded, too. */
const volatile u32 wakings_too = 0;
/* The most entities of a queue that a walk over its tree passes; each is met at most three times. */
#define MAX_TREE_STEPS (4 * MAX_WAITING)

/* Whether the kernel has bpf_loop() (since 5.17). */
const volatile u32 has_bpf_loop = 0;

/*
 * The recorder's description of the machine. It is replaced when CPUs go offline or online, which rebuilds the
 * domains.
 */

/* The number of the description that follows, which is even. Odd: it is being replaced. */
volatile u32 machine = 0;
/* A decision met domains other than those of the description. */
u32 machine_changed = 0;
/* By CPU: the address of its lowest domain, the first CPU of its LLC, the level of the LLC's domain; -1 for none. */
u64 domain_of[MAX_CPUS] = {};
s32 llc_first[MAX_CPUS] = {};
s32 llc_level[MAX_CPUS] = {};

/* Whether wake-ups are counted: from when all programs are attached until the first is detached. */
volatile u32 counting = 0;
/* The counts of a CPU, in a cache line of its own. */
struct tally {
	u64 wakings;
	u64 woken; /* those with a decision */
	u64 choices; /* these, forks and execs; the next five add up to them, except for pending decisions */
	u64 filtered;
	u64 sampled;
	u64 limited;
	u64 kept;
	u64 lost;
};
struct tally tallies[MAX_CPUS] __attribute__((aligned(64))) = {};
u64 lost_events = 0;
u64 limited_events = 0;
/* How many records a window of 10 ms has had, for a limit. */
struct rate {
	u64 window;
	u64 used;
};
struct rate rate_of_decisions = {};
struct rate rate_of_events = {};

/*
 * The record of a decision between its entry and its exit, for one CPU. The recorder reduces the size of the
 * map's values to the possible CPUs, so no more of `rest` may be used than theirs.
 */
struct scratch {
	u64 active;
	u64 slow;
	u64 seen;
	/* A wake-up began on this CPU, and has no decision yet. */
	u64 waking;
	/* Whether `undecided` holds it, to be written if it has none when the next one begins or the CPU switches. */
	u64 pending;
	struct waking undecided;
	struct decision d;
	/* The cpu_state of all CPUs, then the cpu_slow. */
	u8 rest[MAX_CPUS * (sizeof(struct cpu_state) + sizeof(struct cpu_slow))];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* The record of a wake-up preemption between its entry and its exit, for one CPU. */
struct preempt_scratch {
	u64 active;
	u64 seen;
	/* Where the walk over the tree is: a node, and from where it came there. */
	u64 node;
	u64 from;
	struct preempt d;
	struct queued_task waiting[MAX_WAITING];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct preempt_scratch);
} preempt_scratches SEC(".maps");

/* One pass of the balancer in this many is recorded. */
const volatile u32 balance_every = 1;

/* The record of a pass of the balancer between its entry and its exit, for one CPU. */
struct balance_scratch {
	u64 active;
	u64 seen;
	/* The domain, and the group that a walk over its groups has come to. */
	u64 sd;
	u64 group;
	u64 at;
	u64 busiest;
	struct balance d;
	struct cpu_state rest[MAX_CPUS];
};

/* As that of `scratches`, the size of its values is reduced to the possible CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct balance_scratch);
} balance_scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

/* Task groups are described once in each walk over all tasks: the number of the walk, from 1. */
volatile u32 group_walk = 0;
/* By group: the walk in which it was described last. Groups that find no room are described with each task. */
#define MAX_DESCRIBED 8192
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_DESCRIBED);
	__type(key, u64);
	__type(value, u32);
} described SEC(".maps");

static __always_inline struct tally *tally(u32 cpu)
{
	return &tallies[cpu & (MAX_CPUS - 1)];
}

extern const struct rq runqueues __ksym;
/* Both are ints. They are weak, so that kernels without BTF of them can be recorded. */
extern const int sd_llc_size __ksym __weak;
extern const int sd_llc_id __ksym __weak;
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;
extern const void sysctl_sched_features __ksym __weak;
/* Cache-aware balancing, since 7.2: a static key, which begins with a count, and two unsigned ints. */
extern const void sched_cache_active __ksym __weak;
extern const void llc_overaggr_pct __ksym __weak;
extern const void llc_imb_pct __ksym __weak;
/* Tunables, unsigned ints. A kernel has those of its class. */
extern const void sysctl_sched_base_slice __ksym __weak;
extern const void sysctl_sched_migration_cost __ksym __weak;
extern const void sysctl_sched_wakeup_granularity __ksym __weak;
extern const void sched_nr_latency __ksym __weak;
