/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kicks are work of an interrupt that a CPU raises at itself (irq_work). What is queued when a CPU goes, after
 * smpcfd_dying_cpu() has run its list for the last time, stays in it; and as an interrupt is raised only by what comes
 * first into an empty list, the CPU raises none ever again when it is back. Its kicks would be lost, and sched_ext's
 * own work too: a scheduler that is told to leave there would wait in irq_work_sync() for ever.
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
