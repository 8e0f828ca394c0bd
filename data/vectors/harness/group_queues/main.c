// SPDX-License-Identifier: GPL-2.0-only
// Random operations on the run queues of groups on two CPUs, and the state in which the kernel's functions leave them.
// The seed is fixed, so that a run gives the same bytes.
#include "stubs.h"
#include "kernel.h"

#define TASKS 9
#define GROUPS 5

static u64 state;

static u64 below(u64 n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return n ? (state >> 16) % n : 0;
}

static struct task_group *groups[GROUPS] = { &root_task_group };
static struct task_struct tasks[TASKS], idle_tasks[NR_CPUS], fake;
static int nr_groups, nr_tasks, parents[GROUPS];
static bool gone[TASKS];

static bool entity_less(struct rb_node *a, const struct rb_node *b)
{
#if V < VERSION(5, 15)
	return entity_before(rb_entry(a, struct sched_entity, run_node), rb_entry(b, struct sched_entity, run_node));
#else
	return false;
#endif
}

static inline int walk_groups(struct task_group *from, int (*down)(struct task_group *, void *),
			      int (*up)(struct task_group *, void *), void *data)
{
	down(from, data);
	/* sched_online_group() puts the newest first. */
	for (int g = nr_groups - 1; g >= 1; g--)
		if (groups[g]->parent == from)
			walk_groups(groups[g], down, up, data);
	up(from, data);
	return 0;
}

/* core.c, as far as it concerns the fair class. */
static bool fair(struct task_struct *p) { return p->sched_class == &fair_sched_class; }

#if V < VERSION(6, 12)
static inline void put_prev_task(struct rq *rq, struct task_struct *prev)
{
	if (fair(prev))
		put_prev_task_fair(rq, prev);
}
#else
static inline void put_prev_task(struct rq *rq, struct task_struct *prev)
{
	if (fair(prev))
		put_prev_task_fair(rq, prev, NULL);
}
#endif
static inline void set_next_task(struct rq *rq, struct task_struct *next)
{
	if (fair(next))
		set_next_task_fair(rq, next, false);
}
static inline void put_prev_set_next_task(struct rq *rq, struct task_struct *prev, struct task_struct *next)
{
	if (next == prev)
		return;
#if V >= VERSION(6, 12)
	if (fair(prev))
		put_prev_task_fair(rq, prev, next);
#endif
	if (fair(next))
		set_next_task_fair(rq, next, true);
}

static void set_weight(struct load_weight *lw, struct task_struct *p)
{
	int prio = p->nice + 20;

	*lw = p->policy == SCHED_IDLE ?
		(struct load_weight){ scale_load(3UL), 1431655765 } :
		(struct load_weight){ scale_load((unsigned long)sched_prio_to_weight[prio]), sched_prio_to_wmult[prio] };
}

static void set_task_rq(struct task_struct *p, int cpu, int group)
{
	struct task_group *tg = groups[group];

	p->cpu = cpu;
	p->se.cfs_rq = tg->cfs_rq[cpu];
	p->se.parent = tg->se[cpu];
	p->se.depth = tg->se[cpu] ? tg->se[cpu]->depth + 1 : 0;
}

static int group_of(struct task_struct *p)
{
	for (int g = 0; g < nr_groups; g++)
		if (groups[g] == p->se.cfs_rq->tg)
			return g;
	abort();
}

static inline void wakeup_preempt(struct rq *rq, struct task_struct *p, int flags)
{
	if (!fair(rq->curr)) {
		resched_curr(rq);
		return;
	}
#if V < VERSION(6, 6)
	check_preempt_wakeup(rq, p, flags);
#elif V < VERSION(7, 0)
	check_preempt_wakeup_fair(rq, p, flags);
#else
	wakeup_preempt_fair(rq, p, flags);
#endif
}

