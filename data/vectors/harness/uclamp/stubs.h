/* SPDX-License-Identifier: GPL-2.0-only */
/* What the functions of core.c need around them: one run queue, tasks that have a group each or none, no locks. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_UCLAMP_TASK 1
#define CONFIG_UCLAMP_TASK_GROUP 1
#define SCHED_CAPACITY_SCALE 1024L
#define UCLAMP_FLAG_IDLE 1
#define ENQUEUE_DELAYED 0x400
#define SCHED_FLAG_UTIL_CLAMP_MIN 0x20
#define SCHED_FLAG_UTIL_CLAMP_MAX 0x40
#define SCHED_FLAG_UTIL_CLAMP (SCHED_FLAG_UTIL_CLAMP_MIN | SCHED_FLAG_UTIL_CLAMP_MAX)
#define DIV_ROUND_CLOSEST(x, d) (((x) + (d) / 2) / (d))
#define UCLAMP_BUCKET_DELTA DIV_ROUND_CLOSEST(SCHED_CAPACITY_SCALE, UCLAMP_BUCKETS)
#define min_t(t, a, b) ((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define clamp(v, lo, hi) min(max(v, lo), hi)
#define likely(x) (x)
#define unlikely(x) (x)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, v) ((x) = (v))
#define WARN_ON_ONCE(x) ({ if (x) fprintf(stderr, "WARN: %s\n", #x), exit(1); 0; })
#define SCHED_WARN_ON(x) WARN_ON_ONCE(x)
#define lockdep_assert_held(x) do { } while (0)
#define lockdep_assert_rq_held(x) do { } while (0)
#define static_branch_unlikely(key) (*(key))
#define static_branch_likely(key) (*(key))
#define static_branch_enable(key) (*(key) = true)

enum uclamp_id { UCLAMP_MIN = 0, UCLAMP_MAX, UCLAMP_CNT };
#define for_each_clamp_id(id) for ((id) = 0; (id) < UCLAMP_CNT; (id)++)

struct uclamp_se { unsigned int value : 11, bucket_id : 5, active : 1, user_defined : 1; };
struct uclamp_bucket { unsigned long value : 11, tasks : 53; };
struct uclamp_rq { unsigned int value; struct uclamp_bucket bucket[UCLAMP_BUCKETS]; };
struct rq { struct uclamp_rq uclamp[UCLAMP_CNT]; unsigned int uclamp_flags; };
struct task_group { struct uclamp_se uclamp[UCLAMP_CNT]; };
struct sched_class { int uclamp_enabled; };
struct task_struct {
	const struct sched_class *sched_class;
	struct task_group *group;
	struct { bool sched_delayed; } se;
	bool rt, sched_reset_on_fork;
	struct uclamp_se uclamp_req[UCLAMP_CNT], uclamp[UCLAMP_CNT];
	int pi_lock;
};
struct sched_attr { uint64_t sched_flags; uint32_t sched_util_min, sched_util_max; };

static bool sched_uclamp_used;
static struct uclamp_se uclamp_default[UCLAMP_CNT];
static unsigned int sysctl_sched_uclamp_util_min_rt_default = 1024;
static struct task_group root_task_group;
#define task_group(p) ((p)->group)
#define task_group_is_autogroup(tg) false
#define rt_task(p) ((p)->rt)
static inline bool uclamp_is_used(void) { return sched_uclamp_used; }
static inline void sched_uclamp_enable(void) { sched_uclamp_used = true; }
static inline unsigned long uclamp_rq_get(struct rq *rq, enum uclamp_id id) { return rq->uclamp[id].value; }
static inline void uclamp_rq_set(struct rq *rq, enum uclamp_id id, unsigned int value) { rq->uclamp[id].value = value; }
