/* SPDX-License-Identifier: GPL-2.0-only */
/* SIS_SHORT: a task is short if it runs for a short time between two voluntary sleeps. */
#pragma once

struct dur_avg {
	u64 dur_avg;			/* ns */
	u64 prev_sum_exec_runtime_vol;	/* ns */
};

static __always_inline bool is_short_task(u64 dur_avg, u64 min_granularity)
{
	return dur_avg && dur_avg * 8 <= min_granularity;
}

/* The task goes to sleep; it has run for `sum_exec_runtime` ns in all. */
static __always_inline void dur_avg_update(struct dur_avg *of, u64 sum_exec_runtime)
{
	u64 dur = sum_exec_runtime - of->prev_sum_exec_runtime_vol;

	of->prev_sum_exec_runtime_vol = sum_exec_runtime;
	of->dur_avg = update_avg(of->dur_avg, dur);
}
