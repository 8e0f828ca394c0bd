/* SPDX-License-Identifier: GPL-2.0-only */
/* util_est_update() of 7.2: follows a larger util_avg at once, and a smaller one by a quarter of the difference. */
#pragma once

#define UTIL_AVG_UNCHANGED 0x80000000u
#define UTIL_EST_MARGIN (CAPACITY_SCALE / 100)
#define UTIL_EST_WEIGHT_SHIFT 2

static __always_inline u32 _task_util_est(u32 util_est)
{
	return util_est & ~UTIL_AVG_UNCHANGED;
}

/* Called when a task is dequeued to sleep. */
static __always_inline void util_est_update(struct pelt *sa)
{
	u32 ewma = sa->util_est, dequeued = sa->util_avg, diff;

	if (ewma & UTIL_AVG_UNCHANGED)
		return;
	if (ewma <= dequeued) {
		ewma = dequeued;
		goto done;
	}
	diff = ewma - dequeued;
	if (diff < UTIL_EST_MARGIN)
		goto done;
	if ((u64)dequeued + UTIL_EST_MARGIN < sa->runnable_avg)
		goto done;
	ewma <<= UTIL_EST_WEIGHT_SHIFT;
	ewma -= diff;
	ewma >>= UTIL_EST_WEIGHT_SHIFT;
done:
	sa->util_est = ewma | UTIL_AVG_UNCHANGED;
}
