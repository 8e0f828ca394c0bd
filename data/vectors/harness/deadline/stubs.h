/* SPDX-License-Identifier: GPL-2.0-only */
/* What the functions of deadline.c and fair.c need around them: one run queue, one entity at a time, no locks. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef s64 ktime_t;

#define BW_SHIFT 20
#define BW_UNIT (1 << BW_SHIFT)
#define RATIO_SHIFT 8
#define DL_SCALE 10
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define RUNTIME_INF ((u64)~0ULL)
#define SCHED_CAPACITY_SHIFT 10
#define SCHED_FLAG_SUGOV 0x10000000
#define SCHED_FLAG_RECLAIM 2
#define SCHED_FLAG_DL_OVERRUN 4
#define TASK_DEAD 0x80
#define likely(x) (x)
#define unlikely(x) (x)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, v) ((x) = (v))
#define WARN_ON(x) ({ if (x) fprintf(stderr, "WARN: %s\n", #x), exit(1); 0; })
#define WARN_ON_ONCE(x) WARN_ON(x)
#define BUG_ON(x) WARN_ON(x)
#define SCHED_WARN_ON(x) WARN_ON(x)
#define lockdep_assert_rq_held(x) do { } while (0)
#define printk_deferred_once(...) do { } while (0)
#define max(a, b) ((a) > (b) ? (a) : (b))
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define div64_long(a, b) ((long)(a) / (long)(b))
#define cap_scale(v, s) ((v) * (s) >> SCHED_CAPACITY_SHIFT)
#define ns_to_ktime(x) ((ktime_t)(x))
#define ktime_to_ns(x) (x)
#define ktime_add_ns(k, ns) ((k) + (ns))
#define ktime_us_delta(a, b) (((a) - (b)) / 1000)
#define raw_spin_lock(x) do { } while (0)
#define raw_spin_unlock(x) do { } while (0)
#ifndef __always_inline
#define __always_inline inline
#endif

struct sched_attr { uint32_t sched_flags; u64 sched_runtime, sched_deadline, sched_period; };
struct dl_bw { u64 bw, total_bw; int lock; };
static unsigned int sysctl_sched_dl_period_max = 1 << 22, sysctl_sched_dl_period_min = 100;

struct hrtimer { bool queued; ktime_t expires; };
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum { HRTIMER_MODE_ABS_HARD, HRTIMER_MODE_REL_HARD };
struct sched_avg { unsigned long util_avg, load_avg; };
struct dl_rq { u64 running_bw, this_bw; };
struct rq;
struct sched_dl_entity {
	u64 dl_runtime, dl_deadline, dl_period, dl_bw, dl_density;
	s64 runtime;
	u64 deadline;
	unsigned int flags;
	unsigned int dl_throttled, dl_yielded, dl_non_contending, dl_overrun, dl_server, dl_server_active, dl_defer,
		dl_defer_armed, dl_defer_running, dl_defer_idle, dl_bw_attached;
	struct hrtimer dl_timer, inactive_timer;
	struct rq *rq;
	bool on_rb;
};
struct sched_class { void (*update_curr)(struct rq *rq); };
struct task_struct {
	const struct sched_class *sched_class;
	struct { u64 exec_start; } se;
	struct sched_dl_entity dl, *dl_server;
	unsigned int __state;
};
struct rq {
	u64 clock;
	struct dl_rq dl;
	struct sched_dl_entity fair_server;
	struct task_struct *curr, *donor, *idle;
	struct sched_avg avg_rt, avg_dl;
	unsigned long irq, hw;
};
static struct rq the_rq;
static struct task_struct the_task, the_idle;

#define cpu_rq(cpu) (&the_rq)
#define cpu_of(rq) 0
#define cpu_online(cpu) true
#define rq_clock(rq) ((rq)->clock)
#define rq_clock_task(rq) ((rq)->clock)
static unsigned long capacity_orig, cpufreq_pressure;
#define arch_scale_cpu_capacity(cpu) (capacity_orig)
#define arch_scale_freq_capacity(cpu) 1024UL
#define cpufreq_get_pressure(cpu) (cpufreq_pressure)
#define hw_load_avg(rq) ((rq)->hw)
#define thermal_load_avg(rq) ((rq)->hw)
#define cpu_util_irq(rq) ((rq)->irq)
#define cpu_util_rt(rq) ((rq)->avg_rt.util_avg)
#define cpu_util_dl(rq) ((rq)->avg_dl.util_avg)

static inline bool dl_time_before(u64 a, u64 b) { return (s64)(a - b) < 0; }
#define dl_server(se) ((se)->dl_server)
#define dl_server_active(se) ((se)->dl_server_active)
#define dl_is_implicit(se) ((se)->dl_deadline == (se)->dl_period)
#define pi_of(se) (se)
#define is_dl_boosted(se) false
#define dl_entity_is_special(se) false
#define dl_task_of(se) (&the_task)
#define dl_task(p) ((p) == &the_task)
#define dl_entity_preempt(a, b) true
#define rq_of_dl_se(se) (&the_rq)
#define dl_rq_of_se(se) (&the_rq.dl)
#define rq_of_dl_rq(dl_rq) (&the_rq)
#define on_dl_rq(se) ((se)->on_rb)
#define is_leftmost(se, dl_rq) ((se)->on_rb)
#define idle_rq(rq) ((rq)->curr == (rq)->idle)
#define __enqueue_dl_entity(se) ((se)->on_rb = true)
#define __dequeue_dl_entity(se) ((se)->on_rb = false)
#define get_task_struct(p) do { } while (0)
#define put_task_struct(p) do { } while (0)
#define dequeue_pushable_dl_task(rq, p) do { } while (0)
#define update_stats_dequeue_dl(a, b, c) do { } while (0)
#define update_stats_enqueue_dl(a, b, c) do { } while (0)
#define enqueue_task_dl(rq, p, flags) enqueue_dl_entity(&(p)->dl, flags)
#define resched_curr(rq) do { } while (0)
#define update_rq_clock(rq) do { } while (0)
#define sched_clock_tick() do { } while (0)
#define __push_dl_task(rq, rf) do { } while (0)
#define dl_scaled_delta_exec(rq, se, delta) (delta)
#define dl_bw_of(cpu) (&the_bw)
#define dl_bw_cpus(cpu) 1
#define task_cpu(p) 0
#define __dl_sub(b, bw, cpus) do { } while (0)
#define __dl_clear_params(se) do { } while (0)
#define sub_rq_bw(se, dl_rq) ((dl_rq)->this_bw -= (se)->dl_bw)
#define add_rq_bw(se, dl_rq) ((dl_rq)->this_bw += (se)->dl_bw)
#define sub_running_bw(se, dl_rq) ((dl_rq)->running_bw -= (se)->dl_bw)
#define add_running_bw(se, dl_rq) ((dl_rq)->running_bw += (se)->dl_bw)
#define trace_sched_dl_replenish_tp(...) do { } while (0)
#define trace_sched_dl_throttle_tp(...) do { } while (0)
#define trace_sched_dl_update_tp(...) do { } while (0)
#define trace_sched_dl_server_start_tp(...) do { } while (0)
#define trace_sched_dl_server_stop_tp(...) do { } while (0)
#define dl_get_type(se, rq) 0
#define dl_server_apply_params(...) abort()
struct rq_flags { int x; };
#define scoped_guard(lock, rq) \
	for (struct { struct rq_flags rf; int once; } scope = { .once = 1 }; scope.once; scope.once = 0)
static struct dl_bw the_bw;

enum { ENQUEUE_WAKEUP = 1, ENQUEUE_RESTORE = 2, ENQUEUE_MOVE = 4, ENQUEUE_REPLENISH = 0x20, ENQUEUE_MIGRATED = 0x40,
       ENQUEUE_MIGRATING = 0x80,
       DEQUEUE_SLEEP = 1, DEQUEUE_SAVE = 2, DEQUEUE_MIGRATING = 0x80 };
static const u64 dl_server_min_res = 1 * NSEC_PER_MSEC;

static inline ktime_t ktime_get(void) { return the_rq.clock; }
#define hrtimer_cb_get_time(t) ktime_get()
static inline bool hrtimer_is_queued(struct hrtimer *t) { return t->queued; }
static inline bool hrtimer_active(struct hrtimer *t) { return t->queued; }
static inline int hrtimer_try_to_cancel(struct hrtimer *t) { int was = t->queued; t->queued = false; return was; }
static inline void hrtimer_start(struct hrtimer *t, ktime_t at, int mode)
{
	t->queued = true;
	t->expires = mode == HRTIMER_MODE_REL_HARD ? (ktime_t)the_rq.clock + at : at;
}
static inline void hrtimer_forward_now(struct hrtimer *t, ktime_t interval) { t->expires = the_rq.clock + interval; }
#define cancel_inactive_timer(se) hrtimer_try_to_cancel(&(se)->inactive_timer)
#define cancel_dl_timer(se, t) hrtimer_try_to_cancel(t)
