/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * select_idle_capacity() of 7.2, for machines whose CPUs differ in capacity: an idle CPU that fits the task, on an idle
 * core if has_idle_cores is set; else the CPU with the best rank, and of those the largest. There are no uclamp values.
 */
#pragma once

/* A CPU's rank; the smallest is the best. A busy core counts more than a task that does not fit. */
#define RANK_CORE_BUSY 2
#define RANK_MISSES 1

static __always_inline u64 task_util_est(struct task_state *wakee)
{
	u64 util = _task_util_est(wakee->avg.util_est);

	return wakee->avg.util_avg > util ? wakee->avg.util_avg : util;
}

static __always_inline bool fits_capacity(u64 util, s32 cpu)
{
	return util * 1280 < (u64)cpu_infos[at(cpu)].capacity * 1024;
}

static __always_inline bool asym_fits_cpu(struct task_state *wakee, s32 cpu)
{
	if (!asym_capacity)
		return true;
	return fits_capacity(task_util_est(wakee), cpu) && (!smt_active || is_core_idle(cpu));
}

static __noinline bool select_idle_capacity(struct search *s, struct task_struct *p, struct task_state *wakee)
{
	struct llc_state *llc = llc_state_of(llc_of(s->target));
	u32 i, cpu, rank, best_rank = RANK_CORE_BUSY | RANK_MISSES;
	u64 util, best_cap = 0;
	bool cores;
	s32 best = -1;

	s->domain = true;
	s->reason = PLACED_NONE;
	s->cpu = s->target;
	if (!llc)
		return false;
	cores = smt_active && (s->feat & SIS_CORE) && s->has_idle_cores;
	s->nr = 0x7fffffff;
	if (!sis_util_before_scan(s, llc))
		return false;
	util = task_util_est(wakee);
	bpf_for(i, 0, nr_cpus) {
		u64 cap;

		cpu = s->target + i;
		if (cpu >= nr_cpus)
			cpu -= nr_cpus;
		if (cpu >= MAX_CPUS || !cpu_infos[at(cpu)].nr_smt || !cpu_allowed(p, cpu))
			continue;
		if (!cores && --s->nr <= 0) {
			s->reason = PLACED_LIMIT;
			break;
		}
		s->nr_probes++;
		if (!is_idle(cpu))
			continue;
		rank = cores && !is_core_idle(cpu) ? RANK_CORE_BUSY : 0;
		if (!fits_capacity(util, cpu))
			rank |= RANK_MISSES;
		if (!rank) {
			if (claim_if_idle(s, cpu, PLACED_CAPACITY))
				return true;
			continue;
		}
		cap = cpu_infos[at(cpu)].capacity;
		if (rank < best_rank || (rank == best_rank && cap > best_cap)) {
			best_rank = rank;
			best_cap = cap;
			best = cpu;
		}
	}
	if (cores && best_rank >= RANK_CORE_BUSY)
		llc->has_idle_cores = 0;
	return best >= 0 && claim_if_idle(s, best, PLACED_CAPACITY);
}
