// SPDX-License-Identifier: GPL-2.0
/* A scheduler that misbehaves in ops.enqueue(), as `mode` says: for tests of how that is told. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

const volatile u32 mode;
u64 bound = 1;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, 1);
} counts SEC(".maps");

s32 BPF_STRUCT_OPS(misbehaves_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

void BPF_STRUCT_OPS(misbehaves_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 zero = 0;
	volatile u64 *count = bpf_map_lookup_elem(&counts, &zero);

	if (p->nr_cpus_allowed == 1) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	switch (mode) {
	case 1: /* it never ends */
		while (bound)
			barrier();
		break;
	case 2: /* a read beyond the value */
		if (count)
			count[0] = count[1];
		break;
	case 3: /* memory that is never freed */
		while (bpf_cpumask_create())
			barrier();
		break;
	case 4: /* a task that nobody dispatches */
		return;
	case 5:
		scx_bpf_error("mode %u, flags %llx", mode, enq_flags);
		return;
	}
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(misbehaves_ops,
	       .select_cpu		= (void *)misbehaves_select_cpu,
	       .enqueue			= (void *)misbehaves_enqueue,
	       .timeout_ms		= 1000,
	       .name			= "misbehaves");
