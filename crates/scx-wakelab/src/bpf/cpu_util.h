/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu_util() without a task: the utilisation that the CPU requests from cpufreq. With RUNNABLE_BOOST it is the larger
 * of util_avg and runnable_avg. scx_bpf_cpuperf_set() takes it as it is: 1024 is the largest capacity of the machine,
 * and schedutil adds its headroom itself.
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
