/* SPDX-License-Identifier: GPL-2.0-only */
/* select_idle_capacity(): where CPUs differ in capacity, the idle one that fits the task, else the largest idle one. */
#pragma once

static __noinline bool search_capacity(struct search *s, struct task_struct *p, struct task_state *wakee)
{
	u64 util, best_cap = 0;
	u32 i, cpu;
	s32 best = -1;

	s->domain = true;
	util = task_util_est_of(wakee->avg.util_est);
	if (wakee->avg.util_avg > util)
		util = wakee->avg.util_avg;
	bpf_for(i, 0, nr_cpus) {
		u64 cap;

		cpu = s->target + i;
		if (cpu >= nr_cpus)
			cpu -= nr_cpus;
		if (cpu >= MAX_CPUS || !cpu_infos[at(cpu)].nr_smt || !allowed(p, cpu))
			continue;
		s->looks++;
		if (!is_idle(cpu))
			continue;
		cap = cpu_infos[at(cpu)].capacity;
		if (util * 1280 < cap * 1024) {
			if (take(s, cpu, WHY_CAPACITY))
				return true;
			continue;
		}
		if (cap > best_cap) {
			best_cap = cap;
			best = cpu;
		}
	}
	if (best >= 0 && take(s, best, WHY_CAPACITY))
		return true;
	s->reason = WHY_NONE;
	s->cpu = s->target;
	return false;
}
