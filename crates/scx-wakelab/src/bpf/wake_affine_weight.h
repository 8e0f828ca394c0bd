/* SPDX-License-Identifier: GPL-2.0-only */
/* wake_affine_idle() and wake_affine_weight() of 7.2: the waking CPU or the previous one. */
#pragma once

enum affine {
	AFFINE_NONE = -1, /* undecided: the next rule decides */
	AFFINE_PREV,
	AFFINE_THIS,
};

/* `nr_running` is that of the waking CPU, without delayed tasks. */
static __always_inline int wake_affine_idle(bool this_idle, bool prev_idle, bool share_cache, bool sync,
					    u32 nr_running)
{
	if (this_idle && share_cache)
		return prev_idle ? AFFINE_PREV : AFFINE_THIS;
	if (sync && nr_running == 1)
		return AFFINE_THIS;
	if (prev_idle)
		return AFFINE_PREV;
	return AFFINE_NONE;
}

struct affine_loads {
	u64 this_load, prev_load;	/* load_avg of the CPUs */
	u64 waker, wakee;		/* load_avg of the tasks */
	u64 this_capacity, prev_capacity;
};

static __always_inline int wake_affine_weight(const struct affine_loads *of, bool sync, bool bias, u32 imbalance_pct)
{
	u64 this_eff = of->this_load, prev_eff;

	if (sync) {
		if (of->waker > this_eff)
			return AFFINE_THIS;
		this_eff -= of->waker;
	}
	this_eff += of->wakee;
	if (bias)
		this_eff *= 100;
	this_eff *= of->prev_capacity;

	prev_eff = of->prev_load - of->wakee;
	if (bias)
		prev_eff *= 100 + (imbalance_pct - 100) / 2;
	prev_eff *= of->this_capacity;
	if (sync)
		prev_eff++;
	return (s64)this_eff < (s64)prev_eff ? AFFINE_THIS : AFFINE_NONE;
}
