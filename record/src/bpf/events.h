/* SPDX-License-Identifier: GPL-2.0-only */
/* Events between decisions, from which waiting times are computed. */
#pragma once

static __always_inline int put(u32 kind, u32 cpu, s32 a, s32 b, s32 c)
{
	struct event e = {
		.kind = kind, .cpu = cpu, .t_ns = bpf_ktime_get_ns(), .a = a, .b = b, .c = c,
	};

	if (!counting)
		return 0;
	if (!within_rate(&rate_of_events, max_rate * EVENTS_A_DECISION, e.t_ns)) {
		__sync_fetch_and_add(&limited_events, 1);
		return 0;
	}
	if (bpf_ringbuf_output(&ring, &e, sizeof(e), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&lost_events, 1);
	return 0;
}

/* (preempt, prev, next, since 5.18 prev's state) */
SEC("tp_btf/sched_switch")
int on_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	long state;

	if (bpf_core_field_exists(struct task_struct___state, __state))
		state = ((struct task_struct___state *)prev)->__state;
	else
		state = ((struct task_struct___old_state *)prev)->state;
	return put(KIND_SWITCH, bpf_get_smp_processor_id(), prev->pid, next->pid, !ctx[0] && state);
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

/* Every wake-up of any class. If there is a decision, it follows at once on this CPU, because interrupts are off. */
SEC("tp_btf/sched_waking")
int on_waking(u64 *ctx)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);

	if (!s || !counting)
		return 0;
	tally(cpu)->wakings++;
	s->waking = 1;
	return 0;
}
