/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kick is an irq_work of the CPU that kicks. Work that a CPU queues while it goes offline, after smpcfd_dying_cpu()
 * has run its list for the last time, stays in the list. Only the first entry of an empty list raises the interrupt, so
 * that CPU never raises one again when it is back. Its kicks would be lost, and so would sched_ext's own irq_work: a
 * scheduler that is disabled on that CPU would wait in irq_work_sync() for ever. So an offline CPU must not kick.
 */
#pragma once

static __always_inline bool may_kick(void)
{
	return !is_offline(bpf_get_smp_processor_id());
}

static __always_inline void kick(s32 cpu, u64 flags)
{
	if (may_kick())
		scx_bpf_kick_cpu(cpu, flags);
}
