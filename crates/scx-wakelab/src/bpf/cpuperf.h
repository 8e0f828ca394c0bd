/* SPDX-License-Identifier: GPL-2.0-only */
/* The request to cpufreq: that of sugov_get_util() for the same load, before schedutil adds its headroom. */
#pragma once

/* Called under the CPU's run queue lock, after update_cpu_load_avg(). */
static __noinline int update_cpuperf(struct cpu_state *cs, u32 cpu)
{
	u64 feat = features;
	u32 util, capacity;

	if (!cs || cpu >= MAX_CPUS)
		return 0;
	capacity = cpu_infos[at(cpu)].capacity;
	util = cpu_util(cs->avg.util_avg, cs->avg.runnable_avg, cs->util_est, feat & RUNNABLE_BOOST, feat & UTIL_EST,
			capacity);
	if ((feat & RUNNABLE_BOOST) && cs->avg.runnable_avg > cs->avg.util_avg)
		count(boosted);
	if (util != cs->perf_target) {
		cs->perf_target = util;
		if (bpf_ksym_exists(scx_bpf_cpuperf_set))
			scx_bpf_cpuperf_set(cpu, util);
	}
	return 0;
}
