/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who runs next. A task that may use all CPUs of an LLC waits in the LLC's queue, any other at its CPU; both are in the
 * order of virtual time, each on a clock of its own. At a CPU the tasks of the LLC's queue count as one, whose virtual
 * time is kept on the CPU's clock: neither kind can keep the other from running.
 */
#pragma once

/* Takes a task to another queue: how far it is ahead or behind goes with it. */
static __always_inline void rehome(struct task_struct *p, struct task_state *ts, u32 home)
{
	if (ts->has_home && ts->home != home)
		scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + clock_of(home) - clock_of(ts->home));
	ts->home = home;
	ts->has_home = true;
}

static __always_inline bool restricted(struct task_struct *p, struct task_state *ts, u32 llc)
{
	return p->nr_cpus_allowed == 1 || migration_disabled(p) || llc >= 64 || !(ts->covers >> llc & 1);
}

/* Charges what a task has run since it was charged last. */
static __always_inline void charge(struct task_struct *p, struct task_state *ts, struct cpu_state *cs, u64 now)
{
	u64 ran = now - ts->since, cost;

	if ((s64)ran <= 0)
		return;
	ts->since = now;
	ts->sum_exec += ran;
	cost = virtual_time(ran, ts->weight);
	if (ts->group) {
		/* Its groups may have become fuller or emptier since it began: half by each. */
		weigh(ts);
		cost = (cost + virtual_time(ran, ts->weight)) / 2;
	}
	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + cost);
	if (ts->home >= LLC_DSQ)
		cs->llc_vtime += cost;
}

/* A task begins to run, or goes on: the clocks follow. */
static __always_inline void move_clocks(struct task_struct *p, struct task_state *ts, struct cpu_state *cs)
{
	u64 vtime = p->scx.dsq_vtime;

	if (ts->home >= LLC_DSQ) {
		struct llc_state *llc = llc_state_of(ts->home - LLC_DSQ);

		if (llc && time_before(llc->vclock, vtime))
			llc->vclock = vtime;
		if (time_before(cs->llc_vtime, cs->vclock - slice_ns))
			cs->llc_vtime = cs->vclock - slice_ns;
		vtime = cs->llc_vtime;
	}
	if (time_before(cs->vclock, vtime))
		cs->vclock = vtime;
}

/*
 * What a task ran while nobody waited is not held against it: the clocks have stood still meanwhile, and who comes
 * later begins by them, so that it would have to wait for as long as it had been alone.
 */
static __always_inline void forgive(struct task_struct *p, struct task_state *ts, struct cpu_state *cs, u64 now)
{
	u64 clock = clock_of(ts->home);

	if (time_before(clock, p->scx.dsq_vtime))
		scx_bpf_task_set_dsq_vtime(p, clock);
	if (ts->home >= LLC_DSQ && time_before(cs->vclock, cs->llc_vtime))
		cs->llc_vtime = cs->vclock;
	cs->curr_vtime = p->scx.dsq_vtime;
	cs->curr_since = now;
}

/* Whether the wakee is so far behind the task that runs there that it should not wait. */
static __always_inline bool should_preempt(struct task_struct *p, struct task_state *ts, struct cpu_state *cs, u64 now)
{
	u64 since = cs->curr_since, curr;
	s64 ahead;

	if (!since || now < since)
		return false;
	curr = cs->curr_vtime + virtual_time(now - since, cs->curr_weight);
	/* Of two queues: each by its own clock. */
	ahead = (s64)(curr - p->scx.dsq_vtime);
	if (cs->curr_home != ts->home)
		ahead += (s64)(clock_of(ts->home) - clock_of(cs->curr_home));
	return ahead > (s64)virtual_time(slice_ns / 4, ts->weight);
}

/* An idle CPU for what waits in the queue of an LLC: one of its own, else any. */
static __always_inline void kick_idle(u32 llc, const struct cpumask *may)
{
	u32 nr = llc_infos[at(llc)].nr, i;
	s32 found = -1;

	if (!may_kick())
		return;
	bpf_for(i, 0, nr) {
		s32 cpu = cpu_at(llc, i);

		if (is_idle(cpu) && bpf_cpumask_test_cpu(cpu, may) && test_and_clear_idle(cpu)) {
			found = cpu;
			break;
		}
	}
	if (found < 0 && nr_llcs > 1)
		found = pick_idle(may);
	if (found >= 0) {
		kick(found, SCX_KICK_IDLE);
		count(kicked_idle);
	}
}

static __always_inline void enqueue(struct task_struct *p, struct task_state *ts, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *cs = cpu_state_of(cpu);
	bool wakeup = enq_flags & SCX_ENQ_WAKEUP, stack = ts->stack;
	u64 vtime, clock, latest, now = scx_bpf_now();
	u32 llc = llc_of(cpu), home;

	ts->stack = false;
	if (!cs)
		return;
	if (wakeup && (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1) {
		rehome(p, ts, cpu);
		count(direct);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags | SCX_ENQ_PREEMPT);
		return;
	}
	home = stack || restricted(p, ts, llc) ? cpu : LLC_DSQ + llc;
	rehome(p, ts, home);
	clock = clock_of(home);
	vtime = p->scx.dsq_vtime;
	latest = latest_of(home);
	if (wakeup && time_before(vtime, clock - slice_ns)) {
		vtime = clock - slice_ns;
		scx_bpf_task_set_dsq_vtime(p, vtime);
	} else if (time_before(latest, vtime)) {
		vtime = latest;
		scx_bpf_task_set_dsq_vtime(p, vtime);
	}
	if (test_and_clear_idle(cpu)) {
		count(direct);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags);
		kick(cpu, SCX_KICK_IDLE);
		return;
	}
	scx_bpf_dsq_insert_vtime(p, home, slice_ns, vtime, enq_flags);
	if (home >= LLC_DSQ) {
		count(queued_llc);
	} else {
		cpu_states[at(home)].may_wait = 1;
		llc_states[at(llc_of(home))].cpus_wait = 1;
		count(queued_cpu);
	}
	if (runs_nothing(cpu)) {
		kick(cpu, SCX_KICK_IDLE);
		count(kicked_idle);
	} else if (wakeup) {
		if ((features & WAKEUP_PREEMPTION) && should_preempt(p, ts, cs, now)) {
			count(preempted);
			kick(cpu, SCX_KICK_PREEMPT);
		}
	} else if (!stack) {
		kick_idle(llc, p->cpus_ptr);
	}
}
