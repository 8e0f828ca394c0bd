/* SPDX-License-Identifier: GPL-2.0-only */
/* The inputs of a decision. */
#pragma once

#define UTIL_AVG_UNCHANGED 0x80000000U

static __always_inline u32 util_est(const struct sched_avg *avg, bool task)
{
	const struct sched_avg___pair *pair = (const void *)avg;
	u32 enqueued, ewma;

	if (!bpf_core_field_exists(struct sched_avg___pair, util_est.enqueued))
		return avg->util_est & ~UTIL_AVG_UNCHANGED;
	enqueued = pair->util_est.enqueued & ~UTIL_AVG_UNCHANGED;
	ewma = pair->util_est.ewma;
	return task && ewma > enqueued ? ewma : enqueued;
}

static __always_inline void take_task(struct task_state *t, const struct task_struct *p, u64 jiffies)
{
	t->pid = p->pid;
	t->tgid = p->tgid;
	t->policy = p->policy;
	t->flags = p->flags;
	t->static_prio = p->static_prio;
	t->nr_cpus_allowed = p->nr_cpus_allowed;
	t->flips_before = p->wakee_flips;
	t->load_avg = p->se.avg.load_avg;
	t->load_weight = p->se.load.weight >> 10; /* scale_load_down() */
	t->h_load = task_h_load(p, jiffies);
	__builtin_memcpy(t->comm, (const void *)p->comm, sizeof(t->comm));
}

static __always_inline u32 preempt_count(void)
{
	if (&pcpu_hot) {
		struct pcpu_hot *hot = bpf_this_cpu_ptr(&pcpu_hot);

		return hot->preempt_count;
	}
	if (&__preempt_count) {
		int *count = bpf_this_cpu_ptr(&__preempt_count);

		return *count;
	}
	return 0;
}

static __always_inline u64 on_rq(const struct task_struct *p)
{
	if (bpf_core_field_size(((struct task_struct___int *)0)->on_rq) == sizeof(int))
		return ((const struct task_struct___int *)p)->on_rq == 1; /* TASK_ON_RQ_QUEUED */
	return ((const struct task_struct___byte *)p)->on_rq == 1;
}

/* The domain of this CPU at this level. */
static __always_inline struct sched_domain *domain_at(struct rq *rq, int level)
{
	struct sched_domain *sd = rq->sd;

	for (int l = 0; l < 8; l++) {
		if (l >= level || !sd)
			break;
		sd = sd->parent;
	}
	return sd;
}

static __always_inline void take_tasks(struct decision *d, const struct task_struct *waker,
				       const struct task_struct *p, struct rq *rq)
{
	u64 jiffies = bpf_jiffies64();

	take_task(&d->waker, waker, jiffies);
	take_task(&d->wakee, p, jiffies);
	d->util_avg = p->se.avg.util_avg;
	d->runnable_avg = p->se.avg.runnable_avg;
	d->util_est = util_est(&p->se.avg, true);
	d->preempt_count = preempt_count();
	d->last_wakee_is_p = waker->last_wakee == p;
	d->flip_decay_due = (s64)(waker->wakee_flip_decay_ts + hz - jiffies) < 0;
	d->last_update_time_set = p->se.avg.last_update_time != 0;
	d->on_rq = on_rq(p);
	d->recent_used_cpu = p->recent_used_cpu;
	d->numa_preferred_nid = -1;
	if (bpf_core_field_exists(p->numa_preferred_nid))
		d->numa_preferred_nid = p->numa_preferred_nid;
	bpf_probe_read_kernel(d->affinity, (nr_cpus + 63) / 64 * 8, p->cpus_ptr);
	d->features = 0;
	if (&sysctl_sched_features) /* unsigned int up to 6.18, then wider; no kernel has more than 32 */
		bpf_probe_read_kernel(&d->features, 4, &sysctl_sched_features);
	d->jiffies = jiffies;
	d->avg_idle = rq->avg_idle;
	d->has = 0;
	d->wake_stamp = d->wake_avg_idle = d->avg_scan_cost = 0;
	if (bpf_core_field_exists(rq->wake_avg_idle)) {
		d->wake_stamp = rq->wake_stamp;
		d->wake_avg_idle = rq->wake_avg_idle;
		d->has |= HAS_WAKE_AVG_IDLE;
	}
	d->sd_llc_size = 1;
	if (&sd_llc_size) {
		int *size = bpf_this_cpu_ptr(&sd_llc_size);

		d->sd_llc_size = *size;
	}
	if (bpf_core_field_exists(((struct sched_domain *)0)->avg_scan_cost)) {
		struct sched_domain *sd = domain_at(rq, llc_level[d->waker_cpu & (MAX_CPUS - 1)]);

		if (sd) {
			d->avg_scan_cost = sd->avg_scan_cost;
			d->has |= HAS_SCAN_COST;
		}
	}
}

/* The arguments of a step of the loop over the CPUs. */
struct loop_args {
	struct scratch *s;
	s32 own;
	s32 other;
	u32 all;
};

/*
 * Calls `step` for each CPU. The verifier checks a bpf_loop() once for all CPUs. It checks a plain loop CPU by
 * CPU, which may be too much for it on a large machine.
 */
#define FOR_EACH_CPU(step, args)                                     \
	do {                                                         \
		if (has_bpf_loop) {                                  \
			bpf_loop(nr_cpus, step, args, 0);            \
		} else {                                             \
			for (u64 cpu = 0; cpu < MAX_CPUS; cpu++)     \
				if (cpu >= nr_cpus || step(cpu, args)) \
					break;                       \
		}                                                    \
	} while (0)

