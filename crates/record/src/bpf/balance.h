/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Passes of the load balancer: what find_busiest_group() (sched_balance_find_src_group() since 6.10) reads of the CPUs
 * and groups of the domain, and the group that it finds. It holds no lock, so everything is read twice, when it begins
 * and when it ends; the two differ if something has changed meanwhile. It refreshes the capacities of the CPU's own
 * group before it reads them, so that those are of the end.
 */
#pragma once

static __always_inline bool in_mask(const u64 *mask, u64 cpu)
{
	return mask[(cpu / 64) & (MAX_CPUS / 64 - 1)] >> (cpu % 64) & 1;
}

static __always_inline bool has_sched_cache(void)
{
	return bpf_core_field_exists(((struct sched_domain___cache *)0)->llc_counts);
}

static __always_inline u32 prefer_llc(struct rq *rq, u32 dst_cpu)
{
	struct sched_domain___cache *sd = (void *)rq->sd;
	unsigned int *counts;
	u32 count = 0;
	int *id;

	if (!has_sched_cache() || !sd || !&sd_llc_id)
		return 0;
	id = bpf_per_cpu_ptr(&sd_llc_id, dst_cpu);
	counts = BPF_CORE_READ(sd, llc_counts);
	if (!id || !counts || *id < 0 || *id >= BPF_CORE_READ(sd, llc_max))
		return 0;
	bpf_probe_read_kernel(&count, sizeof(count), counts + *id);
	return count;
}

/* The load of the LLC of a CPU, as `sd_llc_shared` has it. */
static __always_inline void take_llc(u32 cpu, u64 *util, u64 *capacity)
{
	struct sched_domain_shared___cache *shared;
	struct sched_domain *sd;
	struct rq *rq;

	*util = *capacity = NO_LLC;
	if (!has_sched_cache() || cpu >= nr_cpus || llc_level[cpu & (MAX_CPUS - 1)] < 0)
		return;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	if (!rq)
		return;
	sd = domain_at(rq, llc_level[cpu & (MAX_CPUS - 1)]);
	if (!sd)
		return;
	shared = (void *)sd->shared;
	if (!shared)
		return;
	*util = BPF_CORE_READ(shared, util_avg);
	*capacity = BPF_CORE_READ(shared, capacity);
}

/* The first CPU of a group; MAX_CPUS for none. */
static __always_inline u32 first_cpu_of(const struct sched_group *group)
{
	u64 word;
	u32 cpu;

	for (u32 at = 0; at < MAX_CPUS / 64; at++) {
		if (at * 64 >= nr_cpus)
			break;
		word = 0;
		bpf_probe_read_kernel(&word, sizeof(word),
				      (void *)group + bpf_core_field_offset(struct sched_group, cpumask) + at * 8);
		if (!word)
			continue;
		cpu = at * 64;
		for (u32 bits = 32; bits; bits /= 2) {
			if (!(word & ((1ULL << bits) - 1))) {
				word >>= bits;
				cpu += bits;
			}
		}
		return cpu;
	}
	return MAX_CPUS;
}

/* A pass writes the load of LLCs if it is a periodic one over the domain that is just above them. */
static __always_inline bool writes_llcs(const struct balance *d)
{
	return d->idle != 2 && d->level == llc_level[d->dst_cpu & (MAX_CPUS - 1)] + 1;
}

static __always_inline void take_balance_cpu(struct cpu_state *c, struct rq *rq, u32 dst_cpu)
{
	__builtin_memset(c, 0, sizeof(*c));
	c->taken = 1;
	c->curr_idle = rq->curr == rq->idle;
	c->ttwu_pending = rq->ttwu_pending != 0;
	c->nr_running = rq->nr_running;
	c->capacity = rq->cpu_capacity;
	c->prefer = prefer_llc(rq, dst_cpu);
	take_fair(c, &rq->cfs);
	/*
	 * A task may wake and sleep again between the two readings, and leave the same numbers behind. These two tell it;
	 * a pass reads nothing of LLCs here, so that they have the place of what it would be.
	 */
	c->has_idle_cores = rq->nr_switches;
	c->nr_idle_scan = rq->cfs.avg.last_update_time >> 10;
}

