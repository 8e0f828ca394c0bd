/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups. Each has the sum of the load weights of its runnable tasks, and of its child groups with a runnable
 * task. A task remembers what it has added and where, and subtracts exactly that.
 *
 * CPUs change a sum concurrently, without a lock. The upper half of `runnable` counts what is runnable in the group,
 * and its lower half is the group's weight. The CPU that raises the count to 1 adds that weight to the parent's sum,
 * the one that lowers it to 0 subtracts it, and a CPU that changes the weight adds the difference if the count is not
 * 0. Each is one atomic operation on one word, so the parent's sum has either that weight or nothing, in whatever
 * order the additions arrive.
 *
 * Tasks of the root group are in no sum. Their weight is that of their nice level, and they cost nothing here.
 */
#pragma once

#define GROUP_ONE (1ULL << 32)
/* Added to the weight in the lower half, so that concurrent changes of it never borrow from the upper half. */
#define GROUP_BIAS (1u << 30)

static __always_inline struct group_state *group_at(u64 slot)
{
	asm volatile("%[slot] &= 4095" : [slot] "+r"(slot));
	return &groups[slot];
}

_Static_assert(MAX_GROUPS == 4096, "group_at() has the number, too");

/* A task of this weight becomes runnable in a group, or stops. The first and the last one also count in the parent. */
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

/* The task's weight, computed from the present sums. */
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
 * The load averages use this weight, too, because the fair class reads task_h_load() and the load of the root cfs_rq in
 * placement and balancing. A task's own average has a new weight at once, its CPU's only as it decays. So what a task
 * takes away when it leaves may differ from what it has added; half of the difference has decayed after 32 ms.
 */
static __always_inline void update_task_weight(struct task_state *ts)
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
