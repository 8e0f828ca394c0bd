// SPDX-License-Identifier: GPL-2.0
/*
 * What a scheduler sees of control groups: each operation about them holds the kernel's structs against the kernel
 * functions, and counts what it was told.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define MAX_GROUPS	16

/* The ids of groups in the order of ops.cgroup_init(), and their levels and weights. */
u64 nr_inits;
u64 ids[MAX_GROUPS], levels[MAX_GROUPS], weights[MAX_GROUPS], quotas[MAX_GROUPS], names[MAX_GROUPS];
/* Tasks by the level of their group when they were initialized. */
u64 tasks_at[8];
/* The ids that iterators gave, one after the other in decimal digits. */
u64 pre, post, up, children;
u64 nr_moves, nr_prep_moves, nr_cancel_moves, moved_from, moved_to;
u64 nr_weights, new_weight, nr_bandwidths, new_quota, new_period, new_burst, nr_idles, new_idle;
u64 nr_exits;
/* If not 0: what ops.cgroup_prep_move() returns. */
const volatile s32 prep_move_returns;

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} of_group SEC(".maps");

enum bpf_cgroup_iter_order_of_tests {
	DESCENDANTS_PRE		= 2,
	DESCENDANTS_POST	= 3,
	ANCESTORS_UP		= 4,
	CHILDREN		= 5,
};

static u64 walk(struct cgroup_subsys_state *from, u32 order)
{
	struct cgroup_subsys_state *css;
	struct bpf_iter_css it;
	u64 digits = 0;

	bpf_iter_css_new(&it, from, order);
	while ((css = bpf_iter_css_next(&it)))
		digits = digits * 10 + css->cgroup->kn->id;
	bpf_iter_css_destroy(&it);
	return digits;
}

/* The structs and the functions say the same of a group. */
static void check(struct cgroup *cgrp)
{
	struct cgroup *other;
	u64 *own;
	int level = cgrp->level;

	other = bpf_cgroup_from_id(cgrp->kn->id);
	if (other != cgrp)
		scx_bpf_error("group %llu is not the one of its id", cgrp->kn->id);
	if (other)
		bpf_cgroup_release(other);
	other = bpf_cgroup_ancestor(cgrp, level);
	if (other != cgrp)
		scx_bpf_error("group %llu is not its own ancestor", cgrp->kn->id);
	if (other)
		bpf_cgroup_release(other);
	other = bpf_cgroup_ancestor(cgrp, level + 1);
	if (other)
		scx_bpf_error("group %llu has an ancestor below it", cgrp->kn->id);
	if (level > 0) {
		struct cgroup *parent = bpf_cgroup_ancestor(cgrp, level - 1);

		if (!parent || parent->level != level - 1 || cgrp->self.parent != &parent->self)
			scx_bpf_error("the parent of group %llu is another", cgrp->kn->id);
		else if (cgrp->ancestors[0]->kn->id != 1)
			scx_bpf_error("the first ancestor of group %llu is not the root", cgrp->kn->id);
		if (parent)
			bpf_cgroup_release(parent);
	} else if (cgrp->self.parent) {
		scx_bpf_error("the root has a parent");
	}
	own = bpf_cgrp_storage_get(&of_group, cgrp, 0, 0);
	if (!own || *own != cgrp->kn->id)
		scx_bpf_error("group %llu has lost its storage", cgrp->kn->id);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(groups_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	u64 *own = bpf_cgrp_storage_get(&of_group, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	u64 n = nr_inits++;
	char name[8] = {};

	if (!own || n >= MAX_GROUPS)
		return -12;
	*own = cgrp->kn->id;
	bpf_probe_read_kernel_str(name, sizeof(name), cgrp->kn->name);
	ids[n] = cgrp->kn->id;
	levels[n] = cgrp->level;
	weights[n] = args->weight;
	quotas[n] = args->bw_quota_us;
	names[n] = name[0];
	check(cgrp);
	return 0;
}

void BPF_STRUCT_OPS(groups_cgroup_exit, struct cgroup *cgrp)
{
	nr_exits++;
}

static void check_task(struct task_struct *p, struct cgroup *expected)
{
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);

	if (cgrp != expected)
		scx_bpf_error("%s is in group %llu for scx_bpf_task_cgroup()", p->comm, cgrp->kn->id);
	else if (p->cgroups->dfl_cgrp != cgrp || p->sched_task_group->css.cgroup != cgrp)
		scx_bpf_error("the structs of %s say another group than %llu", p->comm, cgrp->kn->id);
	else
		check(cgrp);
	bpf_cgroup_release(cgrp);
}

s32 BPF_STRUCT_OPS(groups_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	check_task(p, args->cgroup);
	tasks_at[args->cgroup->level & 7]++;
	if (!pre) {
		struct cgroup *root = bpf_cgroup_from_id(1), *last = bpf_cgroup_from_id(nr_inits);

		if (!root || !last)
			return -2;
		pre = walk(&root->self, DESCENDANTS_PRE);
		post = walk(&root->self, DESCENDANTS_POST);
		up = walk(&last->self, ANCESTORS_UP);
		children = walk(&root->self, CHILDREN);
		bpf_cgroup_release(root);
		bpf_cgroup_release(last);
	}
	return 0;
}

s32 BPF_STRUCT_OPS(groups_cgroup_prep_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	nr_prep_moves++;
	check_task(p, from);
	check(to);
	return prep_move_returns;
}

void BPF_STRUCT_OPS(groups_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	nr_moves++;
	moved_from = from->kn->id;
	moved_to = to->kn->id;
	check_task(p, to);
}

void BPF_STRUCT_OPS(groups_cgroup_cancel_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	nr_cancel_moves++;
}

void BPF_STRUCT_OPS(groups_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	nr_weights++;
	new_weight = weight;
	check(cgrp);
}

void BPF_STRUCT_OPS(groups_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us, u64 burst_us)
{
	nr_bandwidths++;
	new_period = period_us;
	new_quota = quota_us;
	new_burst = burst_us;
	check(cgrp);
}

void BPF_STRUCT_OPS(groups_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	nr_idles++;
	new_idle = idle;
	check(cgrp);
}

SCX_OPS_DEFINE(groups_ops,
	       .init_task		= (void *)groups_init_task,
	       .cgroup_init		= (void *)groups_cgroup_init,
	       .cgroup_exit		= (void *)groups_cgroup_exit,
	       .cgroup_prep_move	= (void *)groups_cgroup_prep_move,
	       .cgroup_move		= (void *)groups_cgroup_move,
	       .cgroup_cancel_move	= (void *)groups_cgroup_cancel_move,
	       .cgroup_set_weight	= (void *)groups_cgroup_set_weight,
	       .cgroup_set_bandwidth	= (void *)groups_cgroup_set_bandwidth,
	       .cgroup_set_idle		= (void *)groups_cgroup_set_idle,
	       .timeout_ms		= 2000,
	       .name			= "groups");