static __always_inline bool same_cpu(const struct cpu_state *a, const struct cpu_state *b, bool own)
{
	return a->load_avg == b->load_avg && a->nr_running == b->nr_running && a->h_nr_queued == b->h_nr_queued &&
	       a->h_nr_delayed == b->h_nr_delayed && a->runnable_avg == b->runnable_avg &&
	       a->util_avg == b->util_avg && a->util_est == b->util_est && a->curr_idle == b->curr_idle &&
	       a->ttwu_pending == b->ttwu_pending && a->prefer == b->prefer &&
	       a->has_idle_cores == b->has_idle_cores && a->nr_idle_scan == b->nr_idle_scan &&
	       (own || a->capacity == b->capacity);
}

/* Reads a CPU of the domain; `all` is set at the end. Nonzero ends the loop. */
static long balance_cpu_step(u64 cpu, void *data)
{
	struct loop_args *args = data;
	struct balance_scratch *s = (void *)args->s;
	struct cpu_state *c, now;
	struct rq *rq;

	if (cpu >= nr_cpus)
		return 1;
	c = &s->rest[cpu];
	if (!in_mask(s->d.span, cpu)) {
		if (!args->all)
			__builtin_memset(c, 0, sizeof(*c));
		return 0;
	}
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	if (!rq)
		return 1;
	take_balance_cpu(&now, rq, s->d.dst_cpu);
	if (args->all && !same_cpu(c, &now, cpu == s->d.dst_cpu))
		s->d.has |= BALANCE_CHANGED;
	*c = now;
	return 0;
}

/* Reads a group of the domain. Nonzero ends the loop. */
static long balance_group_step(u64 at, void *data)
{
	struct loop_args *args = data;
	struct balance_scratch *s = (void *)args->s;
	struct sched_group *group = (void *)s->group;
	struct sched_domain *sd = (void *)s->sd;
	struct balance_group now, *g;
	u64 dst = s->d.dst_cpu, word = 0;

	if (at >= MAX_GROUPS) {
		s->d.has |= BALANCE_CUT;
		return 1;
	}
	g = &s->d.groups[at];
	now.capacity = BPF_CORE_READ(group, sgc, capacity);
	now.imbalance = BPF_CORE_READ(group, sgc, imbalance) != 0;
	take_llc(first_cpu_of(group), &now.llc_util_after, &now.llc_capacity_after);
	now.llc_util = args->all ? g->llc_util : now.llc_util_after;
	now.llc_capacity = args->all ? g->llc_capacity : now.llc_capacity_after;
	if ((now.llc_util != now.llc_util_after || now.llc_capacity != now.llc_capacity_after) && !writes_llcs(&s->d))
		s->d.has |= BALANCE_CHANGED;
	bpf_probe_read_kernel(&word, sizeof(word),
			      (void *)group + bpf_core_field_offset(struct sched_group, cpumask) + dst / 64 * 8);
	if (args->all && (g->imbalance != now.imbalance || (!(word >> (dst % 64) & 1) && g->capacity != now.capacity)))
		s->d.has |= BALANCE_CHANGED;
	*g = now;
	s->d.nr_groups = at + 1;
	if (s->group == s->busiest)
		s->d.busiest = at;
	s->group = (u64)BPF_CORE_READ(group, next);
	return s->group == (u64)BPF_CORE_READ(sd, groups);
}

static __always_inline void take_balance(struct balance_scratch *s, u32 again)
{
	struct loop_args args = { .s = (void *)s, .all = again };
	struct sched_domain *sd = (void *)s->sd;

	s->group = (u64)BPF_CORE_READ(sd, groups);
	bpf_loop(MAX_GROUPS + 1, balance_group_step, &args, 0);
	FOR_EACH_CPU(balance_cpu_step, &args);
}

/* Whether cache-aware balancing is on; -1: this kernel does not have it. */
static __always_inline s32 sched_cache_state(struct balance *d)
{
	s32 active = 0;

	if (!has_sched_cache() || !&sched_cache_active || !&llc_overaggr_pct || !&llc_imb_pct)
		return -1;
	bpf_probe_read_kernel(&active, sizeof(active), &sched_cache_active);
	/* It is negative while the kernel changes its code for it. */
	if (active < 0)
		d->has |= BALANCE_CHANGED;
	return active > 0;
}

