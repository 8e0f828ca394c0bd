// SPDX-License-Identifier: GPL-2.0-only
// Random sequences of what happens to a deadline task and to a fair server, and random inputs of what is computed at
// once; and what the kernel's functions make of them. The seed is fixed, so that a run gives the same bytes.
#include "stubs.h"
#include "kernel.h"

#define MS 1000000ULL

static uint64_t state = 88172645463325252ULL;

static uint64_t below(uint64_t n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (state >> 16) % n;
}

static FILE *csv(const char *folder, const char *name, const char *version, const char *head)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s_%s.csv", folder, name, version);
	file = fopen(path, "w");
	if (!file)
		exit(1);
	fprintf(file, "%s\n", head);
	return file;
}

/* A time, often one of those at an edge. */
static u64 time_of(int i)
{
	static const u64 edges[] = { 0, 1, 1023, 1024, 1025, 99999, 100000, 100001, 1000000, 20000000, 4194304000ULL,
				     4194304001ULL };

	return below(3) ? below(40 * MS) + i : edges[below(sizeof(edges) / sizeof(*edges))];
}

static void params(const char *folder, const char *version)
{
	FILE *f = csv(folder, "dl_params", version,
		      "runtime,deadline,period,ok,bw,capacity,limit_bw,total_bw,old_bw,overflow");

	for (int i = 0; i < 2000; i++) {
		struct sched_attr attr = { .sched_runtime = time_of(0), .sched_deadline = time_of(1), .sched_period = time_of(2) };
		struct dl_bw bw = { .bw = to_ratio(1000000, 1000 * (below(1000) + 1)) };
		unsigned long cap = (below(16) + 1) * (below(3) ? 1024 : below(1024) + 1);
		u64 new_bw, old;
		bool ok;

		if (below(2) && attr.sched_deadline < attr.sched_runtime)
			attr.sched_deadline = attr.sched_runtime + below(1000);
		if (below(2) && attr.sched_period < attr.sched_deadline)
			attr.sched_period = attr.sched_deadline + below(1000);
		ok = __checkparam_dl(&attr);
		new_bw = to_ratio(attr.sched_period ?: attr.sched_deadline, attr.sched_runtime);
		bw.total_bw = cap_scale(bw.bw, cap) - below(cap_scale(bw.bw, cap) / 2 + 1);
		old = below(2) ? below(bw.total_bw + 1) : 0;
		fprintf(f, "%lu,%lu,%lu,%d,%lu,%lu,%lu,%lu,%lu,%d\n", attr.sched_runtime, attr.sched_deadline, attr.sched_period, ok,
			new_bw, cap, bw.bw, bw.total_bw, old, __dl_overflow(&bw, cap, old, new_bw));
	}
	fclose(f);
}

static void capacities(const char *folder, const char *version)
{
	FILE *f = csv(folder, "scale_rt_capacity", version, "capacity,rt,dl,irq,hw_load_avg,cpufreq,left");

	for (int i = 0; i < 2000; i++) {
		capacity_orig = below(3) ? 1024 : below(1024) + 1;
		the_rq.avg_rt.util_avg = below(2) ? 0 : below(1100);
		the_rq.avg_dl.util_avg = below(2) ? 0 : below(700);
		the_rq.irq = below(2) ? 0 : below(1100);
		/* Pressure is no larger than the capacity. */
		the_rq.hw = below(2) ? 0 : below(capacity_orig);
		cpufreq_pressure = below(2) ? 0 : below(capacity_orig);
#ifndef HW_PRESSURE
		cpufreq_pressure = 0;
#endif
		fprintf(f, "%lu,%lu,%lu,%lu,%lu,%lu,%lu\n", capacity_orig, the_rq.avg_rt.util_avg, the_rq.avg_dl.util_avg,
			the_rq.irq, the_rq.hw, cpufreq_pressure, scale_rt_capacity(0));
	}
	fclose(f);
}

#ifdef SERVER
static s64 at(struct hrtimer *t)
{
	return t->queued ? t->expires : -1;
}

/* Up to the next timer if it comes before `to`. */
static void advance(u64 to, struct sched_dl_entity *se)
{
	struct hrtimer *timers[] = { &se->dl_timer, &se->inactive_timer };

	for (int i = 0; i < 2; i++)
		if (timers[i]->queued && (u64)timers[i]->expires < to)
			to = timers[i]->expires;
	the_rq.clock = max(to, the_rq.clock);
}

