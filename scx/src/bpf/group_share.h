/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task weighs in virtual time when it is in control groups. calc_group_shares() gives a group on a CPU the part
 * of the group's shares that its load there is of the group's load on all CPUs; task_h_load() goes on down to the task.
 * Here there are no queues of groups: the task's weight is scaled by both at once, a level at a time, over the machine.
 */
#pragma once

/* scale_load(): room for a small group's weight divided among many. */
#define LOAD_SHIFT 10
#define NICE_0_LOAD (1024ULL << LOAD_SHIFT)
#define MIN_SHARES 2ULL

static __always_inline u64 scale_load(u64 weight)
{
	return weight << LOAD_SHIFT;
}

/* sched_weight_from_cgroup(): the load weight of a cpu.weight, 100 of which are nice 0. */
static __always_inline u32 sched_weight_from_cgroup(u32 weight)
{
	return (weight * 1024 + 50) / 100;
}

struct group_part {
	u64 weight;	/* of the task so far, scaled */
	u64 own;	/* what it, or the group below, has added to the sum of the next group */
};

static __always_inline struct group_part group_part_of(u32 load_weight)
{
	return (struct group_part){ .weight = scale_load(load_weight), .own = load_weight };
}

/*
 * A level up: through a group of load weight `shares` in which what is runnable weighs `sum`. Another CPU may be about
 * to change the sum, which is at least what it has of the task itself.
 */
static __always_inline void group_part_up(struct group_part *of, u32 shares, s64 sum)
{
	u64 all = sum > (s64)of->own ? (u64)sum : of->own;

	of->weight = of->weight * shares / (all ? all : 1);
	of->own = shares;
}

/* As the kernel's own, the least is not nothing. */
static __always_inline u64 group_part_weight(const struct group_part *of)
{
	return of->weight > MIN_SHARES ? of->weight : MIN_SHARES;
}