/* What cache-aware balancing reads besides. */
static __always_inline void take_sched_cache(struct balance *d, struct sched_domain *sd)
{
	d->nr_balance_failed = d->llc_overaggr_pct = d->llc_imb_pct = d->pad = 0;
	take_llc(d->dst_cpu, &d->dst_llc_util, &d->dst_llc_capacity);
	d->sched_cache = sched_cache_state(d);
	if (d->sched_cache < 0)
		return;
	d->nr_balance_failed = BPF_CORE_READ(sd, nr_balance_failed);
	bpf_probe_read_kernel(&d->llc_overaggr_pct, sizeof(u32), &llc_overaggr_pct);
	bpf_probe_read_kernel(&d->llc_imb_pct, sizeof(u32), &llc_imb_pct);
}

static __always_inline u64 feature_bits(void)
{
	u32 bits = 0;

	if (&sysctl_sched_features)
		bpf_probe_read_kernel(&bits, 4, &sysctl_sched_features);
	return bits;
}

SEC("fentry/find_busiest_group")
int on_balance_entry(u64 *ctx)
{
	struct lb_env *env = (void *)ctx[0];
	u32 cpu = bpf_get_smp_processor_id();
	struct balance_scratch *s = bpf_map_lookup_elem(&balance_scratches, &cpu);
	struct sched_domain *sd, *at;
	u32 bytes = (nr_cpus + 63) / 64 * 8, dst;
	u64 now = bpf_ktime_get_ns();
	struct rq *rq;

	if (!s)
		return 0;
	s->active = 0;
	if (!counting)
		return 0;
	if (balance_every > 1 && s->seen++ % balance_every)
		return 0;
	sd = BPF_CORE_READ(env, sd);
	dst = BPF_CORE_READ(env, dst_cpu);
	rq = bpf_per_cpu_ptr(&runqueues, dst);
	if (!rq)
		return 0;
	s->sd = (u64)sd;
	s->busiest = 0;
	s->d.kind = KIND_BALANCE;
	s->d.cpus = nr_cpus;
	s->d.t_ns = now;
	s->d.cpu = cpu;
	s->d.dst_cpu = dst;
	s->d.features = feature_bits();
	s->d.has = 0;
	s->d.machine = machine;
	if ((s->d.machine & 1) || (u64)rq->sd != domain_of[dst & (MAX_CPUS - 1)])
		s->d.has |= BALANCE_MACHINE;
	s->d.level = -1;
	at = rq->sd;
	for (int level = 0; level < 8; level++) {
		if (!at)
			break;
		if (at == sd)
			s->d.level = level;
		at = BPF_CORE_READ(at, parent);
	}
	s->d.idle = 1;
	if (BPF_CORE_READ(env, idle) == bpf_core_enum_value(enum cpu_idle_type, CPU_IDLE))
		s->d.idle = 0;
	else if (BPF_CORE_READ(env, idle) == bpf_core_enum_value(enum cpu_idle_type, CPU_NEWLY_IDLE))
		s->d.idle = 2;
	bpf_probe_read_kernel(s->d.span, bytes, (void *)sd + span_offset());
	bpf_probe_read_kernel(s->d.env_cpus, bytes, BPF_CORE_READ(env, cpus));
	take_sched_cache(&s->d, sd);
	take_balance(s, 0);
	s->active = 1;
	return 0;
}

SEC("fexit/find_busiest_group")
int on_balance_exit(u64 *ctx)
{
	struct lb_env *env = (void *)ctx[0];
	u32 cpu = bpf_get_smp_processor_id();
	struct balance_scratch *s = bpf_map_lookup_elem(&balance_scratches, &cpu);
	u32 size = sizeof(s->d) + nr_cpus * sizeof(struct cpu_state);

	if (!s || !s->active)
		return 0;
	s->active = 0;
	s->busiest = ctx[1];
	s->d.busiest = -1;
	take_balance(s, 1);
	if (sched_cache_state(&s->d) != s->d.sched_cache)
		s->d.has |= BALANCE_CHANGED;
	s->d.imbalance = BPF_CORE_READ(env, imbalance);
	s->d.migration_type = BPF_CORE_READ(env, migration_type);
	s->d.features_after = feature_bits();
	if (machine != s->d.machine)
		s->d.has |= BALANCE_MACHINE;
	if (s->d.has & BALANCE_MACHINE)
		machine_changed = 1;
	s->d.dur_ns = bpf_ktime_get_ns() - s->d.t_ns;
	return put_record(&s->d, size, s->d.t_ns);
}
