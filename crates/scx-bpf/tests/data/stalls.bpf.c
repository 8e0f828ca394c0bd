// SPDX-License-Identifier: GPL-2.0
/*
 * Three stalls that were reported of schedulers of the public collection (github.com/sched-ext/scx), each with the
 * part of the scheduler that made it; `mode` says which.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

const volatile u32 mode;

enum {
	/* scx_rustland, issue 353: a task in the queue of an idle CPU, which is not kicked. */
	NEVER_KICKED = 1,
	/* scx_layered, pull request 3537: the queue of a layer without CPUs, which nobody consumes. */
	EMPTY_LAYER = 2,
	/* scx_p2dq, pull request 1678, and scx_lavd, issue 3750: a task that is bound to a CPU, in the queue of a
	 * domain that the CPU is not in. */
	BOUND_ELSEWHERE = 3,
};

#define PER_CPU		0x100
#define LAYER		0x200
#define DOMAIN		0x300

static u32 domain_of(s32 cpu)
{
	return (u32)cpu >= scx_bpf_nr_cpu_ids() / 2;
}

s32 BPF_STRUCT_OPS(stalls_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(stalls_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 last = scx_bpf_nr_cpu_ids() - 1;
	u32 half;

	switch (mode) {
	case NEVER_KICKED:
		scx_bpf_dsq_insert(p, PER_CPU + last, SCX_SLICE_DFL, enq_flags);
		return;
	case EMPTY_LAYER:
		/* Tasks above nice 0 are in the second layer. */
		scx_bpf_dsq_insert(p, LAYER + (p->static_prio > 120), SCX_SLICE_DFL, enq_flags);
		return;
	case BOUND_ELSEWHERE:
		half = domain_of(scx_bpf_task_cpu(p));
		/* Of a task that may not run in all of the machine, the other domain. */
		if (p->nr_cpus_allowed != last + 1)
			half = !half;
		scx_bpf_dsq_insert(p, DOMAIN + half, SCX_SLICE_DFL, enq_flags);
		scx_bpf_kick_cpu(half ? last : 0, SCX_KICK_IDLE);
		return;
	}
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(stalls_dispatch, s32 cpu, struct task_struct *prev)
{
	switch (mode) {
	case NEVER_KICKED:
		scx_bpf_dsq_move_to_local(PER_CPU + cpu, 0);
		return;
	case EMPTY_LAYER:
		/* All CPUs are the first layer's. */
		scx_bpf_dsq_move_to_local(LAYER, 0);
		return;
	case BOUND_ELSEWHERE:
		scx_bpf_dsq_move_to_local(DOMAIN + domain_of(cpu), 0);
		return;
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(stalls_init)
{
	s32 nr = scx_bpf_nr_cpu_ids(), cpu, ret;

	bpf_for(cpu, 0, nr) {
		ret = scx_bpf_create_dsq(PER_CPU + cpu, -1);
		if (ret)
			return ret;
	}
	bpf_for(cpu, 0, 2) {
		ret = scx_bpf_create_dsq(LAYER + cpu, -1) ?: scx_bpf_create_dsq(DOMAIN + cpu, -1);
		if (ret)
			return ret;
	}
	return 0;
}

SCX_OPS_DEFINE(stalls_ops,
	       .select_cpu		= (void *)stalls_select_cpu,
	       .enqueue			= (void *)stalls_enqueue,
	       .dispatch		= (void *)stalls_dispatch,
	       .init			= (void *)stalls_init,
	       .timeout_ms		= 1000,
	       .name			= "stalls");
