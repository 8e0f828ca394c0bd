// SPDX-License-Identifier: GPL-2.0-only
// Random states, and what the kernel's functions say of them. The seed is fixed, so that a run gives the same bytes.
#include "stubs.h"
#include "kernel.h"

static u64 state = 88172645463325252ULL;

static u64 below(u64 n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return n ? (state >> 16) % n : 0;
}

static u64 pick(const u64 *of, int n)
{
	return of[below(n)];
}

static FILE *file(const char *folder, const char *name, const char *header)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	if (!f)
		perror(path), exit(1);
	fprintf(f, "%s\n", header);
	return f;
}

/* Two LLCs or more, of `size` CPUs each. */
static void machine(int llcs, int size)
{
	memset(rqs, 0, sizeof(rqs));
	online = 0;
	for (int cpu = 0; cpu < llcs * size; cpu++) {
		llc_of[cpu] = cpu / size;
		llc_size[cpu] = size;
		llc_domain[cpu].span = (size == 64 ? ~0ULL : (1ULL << size) - 1) << (cpu / size * size);
		rqs[cpu].sd = &llc_domain[cpu];
		online |= 1ULL << cpu;
	}
}

static void tunables(void)
{
	static const u64 tolerance[] = { 0, 1, 1, 1, 2, 10, 50, 99, 100 };
	static const u64 overaggr[] = { 0, 30, 50, 50, 50, 80, 100 }, imb[] = { 0, 10, 20, 20, 20, 100 };

	llc_aggr_tolerance = pick(tolerance, 9);
	llc_overaggr_pct = pick(overaggr, 7);
	llc_imb_pct = pick(imb, 6);
	cpu_smt_num_threads = below(2) + 1;
}

/* A utilisation, often near where something is decided. */
static unsigned long util_of(unsigned long cap, unsigned long other)
{
	switch (below(4)) {
	case 0: return cap * llc_overaggr_pct / 100 + below(5) - (cap ? 2 : 0) * !!llc_overaggr_pct;
	case 1: return cap * llc_overaggr_pct * 3 / 200 + below(3);
	case 2: return other * (100 + llc_imb_pct) / 100 + below(3);
	default: return below(cap + 2);
	}
}

static void can_migrate(const char *folder)
{
	FILE *f = file(folder, "sched_cache_can_migrate_llc_7_2.csv",
		       "id,overaggr_pct,imb_pct,smt_threads,src_util,src_capacity,dst_util,dst_capacity,task_util,to_pref,mig");
	static const char *names[] = { "forbid", "llc", "unrestricted" };

	machine(2, 8);
	for (int id = 0; id < 4000; id++) {
		tunables();
		unsigned long cap = 1024 * (1 + below(32)), util = below(3) ? below(1025) : 0;
		struct sched_domain_shared *src = &llc_shared[0], *dst = &llc_shared[1];
		bool to_pref = below(2);

		src->capacity = cap;
		dst->capacity = below(4) ? cap : 1024 * below(32);
		src->util_avg = util_of(src->capacity, below(cap));
		dst->util_avg = util_of(dst->capacity, src->util_avg);
		fprintf(f, "%d,%u,%u,%u,%lu,%lu,%lu,%lu,%lu,%d,%s\n", id, llc_overaggr_pct, llc_imb_pct,
			cpu_smt_num_threads, src->util_avg, src->capacity, dst->util_avg, dst->capacity, util, to_pref,
			names[can_migrate_llc(0, 8, util, to_pref)]);
	}
	fclose(f);
}

