// SPDX-License-Identifier: GPL-2.0-only
// Random sequences of what happens to one run queue and its tasks, and what the kernel's functions make of it. The seed
// is fixed, so that a run gives the same bytes.
#include "stubs.h"
#include "kernel.h"

#define TASKS 6

static uint64_t state = 88172645463325252ULL;
static struct task_struct tasks[TASKS];
static struct task_group groups[2];
static bool queued[TASKS];
static struct rq rq;
static const struct sched_class fair = { .uclamp_enabled = 1 };

static uint64_t below(uint64_t n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (state >> 16) % n;
}

/* A clamp, often at a bucket's edge. */
static int value(void)
{
	static const int edges[] = { 0, 1, 50, 51, 52, 204, 205, 206, 409, 410, 614, 615, 819, 820, 970, 1020, 1023, 1024 };

	return below(2) ? edges[below(sizeof(edges) / sizeof(*edges))] : (int)below(1025);
}

static void inc(struct task_struct *p)
{
#ifdef INC_FLAGS
	uclamp_rq_inc(&rq, p, 0);
#else
	uclamp_rq_inc(&rq, p);
#endif
}

static void fresh(void)
{
	enum uclamp_id id;

	memset(&rq, 0, sizeof(rq));
	memset(tasks, 0, sizeof(tasks));
	memset(queued, 0, sizeof(queued));
	rq.uclamp_flags = UCLAMP_FLAG_IDLE;
	sched_uclamp_used = false;
	sysctl_sched_uclamp_util_min_rt_default = 1024;
	for_each_clamp_id(id) {
		rq.uclamp[id].value = uclamp_none(id);
		uclamp_se_set(&uclamp_default[id], SCHED_CAPACITY_SCALE, false);
		for (int i = 0; i < TASKS; i++) {
			tasks[i].sched_class = &fair;
			tasks[i].group = &root_task_group;
			uclamp_se_set(&tasks[i].uclamp_req[id], uclamp_none(id), false);
		}
	}
}

static void step(int sequence, int n)
{
	int i = below(TASKS), a = -1, b = -1, ok = 1;
	struct task_struct *p = &tasks[i];
	const char *op = "";
	enum uclamp_id id;

	switch (below(12)) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		op = queued[i] ? "dequeue" : "enqueue";
		if (queued[i])
			uclamp_rq_dec(&rq, p);
		else
			inc(p);
		queued[i] = !queued[i];
		break;
	case 6: case 7: case 8: {
		struct sched_attr attr = { 0 };

		op = "setattr";
		if (below(3))
			a = below(20) ? value() : 1025, attr.sched_flags |= SCHED_FLAG_UTIL_CLAMP_MIN, attr.sched_util_min = a;
		if (a < 0 || below(2))
			b = below(20) ? value() : 1025, attr.sched_flags |= SCHED_FLAG_UTIL_CLAMP_MAX, attr.sched_util_max = b;
		ok = uclamp_validate(p, &attr) == 0;
		if (!ok)
			break;
		/* __sched_setscheduler() */
		if (queued[i])
			uclamp_rq_dec(&rq, p);
		__setscheduler_uclamp(p, &attr);
		if (queued[i])
			inc(p);
		break;
	}
	case 9:
		op = "group";
		a = value(), b = value();
		sched_uclamp_enable();
		uclamp_se_set(&groups[i % 2].uclamp[UCLAMP_MIN], a, false);
		uclamp_se_set(&groups[i % 2].uclamp[UCLAMP_MAX], b, false);
		p->group = &groups[i % 2];
		/* uclamp_update_active_tasks() */
		for (int t = 0; t < TASKS; t++)
			if (tasks[t].group == &groups[i % 2])
				for_each_clamp_id(id)
					uclamp_rq_reinc_id(&rq, &tasks[t], id);
		break;
	case 10:
		op = "sysctl";
		a = value(), b = value();
		if (a > b) {
			ok = 0;
			break;
		}
		sched_uclamp_enable();
		uclamp_se_set(&uclamp_default[UCLAMP_MIN], a, false);
		uclamp_se_set(&uclamp_default[UCLAMP_MAX], b, false);
		break;
	default:
		if (queued[i]) {
			op = "rt_default";
			a = value();
			sysctl_sched_uclamp_util_min_rt_default = a;
			/* The task is one of SCHED_FIFO from here on; uclamp_sync_util_min_rt_default(). */
			p->rt = true;
			for (int t = 0; t < TASKS; t++)
				if (tasks[t].rt)
					__uclamp_update_util_min_rt_default(&tasks[t]);
		} else {
			/* dup_task_struct(), uclamp_fork() */
			op = "fork";
			a = below(TASKS);
			*p = tasks[a];
			uclamp_fork(p);
		}
	}
	printf("%d,%d,%d,%s,%d,%d,%d,%d,%d,%lu,%lu,%u,%u,%d\n", sequence, UCLAMP_BUCKETS, n, op, i, a, b, ok,
	       sched_uclamp_used, uclamp_eff_value(p, UCLAMP_MIN), uclamp_eff_value(p, UCLAMP_MAX),
	       rq.uclamp[UCLAMP_MIN].value, rq.uclamp[UCLAMP_MAX].value, !!(rq.uclamp_flags & UCLAMP_FLAG_IDLE));
}

int main(void)
{
	printf("sequence,buckets,step,op,task,a,b,ok,used,eff_min,eff_max,rq_min,rq_max,rq_idle\n");
	for (int sequence = 0; sequence < 60; sequence++) {
		fresh();
		for (int n = 0; n < 60; n++)
			step(sequence, n);
	}
	return 0;
}