static void schedule(int cpu, int mode)
{
	struct rq *rq = cpu_rq(cpu);
	struct task_struct *prev = rq->curr, *next;

	if (fair(prev) && mode) {
		int flags = DEQUEUE_SLEEP | DEQUEUE_NOCLOCK | (mode == 2 ? DEQUEUE_SPECIAL : 0);

		prev->flags |= mode == 2 ? PF_EXITING : 0;
#if V < VERSION(6, 12)
		dequeue_task_fair(rq, prev, flags);
		prev->on_rq = 0;
#else
		if (dequeue_task_fair(rq, prev, flags))
			prev->on_rq = 0;
#endif
	}
#if V < VERSION(6, 12)
	next = pick_next_task_fair(rq, prev, NULL);
	if (!next) {
		put_prev_task(rq, prev);
		next = rq->idle;
	}
#elif V < VERSION(7, 0)
	next = pick_next_task_fair(rq, prev, NULL);
	if (!next) {
		next = rq->idle;
		put_prev_set_next_task(rq, prev, next);
	}
#else
	next = pick_task_fair(rq, NULL);
	if (!next)
		next = rq->idle;
	put_prev_set_next_task(rq, prev, next);
#endif
	rq->need_resched = 0;
	rq->curr = rq->donor = next;
	if (fair(prev) && mode == 2) {
		gone[prev - tasks] = true;
		remove_entity_load_avg(&prev->se);
	}
}

static void fork_task(int cpu, int group, int policy, int nice, u64 slice)
{
	struct task_struct *p = &tasks[nr_tasks++];
	struct sched_entity *se = &p->se;
	int dest = below(NR_CPUS);

	memset(p, 0, sizeof(*p));
	p->sched_class = &fair_sched_class, p->policy = policy, p->nice = nice;
	p->sched_throttle_work.next = &p->sched_throttle_work;
	INIT_LIST_HEAD(&p->throttle_node);
	INIT_LIST_HEAD(&se->group_node);
	set_weight(&se->load, p);
	se->h_load = se->load;
#if V >= VERSION(6, 12)
	se->custom_slice = slice != 0;
#else
	slice = 0;
#endif
	se->slice = slice ? slice : sysctl_sched_base_slice;
	se->avg.load_avg = scale_load_down(se->load.weight);
	se->avg.util_avg = se->avg.runnable_avg = 512;
	printf("O,%lu,fork,%d,%d,%d,%d,%lu,%d\n", clock_now, cpu, group, policy, nice, slice, dest);
	this_cpu = cpu;
	set_task_rq(p, cpu, group);
#if V < VERSION(6, 12)
	set_task_rq(&fake, cpu, group);
	current = &fake;
	cpu_rq(cpu)->curr->cpu = cpu;
	task_fork_fair(p);
#endif
	set_task_rq(p, dest, group);
	p->on_rq = TASK_ON_RQ_QUEUED;
	enqueue_task_fair(cpu_rq(dest), p, ENQUEUE_NOCLOCK | (V < VERSION(6, 12) ? 0 : ENQUEUE_INITIAL));
	wakeup_preempt(cpu_rq(dest), p, WF_FORK);
}

static void wake(struct task_struct *p, int cpu, int flags)
{
	int enqueue = ENQUEUE_WAKEUP | ENQUEUE_NOCLOCK;

	printf("O,%lu,wake,%ld,%d,%d\n", clock_now, p - tasks, cpu, flags);
	if (p->se.sched_delayed) {
		enqueue_task_fair(task_rq(p), p, ENQUEUE_NOCLOCK | ENQUEUE_DELAYED);
		wakeup_preempt(task_rq(p), p, flags);
		return;
	}
	if (p->cpu != cpu) {
		remove_entity_load_avg(&p->se);
		p->se.avg.last_update_time = 0;
#if V < VERSION(6, 6)
		p->se.vruntime -= p->se.cfs_rq->min_vruntime;
#endif
		p->se.exec_start = 0;
		set_task_rq(p, cpu, group_of(p));
		enqueue |= ENQUEUE_MIGRATED;
	}
	p->on_rq = TASK_ON_RQ_QUEUED;
	enqueue_task_fair(cpu_rq(cpu), p, enqueue);
	wakeup_preempt(cpu_rq(cpu), p, flags);
}

