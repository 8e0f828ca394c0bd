/* SPDX-License-Identifier: GPL-2.0-only */
/* Idle CPUs, and how a waker makes one its own. */
#pragma once

#define NOT_IN_TASK (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)

/* in_task(). bpf_in_task() asks for the kernel's configuration, which not every machine shows. */
static __always_inline bool in_task(void)
{
	return !(get_preempt_count() & NOT_IN_TASK);
}

/* is_migration_disabled() of scx, for the same reason without its configuration: a probe found what the prolog does. */
static __always_inline bool migration_disabled(struct task_struct *p)
{
	u32 depth = p->migration_disabled;

	if (depth == 1 && p == bpf_get_current_task_btf())
		return !__scx_prolog_disables_migration;
	return depth;
}

/* A decision under way, one for each CPU that wakes. In a map, so that the verifier need not follow its numbers. */
struct search {
	u64 feat;
	u64 done[MAX_CPUS / 64];	/* CPUs of cores that were walked over */
	struct scan_cost cost;
	u64 started;
	s32 this_cpu;
	s32 prev;
	s32 target;
	s32 cpu;			/* the choice */
	s32 idle_cpu;			/* met while looking for a core */
	s32 nr;
	s32 last;
	u32 start;			/* place in the LLC where the walk begins */
	u32 looks;
	u32 reason;
	u32 lost;
	bool claimed;
	bool sis_prop;
	bool domain;
	/* What the decision read, for its record. */
	s32 recent;
	bool sync;
	bool in_task;
	bool kthread;
	u32 nr_running;
	u64 this_load, prev_load;
	u64 waker_load, wakee_load;
	u32 waker_flips_before, waker_flips, wakee_flips;
	bool last_wakee_is_p, decay_due;
	s32 scans;			/* nr_idle_scan, by LLC of target, as read */
	bool has_idle_cores;
};

struct search searches[MAX_CPUS];

/*
 * The idle CPUs, by bit. Kept here and not by the kernel, so that a look costs a load and a claim one atomic
 * operation. A CPU is idle from when it finds nothing to run until somebody claims it or something runs.
 */
u64 idle_cpus[MAX_CPUS / 64];

static __always_inline u64 *idle_word(u32 cpu)
{
	return &idle_cpus[(cpu / 64) & (MAX_CPUS / 64 - 1)];
}

static __always_inline bool is_idle(u32 cpu)
{
	return *(volatile u64 *)idle_word(cpu) >> (cpu % 64) & 1;
}

static __always_inline void set_idle(u32 cpu, bool idle)
{
	u64 bit = 1ULL << (cpu % 64);

	if (idle == is_idle(cpu))
		return;
	if (!idle)
		__sync_fetch_and_and(idle_word(cpu), ~bit);
	else if (!is_offline(cpu))
		__sync_fetch_and_or(idle_word(cpu), bit);
}

/* Whether it idles, whatever the bits say: whoever has claimed it may have found another place for the task. */
static __always_inline bool runs_nothing(s32 cpu)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq && rq->curr == rq->idle;
}

/* Whether it was idle and is the caller's now. */
static __always_inline bool test_and_clear_idle(u32 cpu)
{
	u64 bit = 1ULL << (cpu % 64);

	return __sync_fetch_and_and(idle_word(cpu), ~bit) & bit;
}

/* An idle CPU of those: it is the caller's then. -1 if there is none. */
static __always_inline s32 pick_idle(const struct cpumask *may)
{
	u32 i;

	bpf_for(i, 0, nr_cpus) {
		if (is_idle(i) && bpf_cpumask_test_cpu(i, may) && test_and_clear_idle(i))
			return i;
	}
	return -1;
}

/* Takes an idle CPU: of two wakers that saw it idle one gets it. */
static __always_inline bool claim(struct search *s, s32 cpu)
{
	if (test_and_clear_idle(cpu)) {
		s->claimed = true;
		return true;
	}
	s->lost++;
	return false;
}

/* choose_idle_cpu(), and the claim with it. A CPU with tasks of SCHED_IDLE is busy here: it cannot be claimed. */
static __always_inline bool take(struct search *s, s32 cpu, u32 reason)
{
	if (!is_idle(cpu) || !claim(s, cpu))
		return false;
	s->cpu = cpu;
	s->reason = reason;
	return true;
}

static __always_inline bool allowed(const struct task_struct *p, s32 cpu)
{
	/* Without another branch, of which the verifier would go both ways at each CPU of a walk. */
	return (int)bpf_cpumask_test_cpu(cpu, p->cpus_ptr) & (int)!cpu_states[at((u32)cpu)].offline;
}

static __always_inline bool core_is_idle_but(s32 cpu)
{
	const volatile struct cpu_info *info = info_of(cpu);
	u32 i;

	if (!info)
		return false;
	for (i = 0; i < MAX_SMT; i++) {
		if (i >= info->nr_smt)
			break;
		if (info->smt[i] != cpu && !is_idle(info->smt[i]) && !is_offline(info->smt[i]))
			return false;
	}
	return true;
}

/* __update_idle_core(): the CPU goes idle, and with it maybe its core. */
static __always_inline void update_idle_core(s32 cpu)
{
	struct llc_state *llc = llc_state_of(llc_of(cpu));

	if (smt_active && llc && !llc->has_idle_cores && core_is_idle_but(cpu))
		llc->has_idle_cores = 1;
}
