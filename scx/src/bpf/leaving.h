/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU that goes. sched_ext asks it for no more dispatches, and up to 7.2.11 leaves what waits at it to whoever takes
 * it: a task that may run nowhere else stays, and where others have taken the last, balance_push() does not look again,
 * so that balance_hotplug_wait() waits for ever. 7.2.12 has "Fix CPU hotplug hang when a dying CPU's tasks sit in the
 * BPF scheduler".
 */
#pragma once

static __always_inline bool waits_to_go(s32 cpu, struct cpu_state *cs)
{
	struct rq *rq;

	if (!cs->offline)
		return false;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	return rq && bpf_core_field_exists(rq->hotplug_wait) && rq->hotplug_wait.task;
}

/* What waits at it runs there once more, so that the kernel pushes it off; and it is made to look. */
static __noinline int let_go(s32 cpu)
{
	struct cpu_state *cs = cpu_state_of(cpu);
	struct task_struct *p;

	if (!cs || !waits_to_go(cpu, cs))
		return 0;
	bpf_for_each(scx_dsq, p, cpu, 0)
		scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | cpu, 0);
	/* By itself, too: it waits, and runs its list still. */
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	return 0;
}
