/* SPDX-License-Identifier: GPL-2.0-only */
/* The target of the search: record_wakee() and wake_wide() with their inputs, and wake_affine(). */
#pragma once

/* imbalance_pct of the lowest domain that spans both CPUs, if it has SD_WAKE_AFFINE; else 0. */
static __always_inline u32 affine_domain(s32 this_cpu, s32 prev)
{
	const volatile struct cpu_info *a = info_of(this_cpu), *b = info_of(prev);
	u32 i;

	if (!a || !b)
		return 0;
	for (i = 0; i < MAX_LEVELS; i++) {
		if (i >= nr_levels)
			break;
		if (a->level[i] == b->level[i])
			return level_affine[i] ? level_pct[i] : 0;
	}
	return 0;
}

static __always_inline bool record_and_wake_wide(struct search *s, struct task_state *waker, struct task_state *wakee,
						 u64 who)
{
	u64 jiffies = bpf_jiffies64();

	s->waker_flips_before = waker->flips.flips;
	s->last_wakee_is_p = waker->flips.last_wakee == who;
	s->decay_due = (s64)(jiffies - (waker->flips.decay_ts + hz)) > 0;
	record_wakee(&waker->flips, who, jiffies, hz);
	s->waker_flips = waker->flips.flips;
	s->wakee_flips = wakee->flips.flips;
	return wake_wide(s->waker_flips, s->wakee_flips, llc_states[at(llc_of(s->this_cpu))].nr_online);
}

/* wake_affine(): returns the waking CPU or the previous one. */
static __always_inline s32 wake_affine(struct search *s, u32 imbalance_pct)
{
	struct cpu_state *this = cpu_state_of(s->this_cpu);
	s32 this_cpu = s->this_cpu, prev = s->prev;
	int affine = AFFINE_NONE;

	if (!this)
		return prev;
	if (s->feat & WA_IDLE) {
		affine = wake_affine_idle(is_idle(this_cpu), is_idle(prev), share_cache(this_cpu, prev), s->sync,
					s->nr_running);
		if (affine == AFFINE_NONE && (s->feat & SIS_SHORT) && s->nr_running == 1 &&
		    is_short_task(this->curr_dur_avg, min_granularity_ns))
			affine = AFFINE_THIS;
	}
	if (affine == AFFINE_NONE && (s->feat & WA_WEIGHT)) {
		struct affine_loads loads = {
			.this_load = s->this_load,
			.prev_load = s->prev_load,
			.waker = s->waker_load,
			.wakee = s->wakee_load,
			.this_capacity = cpu_infos[at(this_cpu)].capacity,
			.prev_capacity = cpu_infos[at(prev)].capacity,
		};

		affine = wake_affine_weight(&loads, s->sync, s->feat & WA_BIAS, imbalance_pct);
	}
	return affine == AFFINE_THIS ? this_cpu : prev;
}