static void sizes(const char *folder)
{
	FILE *f = file(folder, "sched_cache_size_7_2.csv",
		       "id,aggr_tolerance,smt_threads,numa_balancing,nr_threads,nr_running_avg,llc_size,footprint,llc_bytes,"
		       "invalid_llc_nr,exceed_llc_capacity");

	for (int id = 0; id < 3000; id++) {
		static const u64 all[] = { 1, 2, 4, 8, 16, 32, 64 };
		int size = pick(all, 7);
		struct sched_cache_group grp = { .cpu = 0 };
		struct task_struct p = { .sched_cache_grp = &grp, .nr_threads = 1 + below(4) };

		tunables();
		machine(1, size);
		sched_numa_balancing = below(4);
		u64 scale = llc_aggr_tolerance >= 100 ? 1 : llc_aggr_tolerance;
		grp.nr_running_avg = below(3) ? scale * size * 4 / 5 / cpu_smt_num_threads + below(3) : below(2 * size);
		llc_domain[0].llc_bytes = pick(all, 7) << 20;
		scale = scale ? 1 + (scale - 1) * 256 : 0;
		grp.footprint = below(2) ? llc_domain[0].llc_bytes * scale / PAGE_SIZE + below(3) - (scale ? 1 : 0)
					 : below(1 << 20);
		fprintf(f, "%d,%u,%u,%d,%d,%lu,%d,%lu,%lu,%d,%d\n", id, llc_aggr_tolerance, cpu_smt_num_threads,
			sched_numa_balancing, p.nr_threads, (unsigned long)grp.nr_running_avg, size,
			grp.footprint * PAGE_SIZE, llc_domain[0].llc_bytes, invalid_llc_nr(&grp, &p, 0),
			exceed_llc_capacity(&grp, 0));
	}
	sched_numa_balancing = true;
	fclose(f);
}

/* A task, of a process that prefers a CPU, in a pass from one CPU to another of three LLCs. */
static void degrades(const char *folder)
{
	FILE *f = file(folder, "sched_cache_degrades_llc_7_2.csv",
		       "id,src_cpu,dst_cpu,group_cpu,preferred_llc,nr_threads,nr_running_avg,task_util,nr_balance_failed,"
		       "cache_nice_tries,migration_type,active_lb_llc,llc_util,llc_capacity,nr_running,h_nr_runnable,"
		       "nr_pref_llc_running,degrades,wrong_dst,group_cpu_after,alb_break");
	static const char *types[] = { "load", "util", "task", "misfit", "llc_task" };

	llc_aggr_tolerance = 1, llc_overaggr_pct = 50, llc_imb_pct = 20, cpu_smt_num_threads = 1;
	machine(3, 4);
	for (int id = 0; id < 4000; id++) {
		struct sched_cache_group grp = { .cpu = (int)below(13) - 1, .nr_running_avg = below(5) };
		struct task_struct p = {
			.sched_cache_grp = &grp, .nr_threads = 1 + below(3), .util = below(1025),
			.preferred_llc = (int)below(4) - 1, .sched_class = &fair_sched_class,
		};
		struct sched_domain sd = { .nr_balance_failed = below(4), .cache_nice_tries = 1 };
		struct lb_env env = {
			.sd = &sd, .src_cpu = below(12), .dst_cpu = below(12), .migration_type = below(5),
			.flags = below(4) ? 0 : LBF_ACTIVE_LB_LLC,
		};
		for (int llc = 0; llc < 3; llc++) {
			llc_shared[llc].capacity = 4096;
			llc_shared[llc].util_avg = below(2) ? 3072 - 600 + below(1200) : below(4097);
		}
		env.src_rq = &rqs[env.src_cpu];
		struct rq *rq = env.src_rq;
		rq->cfs.h_nr_runnable = 1 + below(3);
		rq->nr_running = rq->cfs.h_nr_runnable + !below(4);
		rq->nr_pref_llc_running = below(2) ? rq->cfs.h_nr_runnable : below(rq->cfs.h_nr_runnable + 1);
		rq->curr = &p;
		int cpu = grp.cpu;
		bool alb = alb_break_llc(&env), wrong = migrate_llc_task_wrong_dst(&p, &env);
		bool degrades = migrate_degrades_llc(&p, &env);
		fprintf(f, "%d,%d,%d,%d,%d,%d,%lu,%lu,%u,%u,%s,%d,%lu %lu %lu,%lu,%u,%u,%u,%d,%d,%d,%d\n", id, env.src_cpu,
			env.dst_cpu, cpu, p.preferred_llc, p.nr_threads, (unsigned long)grp.nr_running_avg, p.util,
			sd.nr_balance_failed, sd.cache_nice_tries, types[env.migration_type], !!env.flags,
			llc_shared[0].util_avg, llc_shared[1].util_avg, llc_shared[2].util_avg, llc_shared[0].capacity,
			rq->nr_running, rq->cfs.h_nr_runnable, rq->nr_pref_llc_running, degrades, wrong, grp.cpu, alb);
	}
	fclose(f);
}

