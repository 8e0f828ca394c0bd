/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer does what periodic load balance does for the fair class: it computes nr_idle_scan of each LLC from its
 * utilisation, and kicks CPUs that stay idle beside a queue because searches are limited.
 */
#pragma once

struct timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct timer);
} timers SEC(".maps");

/* The longest interval of the timer, even if nr_idle_scan of a large LLC is computed less often. */
#define TICK_NS 8000000ULL

static u64 queues_due, scans_due;
/* Not a local variable: the verifier would process the loop once for each of its values. */
static u32 nr_seen_online;

static __always_inline u32 idle_scan_form(u64 feat)
{
	if (feat & SIS_UTIL_V1)
		return IDLE_SCAN_V1;
	if (feat & SIS_UTIL_V2)
		return IDLE_SCAN_V2;
	if (feat & SIS_UTIL_V3)
		return IDLE_SCAN_V3;
	return IDLE_SCAN_MERGED;
}

/*
 * Frees a claim whose task never came: the kernel has put it elsewhere, because the CPU was going offline or the task's
 * affinity had changed. Without this, the CPU would count as busy until a task wakes there.
 */
static __always_inline void free_claim(struct cpu_state *cs, s32 cpu)
{
	/* rq->nr_running also counts the tasks that wait in the queues of the scheduler. */
	bool seems_idle = curr_is_idle(cpu) && !is_idle(cpu) && !cs->offline;

	if (seems_idle && cs->seems_idle) {
		set_idle(cpu, true);
		__update_idle_core(cpu);
		count(freed_claims);
		seems_idle = false;
	}
	cs->seems_idle = seems_idle;
}

/* Kicks an idle CPU for the first task that waits at this CPU, if it may run elsewhere. */
static __always_inline void kick_for_head(u32 llc, s32 cpu)
{
	struct task_struct *head = __COMPAT_scx_bpf_dsq_peek(cpu);

	if (head && head->nr_cpus_allowed > 1 && !migration_disabled(head))
		kick_idle(llc, head->cpus_ptr);
}

static __noinline int update_llc(u32 llc, u64 now, bool scan)
{
	struct llc_state *state = llc_state_of(llc);
	u64 sum = 0, feat = features;
	u32 nr, i;

	if (!state)
		return 0;
	nr = llc_infos[at(llc)].nr;
	nr_seen_online = 0;
	state->cpus_wait = 0;
	bpf_for(i, 0, nr) {
		s32 cpu = cpu_at(llc, i);
		struct cpu_state *cs = cpu_state_of(cpu);

		if (!cs)
			continue;
		if (scan && !cs->offline) {
			sum += cpu_util_avg(cs, now);
			nr_seen_online++;
		}
		free_claim(cs, cpu);
		drain_for_hotplug(cpu);
		if (scx_bpf_dsq_nr_queued(cpu) > 0) {
			/* The task may have been queued just after another CPU had cleared the flag. */
			cs->may_wait = 1;
			state->cpus_wait = 1;
			if (curr_is_idle(cpu))
				kick(cpu, SCX_KICK_IDLE);
			else
				kick_for_head(llc, cpu);
		}
	}
	if (scan && nr_seen_online) {
		u32 online = nr_seen_online;

		state->nr_online = online;
		state->sum_util = sum;
		u32 pct = llc_infos[at(llc)].imbalance_pct;

		if ((feat & SIS_PARAM) && sis_param.util_pct)
			pct = sis_param.util_pct;
		state->nr_idle_scan = nr_idle_scan(sum, online, pct, idle_scan_form(feat), feat & SIS_UTIL_SMALL_LLC);
		if (feat & SIS_PARAM)
			state->nr_idle_scan = sis_param_bounded(&sis_param, state->nr_idle_scan);
	}
	if (scx_bpf_dsq_nr_queued(LLC_DSQ + llc) > 0) {
		const struct cpumask *online = scx_bpf_get_online_cpumask();

		kick_idle(llc, online);
		scx_bpf_put_cpumask(online);
	}
	return 0;
}

static __noinline int check_queues(u64 now)
{
	u32 i;

	bpf_for(i, 0, nr_llcs)
		check_queue(LLC_DSQ + i, &llc_states[at(i)].wait_limit, llc_states[at(i)].vclock, now);
	bpf_for(i, 0, nr_cpus)
		check_queue(i, &cpu_states[at(i)].wait_limit, cpu_states[at(i)].vclock, now);
	return 0;
}

static __always_inline u64 tick_ns(void)
{
	return scan_interval_ns < TICK_NS ? scan_interval_ns : TICK_NS;
}

static int on_timer(void *map, int *key, struct timer *timer)
{
	u64 now = scx_bpf_now();
	bool scan = now >= scans_due;
	u32 i;

	if (scan)
		scans_due = now + scan_interval_ns - TICK_NS / 2;
	bpf_for(i, 0, nr_llcs)
		update_llc(i, now, scan);
	balance_llcs(now);
	if (now >= queues_due) {
		queues_due = now + WAIT_CHECK_NS;
		check_queues(now);
	}
	bpf_timer_start(&timer->timer, tick_ns(), 0);
	return 0;
}

static __always_inline int start_timer(void)
{
	struct timer *timer;
	u32 key = 0;
	int error;

	timer = bpf_map_lookup_elem(&timers, &key);
	if (!timer)
		return -ENOENT;
	error = bpf_timer_init(&timer->timer, &timers, CLOCK_MONOTONIC);
	if (error && error != -EBUSY)
		return error;
	bpf_timer_set_callback(&timer->timer, on_timer);
	return bpf_timer_start(&timer->timer, tick_ns(), 0);
}
