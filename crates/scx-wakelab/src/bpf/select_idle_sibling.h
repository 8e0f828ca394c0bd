/* SPDX-License-Identifier: GPL-2.0-only */
/* select_idle_sibling() of 7.2: the fast paths, the SMT siblings of the previous CPU, and the scan of the LLC. */
#pragma once

static __always_inline bool select_idle_smt(struct search *s, struct task_struct *p)
{
	const volatile struct cpu_info *info = info_of(s->prev);
	u32 i;

	if (!info)
		return false;
	for (i = 0; i < MAX_SMT; i++) {
		s32 cpu;

		if (i >= info->nr_smt)
			break;
		cpu = info->smt[i];
		if (cpu == s->prev)
			continue;
		s->nr_probes++;
		if (!cpu_allowed(p, cpu) || !share_cache(cpu, s->target))
			continue;
		if (claim_if_idle(s, cpu, PLACED_SMT))
			return true;
	}
	return false;
}

/* What follows the fast paths. Returns whether an idle CPU was claimed, or SIS_SHORT chose the target. */
static __always_inline bool search_domain(struct search *s, struct task_struct *p,
					  struct task_state *wakee)
{
	struct llc_state *llc = llc_state_of(llc_of(s->target));
	const volatile struct llc_info *info = &llc_infos[at(llc_of(s->target))];
	bool cores = false, found;
	int verdict;

	s->reason = PLACED_NONE;
	if (!llc || info->nr < 2)
		return false;
	s->domain = true;
	if (smt_active && (s->feat & SIS_CORE))
		cores = s->has_idle_cores;
	if (smt_active && !cores && share_cache(s->prev, s->target) && select_idle_smt(s, p))
		return true;

	s->nr = 0x7fffffff;
	s->idle_cpu = -1;
	s->last_probe = -1;
	s->sis_prop = false;
	s->scan_start = cpu_infos[at(s->target)].llc_pos + 1;
	verdict = before_scan(s, wakee, cores);
	if (verdict == VERDICT_OVERLOADED) {
		s->reason = PLACED_OVERLOADED;
		return false;
	}
	if (verdict == VERDICT_TAKE)
		return true;
	if (cores)
		count(core_scans);
	else if (s->nr < 0x7fffffff) {
		u32 before = s->nr_probes;

		found = scan_llc(s, p, false);
		if (s->nr_probes - before > my_counts()->max_probes)
			my_counts()->max_probes = s->nr_probes - before;
		after_scan(s, false);
		return found;
	}
	found = scan_llc(s, p, cores);
	after_scan(s, cores);
	if (cores && s->reason != PLACED_CORE)
		llc->has_idle_cores = 0;
	return found;
}

/* Returns whether an idle CPU was claimed, or a busy one was chosen on purpose. Else the choice is the target. */
static __always_inline bool select_idle_sibling(struct search *s, struct task_struct *p,
						struct task_state *wakee)
{
	s32 recent;

	s->nr_probes = 1;
	if (asym_fits_cpu(wakee, s->target) && claim_if_idle(s, s->target, PLACED_TARGET))
		return true;
	if (s->prev != s->target && share_cache(s->prev, s->target) && asym_fits_cpu(wakee, s->prev) &&
	    claim_if_idle(s, s->prev, PLACED_PREV))
		return true;
	if (s->kthread && s->in_task && s->prev == s->this_cpu && s->nr_running <= 1 && asym_fits_cpu(wakee, s->prev)) {
		s->cpu = s->prev;
		s->reason = PLACED_KTHREAD;
		return true;
	}
	recent = wakee->recent_used_cpu;
	wakee->recent_used_cpu = s->prev;
	if (recent >= 0 && recent < MAX_CPUS && recent != s->prev && recent != s->target &&
	    share_cache(recent, s->target) && cpu_allowed(p, recent) && asym_fits_cpu(wakee, recent) &&
	    claim_if_idle(s, recent, PLACED_RECENT))
		return true;
	if (asym_capacity)
		return select_idle_capacity(s, p, wakee);
	if (search_domain(s, p, wakee))
		return true;
	s->cpu = s->target;
	return false;
}
