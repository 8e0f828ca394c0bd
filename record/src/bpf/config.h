/* SPDX-License-Identifier: GPL-2.0-only */
/* What the recorder sets before loading (read-only afterwards, so that the verifier knows it), and what it reads back. */
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
const volatile u32 hz = 250;
const volatile s32 filter_pid = 0;
const volatile u32 filter_comm_len = 0;
const volatile char filter_comm[16] = {};
const volatile u64 filter_cgroup = 0;
/* By CPU: its LLC (the LLC's first CPU), and how many domains lie below that of the LLC; -1 for none. */
const volatile s32 llc_first[MAX_CPUS] = {};
const volatile s32 llc_level[MAX_CPUS] = {};

/* Records that found no room. */
u64 lost = 0;
u64 lost_events = 0;
u64 rate_window = 0;
u32 rate_used = 0;

/* What a CPU takes down between a decision's entry and its exit. */
struct scratch {
	u64 active;
	u64 slow;
	u64 seen;
	u64 choices;
	u64 left_out;
	u64 kept;
	/* Wake-ups that began here, those of them that came to a choice, and whether the last has not yet. */
	u64 wakings;
	u64 woken;
	u64 waking;
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

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

extern const struct rq runqueues __ksym;
/* Both are plain ints; weak, so that a kernel without BTF of them is still recorded. */
extern const int sd_llc_size __ksym __weak;
extern const int sd_llc_id __ksym __weak;
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;
extern const void sysctl_sched_features __ksym __weak;
