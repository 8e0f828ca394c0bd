/* SPDX-License-Identifier: GPL-2.0-only */
/* What the functions of fair.c need around them: 64 CPUs at most, masks of one word, no locks, no RCU. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;

#define CONFIG_SCHED_CACHE 1
#define CONFIG_NUMA_BALANCING 1
#define __read_mostly
#define __maybe_unused __attribute__((unused))
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, v) ((x) = (v))
#define guard(lock) stub_lock
#define stub_lock(...) do { } while (0)
#define scoped_guard(...)
#define raw_spinlock_irqsave
#define lockdep_assert_held(x) do { } while (0)
#define rcu_dereference_all(x) (x)
#define rcu_dereference_sched_domain(x) (x)
#define rcu_access_pointer(x) (x)
#define static_branch_likely(key) (*(key))
#define WARN_ON_ONCE(x) ((void)(x))
#define GFP_KERNEL 0
#define __free(f)
#define CPUMASK_VAR_NULL { 0 }
#define PAGE_SIZE 4096UL
#define NICE_0_LOAD (1UL << 20)
#define PF_EXITING 4
#define PF_KTHREAD 0x200000
#define SD_ASYM_CPUCAPACITY 1
#define LBF_ACTIVE_LB_LLC 0x40
#define NUMA_NO_NODE (-1)
#define NR_CPUS 64
#define EPOCH_PERIOD 10
#define EPOCH_LLC_AFFINITY_TIMEOUT 5
#define fits_capacity(cap, max) ((cap) * 1280 < (max) * 1024)
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define div64_s64(a, b) ((s64)(a) / (s64)(b))
#define clamp_t(t, v, lo, hi) ((t)(v) < (t)(lo) ? (t)(lo) : (t)(v) > (t)(hi) ? (t)(hi) : (t)(v))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define max_t(t, a, b) ((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define time_before(a, b) ((long)((a) - (b)) < 0)
#define container_of(p, t, m) ((t *)((char *)(p) - __builtin_offsetof(t, m)))

typedef u64 cpumask_var_t[1];
struct callback_head { struct callback_head *next; };
struct sched_class { int nr; };
struct sched_cache_time { u64 runtime; unsigned long epoch; };
struct sched_cache_group {
	struct sched_cache_time *pcpu_sched;
	int lock;
	unsigned long epoch, next_scan, footprint;
	u64 nr_running_avg;
	int cpu;
};
struct task_struct {
	struct sched_cache_group *sched_cache_grp;
	struct callback_head cache_work;
	const struct sched_class *sched_class;
	int nr_threads, cpu, preferred_llc, numa_preferred_nid;
	unsigned int flags;
	unsigned long util;
};
struct sched_domain_shared { unsigned long util_avg, capacity; };
struct sched_domain {
	unsigned int flags, nr_balance_failed, cache_nice_tries;
	unsigned long llc_bytes;
	u64 span;
};
struct cfs_rq { unsigned int h_nr_runnable; };
struct rq {
	struct sched_domain *sd;
	struct task_struct *curr;
	struct cfs_rq cfs;
	unsigned int nr_running, nr_pref_llc_running;
	int cpu_epoch_lock;
	u64 cpu_runtime;
	unsigned long cpu_epoch, cpu_epoch_next;
};
enum migration_type { migrate_load, migrate_util, migrate_task, migrate_misfit, migrate_llc_task };
struct lb_env {
	struct sched_domain *sd;
	struct rq *src_rq;
	int src_cpu, dst_cpu, idle;
	unsigned int flags;
	enum migration_type migration_type;
};

static const struct sched_class fair_sched_class;
static bool sched_numa_balancing = true;
static unsigned long jiffies;
static unsigned int cpu_smt_num_threads = 2;
static u64 online;
static struct rq rqs[NR_CPUS];
static struct sched_domain llc_domain[NR_CPUS];
static struct sched_domain_shared llc_shared[NR_CPUS];
static int llc_of[NR_CPUS], llc_size[NR_CPUS];
static struct task_struct *current_task;
static int this_cpu;

#define current current_task
#define cpu_online_mask (&online)
#define cpu_rq(cpu) (&rqs[cpu])
#define raw_smp_processor_id() this_cpu
#define per_cpu(what, cpu) stub_##what(cpu)
#define stub_sd_llc_id(cpu) llc_of[cpu]
#define stub_sd_llc_size(cpu) llc_size[cpu]
#define stub_sd_llc(cpu) (&llc_domain[cpu])
#define stub_sd_llc_shared(cpu) (&llc_shared[llc_of[cpu]])
#define per_cpu_ptr(p, cpu) (&(p)[cpu])
#define sched_domain_span(sd) (&(sd)->span)
#define for_each_cpu(cpu, mask) for ((cpu) = 0; (cpu) < NR_CPUS; (cpu)++) if (*(u64 *)(mask) >> (cpu) & 1)
#define cpumask_copy(to, from) (*(u64 *)(to) = *(u64 *)(from))
#define cpumask_or(to, a, b) (*(u64 *)(to) = *(u64 *)(a) | *(u64 *)(b))
#define cpumask_andnot(to, a, b) (*(u64 *)(to) = *(u64 *)(a) & ~*(u64 *)(b))
#define cpumask_test_cpu(cpu, mask) (*(u64 *)(mask) >> (cpu) & 1)
#define cpumask_of_node(nid) (&online)
#define cpu_to_node(cpu) 0
#define cpumask_first(mask) __builtin_ctzll(*(u64 *)(mask))
#define zalloc_cpumask_var(mask, gfp) (**(mask) = 0, true)
#define task_cpu(p) ((p)->cpu)
#define get_nr_threads(p) ((p)->nr_threads)
#define task_util(p) ((p)->util)
#define task_fits_cpu(p, cpu) true
#define task_has_sched_core(p) false
#define sched_cache_enabled() true
#define cpus_share_cache(a, b) (llc_of[a] == llc_of[b])
#define task_cache_group_get(p) ((p)->sched_cache_grp)
#define sched_asym(sd, a, b) false
#define try_cmpxchg(p, old, new) (*(p) == *(old) ? (*(p) = (new), true) : (*(old) = *(p), false))
