/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where CPUs differ in capacity: select_idle_capacity(), 7.2. The idle one that fits the task, of an idle core while
 * there is one; else the best by that, and the largest of the best. Nobody's utilisation is clamped here.
 */
#pragma once

/* The smaller the better: whether its core is to be avoided, then whether the task fits. */
#define RANK_CORE_BUSY 2
#define RANK_MISSES 1

static __always_inline u64 util_of(struct task_state *wakee)
{
	u64 util = task_util_est_of(wakee->avg.util_est);

	return wakee->avg.util_avg > util ? wakee->avg.util_avg : util;
}

/* fits_capacity() */
static __always_inline bool fits_capacity(u64 util, s32 cpu)
{
	return util * 1280 < (u64)cpu_infos[at(cpu)].capacity * 1024;
}

/* asym_fits_cpu() */
static __always_inline bool fits(struct task_state *wakee, s32 cpu)
{
	if (!asym_capacity)
		return true;
	return fits_capacity(util_of(wakee), cpu) && (!smt_active || core_is_idle_but(cpu));
}

static __noinline bool search_capacity(struct search *s, struct task_struct *p, struct task_state *wakee)
{
	struct llc_state *llc = llc_state_of(llc_of(s->target));
	u32 i, cpu, rank, best_rank = RANK_CORE_BUSY | RANK_MISSES;
	u64 util, best_cap = 0;
	bool cores;
	s32 best = -1;

	s->domain = true;
	s->reason = WHY_NONE;
	s->cpu = s->target;
	if (!llc)
		return false;
	cores = smt_active && (s->feat & SIS_CORE) && s->has_idle_cores;
	s->nr = 0x7fffffff;
	if (!sis_util_limit(s, llc))
		return false;
	util = util_of(wakee);
	bpf_for(i, 0, nr_cpus) {
		u64 cap;

		cpu = s->target + i;
		if (cpu >= nr_cpus)
			cpu -= nr_cpus;
		if (cpu >= MAX_CPUS || !cpu_infos[at(cpu)].nr_smt || !allowed(p, cpu))
			continue;
		if (!cores && --s->nr <= 0) {
			s->reason = WHY_LIMIT;
			break;
		}
		s->looks++;
		if (!is_idle(cpu))
			continue;
		rank = cores && !core_is_idle_but(cpu) ? RANK_CORE_BUSY : 0;
		if (!fits_capacity(util, cpu))
			rank |= RANK_MISSES;
		if (!rank) {
			if (take(s, cpu, WHY_CAPACITY))
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
	return best >= 0 && take(s, best, WHY_CAPACITY);
}
