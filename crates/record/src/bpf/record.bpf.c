// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records what select_task_rq_fair() reads when it begins, and what it returns. The waker holds p->pi_lock with
 * interrupts off, so nothing else runs on this CPU in between.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "wire.h"
#include "config.h"
#include "h_load.h"
#include "snapshot.h"
#include "describe.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline bool named(const struct task_struct *p)
{
	char comm[16];

	if (bpf_core_read(comm, sizeof(comm), &p->comm))
		return false;
	for (int i = 0; i < 15; i++) {
		if (i >= filter_comm_len)
			return true;
		if (comm[i] != filter_comm[i])
			return false;
	}
	return true;
}

/* A task is not found in the group if its own group is deeper below it than this. */
#define MAX_ANCESTORS 32

static __always_inline bool in_cgroup(const struct task_struct *p)
{
	struct cgroup *group = p->cgroups->dfl_cgrp;
	struct cgroup_subsys_state *up;

	for (int i = 0; i < MAX_ANCESTORS; i++) {
		if (!group)
			return false;
		if (group->kn->id == filter_cgroup)
			return true;
		up = group->self.parent;
		if (!up)
			return false;
		group = up->cgroup;
	}
	return false;
}

static __always_inline bool wanted(const struct task_struct *waker, const struct task_struct *p)
{
	if (filter_pid && waker->pid != filter_pid && waker->tgid != filter_pid && p->pid != filter_pid &&
	    p->tgid != filter_pid)
		return false;
	if (filter_comm_len && !named(waker) && !named(p))
		return false;
	if (filter_cgroup && !in_cgroup(p) && !in_cgroup(waker))
		return false;
	return true;
}

static __always_inline bool sampled(struct scratch *s)
{
	return sample_every <= 1 || s->seen++ % sample_every == 0;
}

/* Each window of 10 ms has its share of the limit for a second, for the whole system. */
static __always_inline bool within_rate(struct rate *rate, u64 most, u64 now)
{
	u64 window = now / WINDOW_NS, of_second = window % WINDOWS;
	u64 share = most * (of_second + 1) / WINDOWS - most * of_second / WINDOWS;

	if (!most)
		return true;
	if (rate->window != window) {
		rate->window = window;
		rate->used = 0;
	}
	/* Not atomic: it does no harm if the limit is exceeded by a few. */
	if (rate->used >= share)
		return false;
	rate->used++;
	return true;
}

/* Whether to record the decision, which is counted either way. */
static __always_inline bool chosen(struct scratch *s, u32 cpu, const struct task_struct *waker,
				   const struct task_struct *p, u64 now)
{
	if (!wanted(waker, p)) {
		tally(cpu)->filtered++;
		return false;
	}
	if (!sampled(s)) {
		tally(cpu)->sampled++;
		return false;
	}
	if (!within_rate(&rate_of_decisions, max_rate, now)) {
		tally(cpu)->limited++;
		return false;
	}
	return true;
}

static __always_inline int enter(struct task_struct *p, int prev_cpu, u32 wake_flags)
{
	u64 now = bpf_ktime_get_ns();
	u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	struct task_struct *waker;

	if (!s || !rq)
		return 0;
	s->active = 0;
	waker = rq->curr;
	if (!waker)
		return 0;
	/* A wake-up that was counted is followed to its end. */
	if (!counting && !s->waking)
		return 0;
	tally(cpu)->choices++;
	if (!(wake_flags & (WF_FORK | WF_EXEC))) {
		tally(cpu)->woken += s->waking;
		s->waking = 0;
		s->pending = 0;
	}
	if (!chosen(s, cpu, waker, p, now))
		return 0;
	s->d.machine = machine;
	s->d.changed = (s->d.machine & 1) || (u64)rq->sd != domain_of[cpu & (MAX_CPUS - 1)];
	s->slow = snapshot_mode == SNAPSHOT_NONE ? 0 : !!(wake_flags & (WF_FORK | WF_EXEC));
	take_tasks(&s->d, waker, p, rq);
	s->d.kind = KIND_DECISION;
	s->d.t_ns = now;
	s->d.waker_cpu = cpu;
	s->d.prev_cpu = prev_cpu;
	s->d.wake_flags = wake_flags;
	/* These hold if there is no exit (tracepoints). */
	s->d.chosen_cpu = prev_cpu;
	s->d.h_load_moved = 0;
	s->d.recent_used_cpu_after = s->d.recent_used_cpu;
	s->d.waker.flips_after = s->d.waker.flips_before;
	s->d.wakee.flips_after = s->d.wakee.flips_before;
	take_cpus(s, cpu, prev_cpu);
	s->active = 1;
	return 0;
}

/* Writes the record to the ring buffer. */
static __always_inline int emit(struct scratch *s)
{
	u32 cpu = bpf_get_smp_processor_id();
	u32 size = sizeof(s->d);

	s->active = 0;
	take_idle_again(s);
	s->d.dur_ns = bpf_ktime_get_ns() - s->d.t_ns;
	if (machine != s->d.machine)
		s->d.changed = 1;
	if (s->d.changed)
		machine_changed = 1;
	s->d.cpus = snapshot_mode == SNAPSHOT_NONE ? 0 : nr_cpus;
	s->d.slow = s->slow ? nr_cpus : 0;
	if (snapshot_mode != SNAPSHOT_NONE)
		size += nr_cpus * sizeof(struct cpu_state);
	if (s->slow)
		size += nr_cpus * sizeof(struct cpu_slow);
	if (size > sizeof(s->d) + nr_cpus * (sizeof(struct cpu_state) + sizeof(struct cpu_slow)))
		return 0;
	if (bpf_ringbuf_output(&ring, &s->d, size, BPF_RB_NO_WAKEUP))
		tally(cpu)->lost++;
	else
		tally(cpu)->kept++;
	return 0;
}

static __always_inline int leave(struct task_struct *p, int chosen)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	struct task_struct *waker;
	u64 now;

	if (!s || !rq || !s->active)
		return 0;
	s->active = 0;
	waker = rq->curr;
	if (!waker)
		return 0;
	s->d.chosen_cpu = chosen;
	s->d.recent_used_cpu_after = p->recent_used_cpu;
	s->d.waker.flips_after = waker->wakee_flips;
	s->d.wakee.flips_after = p->wakee_flips;
	/* The first reader in a jiffy refreshes h_load, so the kernel may have read it after a refresh. */
	now = bpf_jiffies64();
	if (now != s->d.jiffies)
		s->d.h_load_moved = task_h_load(p, now) != s->d.wakee.h_load ||
				    task_h_load(waker, now) != s->d.waker.h_load;
	return emit(s);
}

/* The function has had these arguments since 5.11. The recorder refuses kernels before 5.13. */
SEC("fentry/select_task_rq_fair")
int on_entry(u64 *ctx)
{
	return enter((struct task_struct *)ctx[0], ctx[1], ctx[2]);
}

SEC("fexit/select_task_rq_fair")
int on_exit(u64 *ctx)
{
	return leave((struct task_struct *)ctx[0], ctx[3]);
}

#include "tracepoints.h"
#include "events.h"
#include "task_groups.h"
#include "preempt.h"
#include "balance.h"
