/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The weight of a task in control groups. In fair.c, calc_group_shares() divides a group's shares among the CPUs by
 * the group's load on each, and task_h_load() does the same down to the task. There are no run queues of groups here,
 * so the task's weight is scaled level by level, with sums over the whole machine.
 */
#pragma once

/* scale_load(): keeps precision if the weight of a small group is divided among many tasks. */
#define LOAD_SHIFT 10
#define NICE_0_LOAD (1024ULL << LOAD_SHIFT)
#define MIN_SHARES 2ULL

static __always_inline u64 scale_load(u64 weight)
{
	return weight << LOAD_SHIFT;
}

/* sched_weight_from_cgroup(): the load weight for a cpu.weight. A cpu.weight of 100 is nice 0. */
static __always_inline u32 sched_weight_from_cgroup(u32 weight)
{
	return (weight * 1024 + 50) / 100;
}

struct group_part {
	u64 weight;	/* of the task, scaled by the levels so far */
	u64 own;	/* what the task, or the group below, has added to the sum of the next group */
};

static __always_inline struct group_part group_part_of(u32 load_weight)
{
	return (struct group_part){ .weight = scale_load(load_weight), .own = load_weight };
}

/*
 * One level up: a group of load weight `shares`, whose runnable tasks and groups have the weight `sum`. Another CPU may
 * be changing the sum, which is at least what the task itself has added.
 */
static __always_inline void group_part_up(struct group_part *of, u32 shares, s64 sum)
{
	u64 all = sum > (s64)of->own ? (u64)sum : of->own;

	of->weight = of->weight * shares / (all ? all : 1);
	of->own = shares;
}

/* At least MIN_SHARES, as in the kernel. */
static __always_inline u64 group_part_weight(const struct group_part *of)
{
	return of->weight > MIN_SHARES ? of->weight : MIN_SHARES;
}
