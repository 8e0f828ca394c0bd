/* SPDX-License-Identifier: GPL-2.0-only */
/* ops.select_cpu(), as select_task_rq_fair() of 7.2: chooses the CPU of a task that wakes or is new. */
#pragma once

#define WF_FORK 0x04
#define WF_TTWU 0x08
#define WF_SYNC 0x10
#define WF_CURRENT_CPU 0x40

static __always_inline void count_search(struct search *s, bool found)
{
	struct counts *stats = my_counts();

	stats->sis_search++;
	stats->sis_domain_search += s->domain;
	stats->sis_scanned += s->nr_probes;
	/* Without a domain that spans the LLC there is no search that could fail. */
	stats->sis_failed += s->domain && !found;
	stats->lost_claims += s->lost_claims;
	if (s->reason < NR_REASONS)
		stats->reasons[s->reason]++;
}

static __always_inline void init_search(struct search *s, struct task_struct *p, struct task_state *ts, s32 this_cpu,
				    u64 wake_flags, u64 now)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct cpu_state *this = cpu_state_of(this_cpu), *prev = cpu_state_of(s->prev);

	s->feat = features;
	s->this_cpu = this_cpu;
	s->claimed = false;
	s->domain = false;
	s->sis_prop = false;
	s->lost_claims = 0;
	s->nr_probes = 0;
	s->reason = PLACED_NONE;
	s->idle_cpu = -1;
	s->recent = ts->recent_used_cpu;
	s->sync = (wake_flags & WF_SYNC) && !(current->flags & PF_EXITING);
	s->in_task = in_task();
	s->kthread = (current->flags & PF_KTHREAD) && current->nr_cpus_allowed == 1;
	s->nr_running = this ? this->nr_runnable : 0;
	s->this_load = this ? cpu_load(this, now) : 0;
	s->prev_load = prev == this ? s->this_load : prev ? cpu_load(prev, now) : 0;
	s->wakee_load = ts->avg.load_avg;
}

/* A new task gets an idle core, else an idle CPU, in its own LLC if possible. No search policy applies to it. */
static __always_inline s32 place_new_task(struct search *s, struct task_struct *p, bool *taken)
{
	s32 cpu;

	count(forks);
	s->target = s->prev;
	s->scan_start = cpu_infos[at(s->prev)].llc_pos;
	if (scan_llc(s, p, true)) {
		*taken = true;
		return s->cpu;
	}
	cpu = claim_any_idle_cpu(p->cpus_ptr);
	*taken = cpu >= 0;
	return cpu >= 0 ? cpu : s->prev;
}

/* The previous CPU, or another CPU that the task may use. */
static __always_inline s32 allowed_prev_cpu(struct task_struct *p, s32 prev)
{
	s32 cpu;

	if (cpu_allowed(p, prev))
		return prev;
	bpf_for(cpu, 0, nr_cpus) {
		if (cpu_allowed(p, cpu))
			return cpu;
	}
	return prev;
}

static __always_inline s32 select_task_rq_fair(struct task_struct *p, struct task_state *ts, s32 prev, u64 wake_flags)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 this_cpu = bpf_get_smp_processor_id();
	struct task_state *waker;
	struct search *s;
	bool wide, found, taken = false;
	u64 now = scx_bpf_now();
	u32 pct;
	s32 cpu;

	if (this_cpu >= MAX_CPUS || (u32)prev >= MAX_CPUS)
		return prev;
	s = &searches[at(this_cpu)];
	s->prev = allowed_prev_cpu(p, prev);
	init_search(s, p, ts, this_cpu, wake_flags, now);

	if (!(wake_flags & WF_TTWU)) {
		cpu = place_new_task(s, p, &taken);
		goto out;
	}
	waker = bpf_task_storage_get(&tasks, current, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!waker) {
		cpu = s->prev;
		goto out;
	}
	if ((wake_flags & WF_CURRENT_CPU) && cpu_allowed(p, this_cpu)) {
		record_wakee(&waker->flips, (u64)p, bpf_jiffies64(), hz);
		cpu = this_cpu;
		goto out;
	}
	s->waker_load = waker->avg.load_avg;
	if (recording)
		begin_record(s, now);
	wide = record_and_wake_wide(s, waker, ts, (u64)p);
	s->target = s->prev;
	if (!wide && cpu_allowed(p, this_cpu) && this_cpu != s->prev) {
		pct = affine_domain(this_cpu, s->prev);
		if (pct)
			s->target = wake_affine(s, pct);
	}
	s->has_idle_cores = llc_states[at(llc_of(s->target))].has_idle_cores;
	found = select_idle_sibling(s, p, ts);
	count_search(s, found);
	sis_param_decided(s);
	if (recording)
		end_record(s, p, ts, wake_flags);
	taken = s->claimed;
	cpu = s->cpu;
	ts->stack = s->reason == PLACED_SHORT;
out:
	if (taken) {
		change_dsq(p, ts, restricted(p, ts, llc_of(cpu)) ? cpu : LLC_DSQ + llc_of(cpu));
		if (time_before(p->scx.dsq_vtime, vclock_of(ts->dsq) - slice_ns))
			scx_bpf_task_set_dsq_vtime(p, vclock_of(ts->dsq) - slice_ns);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
		count(direct);
	}
	return cpu;
}
