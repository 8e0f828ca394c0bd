// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler that says it goes on if CPUs come and go, and forgets what it queues for those that are offline: each
 * task has a CPU of its own, in whose queue it waits, and only that CPU takes it from there.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

static u64 queue_of(struct task_struct *p)
{
	return p->pid % scx_bpf_nr_cpu_ids();
}

s32 BPF_STRUCT_OPS(offline_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(offline_enqueue, struct task_struct *p, u64 enq_flags)
{
	/* Tasks that may not run everywhere have no such queue. */
	if (p->nr_cpus_allowed != scx_bpf_nr_cpu_ids()) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	scx_bpf_dsq_insert(p, queue_of(p), SCX_SLICE_DFL, enq_flags);
	scx_bpf_kick_cpu(queue_of(p), 0);
}

void BPF_STRUCT_OPS(offline_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(cpu, 0);
}

void BPF_STRUCT_OPS(offline_cpu_online, s32 cpu)
{
}

void BPF_STRUCT_OPS(offline_cpu_offline, s32 cpu)
{
}

s32 BPF_STRUCT_OPS_SLEEPABLE(offline_init)
{
	u32 cpu;
	s32 ret;

	bpf_for(cpu, 0, scx_bpf_nr_cpu_ids()) {
		ret = scx_bpf_create_dsq(cpu, -1);
		if (ret)
			return ret;
	}
	return 0;
}

SCX_OPS_DEFINE(offline_ops,
	       .select_cpu		= (void *)offline_select_cpu,
	       .enqueue			= (void *)offline_enqueue,
	       .dispatch		= (void *)offline_dispatch,
	       .cpu_online		= (void *)offline_cpu_online,
	       .cpu_offline		= (void *)offline_cpu_offline,
	       .init			= (void *)offline_init,
	       .timeout_ms		= 1000,
	       .name			= "offline");