static __always_inline struct cpu_state *state_of(struct scratch *s, u64 cpu)
{
	return (struct cpu_state *)(s->rest + cpu * sizeof(struct cpu_state));
}

static __always_inline void take_fair(struct cpu_state *c, struct cfs_rq *cfs)
{
	const struct cfs_rq___old *old = (const void *)cfs;

	if (bpf_core_field_exists(cfs->h_nr_queued))
		c->h_nr_queued = cfs->h_nr_queued;
	else
		c->h_nr_queued = old->h_nr_running;
	if (bpf_core_field_exists(cfs->h_nr_runnable))
		c->h_nr_delayed = c->h_nr_queued - cfs->h_nr_runnable;
	else if (bpf_core_field_exists(old->h_nr_delayed))
		c->h_nr_delayed = old->h_nr_delayed;
	else
		c->h_nr_delayed = 0;
	if (bpf_core_field_exists(cfs->h_nr_idle))
		c->h_nr_idle = cfs->h_nr_idle;
	else
		c->h_nr_idle = old->idle_h_nr_running;
	c->load_avg = cfs->avg.load_avg;
	c->runnable_avg = cfs->avg.runnable_avg;
	c->util_avg = cfs->avg.util_avg;
	c->util_est = util_est(&cfs->avg, false);
}

static __always_inline void take_slow(struct scratch *s, u64 cpu, struct rq *rq)
{
	struct cpu_slow *slow = (struct cpu_slow *)(s->rest + nr_cpus * sizeof(struct cpu_state) +
						    cpu * sizeof(struct cpu_slow));
	struct sched_domain *sd = rq->sd;
	struct cpuidle_state *idle;

	slow->idle_stamp = rq->idle_stamp;
	slow->exit_latency = -1;
	/* Without CPU_IDLE, no CPU is ever in an idle state. */
	if (bpf_core_field_exists(rq->idle_state)) {
		idle = rq->idle_state;
		if (idle)
			slow->exit_latency = idle->exit_latency;
	}
	slow->imbalance = 0;
#pragma unroll
	for (int level = 0; level < MAX_LEVELS; level++) {
		slow->capacity[level] = 0;
		if (sd) {
			struct sched_group_capacity *sgc = sd->groups->sgc;

			slow->capacity[level] = sgc->capacity;
			if (sgc->imbalance)
				slow->imbalance |= 1 << level;
			sd = sd->parent;
		}
	}
}

static __always_inline void take_cpu(struct scratch *s, u64 cpu, struct rq *rq)
{
	struct cpu_state *c = state_of(s, cpu);

	c->taken = 1;
	c->curr_idle = rq->curr == rq->idle;
	c->ttwu_pending = rq->ttwu_pending != 0;
	c->nr_running = rq->nr_running;
	c->capacity = rq->cpu_capacity;
	take_fair(c, &rq->cfs);
	c->has_idle_cores = c->nr_idle_scan = 0;
	if (llc_first[cpu] == cpu && llc_level[cpu] >= 0) {
		struct sched_domain *sd = domain_at(rq, llc_level[cpu]);

		if (sd) {
			struct sched_domain_shared *shared = sd->shared;

			if (shared) {
				c->has_idle_cores = shared->has_idle_cores;
				if (bpf_core_field_exists(shared->nr_idle_scan))
					c->nr_idle_scan = shared->nr_idle_scan;
			}
		}
	}
}

/*
 * Records the state of a CPU. Nonzero ends the loop. `cpu` has 64 bits so that the verifier uses the check as
 * its bound.
 */
static long take_step(u64 cpu, void *data)
{
	struct loop_args *args = data;
	struct scratch *s = args->s;
	struct rq *rq;

	if (cpu >= nr_cpus)
		return 1;
	if (!args->all && llc_first[cpu] != args->own && llc_first[cpu] != args->other) {
		state_of(s, cpu)->taken = 0;
		return 0;
	}
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	if (!rq)
		return 1;
	if ((u64)rq->sd != domain_of[cpu])
		s->d.changed = 1;
	take_cpu(s, cpu, rq);
	if (s->slow)
		take_slow(s, cpu, rq);
	return 0;
}

static __always_inline void take_cpus(struct scratch *s, u32 waker_cpu, u32 prev_cpu)
{
	struct loop_args args = {
		.s = s,
		.own = llc_first[waker_cpu & (MAX_CPUS - 1)],
		.other = llc_first[prev_cpu & (MAX_CPUS - 1)],
		.all = snapshot_mode == SNAPSHOT_FULL || s->slow,
	};

	if (snapshot_mode != SNAPSHOT_NONE)
		FOR_EACH_CPU(take_step, &args);
}

/* Records whether idle_cpu() is true at the end of the decision, for a CPU whose state was recorded. */
static long idle_step(u64 cpu, void *data)
{
	struct loop_args *args = data;
	struct scratch *s = args->s;
	struct cpu_state *c;
	struct rq *rq;

	if (cpu >= nr_cpus)
		return 1;
	c = state_of(s, cpu);
	if (!c->taken)
		return 0;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	if (!rq)
		return 1;
	if ((u64)rq->sd != domain_of[cpu])
		s->d.changed = 1;
	c->idle_exit = rq->curr == rq->idle && !rq->nr_running && !rq->ttwu_pending;
	return 0;
}

static __always_inline void take_idle_again(struct scratch *s)
{
	struct loop_args args = { .s = s };

	if (snapshot_mode != SNAPSHOT_NONE)
		FOR_EACH_CPU(idle_step, &args);
}
