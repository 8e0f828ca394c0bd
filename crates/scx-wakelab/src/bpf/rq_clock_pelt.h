/* SPDX-License-Identifier: GPL-2.0-only */
/* rq_clock_pelt() (kernel/sched/pelt.h, 7.2): a clock that is slower on slower CPUs and catches up when they idle. */
#pragma once

struct pelt_clock {
	u64 wall;	/* ns: rq_clock() at its last update */
	u64 pelt;	/* ns: rq->clock_pelt */
	u64 lost;	/* ns: rq->lost_idle_time */
};

static __always_inline u64 cap_scale(u64 v, u64 s)
{
	return v * s >> 10;
}

static __always_inline u64 rq_clock_pelt(const struct pelt_clock *clock)
{
	return clock->pelt - clock->lost;
}

/* `cap` is the CPU's capacity and `freq` its frequency; 1024 is the largest of each. */
static __always_inline void update_rq_clock_pelt(struct pelt_clock *clock, u64 now, bool idle, u64 cap, u64 freq)
{
	u64 delta = now - clock->wall;

	if ((s64)delta < 0)
		return;
	clock->wall = now;
	if (idle)
		clock->pelt = now;
	else
		clock->pelt += cap_scale(cap_scale(delta, cap), freq);
}

static __always_inline void update_idle_rq_clock_pelt(struct pelt_clock *clock, u32 util_sum)
{
	u32 divider = (PELT_MIN_DIVIDER << 10) - LOAD_AVG_MAX;

	if (util_sum >= divider)
		clock->lost += clock->wall - clock->pelt;
	clock->pelt = clock->wall;
}
