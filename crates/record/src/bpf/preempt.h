/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wake-up preemption: what check_preempt_wakeup() (up to 6.5), check_preempt_wakeup_fair() (6.6 to 6.18) or
 * wakeup_preempt_fair() (in 7.2) reads of the queue that a task has joined, and what it does. The caller holds the
 * lock of that queue, so that the queue stays the same in between, whichever CPU runs meanwhile. The functions have the
 * same arguments; the recorder attaches to the one that the kernel has.
 */
#pragma once

/* Policies of the fair class. */
#define SCHED_NORMAL 0
#define SCHED_BATCH 3
#define SCHED_IDLE 5
/* `NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET`. */
#define NOT_IN_TASK 0x00ff0100

static __always_inline bool is_fair(const struct task_struct *p)
{
	return p->prio >= 100 && p->prio < 140 &&
	       (p->policy == SCHED_NORMAL || p->policy == SCHED_BATCH || p->policy == SCHED_IDLE);
}

static __always_inline bool is_eevdf(void)
{
	return bpf_core_field_exists(((struct sched_entity___eevdf *)0)->deadline);
}

static __always_inline struct task_struct *task_of(const struct sched_entity *se)
{
	return (void *)se - bpf_core_field_offset(struct task_struct, se);
}

static __always_inline void take_queued(struct queued_task *t, const struct sched_entity *se)
{
	const struct sched_entity___eevdf *e = (const void *)se;
	const struct task_struct *p = task_of(se);

	t->vruntime = BPF_CORE_READ(se, vruntime);
	t->exec_start = BPF_CORE_READ(se, exec_start);
	t->weight = BPF_CORE_READ(se, load.weight) >> 10; /* scale_load_down() */
	t->pid = BPF_CORE_READ(p, pid);
	t->policy = BPF_CORE_READ(p, policy);
	t->static_prio = BPF_CORE_READ(p, static_prio);
	bpf_core_read(&t->on_rq, 1, &((const struct sched_entity___byte *)se)->on_rq);
	t->deadline = t->slice = t->vlag = t->vprot = 0;
	t->sched_delayed = t->rel_deadline = t->custom_slice = 0;
	if (is_eevdf()) {
		t->deadline = BPF_CORE_READ(e, deadline);
		t->slice = BPF_CORE_READ(e, slice);
		t->vlag = BPF_CORE_READ(e, vlag);
	}
	if (bpf_core_field_exists(e->vprot))
		t->vprot = BPF_CORE_READ(e, vprot);
	if (bpf_core_field_exists(e->sched_delayed))
		t->sched_delayed = BPF_CORE_READ(e, sched_delayed);
	if (bpf_core_field_exists(e->rel_deadline))
		t->rel_deadline = BPF_CORE_READ(e, rel_deadline);
	if (bpf_core_field_exists(e->custom_slice))
		t->custom_slice = BPF_CORE_READ(e, custom_slice);
}

static __always_inline u32 nr_entities(const struct cfs_rq *cfs)
{
	const struct cfs_rq___queued *queued = (const void *)cfs;
	const struct cfs_rq___running *running = (const void *)cfs;

	if (bpf_core_field_exists(queued->nr_queued))
		return BPF_CORE_READ(queued, nr_queued);
	return BPF_CORE_READ(running, nr_running);
}

static __always_inline u32 nr_tasks(const struct cfs_rq *cfs)
{
	const struct cfs_rq___old *old = (const void *)cfs;

	if (bpf_core_field_exists(cfs->h_nr_queued))
		return BPF_CORE_READ(cfs, h_nr_queued);
	return BPF_CORE_READ(old, h_nr_running);
}

static __always_inline s32 pid_of(const struct sched_entity *se)
{
	return se ? BPF_CORE_READ(task_of(se), pid) : 0;
}

static __always_inline void take_state(struct preempt_state *s, struct rq *rq, const struct task_struct *curr)
{
	const struct cfs_rq *cfs = &rq->cfs;
	const struct cfs_rq___eevdf *eevdf = (const void *)cfs;
	const struct cfs_rq___cfs *old = (const void *)cfs;
	const struct cfs_rq___sums *sums = (const void *)cfs;
	const struct task_struct___info *info = (const void *)curr;

	take_queued(&s->curr, &curr->se);
	s->nr_queued = nr_entities(cfs);
	s->next = pid_of(BPF_CORE_READ(cfs, next));
	s->last = 0;
	s->sum_w_vruntime = s->sum_weight = s->sum_shift = s->virtual_time = 0;
	if (bpf_core_field_exists(eevdf->zero_vruntime))
		s->virtual_time = BPF_CORE_READ(eevdf, zero_vruntime);
	else if (bpf_core_field_exists(old->min_vruntime))
		s->virtual_time = BPF_CORE_READ(old, min_vruntime);
	if (bpf_core_field_exists(old->last))
		s->last = pid_of(BPF_CORE_READ(old, last));
	if (bpf_core_field_exists(eevdf->avg_load)) {
		s->sum_w_vruntime = BPF_CORE_READ(eevdf, avg_vruntime);
		s->sum_weight = BPF_CORE_READ(eevdf, avg_load);
	} else if (bpf_core_field_exists(sums->sum_weight)) {
		s->sum_w_vruntime = BPF_CORE_READ(sums, sum_w_vruntime);
		s->sum_weight = BPF_CORE_READ(sums, sum_weight);
	}
	if (bpf_core_field_exists(sums->sum_shift))
		s->sum_shift = BPF_CORE_READ(sums, sum_shift);
	s->thread_flags = BPF_CORE_READ(info, thread_info.flags);
	s->features = 0;
	if (&sysctl_sched_features)
		bpf_probe_read_kernel(&s->features, 4, &sysctl_sched_features);
}