/* The epochs of one CPU and a process: __update_mm_sched(), what account_mm_sched() adds, fraction_mm_sched(). */
static void epochs(const char *folder)
{
	FILE *f = file(folder, "sched_cache_epochs_7_2.csv",
		       "seq,step,epoch_period,jiffies,delta_own,delta_other,cpu_epoch,cpu_epoch_next,cpu_runtime,epoch,runtime,"
		       "fraction");

	for (int seq = 0; seq < 100; seq++) {
		struct rq *rq = &rqs[0];
		struct sched_cache_time own = { 0 }, other = { 0 };

		machine(1, 1);
		jiffies = 1 << 20;
		rq->cpu_epoch_next = jiffies;
		llc_epoch_period = 1 + below(12);
		for (int step = 0; step < 30; step++) {
			u64 delta[2] = { below(2) * below(10000000), below(2) * below(10000000) };

			jiffies += below(3) ? below(3) : below(10) ? below(30) : below(3000);
			__update_mm_sched(rq, &own);
			own.runtime += delta[0], rq->cpu_runtime += delta[0];
			__update_mm_sched(rq, &other);
			other.runtime += delta[1], rq->cpu_runtime += delta[1];
			unsigned long fraction = fraction_mm_sched(rq, &own);
			fprintf(f, "%d,%d,%u,%lu,%lu,%lu,%lu,%lu,%lu,%lu,%lu,%lu\n", seq, step, llc_epoch_period, jiffies,
				(unsigned long)delta[0], (unsigned long)delta[1], rq->cpu_epoch, rq->cpu_epoch_next,
				(unsigned long)rq->cpu_runtime, own.epoch, (unsigned long)own.runtime, fraction);
		}
	}
	fclose(f);
}

/* task_cache_work() on machines of several LLCs. */
static void scans(const char *folder)
{
	FILE *f = file(folder, "sched_cache_scan_7_2.csv",
		       "id,llcs,llc_size,cpu,group_cpu,nr_threads,nr_running_avg,running_mask,runtimes,cpu_runtimes,group_cpu_after,"
		       "nr_running_avg_after");

	llc_aggr_tolerance = 1, llc_epoch_period = 10, cpu_smt_num_threads = 2;
	for (int id = 0; id < 600; id++) {
		static const u64 sizes[] = { 2, 4, 8, 16 };
		int llcs = 2 + below(3), size = pick(sizes, 4), cpus = llcs * size;
		struct sched_cache_time times[NR_CPUS] = { 0 };
		struct task_struct p = { .nr_threads = 2, .numa_preferred_nid = NUMA_NO_NODE }, other = { 0 };
		struct sched_cache_group grp = { .pcpu_sched = times, .cpu = (int)below(cpus + 1) - 1 };
		u64 runs = 0, busy = below(100) + 1, here = below(llcs + 1);

		jiffies = 1000;
		machine(llcs, size);
		p.sched_cache_grp = &grp;
		grp.nr_running_avg = below(3) ? below(size) : below(cpus);
		for (int cpu = 0; cpu < cpus; cpu++) {
			u64 share = llc_of[cpu] == here ? busy : busy / (1 + below(4));

			times[cpu].runtime = below(100) < share ? below(20000000) : 0;
			rqs[cpu].cpu_runtime = times[cpu].runtime + (below(2) ? below(20000000) : 0);
			rqs[cpu].cpu_epoch_next = jiffies;
			rqs[cpu].curr = below(100) < share ? &p : &other;
			runs |= (u64)(rqs[cpu].curr == &p) << cpu;
		}
		this_cpu = p.cpu = below(cpus);
		current_task = &p;
		int cpu = grp.cpu;
		unsigned long avg = grp.nr_running_avg;
		task_cache_work(&p.cache_work);
		fprintf(f, "%d,%d,%d,%d,%d,%d,%lu,0x%lx,", id, llcs, size, this_cpu, cpu, p.nr_threads, avg, (unsigned long)runs);
		for (int i = 0; i < cpus; i++)
			fprintf(f, i ? " %lu" : "%lu", (unsigned long)times[i].runtime);
		fprintf(f, ",");
		for (int i = 0; i < cpus; i++)
			fprintf(f, i ? " %lu" : "%lu", (unsigned long)rqs[i].cpu_runtime);
		fprintf(f, ",%d,%lu\n", grp.cpu, (unsigned long)grp.nr_running_avg);
	}
	fclose(f);
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : ".";

	can_migrate(folder);
	sizes(folder);
	degrades(folder);
	epochs(folder);
	scans(folder);
	return 0;
}
