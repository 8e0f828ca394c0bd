/* SPDX-License-Identifier: GPL-2.0-only */
/* sched_prio_to_weight[] (kernel/sched/core.c) and calc_delta_fair(). */
#pragma once

static const u32 sched_prio_to_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,
	1024,  820,   655,   526,   423,   335,   272,   215,   172,   137,
	110,   87,    70,    56,    45,    36,    29,    23,    18,    15,
};

#define WEIGHT_IDLEPRIO 3

/* static_prio is from 100 to 139; 120 is nice 0. SCHED_IDLE weighs less than any of them. */
static __always_inline u32 weight_of(s32 static_prio, bool sched_idle)
{
	s32 at = static_prio - 100;

	if (sched_idle)
		return WEIGHT_IDLEPRIO;
	if (at < 0)
		at = 0;
	if (at > 39)
		at = 39;
	return sched_prio_to_weight[at];
}

/* calc_delta_fair(): the virtual time of `ns` of running, up to hours. NICE_0_LOAD is the weight of nice 0. */
static __always_inline u64 calc_delta_fair(u64 ns, u64 weight)
{
	return ns * NICE_0_LOAD / (weight ? weight : 1);
}