/* Where a walk over the tree comes to a node from. */
enum { FROM_ABOVE, FROM_LEFT, FROM_HERE, FROM_RIGHT };

/* One step of a walk over the waiting tasks in order. Nonzero ends it. */
static long walk_step(u64 at, void *data)
{
	struct loop_args *args = data;
	struct preempt_scratch *s = (void *)args->s;
	struct rb_node *node = (void *)s->node, *to;
	u64 count;

	if (!node)
		return 1;
	if (s->from == FROM_ABOVE) {
		to = BPF_CORE_READ(node, rb_left);
		if (to) {
			s->node = (u64)to;
			return 0;
		}
		s->from = FROM_LEFT;
	}
	if (s->from == FROM_LEFT) {
		count = s->d.waiting;
		if (count >= MAX_WAITING) {
			s->d.has |= PREEMPT_CUT;
			return 1;
		}
		take_queued(&s->waiting[count], (void *)node - bpf_core_field_offset(struct sched_entity, run_node));
		s->d.waiting = count + 1;
		to = BPF_CORE_READ(node, rb_right);
		if (to) {
			s->node = (u64)to;
			s->from = FROM_ABOVE;
			return 0;
		}
	}
	to = (void *)(BPF_CORE_READ(node, __rb_parent_color) & ~3UL);
	s->from = to && BPF_CORE_READ(to, rb_left) == node ? FROM_LEFT : FROM_RIGHT;
	s->node = (u64)to;
	return 0;
}

static __always_inline u32 tunable(const void *variable)
{
	u32 value = 0;

	if (variable)
		bpf_probe_read_kernel(&value, sizeof(value), variable);
	return value;
}

/* Whether the queue has entities of groups: of the two tasks, or others. */
static __always_inline bool has_groups(struct rq *rq, const struct task_struct *curr, const struct task_struct *p)
{
	if (nr_entities(&rq->cfs) != nr_tasks(&rq->cfs))
		return true;
	if (!bpf_core_field_exists(((struct sched_entity *)0)->parent))
		return false;
	return BPF_CORE_READ(curr, se.parent) || BPF_CORE_READ(p, se.parent);
}

SEC("fentry/check_preempt_wakeup_fair")
int on_preempt_entry(u64 *ctx)
{
	struct rq *rq = (void *)ctx[0];
	struct task_struct *p = (void *)ctx[1], *curr = rq->curr;
	u32 cpu = bpf_get_smp_processor_id();
	struct preempt_scratch *s = bpf_map_lookup_elem(&preempt_scratches, &cpu);
	struct loop_args args = { .s = (void *)s };
	u64 now = bpf_ktime_get_ns();

	if (!s)
		return 0;
	s->active = 0;
	if (!counting || !curr || curr == p || !is_fair(curr) || !is_fair(p) || !wanted(curr, p))
		return 0;
	if (sample_every > 1 && s->seen++ % sample_every)
		return 0;
	s->d.kind = KIND_PREEMPT;
	s->d.cpu = rq->cpu;
	s->d.t_ns = now;
	s->d.clock_task = rq->clock_task;
	s->d.waker_cpu = cpu;
	s->d.wakee_pid = p->pid;
	s->d.wake_flags = ctx[2];
	s->d.in_task = !(preempt_count() & NOT_IN_TASK);
	s->d.has = 0;
	s->d.waiting = 0;
	if (is_eevdf())
		s->d.has |= PREEMPT_EEVDF;
	if (bpf_core_field_exists(((struct sched_entity___eevdf *)0)->vprot))
		s->d.has |= PREEMPT_VPROT;
	if (bpf_core_field_exists(((struct rq___donor *)0)->donor) && ((struct rq___donor *)rq)->donor != curr)
		s->d.has |= PREEMPT_PROXY;
	s->d.base_slice = tunable(&sysctl_sched_base_slice);
	s->d.migration_cost = tunable(&sysctl_sched_migration_cost);
	s->d.wakeup_granularity = tunable(&sysctl_sched_wakeup_granularity);
	s->d.nr_latency = tunable(&sched_nr_latency);
	__builtin_memcpy(s->d.curr_comm, (const void *)curr->comm, sizeof(s->d.curr_comm));
	__builtin_memcpy(s->d.wakee_comm, (const void *)p->comm, sizeof(s->d.wakee_comm));
	if (has_groups(rq, curr, p)) {
		s->d.has |= PREEMPT_GROUPS;
	} else {
		s->node = (u64)BPF_CORE_READ(rq, cfs.tasks_timeline.rb_root.rb_node);
		s->from = FROM_ABOVE;
		bpf_loop(MAX_TREE_STEPS, walk_step, &args, 0);
		if (s->node)
			s->d.has |= PREEMPT_CUT;
	}
	take_state(&s->d.before, rq, curr);
	s->active = 1;
	return 0;
}

SEC("fexit/check_preempt_wakeup_fair")
int on_preempt_exit(u64 *ctx)
{
	struct rq *rq = (void *)ctx[0];
	struct task_struct *curr = rq->curr;
	u32 cpu = bpf_get_smp_processor_id();
	struct preempt_scratch *s = bpf_map_lookup_elem(&preempt_scratches, &cpu);
	u64 size;

	if (!s || !s->active || !curr)
		return 0;
	s->active = 0;
	take_state(&s->d.after, rq, curr);
	size = s->d.waiting;
	if (size > MAX_WAITING)
		return 0;
	size = sizeof(s->d) + size * sizeof(struct queued_task);
	return put_record(&s->d, size, s->d.t_ns);
}
