/* SPDX-License-Identifier: GPL-2.0-only */
/* ops.dispatch(): the next task of a CPU. The verifier checks global functions once, and static ones at each call. */
#pragma once

/* Pulls a task that waits in the queue of another CPU of the LLC and may run here. */
__noinline int pull_sibling(u32 llc, s32 self)
{
	u32 nr = llc_infos[at(llc)].nr, i;

	bpf_for(i, 0, nr) {
		s32 cpu = cpu_at(llc, i);
		struct cpu_state *cs = cpu_state_of(cpu);

		/* Reading the length of each queue would be most of what an idle CPU spends here. */
		if (!cs || cpu == self || !cs->may_wait)
			continue;
		cs->may_wait = 0;
		if (!scx_bpf_dsq_nr_queued(cpu))
			continue;
		cs->may_wait = 1;
		if (scx_bpf_dsq_move_to_local(cpu, 0)) {
			count(pulled_sibling);
			return true;
		}
	}
	return false;
}

/* Pulls from the longest queue of another LLC. If no task in it may run here, from any other. */
__noinline int pull_other(u32 own)
{
	s32 most = 0;
	u32 from = own, i;

	bpf_for(i, 0, nr_llcs) {
		s32 queued = i == own ? 0 : scx_bpf_dsq_nr_queued(LLC_DSQ + i);

		if (queued > most) {
			most = queued;
			from = i;
		}
	}
	if (from == own)
		return false;
	if (scx_bpf_dsq_move_to_local(LLC_DSQ + from, 0)) {
		count(pulled_other);
		return true;
	}
	bpf_for(i, 0, nr_llcs) {
		if (i != own && i != from && scx_bpf_dsq_move_to_local(LLC_DSQ + i, 0)) {
			count(pulled_other);
			return true;
		}
	}
	return false;
}

/* Pulls a task that waits at a CPU of another LLC. It may run on a part of both LLCs. */
__noinline int pull_far_sibling(u32 own, s32 self)
{
	u32 i;

	bpf_for(i, 0, nr_llcs) {
		if (i != own && llc_states[at(i)].cpus_wait && pull_sibling(i, self))
			return true;
	}
	return false;
}

static __always_inline bool pull_llc(u32 llc)
{
	if (!scx_bpf_dsq_move_to_local(LLC_DSQ + llc, 0))
		return false;
	count(pulled_llc);
	return true;
}

static __always_inline bool pull_own(s32 cpu)
{
	if (!scx_bpf_dsq_move_to_local(cpu, 0))
		return false;
	count(pulled_cpu);
	return true;
}

enum dispatched {
	DISPATCH_MOVED,
	DISPATCH_KEEP,	/* prev runs on: its virtual time is before the heads of both queues */
	DISPATCH_ALONE,	/* prev runs on, and no task waits */
	DISPATCH_NOTHING,
};

static __always_inline int dispatch(s32 cpu, struct cpu_state *cs, struct task_struct *prev, struct task_state *ts)
{
	u32 llc = llc_of(cpu);
	struct task_struct *head;
	bool own = false, shared = false, prev_own = false, prev_shared = false;
	u64 own_vtime = 0, shared_vtime = 0;

	if (pull_load(llc))
		return DISPATCH_MOVED;
	head = __COMPAT_scx_bpf_dsq_peek(cpu);
	if (head) {
		own = true;
		own_vtime = head->scx.dsq_vtime;
	}
	head = __COMPAT_scx_bpf_dsq_peek(LLC_DSQ + llc);
	if (head) {
		shared = true;
		shared_vtime = head->scx.dsq_vtime;
	}
	/* Without these the compiler merges the two pointers, which the verifier refuses. */
	barrier_var(own);
	barrier_var(shared);
	if (prev && ts) {
		u64 vtime = prev->scx.dsq_vtime;

		if (!own && !shared)
			return DISPATCH_ALONE;
		if (ts->dsq == (u32)cpu && (!own || !time_before(own_vtime, vtime))) {
			prev_own = own = true;
			own_vtime = vtime;
		} else if (ts->dsq == LLC_DSQ + llc && (!shared || !time_before(shared_vtime, vtime))) {
			prev_shared = shared = true;
		}
	}
	/*
	 * One light task of the LLC's queue must not make all others of the queue wait for the time that it was
	 * charged.
	 */
	if (time_before(latest_vtime_of(cpu), cs->llc_vtime))
		cs->llc_vtime = latest_vtime_of(cpu);
	if (own && (!shared || time_before(own_vtime, cs->llc_vtime))) {
		if (prev_own)
			return DISPATCH_KEEP;
		if (pull_own(cpu) || pull_llc(llc))
			return DISPATCH_MOVED;
	} else if (shared) {
		if (prev_shared)
			return DISPATCH_KEEP;
		if (pull_llc(llc) || pull_own(cpu))
			return DISPATCH_MOVED;
	}
	if (prev)
		return DISPATCH_KEEP;
	if (pull_sibling(llc, cpu) || pull_other(llc) || pull_far_sibling(llc, cpu))
		return DISPATCH_MOVED;
	return DISPATCH_NOTHING;
}
