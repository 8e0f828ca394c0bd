/* SPDX-License-Identifier: GPL-2.0-only */
/* select_idle_cpu() with the search policies: a scan of the LLC for an idle core or an idle CPU. */
#pragma once

enum verdict {
	VERDICT_SCAN,
	VERDICT_OVERLOADED,
	VERDICT_TAKE,
};

/* SIS_UTIL: sets the limit of the scan. Returns false if the LLC is too busy for a scan. */
static __always_inline bool sis_util_before_scan(struct search *s, struct llc_state *llc)
{
	if (!(s->feat & (SIS_UTIL | SIS_UTIL_V1 | SIS_UTIL_V2 | SIS_UTIL_V3)))
		return true;
	s->nr_idle_scan = llc->nr_idle_scan;
	s->nr = s->nr_idle_scan + 1;
	if (s->nr != 1)
		return true;
	s->reason = PLACED_OVERLOADED;
	return false;
}

/* SIS_PARAM: what a search for an idle CPU makes of the number that SIS_UTIL has set. */
static __always_inline int sis_param_before_scan(struct search *s, struct cpu_state *target, struct task_state *wakee,
						 u32 span_weight)
{
	s32 nr_idle_scan = s->nr - 1, limit;

	if ((s64)nr_idle_scan * 100 <= (s64)span_weight * sis_param.short_scan && target->nr_runnable == 1 &&
	    sis_param_is_short(&sis_param, wakee->dur.dur_avg) &&
	    sis_param_is_short(&sis_param, target->curr_dur_avg)) {
		s->cpu = s->target;
		s->reason = PLACED_SHORT;
		return VERDICT_TAKE;
	}
	limit = sis_param_limit(&sis_param, nr_idle_scan, span_weight, target->sis_failed, wakee->dur.dur_avg);
	s->nr = limit + 1;
	return limit || !nr_idle_scan ? VERDICT_SCAN : VERDICT_OVERLOADED;
}

/*
 * SIS_PROP, SIS_LIMIT, SIS_SHORT, SIS_UTIL and SIS_PARAM, in the order of the model's policies. Returns an
 * `enum verdict`.
 */
static __noinline int before_scan(struct search *s, struct task_state *wakee, bool cores)
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
		return VERDICT_SCAN;
	weight = llc->nr_online;
	if ((s->feat & SIS_PROP) && !cores) {
		if (llc_states[at(llc_of(s->this_cpu))].nr_online < 2)
			return VERDICT_OVERLOADED;
		s->sis_prop = true;
		s->scan_began_ns = bpf_ktime_get_ns();
		s->cost = this->cost;
		sis_prop_decay(&s->cost, bpf_jiffies64());
		/* The decayed prediction is stored even if another policy ends the search. */
		this->cost = s->cost;
		s->nr = sis_prop_nr(&s->cost, weight);
	}
	if ((s->feat & SIS_LIMIT) && !cores) {
		s32 next = target->next_cpu - 1;

		if (s->sis_prop)
			s->nr = sis_limit_nr(&s->cost, weight, info->nr_smt);
		if (next >= 0 && next < MAX_CPUS)
			s->scan_start = cpu_infos[at(next)].llc_pos;
	}
	if ((s->feat & SIS_SHORT) && !cores && target->nr_runnable == 1 &&
	    is_short_task(target->curr_dur_avg, min_granularity_ns) &&
	    is_short_task(wakee->dur.dur_avg, min_granularity_ns)) {
		s->cpu = s->target;
		s->reason = PLACED_SHORT;
		return VERDICT_TAKE;
	}
	if (!sis_util_before_scan(s, llc))
		return VERDICT_OVERLOADED;
	if ((s->feat & SIS_PARAM) && !cores)
		return sis_param_before_scan(s, target, wakee, weight);
	return VERDICT_SCAN;
}

static __always_inline bool core_was_probed(struct search *s, u32 cpu)
{
	return s->probed[(cpu / 64) & (MAX_CPUS / 64 - 1)] >> (cpu % 64) & 1;
}

/* select_idle_core(): probes the CPUs of a core, and claims `core` if all are idle. */
static __noinline bool select_idle_core(struct search *s, struct task_struct *p, s32 core)
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
		s->nr_probes++;
		if (!is_idle(cpu)) {
			whole = false;
			if (s->idle_cpu < 0)
				continue;
			break;
		}
		if (s->idle_cpu < 0 && cpu_allowed(p, cpu))
			s->idle_cpu = cpu;
	}
	if (whole && claim_cpu(s, core)) {
		s->cpu = core;
		s->reason = PLACED_CORE;
		return true;
	}
	for (i = 0; i < MAX_SMT; i++) {
		u32 cpu;

		if (i >= info->nr_smt)
			break;
		cpu = info->smt[i];
		s->probed[(cpu / 64) & (MAX_CPUS / 64 - 1)] |= 1ULL << (cpu % 64);
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

/* Scans the LLC. Returns whether an idle CPU was found and claimed. */
static __noinline bool scan_llc(struct search *s, struct task_struct *p, bool cores)
{
	u32 llc, nr, i;

	llc = llc_of(s->target);
	nr = llc_infos[at(llc)].nr;
	if (cores)
		for (i = 0; i < MAX_CPUS / 64; i++)
			s->probed[i] = 0;
	bpf_for(i, 0, nr) {
		s32 cpu = cpu_at(llc, s->scan_start + i);

		if (!cpu_allowed(p, cpu))
			continue;
		if (cores) {
			if (core_was_probed(s, cpu))
				continue;
			if (select_idle_core(s, p, cpu))
				return true;
			continue;
		}
		s->last_probe = cpu;
		if (--s->nr <= 0) {
			s->reason = PLACED_LIMIT;
			return false;
		}
		s->nr_probes++;
		if (claim_if_idle(s, cpu, PLACED_SCAN))
			return true;
	}
	if (s->idle_cpu >= 0 && claim_cpu(s, s->idle_cpu)) {
		s->cpu = s->idle_cpu;
		s->reason = PLACED_CORE_CPU;
		return true;
	}
	s->reason = PLACED_NONE;
	return false;
}

/* Updates the state of SIS_PROP after a scan that its limit did not end, and of SIS_LIMIT after any scan for a CPU. */
static __always_inline void after_scan(struct search *s, bool cores)
{
	struct cpu_state *this = cpu_state_of(s->this_cpu), *target = cpu_state_of(s->target);

	if (!this || !target)
		return;
	if (s->sis_prop) {
		if (s->reason != PLACED_LIMIT)
			sis_prop_after_scan(&s->cost, bpf_ktime_get_ns() - s->scan_began_ns);
		this->cost = s->cost;
	}
	if ((s->feat & SIS_LIMIT) && !cores && s->last_probe >= 0)
		target->next_cpu = s->last_probe + 1;
}

/* SIS_PARAM: counts searches around the target that fail one after another. */
static __always_inline void sis_param_decided(struct search *s)
{
	struct cpu_state *target = cpu_state_of(s->target);

	if (!(s->feat & SIS_PARAM) || !sis_param.failed || !s->domain || !target)
		return;
	switch (s->reason) {
	case PLACED_LIMIT:
	case PLACED_NONE:
		if (target->sis_failed < SIS_FAILED_MAX)
			target->sis_failed++;
		break;
	case PLACED_SCAN:
	case PLACED_SMT:
	case PLACED_CORE:
	case PLACED_CORE_CPU:
		target->sis_failed = 0;
		break;
	default:
		break;
	}
}
