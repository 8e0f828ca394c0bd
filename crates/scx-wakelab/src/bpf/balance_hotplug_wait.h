/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU that goes offline. sched_ext no longer calls ops.dispatch() for it, and up to 7.2.11 leaves the tasks in its
 * queue there. A task that may run nowhere else stays, and if other CPUs have pulled the last task, balance_push() does
 * not check again, so that balance_hotplug_wait() waits for ever. 7.2.12 has "Fix CPU hotplug hang when a dying CPU's
 * tasks sit in the BPF scheduler".
 */
#pragma once

static __always_inline bool in_hotplug_wait(s32 cpu, struct cpu_state *cs)
{
	struct rq *rq;

	if (!cs->offline)
		return false;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	return rq && bpf_core_field_exists(rq->hotplug_wait) && rq->hotplug_wait.task;
}

/* Moves the tasks of its queue to its local DSQ, from where the kernel pushes them off, and kicks the CPU. */
static __noinline int drain_for_hotplug(s32 cpu)
{
	struct cpu_state *cs = cpu_state_of(cpu);
	struct task_struct *p;

	if (!cs || !in_hotplug_wait(cpu, cs))
		return 0;
	bpf_for_each(scx_dsq, p, cpu, 0)
		scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | cpu, 0);
	/* The CPU may kick itself here: it still runs its irq_work list while it waits. */
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	return 0;
}
