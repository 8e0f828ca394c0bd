/* SPDX-License-Identifier: GPL-2.0-only */
/* What the functions of fair.c need around them: one CPU, no locks, three levels of groups. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;

#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, v) ((x) = (v))
#define unlikely(x) (x)
#define WARN_ON_ONCE(x) ((void)(x))
#define SCHED_CAPACITY_SHIFT 10
#define LOAD_AVG_MAX 47742
#define PELT_MIN_DIVIDER (LOAD_AVG_MAX - 1024)
#define MIN_SHARES 2
#define scale_load(w) ((w) << 10)
#define scale_load_down(w) ({ unsigned long __w = (w); __w ? max(2UL, __w >> 10) : 0; })
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max_t(t, a, b) ((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define min_t(t, a, b) ((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)
#define div_u64(a, b) ((u64)(a) / (u32)(b))
#define div_s64(a, b) ((s64)(a) / (int)(b))
#define div64_ul(a, b) ((u64)(a) / (unsigned long)(b))
#define __signed_scalar_typeof(x) typeof(_Generic((x), u32: (int)0, u64: (s64)0, default: (x)))
#define trace_pelt_cfs_tp(x) do { } while (0)
#define trace_pelt_se_tp(x) do { } while (0)
#define atomic_long_read(p) (*(p))
#define atomic_long_add(v, p) (*(p) += (v))

struct sched_avg {
	u64 last_update_time, load_sum, runnable_sum;
	u32 util_sum, period_contrib;
	unsigned long load_avg, runnable_avg, util_avg;
};
struct load_weight { unsigned long weight; };
struct cfs_rq;
struct sched_entity {
	struct load_weight load;
	struct sched_avg avg;
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq, *my_q;
};
struct task_group { unsigned long shares; long load_avg; struct sched_entity *se[1]; };
struct cfs_rq {
	struct load_weight load;
	struct sched_avg avg;
	unsigned long tg_load_avg_contrib, h_load, last_h_load_update;
	long propagate, prop_runnable_sum;
	struct sched_entity *h_load_next;
	struct task_group *tg;
};
struct task_struct { struct sched_entity se; };
struct rq { int nr; };

static struct task_group root_task_group;
static unsigned long jiffies;

static inline struct rq *rq_of(struct cfs_rq *cfs_rq) { return NULL; }
static inline int cpu_of(struct rq *rq) { return 0; }
static inline struct cfs_rq *cfs_rq_of(struct sched_entity *se) { return se->cfs_rq; }
static inline struct cfs_rq *group_cfs_rq(struct sched_entity *se) { return se->my_q; }
static inline struct cfs_rq *task_cfs_rq(struct task_struct *p) { return p->se.cfs_rq; }
static inline bool entity_is_task(struct sched_entity *se) { return !se->my_q; }
static inline long se_weight(struct sched_entity *se) { return scale_load_down(se->load.weight); }
static inline unsigned long cfs_rq_load_avg(struct cfs_rq *cfs_rq) { return cfs_rq->avg.load_avg; }
static inline u32 get_pelt_divider(struct sched_avg *avg) { return PELT_MIN_DIVIDER + avg->period_contrib; }
static inline struct sched_entity *cfs_rq_se(struct cfs_rq *cfs_rq) { return cfs_rq->tg->se[0]; }
#define for_each_sched_entity(se) for (; se; se = se->parent)
