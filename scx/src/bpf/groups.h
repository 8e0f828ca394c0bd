/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups. Each has the sum of the load weights of what is runnable in it: tasks, and groups in which something
 * is runnable. A task notes what it has added and where, and takes off just that.
 *
 * Many CPUs change a sum at once, without a lock. What is runnable in a group is counted in the upper half of
 * `runnable`, whose lower half is the group's weight: who makes the count 1 adds that weight to the parent's sum, who
 * makes it 0 takes it off, and who changes the weight adds the difference if the count is not 0. Each is one atomic
 * operation on one number, so what the parent has been given is always that weight or nothing, in whatever order the
 * additions arrive there.
 *
 * Tasks of the root group are in no sum: their weight is their nice level's, and they cost nothing here.
 */
#pragma once

#define GROUP_ONE (1ULL << 32)
/* Kept in the lower half with the weight, so that two who change it at once never borrow from the upper. */
#define GROUP_BIAS (1u << 30)

static __always_inline struct group_state *group_at(u64 slot)
{
	asm volatile("%[slot] &= 4095" : [slot] "+r"(slot));
	return &groups[slot];
}

_Static_assert(MAX_GROUPS == 4096, "group_at() has the number, too");

/* Something of that weight becomes runnable in a group, or is no more: first of all, or last, it counts above. */
static __noinline int group_count(u32 slot, u64 weight, bool enters)
{
	u32 i;

	for (i = 0; i < MAX_GROUP_DEPTH; i++) {
		struct group_state *group;
		u64 before;

		if (!slot)
			break;
		group = group_at(slot);
		__sync_fetch_and_add(&group->sum, enters ? weight : -weight);
		before = __sync_fetch_and_add(&group->runnable, enters ? GROUP_ONE : -GROUP_ONE);
		if (before >> 32 != !enters)
			break;
		weight = (u32)before - GROUP_BIAS;
		slot = group->parent;
	}
	return 0;
}

static __always_inline void group_set_weight(struct group_state *group, u32 weight)
{
	u32 old = __sync_lock_test_and_set(&group->weight, weight);
	s64 more = (s64)weight - old;
	u64 before = __sync_fetch_and_add(&group->runnable, more);

	if (before >> 32 && group->parent)
		__sync_fetch_and_add(&group_at(group->parent)->sum, more);
}

/* The task's weight in virtual time, from the sums of now. */
static __noinline u64 weight_in_groups(u32 slot, u32 nice_weight)
{
	struct group_part part = group_part_of(nice_weight);
	u32 i;

	for (i = 0; i < MAX_GROUP_DEPTH; i++) {
		struct group_state *group;

		if (!slot)
			break;
		group = group_at(slot);
		group_part_up(&part, group->weight, group->sum);
		slot = group->parent;
	}
	return group_part_weight(&part);
}

/*
 * The averages have that weight, too: the fair class balances and wakes by task_h_load() and the load of root queues,
 * of which a group is the part that it is entitled to. A task's own average has it at once, its CPU's by and by, and so
 * what is taken off with a task may differ from what it was; half of the difference is gone after 32 ms.
 */
static __always_inline void weigh(struct task_state *ts)
{
	struct cpu_state *at;
	u32 load_weight;

	ts->weight = ts->group ? weight_in_groups(ts->group, ts->nice_weight) : scale_load(ts->nice_weight);
	load_weight = ts->weight >> LOAD_SHIFT ?: 1;
	if (load_weight == ts->load_weight)
		return;
	ts->load_weight = load_weight;
	at = cpu_state_of(ts->cpu);
	if (ts->runnable && at) {
		__sync_fetch_and_add(&at->load_weight, (u64)load_weight - ts->queued_load_weight);
		ts->queued_load_weight = load_weight;
	}
}

static __always_inline void enter_group(struct task_state *ts)
{
	if (!ts->group)
		return;
	ts->queued_group = ts->group;
	ts->queued_group_weight = ts->nice_weight;
	group_count(ts->queued_group, ts->queued_group_weight, true);
}

static __always_inline void leave_group(struct task_state *ts)
{
	if (!ts->queued_group)
		return;
	group_count(ts->queued_group, ts->queued_group_weight, false);
	ts->queued_group = 0;
}