static void migrate(struct task_struct *p, int cpu)
{
	printf("O,%lu,migrate,%ld,%d\n", clock_now, p - tasks, cpu);
	p->on_rq = TASK_ON_RQ_MIGRATING;
	dequeue_task_fair(task_rq(p), p, DEQUEUE_NOCLOCK);
	p->se.avg.last_update_time = 0;
	p->se.exec_start = 0;
	set_task_rq(p, cpu, group_of(p));
	enqueue_task_fair(cpu_rq(cpu), p, ENQUEUE_NOCLOCK | ENQUEUE_MIGRATED);
	p->on_rq = TASK_ON_RQ_QUEUED;
	wakeup_preempt(cpu_rq(cpu), p, 0);
}

static void set_nice(struct task_struct *p, int nice)
{
	struct rq *rq = task_rq(p);
	bool queued = p->on_rq, running = rq->curr == p;
	struct load_weight lw;
	int old = p->nice;

	printf("O,%lu,nice,%ld,%d\n", clock_now, p - tasks, nice);
	if (nice == old)
		return;
	if (queued)
		dequeue_task_fair(rq, p, DEQUEUE_SAVE | DEQUEUE_NOCLOCK);
	if (running)
		put_prev_task(rq, p);
	p->nice = nice;
	set_weight(&lw, p);
#if V >= VERSION(6, 12)
	reweight_task_fair(rq, p, &lw);
#else
	reweight_entity(p->se.cfs_rq, &p->se, lw.weight);
	p->se.load.inv_weight = lw.inv_weight;
#endif
	if (queued)
		enqueue_task_fair(rq, p, ENQUEUE_RESTORE | ENQUEUE_NOCLOCK);
	if (running)
		set_next_task(rq, p);
	p->prio = nice + 120;
	prio_changed_fair(rq, p, old + 120);
}

static void tick(int cpu)
{
	struct rq *rq = cpu_rq(cpu);

	if (!fair(rq->curr))
		return;
	if (rq->need_resched == 1)
		resched_curr(rq);
	task_tick_fair(rq, rq->curr, 0);
}

/* The timers that are due, the earliest first, and what they ask other CPUs to do. */
static void timers(u64 until)
{
	for (;;) {
		struct hrtimer *first = NULL;
		int group = 0;

		for (int g = 1; g < nr_groups; g++) {
			struct hrtimer *both[2] = { &groups[g]->cfs_bandwidth.period_timer, &groups[g]->cfs_bandwidth.slack_timer };

			for (int i = 0; i < 2; i++)
				if (both[i]->active && (!first || both[i]->expires < first->expires))
					first = both[i], group = g;
		}
		if (!first || first->expires > (s64)until)
			return;
		struct cfs_bandwidth *b = &groups[group]->cfs_bandwidth;

		clock_now = max(clock_now, (u64)first->expires);
		this_cpu = 0;
		first->active = false, first->running = true;
		if (first == &b->period_timer)
			first->active = sched_cfs_period_timer(first) == HRTIMER_RESTART;
		else
			sched_cfs_slack_timer(first);
		first->running = false;
#if V >= VERSION(6, 6)
		for (int cpu = 0; cpu < NR_CPUS; cpu++) {
			this_cpu = cpu;
			__cfsb_csd_unthrottle(cpu_rq(cpu));
		}
#endif
	}
}

/* What is printed: each thing that changed since it was last printed. */
static char printed[512][256];

static void print(int slot, const char *line)
{
	if (!strcmp(printed[slot], line))
		return;
	strcpy(printed[slot], line);
	puts(line);
}

