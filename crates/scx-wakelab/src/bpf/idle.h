/* SPDX-License-Identifier: GPL-2.0-only */
/* Idle CPUs, and how a waker claims one. */
#pragma once

#define NOT_IN_TASK (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)

/* in_task(). bpf_in_task() reads the kernel's configuration, which is not available on every machine. */
static __always_inline bool in_task(void)
{
	return !(get_preempt_count() & NOT_IN_TASK);
}

/*
 * is_migration_disabled() of the scx headers, which reads the configuration, too. A test program found out whether the
 * prolog of BPF programs disables migration.
 */
static __always_inline bool migration_disabled(struct task_struct *p)
{
	u32 depth = p->migration_disabled;

	if (depth == 1 && p == bpf_get_current_task_btf())
		return !__scx_prolog_disables_migration;
	return depth;
}

/* The decision that a waking CPU is making. It is in a map, so that the verifier does not track its values. */
struct search {
	u64 feat;
	u64 probed[MAX_CPUS / 64];	/* CPUs of cores that the scan has probed */
	struct scan_cost cost;
	u64 scan_began_ns;
	s32 this_cpu;
	s32 prev;
	s32 target;
	s32 cpu;			/* the choice */
	s32 idle_cpu;			/* found during the scan for an idle core */
	s32 nr;
	s32 last_probe;
	u32 scan_start;			/* position in the LLC where the scan begins */
	u32 nr_probes;
	u32 reason;
	u32 lost_claims;
	bool claimed;
	bool sis_prop;
	bool domain;
	/* Inputs of the decision, for its record. */
	s32 recent;
	bool sync;
	bool in_task;
	bool kthread;
	u32 nr_running;
	u64 this_load, prev_load;
	u64 waker_load, wakee_load;
	u32 waker_flips_before, waker_flips, wakee_flips;
	bool last_wakee_is_p, decay_due;
	s32 nr_idle_scan;		/* of the LLC of the target */
	bool has_idle_cores;
};

struct search searches[MAX_CPUS];

/*
 * The idle CPUs, as a bit mask. The program keeps it, not the kernel, so that a probe costs one load and a claim one
 * atomic operation. A CPU is idle from the time that it finds no task to run until a waker claims it or a task runs.
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

/* Whether the idle task runs, even if the CPU is claimed: the task that it was claimed for may have gone elsewhere. */
static __always_inline bool curr_is_idle(s32 cpu)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq && rq->curr == rq->idle;
}

/* Claims a CPU. Returns false if it was not idle. */
static __always_inline bool test_and_clear_idle(u32 cpu)
{
	u64 bit = 1ULL << (cpu % 64);

	return __sync_fetch_and_and(idle_word(cpu), ~bit) & bit;
}

/* Claims any idle CPU of a mask. Returns -1 if there is none. */
static __always_inline s32 claim_any_idle_cpu(const struct cpumask *may)
{
	u32 i;

	bpf_for(i, 0, nr_cpus) {
		if (is_idle(i) && bpf_cpumask_test_cpu(i, may) && test_and_clear_idle(i))
			return i;
	}
	return -1;
}

/* Claims an idle CPU. If two wakers saw it idle, one of them gets it. */
static __always_inline bool claim_cpu(struct search *s, s32 cpu)
{
	if (test_and_clear_idle(cpu)) {
		s->claimed = true;
		return true;
	}
	s->lost_claims++;
	return false;
}

/* choose_idle_cpu(), with the claim. A CPU with only SCHED_IDLE tasks counts as busy, because it cannot be claimed. */
static __always_inline bool claim_if_idle(struct search *s, s32 cpu, u32 reason)
{
	if (!is_idle(cpu) || !claim_cpu(s, cpu))
		return false;
	s->cpu = cpu;
	s->reason = reason;
	return true;
}

static __always_inline bool cpu_allowed(const struct task_struct *p, s32 cpu)
{
	/* Without a branch: the verifier would follow both sides of it for each CPU of a scan. */
	return (int)bpf_cpumask_test_cpu(cpu, p->cpus_ptr) & (int)!cpu_states[at((u32)cpu)].offline;
}

static __always_inline bool is_core_idle(s32 cpu)
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

/* __update_idle_core(), called when the CPU goes idle. */
static __always_inline void __update_idle_core(s32 cpu)
{
	struct llc_state *llc = llc_state_of(llc_of(cpu));

	if (smt_active && llc && !llc->has_idle_cores && is_core_idle(cpu))
		llc->has_idle_cores = 1;
}
