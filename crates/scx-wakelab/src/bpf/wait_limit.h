/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits how long a task waits in its queue. In the order of virtual time, a light task beside heavy ones would wait
 * for seconds, or until sched_ext's watchdog disables the scheduler. So a task is put no later than the virtual time
 * that its queue's clock reaches in 0.4 s at its present speed. If the clock becomes slower, a task that has waited
 * that long is brought forward.
 */
#pragma once

/* The interval of the checks. A task waits at most twice that, and as long again if it is brought forward. */
#define WAIT_CHECK_NS 200000000ULL
/* Each check reads this many tasks from the end of a queue. */
#define MAX_CHECKED 256
/* Not a local variable: the verifier would process the loop once for each of its values. */
static u32 nr_checked;

static __always_inline u64 vclock_of(u32 dsq)
{
	if (dsq >= LLC_DSQ)
		return llc_states[at(dsq - LLC_DSQ)].vclock;
	return cpu_states[at(dsq)].vclock;
}

/* The latest virtual time at which a task is queued. */
static __always_inline u64 latest_vtime_of(u32 dsq)
{
	u64 ahead = dsq >= LLC_DSQ ? llc_states[at(dsq - LLC_DSQ)].wait_limit.ahead : cpu_states[at(dsq)].wait_limit.ahead;

	return vclock_of(dsq) + (ahead ? ahead : 2 * WAIT_CHECK_NS);
}

/* The speed of a clock is known only while tasks wait. Beside light tasks only, it may soon be slower. */
static __always_inline void update_wait_limit(struct wait_limit *limit, u64 vclock, bool waited)
{
	u64 advance = vclock - limit->from;

	limit->from = vclock;
	if (!waited || advance > WAIT_CHECK_NS)
		advance = WAIT_CHECK_NS;
	limit->ahead = 2 * (advance > slice_ns ? advance : slice_ns);
}

/* Updates the longest wait. The time until the task's CPU came online does not count. */
static __always_inline void record_wait(struct task_struct *p, struct task_state *ts, u64 now)
{
	struct cpu_state *cs = cpu_state_of(scx_bpf_task_cpu(p));
	struct counts *counts = my_counts();
	u64 since = ts->waits_since;

	if (cs && cs->online_since > since)
		since = cs->online_since;
	if (now > since && now - since > counts->longest_wait_ns) {
		counts->longest_wait_ns = now - since;
		counts->longest_wait_pid = p->pid;
	}
}

static __always_inline void bring_forward(u32 dsq, u64 now)
{
	u64 latest = vclock_of(dsq) + (latest_vtime_of(dsq) - vclock_of(dsq)) / 2;
	struct task_struct *p;

	nr_checked = 0;
	bpf_for_each(scx_dsq, p, dsq, SCX_DSQ_ITER_REV) {
		struct task_state *ts = task_state_of(p);

		if (nr_checked++ >= MAX_CHECKED)
			break;
		if (!ts)
			continue;
		/* A task that never runs is seen nowhere else. */
		record_wait(p, ts, now);
		if (!time_before(latest, p->scx.dsq_vtime) || now < ts->waits_since + 2 * WAIT_CHECK_NS)
			continue;
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, latest);
		if (scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, dsq, 0))
			count(brought_forward);
	}
}

static __noinline int check_queue(u32 dsq, struct wait_limit *limit, u64 vclock, u64 now)
{
	bool waited = scx_bpf_dsq_nr_queued(dsq) > 0;

	if (!limit)
		return 0;
	update_wait_limit(limit, vclock, waited);
	if (waited)
		bring_forward(dsq, now);
	return 0;
}
