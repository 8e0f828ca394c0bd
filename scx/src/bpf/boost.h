/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU asks of cpufreq: cpu_util() without a task, with RUNNABLE_BOOST the larger of what ran and what was
 * runnable. The result is what scx_bpf_cpuperf_set() takes: 1024 is the machine's largest capacity, as schedutil reads
 * it, which adds its headroom itself.
 */
#pragma once

static __always_inline u32 cpu_util(u64 util, u64 runnable, u64 util_est, bool boost, bool use_est, u64 capacity)
{
	if (boost && runnable > util)
		util = runnable;
	if (use_est && util_est > util)
		util = util_est;
	return util < capacity ? util : capacity;
}
