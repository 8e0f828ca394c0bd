/* SPDX-License-Identifier: GPL-2.0-only */
/* select_idle_sibling(): the fast paths, the siblings of the previous CPU, and the walk. */
#pragma once

/* select_idle_smt() */
static __always_inline bool take_sibling(struct search *s, struct task_struct *p)
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
		s->looks++;
		if (!allowed(p, cpu) || !share_cache(cpu, s->target))
			continue;
		if (take(s, cpu, WHY_SMT))
			return true;
	}
	return false;
}

/* Past the fast paths; false where nothing idle was taken. */
static __always_inline bool search_domain(struct search *s, struct task_struct *p,
					  struct task_state *wakee)
{
	struct llc_state *llc = llc_state_of(llc_of(s->target));
	const volatile struct llc_info *info = &llc_infos[at(llc_of(s->target))];
	bool cores = false, found;
	int word;

	s->reason = WHY_NONE;
	if (!llc || info->nr < 2)
		return false;
	s->domain = true;
	if (smt_active && (s->feat & SIS_CORE))
		cores = s->has_idle_cores;
	if (smt_active && !cores && share_cache(s->prev, s->target) && take_sibling(s, p))
		return true;

	s->nr = 0x7fffffff;
	s->idle_cpu = -1;
	s->last = -1;
	s->sis_prop = false;
	s->start = cpu_infos[at(s->target)].llc_pos + 1;
	word = policies_before(s, wakee, cores);
	if (word == WORD_OVERLOADED) {
		s->reason = WHY_OVERLOADED;
		return false;
	}
	if (word == WORD_TAKE)
		return true;
	if (cores)
		count(core_walks);
	else if (s->nr < 0x7fffffff) {
		u32 before = s->looks;

		found = walk(s, p, false);
		if (s->looks - before > my_counts()->most_looks)
			my_counts()->most_looks = s->looks - before;
		policies_after(s, false);
		return found;
	}
	found = walk(s, p, cores);
	policies_after(s, cores);
	if (cores && s->reason != WHY_CORE)
		llc->has_idle_cores = 0;
	return found;
}

/* Whether an idle CPU was taken, or one was chosen that is to be waited for; else it is the target. */
static __always_inline bool select_idle_sibling(struct search *s, struct task_struct *p,
						struct task_state *wakee)
{
	s32 recent;

	s->looks = 1;
	if (fits(wakee, s->target) && take(s, s->target, WHY_TARGET))
		return true;
	if (s->prev != s->target && share_cache(s->prev, s->target) && fits(wakee, s->prev) &&
	    take(s, s->prev, WHY_PREV))
		return true;
	if (s->kthread && s->in_task && s->prev == s->this_cpu && s->nr_running <= 1 && fits(wakee, s->prev)) {
		s->cpu = s->prev;
		s->reason = WHY_KTHREAD;
		return true;
	}
	recent = wakee->recent_used_cpu;
	wakee->recent_used_cpu = s->prev;
	if (recent >= 0 && recent < MAX_CPUS && recent != s->prev && recent != s->target &&
	    share_cache(recent, s->target) && allowed(p, recent) && fits(wakee, recent) &&
	    take(s, recent, WHY_RECENT))
		return true;
	if (asym_capacity)
		return search_capacity(s, p, wakee);
	if (search_domain(s, p, wakee))
		return true;
	s->cpu = s->target;
	return false;
}
