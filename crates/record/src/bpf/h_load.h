/* SPDX-License-Identifier: GPL-2.0-only */
/* task_h_load() without its side effects. */
#pragma once

#define MAX_DEPTH 6
/* The task's control group is deeper than that. */
#define H_LOAD_UNKNOWN (~0ULL)

/*
 * The kernel refreshes h_load of a run queue once a jiffy, from the root down. This computes what it would find
 * now by the same steps; a queue that was refreshed in this jiffy is used as it is.
 */
static __always_inline u64 task_h_load(const struct task_struct *p, u64 now)
{
	struct cfs_rq *own, *cfs_rq;
	struct sched_entity *se;
	u64 times[MAX_DEPTH], over[MAX_DEPTH], h_load = H_LOAD_UNKNOWN;

	/* Without FAIR_GROUP_SCHED, the kernel's task_h_load() is load_avg. */
	if (!bpf_core_field_exists(p->se.cfs_rq))
		return p->se.avg.load_avg;
	own = cfs_rq = p->se.cfs_rq;
	se = p->se.parent;
	if (!own)
		return 0;
#pragma unroll
	for (int i = 0; i < MAX_DEPTH; i++) {
		times[i] = 0;
		over[i] = 0;
	}
#pragma unroll
	for (int i = 0; i < MAX_DEPTH; i++) {
		if (cfs_rq->last_h_load_update == now) {
			h_load = cfs_rq->h_load;
			break;
		}
		if (!se) {
			h_load = cfs_rq->avg.load_avg;
			break;
		}
		cfs_rq = se->cfs_rq;
		if (!cfs_rq)
			break;
		times[i] = se->avg.load_avg;
		over[i] = cfs_rq->avg.load_avg + 1;
		se = se->parent;
	}
	if (h_load == H_LOAD_UNKNOWN)
		return h_load;
#pragma unroll
	for (int i = MAX_DEPTH - 1; i >= 0; i--) {
		if (over[i])
			h_load = h_load * times[i] / over[i];
	}
	return p->se.avg.load_avg * h_load / (own->avg.load_avg + 1);
}
