/* SPDX-License-Identifier: GPL-2.0-only */
/* The callbacks for changes of tasks and CPUs. The kernel calls them under the run queue lock of the CPU. */
#pragma once

static __always_inline void post_init_entity_util_avg(struct task_state *ts, struct cpu_state *cs, s32 cpu)
{
	s64 cap = ((s64)cpu_infos[at(cpu)].capacity - (s64)cs->avg.util_avg) >> 1;
	u64 util = 0;

	ts->avg.load_avg = ts->load_weight;
	if (cap > 0) {
		util = cs->avg.util_avg ? cs->avg.util_avg * ts->load_weight / (cs->avg.load_avg + 1) : (u64)cap;
		if (util > (u64)cap)
			util = cap;
	}
	ts->avg.util_avg = util;
	ts->avg.runnable_avg = util;
	ts->has_avg = true;
}

static __always_inline void task_runnable(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *cs = cpu_state_of(cpu);
	struct task_state *ts = task_state_of(p);
	u64 now = scx_bpf_now();

	if (!cs || !ts || ts->runnable)
		return;
	update_cpu_load_avg(cs, cpu, now);
	if (!ts->has_avg)
		post_init_entity_util_avg(ts, cs, cpu);
	if (ts->cpu == cpu)
		update_task_load_avg(ts, cs, now);
	else
		migrate_task_avg(ts, cs, cpu, now);
	ts->runnable = true;
	ts->waits_since = now;
	enqueue_sums(ts, cs);
	enter_group(ts);
	update_cpuperf(cs, cpu);
}

static __always_inline void task_running(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *cs = cpu_state_of(cpu);
	struct task_state *ts = task_state_of(p);
	u64 now = scx_bpf_now();
	u32 llc = llc_of(cpu);

	if (!cs || !ts)
		return;
	update_cpu_load_avg(cs, cpu, now);
	if (ts->cpu != cpu)
		migrate_task_avg(ts, cs, cpu, now);
	else
		update_task_load_avg(ts, cs, now);
	/* Another CPU or LLC may have pulled it from its queue. */
	if (ts->dsq >= LLC_DSQ ? ts->dsq != LLC_DSQ + llc : ts->dsq != (u32)cpu)
		change_dsq(p, ts, ts->dsq >= LLC_DSQ ? LLC_DSQ + llc : (u32)cpu);
	set_idle(cpu, false);
	record_wait(p, ts, now);
	ts->running = true;
	ts->since = now;
	if (ts->group)
		update_task_weight(ts);
	move_clocks(p, ts, cs);
	cs->curr_vtime = p->scx.dsq_vtime;
	cs->curr_weight = ts->weight;
	cs->curr_dsq = ts->dsq;
	cs->curr_dur_avg = ts->dur.dur_avg;
	cs->curr_pid = p->pid;
	cs->curr_since = now;
	update_cpuperf(cs, cpu);
}

static __always_inline void task_stopping(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *cs = cpu_state_of(cpu);
	struct task_state *ts = task_state_of(p);
	u64 now = scx_bpf_now();

	if (!cs || !ts)
		return;
	update_cpu_load_avg(cs, cpu, now);
	update_task_load_avg(ts, cs, now);
	charge(p, ts, cs, now);
	ts->waits_since = now;
	ts->running = false;
	cs->curr_since = 0;
	cs->curr_dur_avg = 0;
}

static __always_inline void task_quiescent(struct task_struct *p, u64 deq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *cs = cpu_state_of(cpu), *at;
	struct task_state *ts = task_state_of(p);
	u64 now = scx_bpf_now();

	if (!cs || !ts || !ts->runnable)
		return;
	at = cpu_state_of(ts->cpu);
	update_cpu_load_avg(cs, cpu, now);
	if (at == cs)
		update_task_load_avg(ts, cs, now);
	ts->runnable = false;
	if (at)
		dequeue_sums(ts, at);
	leave_group(ts);
	if (deq_flags & SCX_DEQ_SLEEP) {
		util_est_update(&ts->avg);
		dur_avg_update(&ts->dur, ts->sum_exec);
	}
	update_cpuperf(cs, cpu);
}

