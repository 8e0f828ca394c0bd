/* SPDX-License-Identifier: GPL-2.0-only */
/* select_idle_cpu(): the policies' word, then a walk over the LLC for an idle core or an idle CPU. */
#pragma once

enum word {
	WORD_WALK,
	WORD_OVERLOADED,
	WORD_TAKE,
};

/* SIS_UTIL: how many CPUs may be looked at. False where the LLC is too busy for a search. */
static __always_inline bool sis_util_limit(struct search *s, struct llc_state *llc)
{
	if (!(s->feat & (SIS_UTIL | SIS_UTIL_V1 | SIS_UTIL_V2 | SIS_UTIL_V3)))
		return true;
	s->scans = llc->nr_idle_scan;
	s->nr = s->scans + 1;
	if (s->nr != 1)
		return true;
	s->reason = WHY_OVERLOADED;
	return false;
}

/* SIS_PROP, SIS_LIMIT, SIS_SHORT and SIS_UTIL, in the order of the model's registry. */
static __noinline int policies_before(struct search *s, struct task_state *wakee, bool cores)
{
	struct cpu_state *this, *target;
	const volatile struct cpu_info *info;
	struct llc_state *llc;
	u32 weight;

	this = cpu_state_of(s->this_cpu);
	target = cpu_state_of(s->target);
	info = info_of(s->target);
	llc = llc_state_of(llc_of(s->target));
	if (!this || !target || !info || !llc)
		return WORD_WALK;
	weight = llc->nr_online;
	if ((s->feat & SIS_PROP) && !cores) {
		if (llc_states[at(llc_of(s->this_cpu))].nr_online < 2)
			return WORD_OVERLOADED;
		s->sis_prop = true;
		s->started = bpf_ktime_get_ns();
		s->cost = this->cost;
		sis_prop_age(&s->cost, bpf_jiffies64());
		/* The prediction has aged, even if another policy ends the search. */
		this->cost = s->cost;
		s->nr = sis_prop_nr(&s->cost, weight);
	}
	if ((s->feat & SIS_LIMIT) && !cores) {
		s32 next = target->next_cpu - 1;

		if (s->sis_prop)
			s->nr = sis_limit_nr(&s->cost, weight, info->nr_smt);
		if (next >= 0 && next < MAX_CPUS)
			s->start = cpu_infos[at(next)].llc_pos;
	}
	if ((s->feat & SIS_SHORT) && !cores && target->nr_runnable == 1 &&
	    is_short_task(target->curr_dur_avg, min_granularity_ns) &&
	    is_short_task(wakee->dur.dur_avg, min_granularity_ns)) {
		s->cpu = s->target;
		s->reason = WHY_SHORT;
		return WORD_TAKE;
	}
	return sis_util_limit(s, llc) ? WORD_WALK : WORD_OVERLOADED;
}

static __always_inline bool is_done(struct search *s, u32 cpu)
{
	return s->done[(cpu / 64) & (MAX_CPUS / 64 - 1)] >> (cpu % 64) & 1;
}

/* select_idle_core(): looks at the CPUs of a core; takes it if all are idle. */
static __noinline bool look_at_core(struct search *s, struct task_struct *p, s32 core)
{
	const volatile struct cpu_info *info;
	bool whole = true;
	u32 i;

	info = info_of(core);
	if (!info)
		return false;
	for (i = 0; i < MAX_SMT; i++) {
		s32 cpu;

		if (i >= info->nr_smt)
			break;
		cpu = info->smt[i];
		if (is_offline(cpu))
			continue;
		s->looks++;
		if (!is_idle(cpu)) {
			whole = false;
			if (s->idle_cpu < 0)
				continue;
			break;
		}
		if (s->idle_cpu < 0 && allowed(p, cpu))
			s->idle_cpu = cpu;
	}
	if (whole && claim(s, core)) {
		s->cpu = core;
		s->reason = WHY_CORE;
		return true;
	}
	for (i = 0; i < MAX_SMT; i++) {
		u32 cpu;

		if (i >= info->nr_smt)
			break;
		cpu = info->smt[i];
		s->done[(cpu / 64) & (MAX_CPUS / 64 - 1)] |= 1ULL << (cpu % 64);
	}
	return false;
}

static __always_inline s32 cpu_at(u32 llc, u32 place)
{
	u32 first = llc_infos[at(llc)].first, nr = llc_infos[at(llc)].nr;

	if (place >= nr)
		place -= nr;
	return llc_cpus[at(first + place)];
}

/* The walk. Whether an idle CPU was found and taken. */
static __noinline bool walk(struct search *s, struct task_struct *p, bool cores)
{
	u32 llc, nr, i;

	llc = llc_of(s->target);
	nr = llc_infos[at(llc)].nr;
	if (cores)
		for (i = 0; i < MAX_CPUS / 64; i++)
			s->done[i] = 0;
	bpf_for(i, 0, nr) {
		s32 cpu = cpu_at(llc, s->start + i);

		if (!allowed(p, cpu))
			continue;
		if (cores) {
			if (is_done(s, cpu))
				continue;
			if (look_at_core(s, p, cpu))
				return true;
			continue;
		}
		s->last = cpu;
		if (--s->nr <= 0) {
			s->reason = WHY_LIMIT;
			return false;
		}
		s->looks++;
		if (take(s, cpu, WHY_SCAN))
			return true;
	}
	if (s->idle_cpu >= 0 && claim(s, s->idle_cpu)) {
		s->cpu = s->idle_cpu;
		s->reason = WHY_CORE_CPU;
		return true;
	}
	s->reason = WHY_NONE;
	return false;
}

/* What SIS_PROP learns of a walk that was not ended by its limit, and SIS_LIMIT of any walk for a CPU. */
static __always_inline void policies_after(struct search *s, bool cores)
{
	struct cpu_state *this = cpu_state_of(s->this_cpu), *target = cpu_state_of(s->target);

	if (!this || !target)
		return;
	if (s->sis_prop) {
		if (s->reason != WHY_LIMIT)
			sis_prop_after(&s->cost, bpf_ktime_get_ns() - s->started);
		this->cost = s->cost;
	}
	if ((s->feat & SIS_LIMIT) && !cores && s->last >= 0)
		target->next_cpu = s->last + 1;
}
