/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For kernels to whose select_task_rq_fair() no program can be attached. The inputs are recorded at
 * sched_waking, just before the function, and the decision is inferred: a task that migrates before it is queued
 * was given that CPU; one that does not was given its own. Wake flags, forks and execs are not visible.
 */
#pragma once

static __always_inline u32 task_cpu(const struct task_struct *p)
{
	if (bpf_core_field_exists(((struct task_struct___info *)p)->thread_info.cpu))
		return ((struct task_struct___info *)p)->thread_info.cpu;
	return ((struct task_struct___cpu *)p)->cpu;
}

static __always_inline struct scratch *pending(const struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);

	return s && s->active && s->d.wakee.pid == p->pid ? s : 0;
}

SEC("tp_btf/sched_waking")
int infer_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);

	/* The wakee before was queued on another CPU without a migration. */
	if (s && s->active)
		emit(s);
	/* Still queued, or pinned: there is no decision. Other classes have priorities below 100. */
	if (on_rq(p) || p->nr_cpus_allowed == 1 || p->prio < 100)
		return 0;
	return enter(p, task_cpu(p), WF_TTWU);
}

SEC("tp_btf/sched_migrate_task")
int infer_moved(u64 *ctx)
{
	struct scratch *s = pending((void *)ctx[0]);

	if (s)
		leave((void *)ctx[0], ctx[1]);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int infer_woken(u64 *ctx)
{
	struct scratch *s = pending((void *)ctx[0]);

	if (s)
		leave((void *)ctx[0], task_cpu((void *)ctx[0]));
	return 0;
}