static __always_inline void task_tick(struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *cs = cpu_state_of(cpu);
	struct task_state *ts = task_state_of(p);
	u64 now = scx_bpf_now();

	if (!cs || !ts)
		return;
	update_cpu_load_avg(cs, cpu, now);
	update_task_load_avg(ts, cs, now);
	update_cpuperf(cs, cpu);
}

static __always_inline void cpu_idle(s32 cpu, bool idle)
{
	struct cpu_state *cs = cpu_state_of(cpu);
	u64 now = scx_bpf_now();

	if (!cs)
		return;
	set_idle(cpu, idle);
	if (!idle) {
		if (cs->idle_since && now > cs->idle_since)
			cs->avg_idle = update_avg_idle(&cs->cost, cs->avg_idle, now - cs->idle_since, max_avg_idle_ns,
						 bpf_jiffies64());
		cs->idle_since = 0;
		return;
	}
	update_cpu_load_avg(cs, cpu, now);
	update_idle_rq_clock_pelt(&cs->clock, cs->avg.util_sum);
	cs->idle_since = now;
	cs->sis_failed = 0;
	__update_idle_core(cpu);
	/* A task may have been queued since the CPU checked its queues in dispatch(). */
	if (scx_bpf_dsq_nr_queued(cpu) > 0 || scx_bpf_dsq_nr_queued(LLC_DSQ + llc_of(cpu)) > 0)
		kick(cpu, SCX_KICK_IDLE);
}

/* The nice level or the policy of a task changed. */
static __always_inline void task_weight(struct task_struct *p)
{
	struct task_state *ts = task_state_of(p);

	if (!ts)
		return;
	leave_group(ts);
	ts->nice_weight = weight_of(p->static_prio, p->policy == 5);
	if (ts->runnable)
		enter_group(ts);
	update_task_weight(ts);
}

/* Stores the LLCs of which the task may use all CPUs. */
static __always_inline void task_affinity(struct task_struct *p, const struct cpumask *cpumask)
{
	struct task_state *ts = task_state_of(p);
	u32 i;

	if (!ts)
		return;
	ts->covers = ~0ULL;
	bpf_for(i, 0, nr_cpus) {
		if (i < MAX_CPUS && cpu_infos[at(i)].nr_smt && cpu_infos[at(i)].llc < 64 && !bpf_cpumask_test_cpu(i, cpumask))
			ts->covers &= ~(1ULL << (cpu_infos[at(i)].llc & 63));
	}
}

static __always_inline void task_enable(struct task_struct *p)
{
	struct task_state *ts = task_state_of(p);
	u32 llc = llc_of(scx_bpf_task_cpu(p));

	if (!ts)
		return;
	task_affinity(p, p->cpus_ptr);
	task_weight(p);
	ts->dsq = LLC_DSQ + llc;
	ts->has_dsq = true;
	scx_bpf_task_set_dsq_vtime(p, vclock_of(ts->dsq));
}

/* The task leaves the scheduler: its average is removed from its CPU. */
static __always_inline void task_disable(struct task_struct *p)
{
	struct task_state *ts = task_state_of(p);
	struct cpu_state *at;

	if (!ts)
		return;
	at = cpu_state_of(ts->cpu);
	if (at) {
		u64 now = scx_bpf_now();

		if (ts->runnable)
			dequeue_sums(ts, at);
		decay_idle_task(ts, now);
		remove_entity_load_avg(ts, at);
	}
	leave_group(ts);
	ts->runnable = false;
	ts->running = false;
	ts->cpu = -1;
}

/* A CPU that did not exist when the scheduler started makes it restart. */
static __always_inline void cpu_hotplug(s32 cpu, bool online)
{
	struct cpu_state *cs = cpu_state_of(cpu);

	if (!cs)
		return;
	if (online && !cpu_infos[at(cpu)].nr_smt) {
		if (bpf_ksym_exists(scx_bpf_exit_bstr))
			scx_bpf_exit(SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG, "cpu %d is new", cpu);
		return;
	}
	if (cs->offline == !online)
		return;
	cs->offline = !online;
	if (!online)
		set_idle(cpu, false);
	else
		cs->online_since = scx_bpf_now();
	if (online)
		__sync_fetch_and_sub(&nr_offline, 1);
	else
		__sync_fetch_and_add(&nr_offline, 1);
}
