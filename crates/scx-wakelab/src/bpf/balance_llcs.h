/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load balance between LLCs that are all busy. Without it, a task's share would depend on the LLC that it happens to
 * be in. As in calculate_imbalance() for group_overloaded, so much load is moved that both LLCs have the same load per
 * CPU. The timer computes how much. A CPU of the LLC with less load pulls a task of at most that load when it
 * dispatches.
 */
#pragma once

#define BALANCE_NS 50000000ULL

static __always_inline u64 llc_load(u32 llc, u64 now)
{
	u32 nr = llc_infos[at(llc)].nr, i;
	u64 load = 0;

	bpf_for(i, 0, nr) {
		struct cpu_state *cs = cpu_state_of(cpu_at(llc, i));

		if (cs)
			load += cpu_load(cs, now);
	}
	return load;
}

/* Compares load per CPU. Offline CPUs have no load and are few, so they are counted. */
static __noinline int balance_llcs(u64 now)
{
	u64 most = 0, least = ~0ULL, load;
	u32 from = 0, to = 0, i;

	if (nr_llcs < 2 || now - balanced_at < BALANCE_NS)
		return 0;
	balanced_at = now;
	bpf_for(i, 0, nr_llcs) {
		u32 nr = llc_infos[at(i)].nr;
		struct llc_state *state = llc_state_of(i);

		if (!nr || !state)
			continue;
		state->pull_load = 0;
		state->load = load = llc_load(i, now);
		load = load * CAPACITY_SCALE / nr;
		if (load > most && scx_bpf_dsq_nr_queued(LLC_DSQ + i) > 0) {
			most = load;
			from = i;
		}
		if (load < least) {
			least = load;
			to = i;
		}
	}
	if (most > least && from != to) {
		u64 nr_from = llc_infos[at(from)].nr, nr_to = llc_infos[at(to)].nr;

		load = (llc_states[at(from)].load * nr_to - llc_states[at(to)].load * nr_from) / (nr_from + nr_to);
		llc_states[at(to)].pull_from = from;
		llc_states[at(to)].pull_load = load;
	}
	return 0;
}

/* Pulls the first task of the LLC with the most load, if its load is at most the imbalance. */
static __always_inline bool pull_load(u32 llc)
{
	struct llc_state *state = llc_state_of(llc);
	struct task_struct *head;
	struct task_state *ts;
	u64 load, from;

	if (!state || !state->pull_load)
		return false;
	from = LLC_DSQ + state->pull_from;
	head = __COMPAT_scx_bpf_dsq_peek(from);
	ts = head ? task_state_of(head) : NULL;
	if (!ts || ts->avg.load_avg > state->pull_load)
		return false;
	/* One task at a time: its load counts here only when it has run here. */
	load = __sync_lock_test_and_set(&state->pull_load, 0);
	if (!load || !scx_bpf_dsq_move_to_local(from, 0))
		return false;
	count(pulled_load);
	return true;
}
