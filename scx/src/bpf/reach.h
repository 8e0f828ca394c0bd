/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a task may have to wait for its turn. What weighs little beside heavy tasks would wait for seconds in
 * virtual time, or until sched_ext's watchdog ends it all. So it is put no later than the clock of its queue comes in
 * 0.4 s as it goes now; and who has waited for that long, because the clock has become slower since, is brought
 * forward.
 */
#pragma once

/* How often is looked; twice that is what a task may have to wait, and as long again where it is brought forward. */
#define LOOK_NS 200000000ULL
/* Tasks of a queue, from its end, at each look. */
#define MOST_LOOKED_AT 256
/* Not a local variable: the verifier would go through the loop for each of its values. */
static u32 nr_looked_at;

static __always_inline u64 clock_of(u32 home)
{
	if (home >= LLC_DSQ)
		return llc_states[at(home - LLC_DSQ)].vclock;
	return cpu_states[at(home)].vclock;
}

/* The latest virtual time that a task is put at. */
static __always_inline u64 latest_of(u32 home)
{
	u64 ahead = home >= LLC_DSQ ? llc_states[at(home - LLC_DSQ)].reach.ahead : cpu_states[at(home)].reach.ahead;

	return clock_of(home) + (ahead ? ahead : 2 * LOOK_NS);
}

/* A clock that no task waits for does not tell how fast it will go. One of light tasks alone may soon go slower. */
static __always_inline void look_at_reach(struct reach *reach, u64 vclock, bool waited)
{
	u64 went = vclock - reach->from;

	reach->from = vclock;
	if (!waited || went > LOOK_NS)
		went = LOOK_NS;
	reach->ahead = 2 * (went > slice_ns ? went : slice_ns);
}

/* What is bound to a CPU that is not there yet waits for the CPU, not for its turn. */
static __always_inline void note_wait(struct task_struct *p, struct task_state *ts, u64 now)
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

static __always_inline void bring_forward(u32 home, u64 now)
{
	u64 latest = clock_of(home) + (latest_of(home) - clock_of(home)) / 2;
	struct task_struct *p;

	nr_looked_at = 0;
	bpf_for_each(scx_dsq, p, home, SCX_DSQ_ITER_REV) {
		struct task_state *ts = task_state_of(p);

		if (nr_looked_at++ >= MOST_LOOKED_AT)
			break;
		if (!ts)
			continue;
		/* Who never gets to run is seen nowhere else. */
		note_wait(p, ts, now);
		if (!time_before(latest, p->scx.dsq_vtime) || now < ts->waits_since + 2 * LOOK_NS)
			continue;
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, latest);
		if (scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, home, 0))
			count(brought_forward);
	}
}

static __noinline int look_at_queue(u32 home, struct reach *reach, u64 vclock, u64 now)
{
	bool waited = scx_bpf_dsq_nr_queued(home) > 0;

	if (!reach)
		return 0;
	look_at_reach(reach, vclock, waited);
	if (waited)
		bring_forward(home, now);
	return 0;
}
