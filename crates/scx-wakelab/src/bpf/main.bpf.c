/* SPDX-License-Identifier: GPL-2.0-only */
/* scx_wakelab: the published placement policies as a sched_ext scheduler. */
#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>
#include <bpf_experimental.h>

#include "policy.h"
#include "intf.h"
#include "state.h"
#include "load_avg.h"
#include "cpuperf.h"
#include "idle.h"
#include "wake_affine.h"
#include "select_idle_cpu.h"
#include "select_idle_capacity.h"
#include "select_idle_sibling.h"
#include "groups.h"
#include "group_slots.h"
#include "wait_limit.h"
#include "kick.h"
#include "enqueue.h"
#include "balance_llcs.h"
#include "dispatch.h"
#include "balance_hotplug_wait.h"
#include "timer.h"
#include "record.h"
#include "select_task_rq_fair.h"
#include "lifecycle.h"

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

s32 BPF_STRUCT_OPS(wakelab_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_state *ts = task_state_of(p);

	return ts ? select_task_rq_fair(p, ts, prev_cpu, wake_flags) : prev_cpu;
}

void BPF_STRUCT_OPS(wakelab_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_state *ts = task_state_of(p);

	if (ts)
		enqueue(p, ts, enq_flags);
	else
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, slice_ns, enq_flags);
}

void BPF_STRUCT_OPS(wakelab_dispatch, s32 cpu, struct task_struct *prev)
{
	struct cpu_state *cs = cpu_state_of(cpu);
	struct task_state *ts = NULL;
	u64 now = scx_bpf_now();

	if (!cs)
		return;
	if (prev && !(prev->scx.flags & SCX_TASK_QUEUED))
		prev = NULL;
	if (prev)
		ts = task_state_of(prev);
	if (ts)
		charge(prev, ts, cs, now);
	switch (dispatch(cpu, cs, prev, ts)) {
	case DISPATCH_ALONE:
		if (prev && ts)
			forgive_vtime(prev, ts, cs, now);
		/* fallthrough */
	case DISPATCH_KEEP:
		if (prev)
			scx_bpf_task_set_slice(prev, slice_ns);
		/* No callback reports it as running again. */
		if (prev && ts)
			move_clocks(prev, ts, cs);
		count(kept);
		break;
	case DISPATCH_NOTHING:
		/*
		 * The CPU stays idle: it was claimed for a task that went elsewhere. If it goes idle only now,
		 * update_idle() reports it. If a task of another class runs on, it is not idle.
		 */
		if (curr_is_idle(cpu)) {
			set_idle(cpu, true);
			__update_idle_core(cpu);
		}
		break;
	default:
		break;
	}
}

void BPF_STRUCT_OPS(wakelab_runnable, struct task_struct *p, u64 enq_flags)
{
	task_runnable(p);
}

void BPF_STRUCT_OPS(wakelab_running, struct task_struct *p)
{
	task_running(p);
}

void BPF_STRUCT_OPS(wakelab_stopping, struct task_struct *p, bool runnable)
{
	task_stopping(p);
}

void BPF_STRUCT_OPS(wakelab_quiescent, struct task_struct *p, u64 deq_flags)
{
	task_quiescent(p, deq_flags);
}

void BPF_STRUCT_OPS(wakelab_tick, struct task_struct *p)
{
	task_tick(p);
}

void BPF_STRUCT_OPS(wakelab_update_idle, s32 cpu, bool idle)
{
	cpu_idle(cpu, idle);
}

void BPF_STRUCT_OPS(wakelab_set_weight, struct task_struct *p, u32 weight)
{
	task_weight(p);
}

void BPF_STRUCT_OPS(wakelab_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	task_affinity(p, cpumask);
}

void BPF_STRUCT_OPS(wakelab_enable, struct task_struct *p)
{
	task_enable(p);
}

