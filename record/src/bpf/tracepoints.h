/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the function cannot be attached to: its inputs are taken down at sched_waking, just before it, and its choice is
 * inferred. A task that is moved before it is queued was given that CPU; one that is not moved was given its own. No wake
 * flags are to be seen, nor forks and execs.
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

	/* The one before went to another CPU's queue without being moved. */
	if (s && s->active)
		emit(s);
	/* Still queued, or pinned: nothing is chosen. Other classes have priorities below 100. */
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
