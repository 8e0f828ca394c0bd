/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups. Each has a slot, by its number in sched_ext's order of things, with the sum of the load weights of what is runnable in
 * it: tasks, and groups in which something is runnable. A task notes what it has added and where, and takes off just that.
 *
 * Many CPUs change a sum at once, without a lock. What is runnable in a group is counted in the upper half of `runnable`,
 * whose lower half is the group's weight: who makes the count 1 adds that weight to the parent's sum, who makes it 0 takes it off, and
 * who changes the weight adds the difference if the count is not 0. Each is one atomic operation on one number, so what the parent
 * has been given is always that weight or nothing, in whatever order the additions arrive there.
 *
 * Tasks of the root group are in no sum: their weight is their nice level's, and they cost nothing here.
 */
#pragma once

#define GROUP_ONE (1ULL << 32)
/* Kept in the lower half with the weight, so that two who change it at once never borrow from the upper. */
#define GROUP_BIAS (1u << 30)

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} group_slots SEC(".maps");

static __always_inline struct group_state *group_at(u64 slot)
{
	asm volatile("%[slot] &= 4095" : [slot] "+r"(slot));
	return &groups[slot];
}

_Static_assert(MAX_GROUPS == 4096, "group_at() has the number, too");

static __noinline int group_enter(u32 slot, u64 weight)
{
	u32 i;

	for (i = 0; i < MAX_GROUP_DEPTH; i++) {
		struct group_state *group;
		u64 before;

		if (!slot)
			break;
		group = group_at(slot);
		__sync_fetch_and_add(&group->sum, weight);
		before = __sync_fetch_and_add(&group->runnable, GROUP_ONE);
		if (before >> 32)
			break;
		weight = (u32)before - GROUP_BIAS;
		slot = group->parent;
	}
	return 0;
}

static __noinline int group_leave(u32 slot, u64 weight)
{
	u32 i;

	for (i = 0; i < MAX_GROUP_DEPTH; i++) {
		struct group_state *group;
		u64 before;

		if (!slot)
			break;
		group = group_at(slot);
		__sync_fetch_and_sub(&group->sum, weight);
		before = __sync_fetch_and_sub(&group->runnable, GROUP_ONE);
		if (before >> 32 != 1)
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
 * The averages have that weight, too: the fair class balances and wakes by task_h_load() and the load of root queues, of which
 * a group is the part that it is entitled to. A task's own average has it at once, its CPU's by and by, and so
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
	group_enter(ts->queued_group, ts->queued_group_weight);
}

static __always_inline void leave_group(struct task_state *ts)
{
	if (!ts->queued_group)
		return;
	group_leave(ts->queued_group, ts->queued_group_weight);
	ts->queued_group = 0;
}

/* The slot of a group, or of the nearest above it that has one. Not called at wake-ups. */
static __noinline u32 slot_of(struct cgroup *cgroup)
{
	u64 at = (u64)cgroup;
	u32 i;

	bpf_for(i, 0, 256) {
		u64 id = BPF_CORE_READ((struct cgroup *)at, kn, id);
		u32 *slot = bpf_map_lookup_elem(&group_slots, &id);

		if (slot)
			return *slot;
		at = (u64)BPF_CORE_READ((struct cgroup *)at, self.parent);
		if (!at)
			break;
		at -= bpf_core_field_offset(struct cgroup, self);
	}
	return 0;
}

static __always_inline void task_group_is(struct task_state *ts, struct cgroup *cgroup)
{
	u32 slot = slot_of(cgroup);

	leave_group(ts);
	ts->group = slot;
	if (ts->runnable)
		enter_group(ts);
	weigh(ts);
}

/* cpu.idle as the scheduler begins; sched_ext tells of changes only. */
static __always_inline bool begins_idle(struct cgroup *cgroup)
{
	struct cgroup_subsys_state *css;
	u32 cpu;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id) || !bpf_core_field_exists(struct task_group, idle))
		return false;
	cpu = bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);
	bpf_core_read(&css, sizeof(css), &cgroup->subsys[cpu]);
	return css && BPF_CORE_READ((struct task_group *)css, idle) > 0;
}

static __always_inline u32 group_load_weight(struct group_state *group)
{
	return group->idle ? WEIGHT_IDLEPRIO : sched_weight_from_cgroup(group->cpu_weight);
}

/* A slot that nobody has and in which nothing is runnable any more; 0 for none. */
static __always_inline u32 free_slot(void)
{
	u32 i;

	bpf_for(i, 1, MAX_GROUPS) {
		struct group_state *group = group_at(i);

		if (!group->id && !(group->runnable >> 32))
			return i;
	}
	return 0;
}

/* A group that gets no slot, because there are too many or it is too deep, is as if its tasks were in the one above it. */
static __always_inline void group_init(struct cgroup *cgroup, u32 cpu_weight)
{
	u64 id = cgroup->kn->id;
	struct group_state *group;
	u32 slot = 0, parent, depth;

	if (!cgroup->self.parent) {
		bpf_map_update_elem(&group_slots, &id, &slot, BPF_ANY);
		return;
	}
	parent = slot_of(cgroup);
	depth = group_at(parent)->depth + 1;
	if (depth <= MAX_GROUP_DEPTH)
		slot = free_slot();
	if (!slot || bpf_map_update_elem(&group_slots, &id, &slot, BPF_ANY)) {
		groups_without_slot++;
		return;
	}
	group = group_at(slot);
	if (!group->runnable)
		group->runnable = GROUP_BIAS;
	group->id = id;
	group->parent = parent;
	group->depth = depth;
	group->cpu_weight = cpu_weight;
	group->idle = begins_idle(cgroup);
	group_set_weight(group, group_load_weight(group));
	if (nr_group_slots <= slot)
		nr_group_slots = slot + 1;
}

static __always_inline void group_exit(struct cgroup *cgroup)
{
	u64 id = cgroup->kn->id;
	u32 *slot = bpf_map_lookup_elem(&group_slots, &id);

	if (!slot)
		return;
	if (*slot)
		group_at(*slot)->id = 0;
	bpf_map_delete_elem(&group_slots, &id);
}

static __always_inline struct group_state *group_of(struct cgroup *cgroup)
{
	u64 id = cgroup->kn->id;
	u32 *slot = bpf_map_lookup_elem(&group_slots, &id);

	return slot && *slot ? group_at(*slot) : NULL;
}

static __always_inline void group_weight_is(struct cgroup *cgroup, u32 cpu_weight)
{
	struct group_state *group = group_of(cgroup);

	if (!group)
		return;
	group->cpu_weight = cpu_weight;
	group_set_weight(group, group_load_weight(group));
}

/*
 * Out of idleness the weight is what it was before, which is what sched_ext remembers. The file says 100 then, but writing there
 * what sched_ext remembers tells nobody.
 */
static __always_inline void group_idle_is(struct cgroup *cgroup, bool idle)
{
	struct group_state *group = group_of(cgroup);

	if (!group)
		return;
	group->idle = idle;
	group_set_weight(group, group_load_weight(group));
}
