/* SPDX-License-Identifier: GPL-2.0-only */
/* What is asked of cpufreq: what the kernel asks for the same load (sugov_get_util()), before schedutil's headroom. */
#pragma once

/* Under the CPU's run queue lock, after update_cpu(). */
static __noinline int ask_frequency(struct cpu_state *cs, u32 cpu)
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
