/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads one group of a scheduling domain when the recorder requests it (BPF_PROG_TEST_RUN). */
#pragma once

u32 ask_cpu = 0;
u32 ask_level = 0;
/* The group to describe; 0 for the first. */
u64 ask_group = 0;
struct domain_part part = {};
u64 now_jiffies = 0;
u64 now_ns = 0;

/* The offset of a domain's span, a flexible array at the end of the type, which has no name since 7.2. */
static __always_inline u32 span_offset(void)
{
	if (bpf_core_field_exists(((struct sched_domain___span *)0)->span))
		return bpf_core_field_offset(struct sched_domain___span, span);
	return bpf_core_type_size(struct sched_domain);
}

SEC("raw_tp")
int describe(void *ctx)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, ask_cpu);
	struct sched_domain *sd;
	struct sched_group *group;
	u32 bytes = (nr_cpus + 63) / 64 * 8;
	char *name;

	part.domain = 0;
	part.sd_llc_size = 0;
	part.cpu_capacity_orig = 0;
	now_jiffies = bpf_jiffies64();
	now_ns = bpf_ktime_get_ns();
	part.exists = 0;
	part.sd_llc_id = -1;
	if (&sd_llc_id) {
		int *id = bpf_per_cpu_ptr(&sd_llc_id, ask_cpu);

		if (id)
			part.sd_llc_id = *id;
	}
	if (&sd_llc_size) {
		int *size = bpf_per_cpu_ptr(&sd_llc_size, ask_cpu);

		if (size)
			part.sd_llc_size = *size;
	}
	if (!rq)
		return 0;
	if (bpf_core_field_exists(((struct rq___orig *)rq)->cpu_capacity_orig))
		part.cpu_capacity_orig = ((struct rq___orig *)rq)->cpu_capacity_orig;
	sd = rq->sd;
	for (int level = 0; level < 16; level++) {
		if (level >= ask_level || !sd)
			break;
		sd = BPF_CORE_READ(sd, parent);
	}
	if (!sd)
		return 0;
	part.exists = 1;
	part.domain = (u64)sd;
	part.flags = BPF_CORE_READ(sd, flags);
	part.imbalance_pct = BPF_CORE_READ(sd, imbalance_pct);
	part.imb_numa_nr = 0;
	if (bpf_core_field_exists(sd->imb_numa_nr))
		part.imb_numa_nr = BPF_CORE_READ(sd, imb_numa_nr);
	part.span_weight = BPF_CORE_READ(sd, span_weight);
	bpf_probe_read_kernel(part.span, bytes, (void *)sd + span_offset());
	part.name[0] = 0;
	if (bpf_core_field_exists(sd->name)) {
		name = BPF_CORE_READ(sd, name);
		bpf_probe_read_kernel_str(part.name, sizeof(part.name), name);
	}
	part.first_group = (u64)BPF_CORE_READ(sd, groups);
	group = (void *)(ask_group ? ask_group : part.first_group);
	part.next_group = (u64)BPF_CORE_READ(group, next);
	part.group_flags = 0;
	if (bpf_core_field_exists(group->flags))
		part.group_flags = BPF_CORE_READ(group, flags);
	part.group_weight = BPF_CORE_READ(group, group_weight);
	part.group_capacity = BPF_CORE_READ(group, sgc, capacity);
	bpf_probe_read_kernel(part.group, bytes, (void *)group + bpf_core_field_offset(struct sched_group, cpumask));
	return 0;
}
