/* SPDX-License-Identifier: GPL-2.0-only */
/* The record of a decision: its inputs when it began, the chosen CPU, and which CPUs were idle when it ended. */
#pragma once

#define MAX_RECORDED_LLCS 64
#define MASK_WORDS (MAX_CPUS / 64)

struct recorded_cpu {
	u64 load_avg;
	u32 util_avg;
	u32 runnable_avg;
	u32 util_est;
	u32 nr_running;
};

struct recorded_llc {
	s32 nr_idle_scan;
	u32 has_idle_cores;
};

struct record {
	u64 t_ns;
	u64 dur_ns;
	u64 features;
	u64 jiffies;
	u64 waker_load, wakee_load;
	u64 load_weight;
	u64 util_avg, runnable_avg, util_est;
	u64 wake_stamp, wake_avg_idle, avg_idle, avg_scan_cost;
	s32 waker_cpu, waker_pid, wakee_pid;
	u32 waker_policy, wakee_policy;
	u32 waker_flags, wakee_flags;
	u32 waker_allowed, wakee_allowed;
	s32 static_prio;
	s32 prev_cpu, chosen_cpu;
	s32 recent, recent_after;
	u32 wake_flags;
	u32 reason;
	u32 lost_claims;
	u32 in_task;
	u32 waker_flips_before, waker_flips, wakee_flips;
	u32 last_wakee_is_p, decay_due;
	u32 offline;
	char waker_comm[16];
	char wakee_comm[16];
	u64 affinity[MASK_WORDS];
	u64 idle[MASK_WORDS];
	u64 idle_exit[MASK_WORDS];
	struct recorded_llc llcs[MAX_RECORDED_LLCS];
};

struct record_buffer {
	struct record head;
	struct recorded_cpu cpus[MAX_CPUS];
};

const volatile bool recording;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record_buffer);
} buffers SEC(".maps");

static __always_inline void copy_mask(u64 *to, const struct cpumask *from)
{
	bpf_probe_read_kernel(to, ((nr_cpus + 63) / 64 * 8) & (MASK_WORDS * 8 - 1) ?: MASK_WORDS * 8, from);
}

static __always_inline void copy_idle(u64 *to)
{
	u32 i;

	for (i = 0; i < MASK_WORDS; i++)
		to[i] = *(volatile u64 *)&idle_cpus[i];
}

/* Records the inputs, when the decision begins. */
static __noinline int begin_record(struct search *s, u64 now)
{
	struct record_buffer *to;
	u32 key = 0, i;

	to = bpf_map_lookup_elem(&buffers, &key);
	if (!to)
		return 0;
	to->head.t_ns = bpf_ktime_get_ns();
	copy_idle(to->head.idle);
	bpf_for(i, 0, nr_cpus) {
		struct cpu_state *cs = cpu_state_of(i);

		if (!cs || i >= MAX_CPUS)
			break;
		to->cpus[at(i)].load_avg = i == s->this_cpu ? s->this_load : i == s->prev ? s->prev_load : cpu_load(cs, now);
		to->cpus[at(i)].util_avg = cpu_util_avg(cs, now);
		to->cpus[at(i)].runnable_avg = cs->avg.runnable_avg;
		to->cpus[at(i)].util_est = cs->util_est;
		to->cpus[at(i)].nr_running = i == s->this_cpu ? s->nr_running : cs->nr_runnable;
	}
	bpf_for(i, 0, nr_llcs) {
		if (i >= MAX_RECORDED_LLCS)
			break;
		to->head.llcs[i].nr_idle_scan = llc_states[at(i)].nr_idle_scan;
		to->head.llcs[i].has_idle_cores = llc_states[at(i)].has_idle_cores;
	}
	if ((u32)s->this_cpu < MAX_CPUS) {
		struct cpu_state *cs = &cpu_states[at((u32)s->this_cpu)];

		to->head.jiffies = bpf_jiffies64();
		to->head.wake_stamp = cs->cost.wake_stamp;
		to->head.wake_avg_idle = cs->cost.wake_avg_idle;
		to->head.avg_idle = cs->avg_idle;
		to->head.avg_scan_cost = cs->cost.avg_scan_cost;
	}
	return 0;
}

/* Records the choice and outputs the record, when the decision ends. */
static __noinline int end_record(struct search *s, struct task_struct *p, struct task_state *wakee, u64 wake_flags)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct record_buffer *to;
	struct record *r;
	u32 key = 0, cpu;
	u64 size;

	to = bpf_map_lookup_elem(&buffers, &key);
	if (!to)
		return 0;
	r = &to->head;
	copy_idle(r->idle_exit);
	cpu = s->cpu;
	/* The decision itself has claimed this CPU. */
	if (s->claimed && cpu < MAX_CPUS)
		r->idle_exit[cpu / 64] |= 1ULL << (cpu % 64);
	copy_mask(r->affinity, p->cpus_ptr);
	r->features = s->feat;
	r->waker_load = s->waker_load;
	r->wakee_load = s->wakee_load;
	r->load_weight = wakee->nice_weight;
	r->util_avg = wakee->avg.util_avg;
	r->runnable_avg = wakee->avg.runnable_avg;
	r->util_est = _task_util_est(wakee->avg.util_est);
	r->waker_cpu = s->this_cpu;
	r->waker_pid = waker->pid;
	r->wakee_pid = p->pid;
	r->waker_policy = waker->policy;
	r->wakee_policy = p->policy;
	r->waker_flags = waker->flags;
	r->wakee_flags = p->flags;
	r->waker_allowed = waker->nr_cpus_allowed;
	r->wakee_allowed = p->nr_cpus_allowed;
	r->static_prio = p->static_prio;
	r->prev_cpu = s->prev;
	r->chosen_cpu = s->cpu;
	r->recent = s->recent;
	r->recent_after = wakee->recent_used_cpu;
	r->wake_flags = wake_flags;
	r->reason = s->reason;
	r->lost_claims = s->lost_claims;
	r->in_task = s->in_task;
	r->waker_flips_before = s->waker_flips_before;
	r->waker_flips = s->waker_flips;
	r->wakee_flips = s->wakee_flips;
	r->last_wakee_is_p = s->last_wakee_is_p;
	r->decay_due = s->decay_due;
	r->offline = nr_offline;
	bpf_probe_read_kernel_str(r->waker_comm, sizeof(r->waker_comm), waker->comm);
	bpf_probe_read_kernel_str(r->wakee_comm, sizeof(r->wakee_comm), p->comm);
	r->dur_ns = bpf_ktime_get_ns() - r->t_ns;
	size = nr_cpus;
	if (size > MAX_CPUS)
		size = MAX_CPUS;
	size = sizeof(*r) + size * sizeof(struct recorded_cpu);
	if (bpf_ringbuf_output(&ring, to, size, BPF_RB_NO_WAKEUP))
		count(lost_records);
	else
		count(recorded);
	return 0;
}
