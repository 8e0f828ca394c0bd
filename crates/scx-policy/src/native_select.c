/* SPDX-License-Identifier: GPL-2.0-only */
/* The control flow of a placement, as in the BPF program, with the kernel stubbed: a machine, its state, a wake-up. */
#define WAKELAB_NATIVE
#define SET_BEFORE_LOADING volatile
#include "policy.h"
#include "kernel_stub.h"
#include "intf.h"
#include "state.h"
#include "idle.h"

/* Averages are given as they are at the wake-up; nothing is recorded. */
#define cpu_load(cpu_state, now) ((void)(now), (cpu_state)->avg.load_avg)
static const bool recording;
#define begin_record(search, now) ((void)(search))
#define end_record(search, task, state, flags) ((void)(search))

#include "wake_affine.h"
#include "select_idle_cpu.h"
#include "select_idle_capacity.h"
#include "select_idle_sibling.h"
#include "select_task_rq_fair.h"

void ws_sis_param(const struct sis_param *param)
{
	sis_param = *param;
}

void ws_machine(u32 cpus, u32 llcs, u32 levels, bool smt, bool asym, u64 min_granularity)
{
	/* Clears the state of the previous machine. */
	u32 used = nr_cpus > cpus ? nr_cpus : cpus;

	nr_cpus = cpus;
	nr_llcs = llcs;
	nr_levels = levels;
	smt_active = smt;
	asym_capacity = asym;
	min_granularity_ns = min_granularity;
	for (u32 cpu = 0; cpu < used; cpu++) {
		cpu_states[cpu] = (struct cpu_state){};
		llc_states[cpu] = (struct llc_state){};
		cpu_infos[cpu].nr_smt = 0;
		llc_infos[cpu].nr = 0;
	}
	__builtin_memset(idle_cpus, 0, sizeof(idle_cpus));
	ws_sis_param(&(struct sis_param)SIS_PARAM_OF_SIS_UTIL);
}

void ws_cpu(u32 cpu, const struct cpu_info *info)
{
	cpu_infos[cpu] = *info;
}

void ws_llc(u32 llc, u32 first, u32 nr, u32 imbalance_pct, const u16 *cpus)
{
	llc_infos[llc].first = first;
	llc_infos[llc].nr = nr;
	llc_infos[llc].imbalance_pct = imbalance_pct;
	for (u32 i = 0; i < nr; i++)
		llc_cpus[first + i] = cpus[i];
}

void ws_level(u32 level, u32 imbalance_pct, bool affine)
{
	level_pct[level] = imbalance_pct;
	level_affine[level] = affine;
}

void ws_cpu_state(u32 cpu, bool idle, u32 nr_runnable, u64 load, u64 curr_dur_avg, s32 next_cpu, u32 sis_failed,
		  const struct scan_cost *cost)
{
	struct cpu_state *state = &cpu_states[cpu];

	state->nr_runnable = nr_runnable;
	state->avg.load_avg = load;
	state->curr_dur_avg = curr_dur_avg;
	state->next_cpu = next_cpu;
	state->sis_failed = sis_failed;
	state->cost = *cost;
	set_idle(cpu, idle);
}

void ws_llc_state(u32 llc, s32 nr_idle_scan, bool has_idle_cores)
{
	llc_states[llc].nr_idle_scan = nr_idle_scan;
	llc_states[llc].has_idle_cores = has_idle_cores;
	llc_states[llc].nr_online = llc_infos[llc].nr;
}

/* src/select.rs has the same two structures. */
struct wake {
	u64 features;
	u64 flags;
	u64 jiffies;
	u64 clock, clock_step;
	u64 waker_load, wakee_load;
	u64 wakee_dur_avg;
	u64 wakee_util_avg;
	u32 wakee_util_est;
	u32 waker_flips, wakee_flips;
	s32 this_cpu, prev, recent;
	bool exiting, in_task, kthread;
	u64 allowed[MAX_CPUS / 64];
};

struct outcome {
	struct scan_cost cost;
	s32 cpu;
	s32 target;
	s32 recent;
	s32 next_cpu;
	u32 sis_failed;
	u32 reason;
	u32 search, domain_search, scanned, failed;
	u32 lost;
	bool claimed;
	bool cleared;
};

void ws_select(const struct wake *wake, struct outcome *out)
{
	struct cpumask mask, everything;
	struct task_state waker_state = {}, wakee_state = {};
	struct task_struct waker = { .cpus_ptr = &everything, .state = &waker_state, .nr_cpus_allowed = 2 };
	struct task_struct wakee = { .cpus_ptr = &mask, .state = &wakee_state, .nr_cpus_allowed = 2 };
	u32 llc = cpu_infos[wake->prev].llc;
	struct counts *counts = &cpu_states[wake->this_cpu].counts;
	struct search *s = &searches[wake->this_cpu];

	__builtin_memcpy(mask.bits, wake->allowed, sizeof(mask.bits));
	__builtin_memset(&everything, 0xff, sizeof(everything));
	features = wake->features;
	stub_current = &waker;
	stub_this_cpu = wake->this_cpu;
	stub_preempt_count = wake->in_task ? 0 : HARDIRQ_MASK;
	stub_jiffies = wake->jiffies;
	stub_clock = wake->clock;
	stub_clock_step = wake->clock_step;
	if (wake->exiting)
		waker.flags |= PF_EXITING;
	if (wake->kthread) {
		waker.flags |= PF_KTHREAD;
		waker.nr_cpus_allowed = 1;
	}
	/* The numbers of flips are those after record_wakee(): the waker has just woken this task. */
	waker_state.flips.flips = wake->waker_flips;
	waker_state.flips.last_wakee = (u64)&wakee;
	waker_state.flips.decay_ts = wake->jiffies;
	waker_state.avg.load_avg = wake->waker_load;
	wakee_state.flips.flips = wake->wakee_flips;
	wakee_state.avg.load_avg = wake->wakee_load;
	wakee_state.avg.util_avg = wake->wakee_util_avg;
	wakee_state.avg.util_est = wake->wakee_util_est;
	wakee_state.dur.dur_avg = wake->wakee_dur_avg;
	wakee_state.recent_used_cpu = wake->recent;
	/* Left over from the previous wake-up of this CPU. */
	*s = (struct search){ .target = wake->prev, .reason = NR_REASONS };

	out->cpu = select_task_rq_fair(&wakee, &wakee_state, wake->prev, wake->flags);
	out->target = s->target;
	out->recent = wakee_state.recent_used_cpu;
	out->next_cpu = cpu_states[s->target].next_cpu;
	out->sis_failed = cpu_states[s->target].sis_failed;
	out->reason = s->reason;
	out->cost = cpu_states[wake->this_cpu].cost;
	out->search = counts->sis_search;
	out->domain_search = counts->sis_domain_search;
	out->scanned = counts->sis_scanned;
	out->failed = counts->sis_failed;
	out->lost = counts->lost_claims;
	out->claimed = s->claimed;
	llc = cpu_infos[s->target].llc;
	out->cleared = s->has_idle_cores && !llc_states[llc].has_idle_cores;
}
