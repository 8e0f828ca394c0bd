/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ops.enqueue(). A task that may use all CPUs of an LLC waits in the LLC's DSQ, any other task in the DSQ of its CPU.
 * Both are ordered by virtual time, and each has a clock of its own. On a CPU, all tasks of the LLC's DSQ count as one
 * task, whose virtual time is on the CPU's clock, so neither kind of tasks can starve the other.
 */
#pragma once

/* Moves a task to another DSQ. It keeps its lag, which is the distance of its virtual time from the clock. */
static __always_inline void change_dsq(struct task_struct *p, struct task_state *ts, u32 dsq)
{
	if (ts->has_dsq && ts->dsq != dsq)
		scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + vclock_of(dsq) - vclock_of(ts->dsq));
	ts->dsq = dsq;
	ts->has_dsq = true;
}

static __always_inline bool restricted(struct task_struct *p, struct task_state *ts, u32 llc)
{
	return p->nr_cpus_allowed == 1 || migration_disabled(p) || llc >= 64 || !(ts->covers >> llc & 1);
}

/* update_curr(): charges a task for the time that it has run since the last charge. */
static __always_inline void charge(struct task_struct *p, struct task_state *ts, struct cpu_state *cs, u64 now)
{
	u64 ran = now - ts->since, cost;

	if ((s64)ran <= 0)
		return;
	ts->since = now;
	ts->sum_exec += ran;
	cost = calc_delta_fair(ran, ts->weight);
	if (ts->group) {
		/*
		 * The sums of its groups may have changed since: half of the time at the old weight, half at the new.
		 */
		update_task_weight(ts);
		cost = (cost + calc_delta_fair(ran, ts->weight)) / 2;
	}
	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + cost);
	if (ts->dsq >= LLC_DSQ)
		cs->llc_vtime += cost;
}

/* Advances the clocks to a task that starts to run, or runs on. */
static __always_inline void move_clocks(struct task_struct *p, struct task_state *ts, struct cpu_state *cs)
{
	u64 vtime = p->scx.dsq_vtime;

	if (ts->dsq >= LLC_DSQ) {
		struct llc_state *llc = llc_state_of(ts->dsq - LLC_DSQ);

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
 * A task that ran while no other waited is not charged for that time. The clocks did not advance meanwhile, and later
 * tasks start at the clock, so this task would have to wait for as long as it had been alone.
 */
static __always_inline void forgive_vtime(struct task_struct *p, struct task_state *ts, struct cpu_state *cs, u64 now)
{
	u64 clock = vclock_of(ts->dsq);

	if (time_before(clock, p->scx.dsq_vtime))
		scx_bpf_task_set_dsq_vtime(p, clock);
	if (ts->dsq >= LLC_DSQ && time_before(cs->vclock, cs->llc_vtime))
		cs->llc_vtime = cs->vclock;
	cs->curr_vtime = p->scx.dsq_vtime;
	cs->curr_since = now;
}

/* Whether the wakee is more than a quarter of a slice behind the running task. */
static __always_inline bool should_preempt(struct task_struct *p, struct task_state *ts, struct cpu_state *cs, u64 now)
{
	u64 since = cs->curr_since, curr;
	s64 ahead;

	if (!since || now < since)
		return false;
	curr = cs->curr_vtime + calc_delta_fair(now - since, cs->curr_weight);
	/* If they are from two queues, each is compared with its own clock. */
	ahead = (s64)(curr - p->scx.dsq_vtime);
	if (cs->curr_dsq != ts->dsq)
		ahead += (s64)(vclock_of(ts->dsq) - vclock_of(cs->curr_dsq));
	return ahead > (s64)calc_delta_fair(slice_ns / 4, ts->weight);
}

/* Kicks an idle CPU for a task in the queue of an LLC: one of that LLC if possible. */
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
		found = claim_any_idle_cpu(may);
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
	u32 llc = llc_of(cpu), dsq;

	ts->stack = false;
	if (!cs)
		return;
	if (wakeup && (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1) {
		change_dsq(p, ts, cpu);
		count(direct);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags | SCX_ENQ_PREEMPT);
		return;
	}
	dsq = stack || restricted(p, ts, llc) ? cpu : LLC_DSQ + llc;
	change_dsq(p, ts, dsq);
	clock = vclock_of(dsq);
	vtime = p->scx.dsq_vtime;
	latest = latest_vtime_of(dsq);
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
	scx_bpf_dsq_insert_vtime(p, dsq, slice_ns, vtime, enq_flags);
	if (dsq >= LLC_DSQ) {
		count(queued_llc);
	} else {
		cpu_states[at(dsq)].may_wait = 1;
		llc_states[at(llc_of(dsq))].cpus_wait = 1;
		count(queued_cpu);
	}
	if (curr_is_idle(cpu)) {
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
