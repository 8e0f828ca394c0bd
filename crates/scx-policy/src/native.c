/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of policy.h under names that Rust can call. */
#define WAKELAB_NATIVE
#include "policy.h"

bool wp_update_load_sum(u64 now, struct pelt *sa, u64 load, u64 runnable, bool running)
{
	return ___update_load_sum(now, sa, load, runnable, running);
}

void wp_update_load_avg(struct pelt *sa, u64 load)
{
	___update_load_avg(sa, load);
}

u64 wp_decay_load(u64 val, u64 n)
{
	return decay_load(val, n);
}

u64 wp_decayed(u64 avg, u64 ns)
{
	return decayed(avg, ns);
}

void wp_util_est_update(struct pelt *sa)
{
	util_est_update(sa);
}

u32 wp_task_util_est(u32 util_est)
{
	return _task_util_est(util_est);
}

void wp_update_rq_clock_pelt(struct pelt_clock *clock, u64 now, bool idle, u64 cap, u64 freq)
{
	update_rq_clock_pelt(clock, now, idle, cap, freq);
}

void wp_update_idle_rq_clock_pelt(struct pelt_clock *clock, u32 util_sum)
{
	update_idle_rq_clock_pelt(clock, util_sum);
}

u64 wp_rq_clock_pelt(const struct pelt_clock *clock)
{
	return rq_clock_pelt(clock);
}

u32 wp_cpu_util(u64 util, u64 runnable, u64 util_est, bool boost, bool use_est, u64 capacity)
{
	return cpu_util(util, runnable, util_est, boost, use_est, capacity);
}

u32 wp_weight_of(s32 static_prio, bool sched_idle)
{
	return weight_of(static_prio, sched_idle);
}

u32 wp_sched_weight_from_cgroup(u32 weight)
{
	return sched_weight_from_cgroup(weight);
}

void wp_group_part_of(struct group_part *of, u32 load_weight)
{
	*of = group_part_of(load_weight);
}

void wp_group_part_up(struct group_part *of, u32 shares, s64 sum)
{
	group_part_up(of, shares, sum);
}

u64 wp_group_part_weight(const struct group_part *of)
{
	return group_part_weight(of);
}

u64 wp_calc_delta_fair(u64 ns, u64 weight)
{
	return calc_delta_fair(ns, weight);
}

void wp_record_wakee(struct wakee_flips *waker, u64 wakee, u64 jiffies, u64 hz)
{
	record_wakee(waker, wakee, jiffies, hz);
}

bool wp_wake_wide(u32 master, u32 slave, u32 llc_size)
{
	return wake_wide(master, slave, llc_size);
}

int wp_wake_affine_idle(bool this_idle, bool prev_idle, bool share_cache, bool sync, u32 nr_running)
{
	return wake_affine_idle(this_idle, prev_idle, share_cache, sync, nr_running);
}

int wp_wake_affine_weight(const struct affine_loads *of, bool sync, bool bias, u32 imbalance_pct)
{
	return wake_affine_weight(of, sync, bias, imbalance_pct);
}

s32 wp_nr_idle_scan(u64 sum_util, u32 llc_weight, u32 imbalance_pct, u32 form, bool small_llc)
{
	return nr_idle_scan(sum_util, llc_weight, imbalance_pct, form, small_llc);
}

s32 wp_sis_param_bounded(const struct sis_param *param, s32 nr)
{
	return sis_param_bounded(param, nr);
}

u64 wp_update_avg_idle(struct scan_cost *cost, u64 avg_idle, u64 idle, u64 most, u64 jiffies)
{
	return update_avg_idle(cost, avg_idle, idle, most, jiffies);
}

void wp_sis_prop_decay(struct scan_cost *cost, u64 jiffies)
{
	sis_prop_decay(cost, jiffies);
}

s32 wp_sis_prop_nr(const struct scan_cost *cost, u32 span_weight)
{
	return sis_prop_nr(cost, span_weight);
}

s32 wp_sis_limit_nr(const struct scan_cost *cost, u32 span_weight, u32 siblings)
{
	return sis_limit_nr(cost, span_weight, siblings);
}

void wp_sis_prop_after_scan(struct scan_cost *cost, u64 time)
{
	sis_prop_after_scan(cost, time);
}

bool wp_is_short_task(u64 dur_avg, u64 min_granularity)
{
	return is_short_task(dur_avg, min_granularity);
}

void wp_dur_avg_update(struct dur_avg *of, u64 sum_exec_runtime)
{
	dur_avg_update(of, sum_exec_runtime);
}
