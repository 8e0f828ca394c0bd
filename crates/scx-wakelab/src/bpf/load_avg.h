/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load averages of tasks and CPUs. The fair class does not see the tasks of a sched_ext scheduler, so the program keeps
 * the averages itself, as the kernel does: a task's average is part of its CPU's, even while it sleeps, until it wakes
 * on another CPU. Then it is added to `removed` of the old CPU, which subtracts it under its own lock.
 */
#pragma once

#define sub_positive(from, what) ((from) > (what) ? (from) - (what) : 0)

static __always_inline void apply_removed(struct cpu_state *cs)
{
	u64 load, util, runnable;
	struct pelt *sa = &cs->avg;
	u64 divider;

	if (!cs->removed_load && !cs->removed_util && !cs->removed_runnable)
		return;
	load = __sync_lock_test_and_set(&cs->removed_load, 0);
	util = __sync_lock_test_and_set(&cs->removed_util, 0);
	runnable = __sync_lock_test_and_set(&cs->removed_runnable, 0);
	divider = get_pelt_divider(sa);
	sa->load_avg = sub_positive(sa->load_avg, load);
	sa->load_sum = sub_positive(sa->load_sum, load * divider);
	sa->util_avg = sub_positive(sa->util_avg, util);
	sa->util_sum = sub_positive((u64)sa->util_sum, util * divider);
	sa->runnable_avg = sub_positive(sa->runnable_avg, runnable);
	sa->runnable_sum = sub_positive(sa->runnable_sum, runnable * divider);
}

/* update_rq_clock_pelt() and update_cfs_rq_load_avg() of a CPU. Called under its run queue lock. */
static __noinline int update_cpu_load_avg(struct cpu_state *cs, u32 cpu, u64 now)
{
	u32 freq = CAPACITY_SCALE;
	bool idle;

	if (!cs || cpu >= MAX_CPUS)
		return 0;
	idle = !cs->nr_runnable;
	if (!idle && bpf_ksym_exists(scx_bpf_cpuperf_cur))
		freq = scx_bpf_cpuperf_cur(cpu);
	update_rq_clock_pelt(&cs->clock, now, idle, cpu_infos[at(cpu)].capacity, freq);
	apply_removed(cs);
	if (___update_load_sum(rq_clock_pelt(&cs->clock), &cs->avg, cs->load_weight, cs->nr_runnable, cs->curr_since))
		___update_load_avg(&cs->avg, 1);
	return 0;
}

/* __update_load_avg_se(), on the clock of the CPU that the task is attached to. */
static __always_inline void update_task_load_avg(struct task_state *ts, struct cpu_state *cs, u64 now)
{
	if (___update_load_sum(rq_clock_pelt(&cs->clock), &ts->avg, ts->runnable, ts->runnable, ts->running)) {
		___update_load_avg(&ts->avg, ts->load_weight);
		ts->avg.util_est &= ~UTIL_AVG_UNCHANGED;
	}
	ts->slept_at = now;
}

static __always_inline void attach_entity_load_avg(struct task_state *ts, struct cpu_state *cs)
{
	struct pelt *se = &ts->avg, *sa = &cs->avg;
	u64 divider = get_pelt_divider(sa);

	se->last_update_time = sa->last_update_time;
	se->period_contrib = sa->period_contrib;
	se->util_sum = se->util_avg * divider;
	se->runnable_sum = se->runnable_avg * divider;
	se->load_sum = se->load_avg * divider;
	se->load_sum = se->load_sum > ts->load_weight ? se->load_sum / ts->load_weight : 1;
	sa->load_avg += se->load_avg;
	sa->load_sum += (u64)ts->load_weight * se->load_sum;
	sa->util_avg += se->util_avg;
	sa->util_sum += se->util_sum;
	sa->runnable_avg += se->runnable_avg;
	sa->runnable_sum += se->runnable_sum;
}

static __always_inline void remove_entity_load_avg(struct task_state *ts, struct cpu_state *old)
{
	__sync_fetch_and_add(&old->removed_load, ts->avg.load_avg);
	__sync_fetch_and_add(&old->removed_util, ts->avg.util_avg);
	__sync_fetch_and_add(&old->removed_runnable, ts->avg.runnable_avg);
}

/* Adds a runnable task to the sums of its CPU; dequeue_sums() subtracts it. */
static __always_inline void enqueue_sums(struct task_state *ts, struct cpu_state *cs)
{
	ts->queued_load_weight = ts->load_weight;
	ts->queued_util_est = _task_util_est(ts->avg.util_est);
	__sync_fetch_and_add(&cs->nr_runnable, 1);
	__sync_fetch_and_add(&cs->load_weight, ts->queued_load_weight);
	__sync_fetch_and_add(&cs->util_est, ts->queued_util_est);
}

static __always_inline void dequeue_sums(struct task_state *ts, struct cpu_state *cs)
{
	__sync_fetch_and_sub(&cs->nr_runnable, 1);
	__sync_fetch_and_sub(&cs->load_weight, ts->queued_load_weight);
	__sync_fetch_and_sub(&cs->util_est, ts->queued_util_est);
}

/* Decays the average of a task that has not run. A new task has no time to decay by. */
static __always_inline void decay_idle_task(struct task_state *ts, u64 now)
{
	u64 since = ts->slept_at, gone = now > since ? now - since : 0;

	ts->slept_at = now;
	if (!since)
		return;
	if (___update_load_sum(ts->avg.last_update_time + gone, &ts->avg, ts->runnable, ts->runnable, false))
		___update_load_avg(&ts->avg, ts->load_weight);
}

/* Decays the task's average and moves it to `cpu`. Called under the run queue lock of `cpu`. */
static __always_inline void migrate_task_avg(struct task_state *ts, struct cpu_state *cs, s32 cpu, u64 now)
{
	struct cpu_state *old = cpu_state_of(ts->cpu);

	if (ts->cpu == cpu)
		return;
	decay_idle_task(ts, now);
	if (old) {
		remove_entity_load_avg(ts, old);
		if (ts->runnable)
			dequeue_sums(ts, old);
		count(migrations);
	}
	attach_entity_load_avg(ts, cs);
	if (ts->runnable)
		enqueue_sums(ts, cs);
	ts->cpu = cpu;
}

/* cpu_load(), decayed by the time that the CPU has been idle. */
static __always_inline u64 cpu_load(struct cpu_state *cs, u64 now)
{
	u64 wall = cs->clock.wall;

	return cs->nr_runnable || now < wall ? cs->avg.load_avg : decayed(cs->avg.load_avg, now - wall);
}

static __always_inline u64 cpu_util_avg(struct cpu_state *cs, u64 now)
{
	u64 wall = cs->clock.wall;

	return cs->nr_runnable || now < wall ? cs->avg.util_avg : decayed(cs->avg.util_avg, now - wall);
}
