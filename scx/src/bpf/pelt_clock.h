/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of a CPU's averages (kernel/sched/pelt.h, 7.2): slower where the CPU is, in step again when it idles. */
#pragma once

struct pelt_clock {
	u64 wall;	/* ns, when it was moved last */
	u64 pelt;	/* ns, behind `wall` by what a slower CPU did not do */
	u64 lost;	/* idle time that a faster CPU would not have had either */
};

static __always_inline u64 cap_scale(u64 v, u64 s)
{
	return v * s >> 10;
}

static __always_inline u64 rq_clock_pelt(const struct pelt_clock *clock)
{
	return clock->pelt - clock->lost;
}

/* update_rq_clock_pelt(): `cap` and `freq` of 1024 are the fastest CPU at its highest frequency. */
static __always_inline void pelt_clock_move(struct pelt_clock *clock, u64 now, bool idle, u64 cap, u64 freq)
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

/* update_idle_rq_clock_pelt(): the CPU goes idle. */
static __always_inline void pelt_clock_idle(struct pelt_clock *clock, u32 util_sum)
{
	u32 divider = (PELT_MIN_DIVIDER << 10) - LOAD_AVG_MAX;

	if (util_sum >= divider)
		clock->lost += clock->wall - clock->pelt;
	clock->pelt = clock->wall;
}