static const char *name(struct sched_entity *se)
{
	static char names[4][16];
	static int turn;
	char *n = names[turn++ % 4];

	if (!se)
		return "";
	if (entity_is_task(se)) {
		sprintf(n, "t%ld", task_of(se) - tasks);
		return n;
	}
	for (int g = 1; g < nr_groups; g++)
		for (int cpu = 0; cpu < NR_CPUS; cpu++)
			if (groups[g]->se[cpu] == se)
				sprintf(n, "g%d.%d", g, cpu);
	return n;
}

static struct sched_entity *curr_of(struct cfs_rq *cfs_rq) { return V < VERSION(7, 3) ? cfs_rq->curr : cfs_rq->h_curr; }

static void entity(int slot, struct sched_entity *se)
{
	bool runs = se->cfs_rq && curr_of(se->cfs_rq) == se && se->on_rq;
	bool lag = V >= VERSION(6, 6) && (!se->on_rq || (V >= VERSION(7, 0) && se->sched_delayed));
	/* 7.3 has no virtual time of groups. */
	bool virtual = V < VERSION(7, 3) || entity_is_task(se);
	u64 deadline = V >= VERSION(6, 6) && virtual && !(se->rel_deadline) && se->on_rq ? se->deadline : 0;
	char line[256];

	sprintf(line, "E,%s,%d,%d,%lu,%lu,%lu,%ld,%lu,%lu,%lu,%lu,%lu,%lu,%lu", name(se), se->on_rq, se->sched_delayed,
		virtual && (V >= VERSION(6, 6) ? se->on_rq : true) ? se->vruntime : 0, deadline,
		V >= VERSION(6, 6) && virtual && se->on_rq ? se->slice : 0, lag && virtual ? se->vlag : 0,
		runs && virtual && V >= VERSION(6, 6) ? (V >= VERSION(6, 18) ? se->vprot : (u64)se->vlag) : 0,
		V >= VERSION(7, 3) ? se->h_load.weight : 0, se->load.weight, se->avg.load_avg, se->avg.runnable_avg,
		se->avg.util_avg, se->sum_exec_runtime);
	print(slot, line);
}

static void queue(int slot, int g, int cpu)
{
	struct cfs_rq *q = groups[g]->cfs_rq[cpu];
	char line[256];
#if V < VERSION(6, 12)
	unsigned nr = q->nr_running, h_nr = q->h_nr_running, runnable = h_nr, idle = q->idle_h_nr_running;
#elif V < VERSION(6, 18)
	unsigned nr = q->nr_running, h_nr = q->h_nr_queued, runnable = q->h_nr_runnable, idle = q->idle_h_nr_running;
#else
	unsigned nr = q->nr_queued, h_nr = q->h_nr_queued, runnable = q->h_nr_runnable, idle = q->h_nr_idle;
#endif

	sprintf(line, "Q,%d.%d,%lu,%u,%u,%u,%u,%s,%s,%lu,%lu,%lu,%lu,%ld,%d,%d", g, cpu, q->load.weight, nr, h_nr, runnable,
		idle, name(curr_of(q)), name(q->next), q->avg.load_avg, q->avg.runnable_avg, q->avg.util_avg, q->tg_load_avg_contrib,
		q->runtime_enabled ? q->runtime_remaining : 0, q->throttled, q->throttle_count);
	print(slot, line);
}

static void print_all(void)
{
	char line[256];
	int slot = 0;

	for (int cpu = 0; cpu < NR_CPUS; cpu++) {
		struct rq *rq = cpu_rq(cpu);

		sprintf(line, "R,%d,%s,%u,%d", cpu, fair(rq->curr) ? name(&rq->curr->se) : "", rq->nr_running, rq->need_resched);
		print(slot++, line);
		for (int g = 0; g < nr_groups; g++) {
			queue(slot++, g, cpu);
			if (g)
				entity(slot++, groups[g]->se[cpu]);
		}
	}
	for (int g = 1; g < nr_groups; g++) {
		struct cfs_bandwidth *b = &groups[g]->cfs_bandwidth;

		sprintf(line, "T,%d,%ld,%ld,%lu,%d,%d,%lu,%d,%lu,%d,%ld,%ld", g, groups[g]->load_avg, groups[g]->runnable_avg,
			b->runtime, b->nr_periods, b->nr_throttled, b->throttled_time, b->nr_burst, b->burst_time, b->idle,
			b->period_timer.active ? b->period_timer.expires : 0, b->slack_timer.active ? b->slack_timer.expires : 0);
		print(slot++, line);
	}
	for (int t = 0; t < nr_tasks; t++)
		if (!gone[t])
			entity(slot + t, &tasks[t].se);
}