static void tasks(const char *folder, const char *version)
{
	FILE *f = csv(folder, "dl_entity", version,
		      "sequence,step,op,now,delta,dl_runtime,dl_deadline,dl_period,runtime,deadline,throttled,queued,non_contending,"
		      "timer,inactive,running_bw");
	struct sched_dl_entity *se = &the_task.dl;

	for (int sequence = 0; sequence < 60; sequence++) {
		bool runnable = true;

		memset(&the_rq, 0, sizeof(the_rq));
		memset(&the_task, 0, sizeof(the_task));
		the_rq.curr = the_rq.donor = &the_task;
		the_rq.idle = &the_idle;
		the_rq.clock = 1000 * MS;
		se->dl_period = (below(100) + 1) * MS;
		se->dl_deadline = below(2) ? se->dl_period : below(se->dl_period) + 2048;
		if (se->dl_deadline > se->dl_period)
			se->dl_deadline = se->dl_period;
		se->dl_runtime = below(se->dl_deadline / 2) + 1024;
		se->dl_bw = to_ratio(se->dl_period, se->dl_runtime);
		se->dl_density = to_ratio(se->dl_deadline, se->dl_runtime);
		enqueue_dl_entity(se, ENQUEUE_RESTORE | ENQUEUE_MOVE);
		for (int n = 0; n < 40; n++) {
			u64 before = the_rq.clock, delta = 0, wants = before + below(below(4) ? se->dl_runtime : 2 * se->dl_period) + 1;
			const char *op;

			advance(wants, se);
			if (se->dl_timer.queued && se->dl_timer.expires == (ktime_t)the_rq.clock) {
				/* dl_task_timer() */
				op = "timer";
				se->dl_timer.queued = false;
				if (se->dl_throttled) {
					if (runnable)
						enqueue_dl_entity(se, ENQUEUE_REPLENISH);
					else
						replenish_dl_entity(se);
				}
			} else if (se->inactive_timer.queued && se->inactive_timer.expires == (ktime_t)the_rq.clock) {
				/* inactive_task_timer() */
				op = "inactive";
				se->inactive_timer.queued = false;
				if (se->dl_non_contending) {
					sub_running_bw(se, &the_rq.dl);
					se->dl_non_contending = 0;
				}
			} else if (!runnable) {
				op = "wake";
				runnable = true;
				enqueue_dl_entity(se, ENQUEUE_WAKEUP);
			} else if (se->on_rb && below(3)) {
				op = below(12) ? "run" : "yield";
				delta = the_rq.clock - before;
				if (*op == 'y')
					se->dl_yielded = 1;
				update_curr_dl_se(&the_rq, se, delta);
			} else {
				op = "sleep";
				runnable = false;
				dequeue_dl_entity(se, DEQUEUE_SLEEP);
			}
			fprintf(f, "%d,%d,%s,%lu,%lu,%lu,%lu,%lu,%ld,%lu,%d,%d,%d,%ld,%ld,%lu\n", sequence, n, op, the_rq.clock, delta,
				se->dl_runtime, se->dl_deadline, se->dl_period, se->runtime, se->deadline, se->dl_throttled, se->on_rb,
				se->dl_non_contending, at(&se->dl_timer), at(&se->inactive_timer), the_rq.dl.running_bw);
		}
	}
	fclose(f);
}

static void nothing(struct rq *rq)
{
}

static void servers(const char *folder, const char *version)
{
	FILE *f = csv(folder, "dl_server", version,
		      "sequence,step,op,now,delta,dl_runtime,dl_period,runtime,deadline,active,queued,timer");
	static const struct sched_class class = { .update_curr = nothing };
	struct sched_dl_entity *se = &the_rq.fair_server;

	for (int sequence = 0; sequence < 60; sequence++) {
		memset(&the_rq, 0, sizeof(the_rq));
		memset(&the_task, 0, sizeof(the_task));
		the_task.sched_class = the_idle.sched_class = &class;
		the_rq.idle = &the_idle;
		the_rq.clock = 1000 * MS;
		se->rq = &the_rq;
		se->dl_server = se->dl_defer = se->dl_bw_attached = 1;
		se->dl_runtime = below(2) ? 50 * MS : (below(200) + 10) * MS;
		se->dl_deadline = se->dl_period = below(2) ? 1000 * MS : se->dl_runtime * (below(8) + 2);
		se->dl_bw = to_ratio(se->dl_period, se->dl_runtime);
		se->dl_density = to_ratio(se->dl_deadline, se->dl_runtime);
		for (int n = 0; n < 60; n++) {
			u64 before = the_rq.clock, delta = 0;
			const char *op;

			advance(before + below(below(3) ? 30 * MS : 3 * se->dl_period) + 1, se);
			the_rq.curr = the_rq.donor = &the_task;
			if (se->dl_timer.queued && se->dl_timer.expires == (ktime_t)the_rq.clock) {
				op = "timer";
				if (dl_server_timer(&se->dl_timer, se) == HRTIMER_NORESTART && !(se->dl_timer.expires > (ktime_t)the_rq.clock))
					se->dl_timer.queued = false;
			} else if (!se->dl_server_active) {
				op = "start";
				dl_server_start(se);
			} else if (se->on_rb && !below(5)) {
				/* No fair task is left when it is picked. */
				op = "stop";
				dl_server_stop(se);
			} else if (!below(6)) {
				op = "start";
				dl_server_start(se);
			} else {
				op = below(2) || se->on_rb ? "fair" : "idle";
				delta = the_rq.clock - before;
				if (*op == 'f') {
					dl_server_update(se, delta);
				} else {
					the_rq.curr = the_rq.donor = &the_idle;
#ifdef STOPS_IDLE
					dl_server_update_idle(se, delta);
#else
					the_idle.se.exec_start = before;
					dl_server_update_idle_time(&the_rq, &the_idle);
#endif
				}
			}
			fprintf(f, "%d,%d,%s,%lu,%lu,%lu,%lu,%ld,%lu,%d,%d,%ld\n", sequence, n, op, the_rq.clock, delta, se->dl_runtime,
				se->dl_period, se->runtime, se->deadline, se->dl_server_active, se->on_rb, at(&se->dl_timer));
		}
	}
	fclose(f);
}
#endif

int main(int argc, char **argv)
{
	(void)argc;
	params(argv[1], argv[2]);
	capacities(argv[1], argv[2]);
#ifdef SERVER
	tasks(argv[1], argv[2]);
	servers(argv[1], argv[2]);
#endif
	return 0;
}
