/* SPDX-License-Identifier: GPL-2.0-only */
/* What the functions of fair.c need around them: two CPUs, no locks, a clock that is set, no notifications, and in
 * place of the red-black tree one that is not balanced. Structs have the fields of all versions. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef s64 ktime_t;
typedef int raw_spinlock_t;

#define VERSION(major, minor) ((major) * 1000 + (minor))
#define HZ 250
#define NSEC_PER_SEC 1000000000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_USEC 1000L
#define USEC_PER_SEC 1000000L
#define max_bw_quota_period_us USEC_PER_SEC
#define max_cfs_quota_period NSEC_PER_SEC
#define TICK_NSEC (NSEC_PER_SEC / HZ)
#define BITS_PER_LONG 64
#define CONFIG_64BIT 1
#define CONFIG_SMP 1
#define CONFIG_FAIR_GROUP_SCHED 1
#define CONFIG_CFS_BANDWIDTH 1
#define CONFIG_SCHED_HRTICK 1
#define CONFIG_SCHED_DEBUG 1
/* As IS_ENABLED() tells it. */
#define IS_ENABLED(option) (option)
#define NR_CPUS 2

#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, v) ((x) = (v))
#define likely(x) (x)
#define unlikely(x) (x)
#undef __always_inline
#define __always_inline inline
#define __maybe_unused __attribute__((unused))
#define __must_hold(x)
#define fallthrough __attribute__((fallthrough))
#define WARN_ON_ONCE(x) \
	({ int __w = !!(x); if (__w) { fprintf(stderr, "line %d: warning: %s\n", __LINE__, #x), exit(1); } __w; })
#define WARN_ON(x) WARN_ON_ONCE(x)
#define SCHED_WARN_ON(x) WARN_ON_ONCE(x)
#define BUG_ON(x) WARN_ON_ONCE(x)
#define pr_warn_ratelimited(...) ((void)0)
#define pr_err(...) ((void)0)
#define container_of(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))
#define max(a, b) ({ typeof(a) __a = (a); typeof(b) __b = (b); __a > __b ? __a : __b; })
#define min(a, b) ({ typeof(a) __a = (a); typeof(b) __b = (b); __a < __b ? __a : __b; })
#define max_t(t, a, b) max((t)(a), (t)(b))
#define min_t(t, a, b) min((t)(a), (t)(b))
#define clamp(v, lo, hi) min(max(v, lo), hi)
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)
#define div_u64(a, b) ((u64)(a) / (u32)(b))
#define div_s64(a, b) ((s64)(a) / (s32)(b))
#define div64_ul(a, b) ((u64)(a) / (unsigned long)(b))
#define div64_long(a, b) ((s64)(a) / (long)(b))
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define swap(a, b) do { typeof(a) __t = (a); (a) = (b); (b) = __t; } while (0)
#define abs(x) ({ typeof(x) __x = (x); __x < 0 ? -__x : __x; })
#define check_mul_overflow(a, b, d) __builtin_mul_overflow(a, (s64)(b), d)
#define check_add_overflow(a, b, d) __builtin_add_overflow(a, b, d)
#define __signed_scalar_typeof(x) typeof(_Generic((x), u32: (int)0, u64: (s64)0, default: (x)))
#define mul_u64_u32_shr(a, mul, shift) ((u64)(((unsigned __int128)(a) * (mul)) >> (shift)))
#define mul_u32_u32(a, b) ((u64)(a) * (b))
#define u64_u32_load_copy(var, copy) (var)
#define u64_u32_store_copy(var, copy, val) ((var) = (val))
#define u64_u32_load(var) (var)
#define u64_u32_store(var, val) ((var) = (val))
#define ktime_to_ns(t) (t)
#define ns_to_ktime(t) (t)
static inline int fls(unsigned int x) { return x ? 32 - __builtin_clz(x) : 0; }

#define raw_spin_lock(l) ((void)0)
#define raw_spin_unlock(l) ((void)0)
#define raw_spin_lock_irqsave(l, f) ((void)(f))
#define raw_spin_unlock_irqrestore(l, f) ((void)(f))
#define lockdep_assert_held(l) ((void)0)
#define lockdep_assert_rq_held(l) ((void)0)
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define rq_lock(rq, rf) ((void)(rf))
#define rq_unlock(rq, rf) ((void)(rf))
#define rq_lock_irqsave(rq, rf) ((void)(rf))
#define rq_unlock_irqrestore(rq, rf) ((void)(rf))
#define update_rq_clock(rq) ((void)(rq))
#define rq_clock_start_loop_update(rq) ((void)0)
#define rq_clock_stop_loop_update(rq) ((void)0)
#define rq_clock_skip_update(rq) ((void)0)
#define trace_pelt_cfs_tp(x) ((void)0)
#define trace_pelt_se_tp(x) ((void)0)

/* Lists. */
struct list_head { struct list_head *next, *prev; };
#define LIST_HEAD(name) struct list_head name = { &(name), &(name) }
#define INIT_LIST_HEAD(l) ((l)->next = (l)->prev = (l))
#define list_empty(l) ((l)->next == (l))
static inline void list_add_between(struct list_head *n, struct list_head *prev, struct list_head *next)
{
	n->next = next, n->prev = prev, prev->next = n, next->prev = n;
}
#define list_add(n, l) list_add_between(n, l, (l)->next)
#define list_add_tail(n, l) list_add_between(n, (l)->prev, l)
#define list_add_tail_rcu list_add_tail
#define list_add_rcu list_add
/* Leaves `next`, as list_del_rcu() does, so that a walk goes on. */
static inline void list_del(struct list_head *n) { n->prev->next = n->next, n->next->prev = n->prev; }
#define list_del_rcu list_del
static inline void list_del_init(struct list_head *n) { list_del(n); INIT_LIST_HEAD(n); }
static inline void list_move(struct list_head *n, struct list_head *l) { list_del(n); list_add(n, l); }
static inline void list_splice(struct list_head *from, struct list_head *l)
{
	if (list_empty(from))
		return;
	from->prev->next = l->next, l->next->prev = from->prev;
	l->next = from->next, from->next->prev = l;
}
static inline void list_splice_init(struct list_head *from, struct list_head *l)
{
	list_splice(from, l);
	INIT_LIST_HEAD(from);
}
#define list_entry(p, t, m) container_of(p, t, m)
#define list_for_each_entry_rcu(pos, head, m) \
	for (pos = list_entry((head)->next, typeof(*pos), m); &pos->m != (head); \
	     pos = list_entry(pos->m.next, typeof(*pos), m))
#define list_for_each_entry_safe(pos, n, head, m) \
	for (pos = list_entry((head)->next, typeof(*pos), m), n = list_entry(pos->m.next, typeof(*pos), m); \
	     &pos->m != (head); pos = n, n = list_entry(n->m.next, typeof(*n), m))

/* A tree that is not balanced: only the order and what is known of each subtree count. */
struct rb_node { struct rb_node *rb_parent, *rb_left, *rb_right; };
struct rb_root { struct rb_node *rb_node; };
struct rb_root_cached { struct rb_root rb_root; struct rb_node *rb_leftmost; };
struct rb_augment_callbacks { void (*propagate)(struct rb_node *, struct rb_node *); };
#define rb_entry container_of
#define rb_entry_safe(p, t, m) ((p) ? container_of(p, t, m) : NULL)
#define rb_first_cached(tree) ((tree)->rb_leftmost)
#define RB_CLEAR_NODE(n) memset(n, 0, sizeof(*(n)))
#define RB_EMPTY_ROOT(r) (!(r)->rb_node)
static inline struct rb_node *rb_next(const struct rb_node *n)
{
	if (n->rb_right) {
		for (n = n->rb_right; n->rb_left;)
			n = n->rb_left;
		return (struct rb_node *)n;
	}
	while (n->rb_parent && n->rb_parent->rb_right == n)
		n = n->rb_parent;
	return n->rb_parent;
}
static inline void rb_put(struct rb_root_cached *tree, struct rb_node *old, struct rb_node *new)
{
	struct rb_node *parent = old->rb_parent;

	if (!parent)
		tree->rb_root.rb_node = new;
	else if (parent->rb_left == old)
		parent->rb_left = new;
	else
		parent->rb_right = new;
	if (new)
		new->rb_parent = parent;
}
static inline void rb_insert(struct rb_node *node, struct rb_root_cached *tree,
			     bool (*less)(struct rb_node *, const struct rb_node *),
			     const struct rb_augment_callbacks *cb)
{
	struct rb_node **link = &tree->rb_root.rb_node, *parent = NULL;
	bool leftmost = true;

	while (*link) {
		parent = *link;
		if (less(node, parent))
			link = &parent->rb_left;
		else
			link = &parent->rb_right, leftmost = false;
	}
	*node = (struct rb_node){ .rb_parent = parent };
	*link = node;
	if (leftmost)
		tree->rb_leftmost = node;
	if (cb)
		cb->propagate(node, NULL);
}
static inline void rb_remove(struct rb_node *node, struct rb_root_cached *tree, const struct rb_augment_callbacks *cb)
{
	struct rb_node *changed;

	if (tree->rb_leftmost == node)
		tree->rb_leftmost = rb_next(node);
	if (node->rb_left && node->rb_right) {
		struct rb_node *heir = node->rb_right;

		while (heir->rb_left)
			heir = heir->rb_left;
		changed = heir->rb_parent == node ? heir : heir->rb_parent;
		if (heir->rb_parent != node) {
			rb_put(tree, heir, heir->rb_right);
			heir->rb_right = node->rb_right, heir->rb_right->rb_parent = heir;
		}
		heir->rb_left = node->rb_left, heir->rb_left->rb_parent = heir;
		rb_put(tree, node, heir);
	} else {
		changed = node->rb_parent;
		rb_put(tree, node, node->rb_left ? node->rb_left : node->rb_right);
	}
	if (cb && changed)
		cb->propagate(changed, NULL);
}
#define rb_add_cached(node, tree, less) rb_insert(node, tree, less, NULL)
#define rb_erase_cached(node, tree) rb_remove(node, tree, NULL)
#define rb_add_augmented_cached(node, tree, less, cb) rb_insert(node, tree, less, cb)
#define rb_erase_augmented_cached(node, tree, cb) rb_remove(node, tree, cb)
/* To the root each time, where the kernel ends at a node that does not change. */
#define RB_DECLARE_CALLBACKS(RBSTATIC, name, type, field, augmented, compute) \
	RBSTATIC inline void name##_propagate(struct rb_node *rb, struct rb_node *stop) \
	{ \
		for (; rb != stop; rb = rb->rb_parent) \
			compute(container_of(rb, type, field), false); \
	} \
	RBSTATIC const struct rb_augment_callbacks name = { .propagate = name##_propagate };

#define RB_DECLARE_CALLBACKS_MULTI RB_DECLARE_CALLBACKS
#define rb_link_node(node, parent, link) ((void)(link))
/* The walk to the place has been made in the order that entity_before() has. */
#define rb_insert_color_cached(node, tree, leftmost) rb_insert(node, tree, entity_less, NULL)

/* Averages. */
#define LOAD_AVG_PERIOD 32
#define LOAD_AVG_MAX 47742
#define PELT_MIN_DIVIDER (LOAD_AVG_MAX - 1024)
#define SCHED_CAPACITY_SHIFT 10
#define SCHED_CAPACITY_SCALE 1024
#define SCHED_FIXEDPOINT_SHIFT 10
#define UTIL_AVG_UNCHANGED 0x80000000
#define NICE_0_LOAD (1L << 20)
#define NICE_0_LOAD_SHIFT 20
#define MIN_SHARES 2UL
#define WMULT_CONST (~0U)
#define WMULT_SHIFT 32
#define RUNTIME_INF ((u64)~0ULL)
#define scale_load(w) ((w) << 10)
#define scale_load_down(w) ({ unsigned long __w = (w); __w ? max(2UL, __w >> 10) : 0; })

#define UPDATE_TG 0x1
#define SKIP_AGE_LOAD 0x2
#define DO_ATTACH 0x4
#define DO_DETACH 0x8
#define UPDATE_UTIL_EST 0x10

#define DEQUEUE_SLEEP 0x0001
#define DEQUEUE_SAVE 0x0002
#define DEQUEUE_MOVE 0x0004
#define DEQUEUE_NOCLOCK 0x0008
#define DEQUEUE_SPECIAL 0x0010
#define DEQUEUE_DELAYED 0x0200
#define DEQUEUE_THROTTLE 0x0800
#define ENQUEUE_WAKEUP 0x0001
#define ENQUEUE_RESTORE 0x0002
#define ENQUEUE_MOVE 0x0004
#define ENQUEUE_NOCLOCK 0x0008
#define ENQUEUE_MIGRATED 0x0040
#define ENQUEUE_INITIAL 0x0080
#define ENQUEUE_DELAYED 0x0200
#define ENQUEUE_QUEUED 0x0400
#define WF_EXEC 0x02
#define WF_FORK 0x04
#define WF_TTWU 0x08
#define WF_SYNC 0x10
#define WF_RQ_SELECTED 0x80

#define TASK_ON_RQ_QUEUED 1
#define TASK_ON_RQ_MIGRATING 2
#define PF_EXITING 1
#define PF_KTHREAD 2
#define TWA_RESUME 0
#define SCHED_NORMAL 0
#define SCHED_BATCH 3
#define SCHED_IDLE 5
#define TICK_DEP_BIT_SCHED 0
#define SCHED_CPUFREQ_IOWAIT 1

struct sched_avg {
	u64 last_update_time, load_sum, runnable_sum;
	u32 util_sum, period_contrib;
	unsigned long load_avg, runnable_avg, util_avg;
	unsigned int util_est;
};
struct load_weight { unsigned long weight; u32 inv_weight; };
struct callback_head { struct callback_head *next; };
struct hrtimer { s64 expires; bool active, running; };
enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
#define HRTIMER_MODE_REL 0
#define HRTIMER_MODE_ABS_PINNED 0
struct cfs_rq;
struct task_group;
struct rq_flags { int none; };
struct sched_statistics { u64 slice_max, exec_max; };
struct sched_entity {
	struct sched_statistics statistics;
	struct load_weight load, h_load;
	struct rb_node run_node;
	u64 deadline, min_deadline, min_vruntime, min_slice, max_slice;
	struct list_head group_node;
	unsigned char on_rq, sched_delayed, rel_deadline, custom_slice;
	u64 exec_start, sum_exec_runtime, prev_sum_exec_runtime, vruntime, slice, nr_migrations, vprot;
	s64 vlag;
	int depth;
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq, *my_q;
	unsigned long runnable_weight;
	struct sched_avg avg;
};
struct sched_class { int none; };
struct task_struct {
	struct sched_entity se;
	const struct sched_class *sched_class;
	int policy, prio, nice, on_rq, cpu, flags, in_iowait, state;
	struct callback_head sched_throttle_work;
	struct list_head throttle_node;
	bool throttled;
	struct task_struct *dl_server;
};
struct cfs_bandwidth {
	raw_spinlock_t lock;
	ktime_t period;
	u64 quota, runtime, burst, runtime_snap;
	s64 hierarchical_quota;
	u8 idle, period_active, slack_started, distribute_running;
	struct hrtimer period_timer, slack_timer;
	struct list_head throttled_cfs_rq;
	int nr_periods, nr_throttled, nr_burst;
	u64 throttled_time, burst_time;
};
struct cfs_rq {
	struct load_weight load;
	unsigned int nr_running, h_nr_running, idle_nr_running, idle_h_nr_running;
	unsigned int nr_queued, h_nr_queued, h_nr_runnable, h_nr_idle, h_nr_delayed;
	s64 avg_vruntime, sum_w_vruntime;
	u64 avg_load, sum_weight, zero_vruntime, min_vruntime, exec_clock;
	unsigned int sum_shift;
	struct rb_root_cached tasks_timeline;
	struct sched_entity *curr, *next, *last, *skip, *h_curr;
	struct sched_avg avg;
	struct { raw_spinlock_t lock; int nr; unsigned long load_avg, util_avg, runnable_avg; } removed;
	u64 last_update_tg_load_avg, load_last_update_time_copy;
	unsigned long tg_load_avg_contrib, tg_runnable_avg_contrib;
	long propagate, prop_runnable_sum;
	unsigned long h_load;
	u64 last_h_load_update;
	struct sched_entity *h_load_next;
	struct rq *rq;
	int on_list;
	struct task_group *tg;
	int idle, runtime_enabled;
	s64 runtime_remaining;
	u64 throttled_pelt_idle, throttled_clock, throttled_clock_pelt, throttled_clock_pelt_time;
	u64 throttled_clock_self, throttled_clock_self_time;
	/* As in the kernel since 6.18; before, they are int. */
	bool throttled, pelt_clock_throttled;
	int throttle_count, nr_spread_over;
	struct list_head throttled_list, throttled_csd_list, throttled_limbo_list;
};
struct cgroup;
struct task_group {
	struct { struct cgroup *cgroup; } css;
	struct cfs_rq *cfs_rq[NR_CPUS];
	struct sched_entity *se[NR_CPUS];
	unsigned long shares;
	long load_avg, runnable_avg;
	struct task_group *parent;
	int idle;
	struct cfs_bandwidth cfs_bandwidth;
};
struct sched_dl_entity { int none; };
struct rq {
	struct cfs_rq cfs;
	struct task_struct *curr, *donor, *idle;
	int cpu;
	unsigned int nr_running;
	unsigned long next_balance;
	struct list_head cfs_tasks, cfsb_csd_list;
	struct { int none; } cfsb_csd;
	struct { bool active; } hrtick_timer;
	struct sched_dl_entity fair_server;
	/* 1 lazily, 2 at once. */
	int need_resched;
};

static struct rq rqs[NR_CPUS];
static struct task_group root_task_group;
static const struct sched_class fair_sched_class, idle_sched_class;
static u64 clock_now;
static int this_cpu;
static unsigned long jiffies;
static unsigned int sysctl_sched_base_slice = 2800000, normalized_sysctl_sched_base_slice = 700000;
static unsigned int sysctl_sched_latency = 24000000, sysctl_sched_min_granularity = 3000000;
static unsigned int sysctl_sched_idle_min_granularity = 750000, sysctl_sched_wakeup_granularity = 4000000;
static unsigned int sched_nr_latency = 8, sysctl_sched_migration_cost = 500000;
static unsigned int sysctl_sched_cfs_bandwidth_slice = 5000;
static struct task_struct *current;

#define sched_feat(x) FEATURE_##x
#define FEATURE_PLACE_LAG 1
#define FEATURE_PLACE_DEADLINE_INITIAL 1
#define FEATURE_PLACE_REL_DEADLINE 1
#define FEATURE_RUN_TO_PARITY 1
#define FEATURE_PREEMPT_SHORT 1
#define FEATURE_NEXT_BUDDY next_buddy
#define FEATURE_PICK_BUDDY 1
#define FEATURE_DELAY_DEQUEUE 1
#define FEATURE_DELAY_ZERO 1
#define FEATURE_PARANOID_AVG 0
#define FEATURE_WAKEUP_PREEMPTION 1
#define FEATURE_HRTICK 0
#define FEATURE_DOUBLE_TICK 0
#define FEATURE_GENTLE_FAIR_SLEEPERS 1
#define FEATURE_START_DEBIT 1
#define FEATURE_LAST_BUDDY 1
#define FEATURE_ALT_PERIOD 1
#define FEATURE_BASE_SLICE 1
#define FEATURE_UTIL_EST 0
static int next_buddy;
#define sysctl_sched_child_runs_first 0

#define cpu_rq(n) (&rqs[n])
#define cpu_of(rq) ((rq)->cpu)
#define this_rq() (&rqs[this_cpu])
#define smp_processor_id() this_cpu
#define rq_of(q) ((q)->rq)
#define cfs_rq_of(entity) ((entity)->cfs_rq)
#define group_cfs_rq(entity) ((entity)->my_q)
#define task_cfs_rq(p) ((p)->se.cfs_rq)
#define task_rq(p) cpu_rq((p)->cpu)
#define task_cpu(p) ((p)->cpu)
#define task_group(p) ((p)->se.cfs_rq->tg)
#define entity_is_task(entity) (!(entity)->my_q)
#define task_of(entity) container_of(entity, struct task_struct, se)
#define parent_entity(entity) ((entity)->parent)
#define for_each_sched_entity(entity) for (; entity; entity = (entity)->parent)
#define se_weight(entity) scale_load_down((entity)->load.weight)
#define task_has_idle_policy(p) ((p)->policy == SCHED_IDLE)
#define normal_policy(p) ((p) == SCHED_NORMAL)
#define task_on_rq_queued(p) ((p)->on_rq == TASK_ON_RQ_QUEUED)
#define task_on_rq_migrating(p) ((p)->on_rq == TASK_ON_RQ_MIGRATING)
#define task_current(rq, p) ((rq)->curr == (p))
#define task_current_donor(rq, p) ((rq)->curr == (p))
#define sched_fair_runnable(rq) ((rq)->cfs.nr_running > 0)
#define test_tsk_need_resched(p) (task_rq(p)->need_resched == 2)
#define resched_curr(rq) ((void)((rq)->need_resched = 2))
#define resched_curr_lazy(rq) ((void)((rq)->need_resched = max((rq)->need_resched, 1)))
#define rq_clock(rq) ((void)(rq), clock_now)
#define rq_clock_task(rq) ((void)(rq), clock_now)
#define rq_clock_pelt(rq) ((void)(rq), clock_now)
#define sched_clock_cpu(cpu) ((void)(cpu), clock_now)
#define cpu_active(cpu) 1
#define num_online_cpus() NR_CPUS
#define cpusets_enabled() 0
#define add_nr_running(rq, n) ((rq)->nr_running += (n))
#define sub_nr_running(rq, n) ((rq)->nr_running -= (n))
#define atomic_long_read(p) (*(p))
#define atomic_long_add(v, p) (*(p) += (v))
#define static_call(f) f##_default
#define calc_group_shares_default calc_concur_shares
#define static_branch_unlikely(key) 0
#define sched_core_enabled(rq) 0
#define sched_idle_rq(rq) 0
#define hrtick_enabled_fair(rq) 0
#define hrtick_enabled(rq) 0
#define hrtick_update(rq) ((void)(rq))
#define hrtimer_active(t) 0
#define hrtick_start_fair(rq, p) ((void)0)
#define util_est_enqueue(q, p) ((void)0)
#define util_est_dequeue(q, p) ((void)0)
#define util_est_update(...) ((void)0)
#define cfs_rq_util_change(q, f) ((void)(q))
#define cfs_se_util_change(avg) ((void)0)
#define cpufreq_update_util(rq, f) ((void)0)
#define check_update_overutilized_status(rq) ((void)0)
#define update_overutilized_status(rq) ((void)0)
#define update_misfit_status(p, rq) ((void)0)
#define sched_fair_update_stop_tick(rq, p) ((void)0)
#define dl_server_active(s) 0
#define dl_server_update(s, d) ((void)0)
#define dl_server_start(s) ((void)0)
#define dl_server_update_idle_time(rq, p) ((void)0)
#define __put_prev_set_next_dl_server(rq, prev, next) ((void)0)
#define update_idle_cfs_rq_clock_pelt(q) ((void)(q))
#define update_idle_rq_clock_pelt(rq) ((void)(rq))
#define list_add_leaf_cfs_rq(q) ((q)->on_list = 1, false)
#define list_del_leaf_cfs_rq(q) ((void)((q)->on_list = 0))
#define assert_list_leaf_cfs_rq(rq) ((void)(rq))
#define cfs_rq_is_decayed(q) 0
#define check_schedstat_required() ((void)0)
#define schedstat_enabled() 0
#define __schedstats_from_se(e) ((struct sched_statistics *)NULL)
#define __schedstat_set(var, v) ((var) = (v))
#define update_stats_enqueue_fair(q, e, f) ((void)0)
#define update_stats_dequeue_fair(q, e, f) ((void)0)
#define update_stats_wait_start_fair(q, e) ((void)0)
#define update_stats_wait_end_fair(q, e) ((void)0)
#define update_stats_curr_start(q, e) ((void)((e)->exec_start = clock_now))
#define trace_sched_stat_runtime(...) ((void)0)
#define account_group_exec_runtime(p, d) ((void)0)
#define account_mm_sched(...) ((void)0)
#define cgroup_account_cputime(p, d) ((void)0)
#define account_cpu_user_time(...) ((void)0)
#define check_spread(q, e) ((void)0)
#define schedstat_add(var, v) ((void)0)
#define schedstat_set(var, v) ((void)0)
#define update_stats_enqueue(q, e, f) ((void)0)
#define update_stats_dequeue(q, e, f) ((void)0)
#define update_stats_wait_end(q, e) ((void)0)
#define update_stats_wait_start(q, e) ((void)0)
#define sched_idle_cfs_rq(q) ((q)->nr_running && (q)->nr_running == (q)->idle_nr_running)
#define detach_task_cfs_rq(p) abort()
#define tg_cfs_rq(tg, cpu) ((tg)->cfs_rq[cpu])
#define cfs_rq_se(q) ((q)->tg->se[cpu_of((q)->rq)])
#define tg_se(tg, cpu) ((tg)->se[cpu])
#define __BUILD_BUG_vruntime_cmp(...) abort()
#define __BUILD_BUG_vruntime_op(...) abort()
#define BUILD_BUG() abort()
#define cpuset_num_cpus(c) NR_CPUS
#define smp_rmb() ((void)0)
#define set_task_max_allowed_capacity(p) ((void)0)
#define propagate_entity_cfs_rq(e) ((void)0)
#define task_tick_numa(rq, p) ((void)0)
#define task_tick_cache(rq, p) ((void)0)
#define task_tick_core(rq, p) ((void)0)
#define pref_llc_running_inc(rq, p) ((void)0)
#define pref_llc_running_dec(rq, p) ((void)0)
#define account_llc_enqueue(rq, p) ((void)0)
#define account_llc_dequeue(rq, p) ((void)0)
#define account_numa_enqueue(rq, p) ((void)0)
#define account_numa_dequeue(rq, p) ((void)0)
#define cfs_bandwidth_used() 1
#define walk_tg_tree_from walk_groups
#define get_random_u32_below(n) 0
#define hrtimer_callback_running(t) ((t)->running)
#define hrtimer_expires_remaining(t) ((t)->expires - (s64)clock_now)
#define hrtimer_start(t, ns, mode) ((t)->expires = clock_now + (ns), (t)->active = true)
#define hrtimer_start_range_ns(t, ns, range, mode) hrtimer_start(t, ns, mode)
#define hrtimer_start_expires(t, mode) ((t)->active = true)
#define trace_sched_entity_throttle(...) ((void)0)
#define __block_task(rq, p) ((void)((p)->on_rq = 0))
#define scoped_guard(kind, ...) scoped_##kind(__VA_ARGS__)
#define scoped_task_rq_lock(p) \
	for (struct { struct rq *rq; int once; } scope = { task_rq(p), 1 }; scope.once; scope.once = 0)
#define scoped_raw_spinlock(l) for (int once = 1; once; once = 0)
#define scoped_raw_spinlock_irqsave scoped_raw_spinlock
#define scoped_rcu() if (1)
#define scoped_irqsave() if (1)
#define CLASS(kind, name) struct { unsigned long flags; } name = { 0 }; guard_nothing
#define guard(kind) guard_nothing
static inline void guard_nothing() { }

static inline u64 hrtimer_forward_now(struct hrtimer *t, s64 interval)
{
	u64 overrun = 0;

	while (t->expires <= (s64)clock_now)
		t->expires += interval, overrun++;
	return overrun;
}
static bool entity_less(struct rb_node *a, const struct rb_node *b);
static inline int newidle_balance(struct rq *rq, struct rq_flags *rf) { return 0; }
static inline int sched_balance_newidle(struct rq *rq, struct rq_flags *rf) { return 0; }
#define RETRY_TASK ((void *)-1UL)
static inline void task_work_add(struct task_struct *p, struct callback_head *work, int mode) { work->next = NULL; }
static inline void smp_call_function_single_async(int cpu, void *csd) { }
static int tg_nop(struct task_group *tg, void *data) { return 0; }
static inline int walk_groups(struct task_group *from, int (*down)(struct task_group *, void *),
			      int (*up)(struct task_group *, void *), void *data);
static inline void wakeup_preempt(struct rq *rq, struct task_struct *p, int flags);
#define check_preempt_curr wakeup_preempt
static inline void put_prev_set_next_task(struct rq *rq, struct task_struct *prev, struct task_struct *next);
static inline void put_prev_task(struct rq *rq, struct task_struct *prev);
static inline void set_next_task(struct rq *rq, struct task_struct *next);