static void init_cfs_rq(struct cfs_rq *q, struct rq *rq, struct task_group *tg)
{
	memset(q, 0, sizeof(*q));
	q->rq = rq, q->tg = tg;
	q->min_vruntime = q->zero_vruntime = (u64)(-(1LL << 20));
	INIT_LIST_HEAD(&q->throttled_list);
	INIT_LIST_HEAD(&q->throttled_csd_list);
	INIT_LIST_HEAD(&q->throttled_limbo_list);
}

static void scenario(int id)
{
	static struct task_group tgs[GROUPS];
	static struct cfs_rq queues[GROUPS][NR_CPUS];
	static struct sched_entity entities[GROUPS][NR_CPUS];

	memset(printed, 0, sizeof(printed));
	memset(gone, 0, sizeof(gone));
	nr_tasks = 0, nr_groups = 2 + below(GROUPS - 1), clock_now = 1000000000, jiffies = 4294937296UL;
	next_buddy = !below(4);
	memset(&fake, 0, sizeof(fake));
	fake.sched_class = &fair_sched_class;
	printf("S,%d,%d\n", id, next_buddy);
	memset(&root_task_group, 0, sizeof(root_task_group));
	for (int cpu = 0; cpu < NR_CPUS; cpu++) {
		struct rq *rq = cpu_rq(cpu);

		memset(rq, 0, sizeof(*rq));
		rq->cpu = cpu;
		rq->curr = rq->donor = rq->idle = &idle_tasks[cpu];
		rq->idle->sched_class = &idle_sched_class, rq->idle->cpu = cpu;
		INIT_LIST_HEAD(&rq->cfs_tasks);
		INIT_LIST_HEAD(&rq->cfsb_csd_list);
		init_cfs_rq(&rq->cfs, rq, &root_task_group);
		root_task_group.cfs_rq[cpu] = &rq->cfs;
	}
	/* Half of the scenarios have groups with a quota. */
	bool limited = id % 2;

	for (int g = 1; g < nr_groups; g++) {
		struct task_group *tg = groups[g] = &tgs[g];
		struct cfs_bandwidth *b = &tg->cfs_bandwidth;

		memset(tg, 0, sizeof(*tg));
		parents[g] = below(3) ? below(g) : 0;
		tg->parent = groups[parents[g]];
		tg->shares = below(3) ? scale_load(10 + below(3000)) : scale_load(1024);
		tg->idle = V >= VERSION(5, 15) && !below(6);
		b->period = 5000000 + below(20) * 1000000, b->quota = RUNTIME_INF;
		INIT_LIST_HEAD(&b->throttled_cfs_rq);
		if (limited && below(2)) {
			b->quota = 1000000 + below(12) * 700000;
			b->burst = below(3) ? 0 : below(b->quota);
#if V < VERSION(5, 15)
			b->burst = 0;
#endif
		}
		/* tg_set_cfs_bandwidth() */
		if (b->quota != RUNTIME_INF) {
#if V >= VERSION(5, 15)
			__refill_cfs_bandwidth_runtime(b);
#else
			b->runtime = b->quota;
#endif
		}
		printf("G,%d,%lu,%d,%ld,%ld,%lu\n", parents[g], tg->shares, tg->idle, b->quota == RUNTIME_INF ? 0 : (long)b->quota,
		       b->period, b->burst);
		for (int cpu = 0; cpu < NR_CPUS; cpu++) {
			struct sched_entity *se = tg->se[cpu] = &entities[g][cpu], *up = tg->parent->se[cpu];
			struct cfs_rq *q = tg->cfs_rq[cpu] = &queues[g][cpu];

			init_cfs_rq(q, cpu_rq(cpu), tg);
			q->idle = tg->idle;
			q->runtime_enabled = b->quota != RUNTIME_INF;
			memset(se, 0, sizeof(*se));
			se->my_q = q, se->parent = up, se->depth = up ? up->depth + 1 : 0;
			se->cfs_rq = tg->parent->cfs_rq[cpu];
			se->load.weight = se->h_load.weight = NICE_0_LOAD;
		}
	}
	print_all();
	for (int step = 0; step < STEPS; step++) {
		u64 pause[] = { 0, below(20000), below(1500000), below(1500000), below(6000000), below(20000000) };
		int cpu = below(NR_CPUS), kind = below(100), t = below(nr_tasks), mode;
		struct task_struct *p = &tasks[t];
		u64 then = clock_now + pause[below(6)];

		timers(then);
		clock_now = then, this_cpu = cpu;
		jiffies = 4294937296UL + (clock_now - 1000000000) / TICK_NSEC;
		if (nr_tasks < 3 || (kind < 8 && nr_tasks < TASKS)) {
			int policies[] = { SCHED_NORMAL, SCHED_NORMAL, SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE };
			int policy = policies[below(5)], nice = below(3) ? 0 : (int)below(40) - 20;
			u64 slice = below(2) ? 0 : 100000 + below(8000000);

			fork_task(cpu, below(nr_groups), policy, nice, slice);
		} else if (kind < 45) {
			if (gone[t] || (p->on_rq && !p->se.sched_delayed))
				continue;
			wake(p, below(3) ? cpu : p->cpu, below(2) ? WF_TTWU | WF_SYNC : WF_TTWU);
		} else if (kind < 55) {
			printf("O,%lu,tick,%d\n", clock_now, cpu);
			tick(cpu);
		} else if (kind < 88) {
			mode = kind < 68 ? 0 : kind < 87 ? 1 : 2;
			printf("O,%lu,schedule,%d,%d\n", clock_now, cpu, mode);
			schedule(cpu, mode);
		} else if (kind < 91) {
			if (!fair(cpu_rq(cpu)->curr))
				continue;
			printf("O,%lu,yield,%d\n", clock_now, cpu);
			yield_task_fair(cpu_rq(cpu));
		} else if (kind < 93) {
			if (gone[t] || p->throttled)
				continue;
			set_nice(p, (int)below(40) - 20);
		} else if (kind < 97 && V >= VERSION(6, 18)) {
#if V >= VERSION(6, 18)
			struct task_struct *curr = cpu_rq(cpu)->curr;

			if (!fair(curr) || !task_has_throttle_work(curr))
				continue;
			printf("O,%lu,return,%d\n", clock_now, cpu);
			current = curr;
			throttle_cfs_rq_work(&curr->sched_throttle_work);
			/* It goes on to schedule(), on its way to user space. */
			print_all();
			printf("O,%lu,schedule,%d,0\n", clock_now, cpu);
			schedule(cpu, 0);
#endif
		} else {
			int dest = 1 - p->cpu;

			if (gone[t] || !p->se.on_rq || cpu_rq(p->cpu)->curr == p || throttled_hierarchy(p->se.cfs_rq) ||
			    throttled_hierarchy(p->se.cfs_rq->tg->cfs_rq[dest]))
				continue;
			migrate(p, dest);
		}
		print_all();
		if (!below(8) && nr_tasks && !gone[t])
			printf("H,%d,%lu\n", t, task_h_load(&tasks[t]));
	}
}

int main(void)
{
	state = 88172645463325252ULL;
	for (int id = 0; id < SCENARIOS; id++)
		scenario(id);
	return 0;
}
