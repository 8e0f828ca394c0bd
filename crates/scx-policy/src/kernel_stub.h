/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the control flow of a placement asks of the kernel, of BPF and of the scheduler's queues, for one thread in a
 * process: one wake-up at a time, so that no claim is ever lost.
 */
#pragma once

#define SEC(name)
#define __noinline __attribute__((noinline))
#define __uint(name, value) int(*name)[1]
#define __type(name, type) type *name
#define NULL ((void *)0)

#define NMI_MASK 0x00f00000
#define HARDIRQ_MASK 0x000f0000
#define SOFTIRQ_OFFSET 0x00000100
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

struct cpumask {
	u64 bits[1024 / 64];
};

struct task_state;

struct task_struct {
	u32 flags;
	s32 nr_cpus_allowed;
	u32 migration_disabled;
	s32 pid;
	const struct cpumask *cpus_ptr;
	struct task_state *state;
	struct {
		u64 dsq_vtime;
	} scx;
};

struct rq {
	struct task_struct *curr, *idle;
};

/* The wake-up: who runs, where, and what the clocks show. The clock moves on by `clock_step` with every reading. */
static struct task_struct *stub_current;
static u32 stub_this_cpu;
static u32 stub_preempt_count;
static u64 stub_jiffies;
static u64 stub_clock;
static u64 stub_clock_step;
static struct rq runqueues;
static bool __scx_prolog_disables_migration;

static inline bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	return mask->bits[cpu / 64] >> (cpu % 64) & 1;
}

static inline u64 bpf_ktime_get_ns(void)
{
	stub_clock += stub_clock_step;
	return stub_clock;
}

#define bpf_get_current_task_btf() stub_current
#define bpf_get_smp_processor_id() stub_this_cpu
#define bpf_jiffies64() stub_jiffies
#define scx_bpf_now() 0
#define get_preempt_count() stub_preempt_count
#define bpf_per_cpu_ptr(of, cpu) ((void)(cpu), (of))
#define bpf_task_storage_get(map, task, value, flags) ((task)->state)
#define bpf_for(i, from, to) for ((i) = (from); (i) < (to); (i)++)
#define time_before(a, b) ((s64)((a) - (b)) < 0)

/* Queues: a task that was placed on an idle CPU is inserted there. The tests compare the CPU only. */
#define scx_bpf_task_set_dsq_vtime(task, time) ((void)(task), (void)(time))
#define scx_bpf_dsq_insert(task, dsq, slice, flags) ((void)(task), (void)(slice))
#define change_dsq(task, state, dsq) ((void)(state), (void)(dsq))
#define restricted(task, state, llc) ((void)(llc), true)
#define vclock_of(dsq) 0
