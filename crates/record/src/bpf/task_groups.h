/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The task groups that tasks are in: of all tasks whenever the recorder walks over them, and of each task that exits.
 * No decision costs more for that.
 */
#pragma once

/* Groups deeper than this are not described, so that the recorder leaves out their tasks. */
#define MAX_GROUP_DEPTH 16
/* Of a uclamp_se: `value`, its first bits, which hold SCHED_CAPACITY_SCALE. */
#define UCLAMP_VALUE 0x7ff

/* As src/wire.rs has them. */
_Static_assert(sizeof(struct task_group_record) == 272, "task_group_record");
_Static_assert(sizeof(struct group_member) == 24, "group_member");

/* 0: the root, or a group that is nowhere in a hierarchy. */
static __always_inline u64 group_id(struct task_group *tg)
{
	if (!tg->parent)
		return 0;
	if (bpf_core_field_exists(tg->autogroup) && tg->autogroup)
		return AUTOGROUP | tg->autogroup->id;
	if (!tg->css.cgroup)
		return 0;
	return tg->css.cgroup->kn->id;
}

static __always_inline bool put_uncounted(const void *record, u32 size)
{
	if (!bpf_ringbuf_output(&ring, (void *)record, size, BPF_RB_NO_WAKEUP))
		return true;
	__sync_fetch_and_add(&lost_events, 1);
	return false;
}

/* Not inlined, for a stack of its own. */
static __noinline int put_task_group(struct task_group *tg, u64 id, u64 parent)
{
	struct task_group_record r = {
		.kind = KIND_TASK_GROUP, .t_ns = bpf_ktime_get_ns(), .id = id, .parent = parent,
	};
	const char *name;
	u32 clamps[2] = {};

	r.shares = BPF_CORE_READ(tg, shares);
	if (bpf_core_field_exists(tg->idle))
		r.idle = BPF_CORE_READ(tg, idle);
	if (bpf_core_field_exists(tg->cfs_bandwidth)) {
		r.has |= GROUP_BANDWIDTH;
		r.quota = BPF_CORE_READ(tg, cfs_bandwidth.quota);
		r.period = BPF_CORE_READ(tg, cfs_bandwidth.period);
		if (bpf_core_field_exists(tg->cfs_bandwidth.burst))
			r.burst = BPF_CORE_READ(tg, cfs_bandwidth.burst);
	}
	if (bpf_core_field_exists(tg->uclamp_req)) {
		r.has |= GROUP_UCLAMP;
		bpf_core_read(clamps, sizeof(clamps), &tg->uclamp_req);
		r.uclamp_min = clamps[0] & UCLAMP_VALUE;
		r.uclamp_max = clamps[1] & UCLAMP_VALUE;
	}
	if (!(id & AUTOGROUP)) {
		name = BPF_CORE_READ(tg, css.cgroup, kn, name);
		bpf_probe_read_kernel_str(r.name, sizeof(r.name), name);
	}
	return put_uncounted(&r, sizeof(r));
}

static __always_inline void put_groups(struct task_struct *p, u64 now)
{
	struct group_member member = { .kind = KIND_GROUP_MEMBER, .t_ns = now };
	struct task_group *tg, *above;
	u32 walk = group_walk, *last;
	u64 id, parent;

	if (!bpf_core_field_exists(p->sched_task_group))
		return;
	tg = p->sched_task_group;
	if (!tg || !bpf_core_field_exists(tg->shares))
		return;
	id = group_id(tg);
	member.pid = p->pid;
	member.group = id;
	for (int i = 0; i < MAX_GROUP_DEPTH && id; i++) {
		above = tg->parent;
		if (!above)
			break;
		parent = group_id(above);
		last = bpf_map_lookup_elem(&described, &id);
		if (last && *last == walk)
			break;
		if (put_task_group(tg, id, parent))
			bpf_map_update_elem(&described, &id, &walk, 0);
		tg = above;
		id = parent;
	}
	put_uncounted(&member, sizeof(member));
}

/* (task) */
SEC("tp_btf/sched_process_exit")
int on_task_exit(u64 *ctx)
{
	u64 now = bpf_ktime_get_ns();

	if (!counting)
		return 0;
	if (!within_rate(&rate_of_events, max_rate * EVENTS_A_DECISION, now)) {
		__sync_fetch_and_add(&limited_events, 1);
		return 0;
	}
	put_groups((struct task_struct *)ctx[0], now);
	return 0;
}

/* (meta, task or none at the end) */
SEC("iter/task")
int on_each_task(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[1];

	if (p)
		put_groups(p, bpf_ktime_get_ns());
	return 0;
}
