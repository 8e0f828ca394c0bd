/* SPDX-License-Identifier: GPL-2.0-only */
/* Events between decisions, from which waiting times are computed. */
#pragma once

static __always_inline int put_record(const void *record, u32 size, u64 now)
{
	if (!counting)
		return 0;
	if (!within_rate(&rate_of_events, max_rate * EVENTS_A_DECISION, now)) {
		__sync_fetch_and_add(&limited_events, 1);
		return 0;
	}
	if (bpf_ringbuf_output(&ring, (void *)record, size, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&lost_events, 1);
	return 0;
}

static __always_inline int put(u32 kind, u32 cpu, s32 a, s32 b, s32 c)
{
	struct event e = {
		.kind = kind, .cpu = cpu, .t_ns = bpf_ktime_get_ns(), .a = a, .b = b, .c = c,
	};

	return put_record(&e, sizeof(e), e.t_ns);
}

/* Writes the last wake-up of this CPU, if no decision came of it. */
static __always_inline void put_undecided(struct scratch *s)
{
	if (!s->pending)
		return;
	s->pending = 0;
	put_record(&s->undecided, sizeof(s->undecided), s->undecided.t_ns);
}

/* (preempt, prev, next, since 5.18 prev's state) */
SEC("tp_btf/sched_switch")
int on_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	long state;

	if (s)
		put_undecided(s);
	if (bpf_core_field_exists(struct task_struct___state, __state))
		state = ((struct task_struct___state *)prev)->__state;
	else
		state = ((struct task_struct___old_state *)prev)->state;
	return put(KIND_SWITCH, cpu, prev->pid, next->pid, !ctx[0] && state);
}

/* (task, destination) */
SEC("tp_btf/sched_migrate_task")
int on_migration(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	return put(KIND_MIGRATION, bpf_get_smp_processor_id(), p->pid, task_cpu(p), ctx[1]);
}

/* (state, cpu): the state is -1 if the CPU leaves it */
SEC("tp_btf/cpu_idle")
int on_idle(u64 *ctx)
{
	return put(KIND_IDLE, ctx[1], ctx[0], 0, 0);
}

/* (kHz, cpu) */
SEC("tp_btf/cpu_frequency")
int on_frequency(u64 *ctx)
{
	return put(KIND_FREQUENCY, ctx[1], ctx[0], 0, 0);
}

static __always_inline void take_undecided(struct scratch *s, u32 cpu, const struct task_struct *p)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	struct waking *w = &s->undecided;
	struct task_struct *waker;

	if (!rq)
		return;
	waker = rq->curr;
	if (!waker || !wanted(waker, p))
		return;
	w->kind = KIND_WAKING;
	w->cpu = cpu;
	w->t_ns = bpf_ktime_get_ns();
	w->waker_pid = waker->pid;
	w->wakee_pid = p->pid;
	w->task_cpu = task_cpu(p);
	w->preempt_count = preempt_count();
	w->policy = p->policy;
	w->flags = p->flags;
	w->static_prio = p->static_prio;
	w->nr_cpus_allowed = p->nr_cpus_allowed;
	__builtin_memcpy(w->waker_comm, (const void *)waker->comm, sizeof(w->waker_comm));
	__builtin_memcpy(w->wakee_comm, (const void *)p->comm, sizeof(w->wakee_comm));
	s->pending = 1;
}

/* Every wake-up of any class. If there is a decision, it follows at once on this CPU, because interrupts are off. */
SEC("tp_btf/sched_waking")
int on_waking(u64 *ctx)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	struct task_struct *p = (void *)ctx[0];

	if (!s || !counting)
		return 0;
	tally(cpu)->wakings++;
	s->waking = 1;
	if (wakings_too) {
		put_undecided(s);
		take_undecided(s, cpu, p);
	}
	return 0;
}
