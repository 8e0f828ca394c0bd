/* SPDX-License-Identifier: GPL-2.0-only */
/* The control groups, each with its slot, and the group of each task, as the sched_ext callbacks report them. */
#pragma once

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} group_slots SEC(".maps");

/* The slot of a group, or of its nearest ancestor that has one. Not called in wake-ups. */
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

static __always_inline void set_task_group(struct task_state *ts, struct cgroup *cgroup)
{
	u32 slot = slot_of(cgroup);

	leave_group(ts);
	ts->group = slot;
	if (ts->runnable)
		enter_group(ts);
	update_task_weight(ts);
}

/* cpu.idle when the scheduler starts. sched_ext reports changes only. */
static __always_inline bool cgroup_is_idle(struct cgroup *cgroup)
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

/* A free slot in which no task is runnable any more; 0 if there is none. */
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

/* If there are too many groups, or the group is too deep, it gets no slot, and its tasks count as its parent's. */
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
	group->idle = cgroup_is_idle(cgroup);
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

static __always_inline void group_set_cpu_weight(struct cgroup *cgroup, u32 cpu_weight)
{
	struct group_state *group = group_of(cgroup);

	if (!group)
		return;
	group->cpu_weight = cpu_weight;
	group_set_weight(group, group_load_weight(group));
}

/*
 * A group that is no longer idle gets its earlier weight back, which sched_ext has kept. cpu.weight then reads 100; if
 * the value that sched_ext has kept is written there, no callback reports it.
 */
static __always_inline void group_set_idle(struct cgroup *cgroup, bool idle)
{
	struct group_state *group = group_of(cgroup);

	if (!group)
		return;
	group->idle = idle;
	group_set_weight(group, group_load_weight(group));
}