void BPF_STRUCT_OPS(wakelab_disable, struct task_struct *p)
{
	task_disable(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(wakelab_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_state *ts = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!ts)
		return -ENOMEM;
	ts->cpu = -1;
	ts->recent_used_cpu = -1;
	if (bpf_core_field_exists(args->cgroup))
		ts->group = slot_of(args->cgroup);
	return 0;
}

/* A kernel without CONFIG_EXT_GROUP_SCHED has no such callbacks; src/scheduler.rs removes them before loading. */
s32 BPF_STRUCT_OPS_SLEEPABLE(wakelab_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	group_init(cgrp, args->weight);
	return 0;
}

void BPF_STRUCT_OPS_SLEEPABLE(wakelab_cgroup_exit, struct cgroup *cgrp)
{
	group_exit(cgrp);
}

void BPF_STRUCT_OPS(wakelab_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	struct task_state *ts = task_state_of(p);

	if (ts)
		set_task_group(ts, to);
}

void BPF_STRUCT_OPS(wakelab_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	group_set_cpu_weight(cgrp, weight);
}

void BPF_STRUCT_OPS(wakelab_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	group_set_idle(cgrp, idle);
}

/* A task of a higher class takes the CPU. No other CPU reads its local DSQ, so the tasks there are queued again. */
void BPF_STRUCT_OPS(wakelab_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	if (may_kick())
		scx_bpf_reenqueue_local();
}

void BPF_STRUCT_OPS(wakelab_cpu_online, s32 cpu)
{
	cpu_hotplug(cpu, true);
}

void BPF_STRUCT_OPS(wakelab_cpu_offline, s32 cpu)
{
	cpu_hotplug(cpu, false);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(wakelab_init)
{
	int error;
	u32 i;

	bpf_for(i, 0, nr_cpus) {
		error = scx_bpf_create_dsq(i, -1);
		if (error)
			return error;
	}
	bpf_for(i, 0, nr_llcs) {
		error = scx_bpf_create_dsq(LLC_DSQ + i, -1);
		if (error)
			return error;
		bpf_rcu_read_lock();
		update_llc(i, scx_bpf_now(), true);
		bpf_rcu_read_unlock();
	}
	bpf_for(i, 0, nr_cpus)
		if (i < MAX_CPUS && cpu_infos[at(i)].nr_smt && curr_is_idle(i))
			set_idle(i, true);
	return start_timer();
}

/* For the tests: reads the cpuperf target that the kernel has for each CPU. */
SEC("syscall")
int read_kernel_cpuperf(void *ctx)
{
	u32 i;

	bpf_for(i, 0, nr_cpus) {
		struct rq *rq = bpf_per_cpu_ptr(&runqueues, i);

		if (rq && i < MAX_CPUS)
			cpu_states[at(i)].kernel_perf_target = rq->scx.cpuperf_target;
	}
	return 0;
}

void BPF_STRUCT_OPS(wakelab_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(wakelab,
	       .select_cpu	= (void *)wakelab_select_cpu,
	       .enqueue		= (void *)wakelab_enqueue,
	       .dispatch	= (void *)wakelab_dispatch,
	       .runnable	= (void *)wakelab_runnable,
	       .running		= (void *)wakelab_running,
	       .stopping	= (void *)wakelab_stopping,
	       .quiescent	= (void *)wakelab_quiescent,
	       .tick		= (void *)wakelab_tick,
	       .update_idle	= (void *)wakelab_update_idle,
	       .set_weight	= (void *)wakelab_set_weight,
	       .set_cpumask	= (void *)wakelab_set_cpumask,
	       .enable		= (void *)wakelab_enable,
	       .disable		= (void *)wakelab_disable,
	       .init_task	= (void *)wakelab_init_task,
	       .cgroup_init	= (void *)wakelab_cgroup_init,
	       .cgroup_exit	= (void *)wakelab_cgroup_exit,
	       .cgroup_move	= (void *)wakelab_cgroup_move,
	       .cgroup_set_weight = (void *)wakelab_cgroup_set_weight,
	       .cgroup_set_idle	= (void *)wakelab_cgroup_set_idle,
	       .cpu_online	= (void *)wakelab_cpu_online,
	       .cpu_offline	= (void *)wakelab_cpu_offline,
	       .init		= (void *)wakelab_init,
	       .exit		= (void *)wakelab_exit,
	       .cpu_release	= (void *)wakelab_cpu_release,
	       .flags		= SCX_OPS_ENQ_MIGRATION_DISABLED | SCX_OPS_ENQ_EXITING,
	       .timeout_ms	= 20000,
	       .name		= "wakelab");
