// SPDX-License-Identifier: GPL-2.0-only
// Random states of groups, and what the kernel's functions say of them. The seed is fixed, so that a run gives the same
// bytes.
#include "stubs.h"
#include "kernel.h"

static u64 state = 88172645463325252ULL;

static u64 below(u64 n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return n ? (state >> 16) % n : 0;
}

static FILE *file(const char *folder, const char *name, const char *version, const char *header)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s_%s.csv", folder, name, version);
	FILE *f = fopen(path, "w");
	if (!f)
		perror(path), exit(1);
	fprintf(f, "%s\n", header);
	return f;
}

/* A weight of full resolution: of a few tasks, of a group's part, or none. */
static unsigned long weight(void)
{
	switch (below(5)) {
	case 0: return 0;
	case 1: return 1 + below(4096);
	case 2: return scale_load(15 + below(90000));
	default: return scale_load(1024) * (1 + below(4)) + below(2) * below(1024);
	}
}

static void shares(const char *folder, const char *version)
{
	FILE *f = file(folder, "calc_group_shares", version, "id,tg_shares,weight,load_avg,tg_load_avg,contrib,shares");

	for (int id = 0; id < 2000; id++) {
		struct task_group tg = { .shares = below(4) ? scale_load(2 + below(1 << 18)) : scale_load(1024) };
		struct cfs_rq cfs_rq = { .tg = &tg, .load.weight = weight(), .avg.load_avg = below(3) ? below(200000) : 0 };

		cfs_rq.tg_load_avg_contrib = below(3) ? below(200000) : cfs_rq.avg.load_avg;
		tg.load_avg = cfs_rq.tg_load_avg_contrib + (below(3) ? below(1000000) : 0);
		long shares = calc_group_shares(&cfs_rq);
		fprintf(f, "%d,%lu,%lu,%lu,%ld,%lu,%ld\n", id, tg.shares, cfs_rq.load.weight, cfs_rq.avg.load_avg, tg.load_avg,
			cfs_rq.tg_load_avg_contrib, shares);
	}
	fclose(f);
}

#ifdef TG_LOAD_AVG
static void tg_load_avg(const char *folder, const char *version)
{
	FILE *f = file(folder, "update_tg_load_avg", version,
		       "id,load_avg,contrib,tg_load_avg,contrib_after,tg_load_avg_after");

	for (int id = 0; id < 1000; id++) {
		struct task_group tg = { .load_avg = below(1000000) };
		struct cfs_rq cfs_rq = { .tg = &tg, .tg_load_avg_contrib = below(4) ? below(100000) : 0 };

		cfs_rq.avg.load_avg = below(2) ? below(100000) : cfs_rq.tg_load_avg_contrib * (60 + below(10)) / 64;
		unsigned long contrib = cfs_rq.tg_load_avg_contrib;
		long before = tg.load_avg;
		update_tg_load_avg(&cfs_rq);
		fprintf(f, "%d,%lu,%lu,%ld,%lu,%ld\n", id, cfs_rq.avg.load_avg, contrib, before, cfs_rq.tg_load_avg_contrib,
			tg.load_avg);
	}
	fclose(f);
}
#endif

/* The averages of one task or more. */
static struct sched_avg average(int tasks, u32 contrib, unsigned long weight)
{
	struct sched_avg avg = { .period_contrib = contrib };
	u64 divider = PELT_MIN_DIVIDER + contrib;

	avg.util_avg = below(4) ? below(1025) : 0;
	avg.util_sum = avg.util_avg * divider + below(2) * below(divider);
	avg.runnable_avg = avg.util_avg + below(1 + tasks * 1024);
	avg.runnable_sum = avg.runnable_avg * divider + below(2) * below(divider);
	avg.load_sum = below(divider + 1) * weight;
	avg.load_avg = avg.load_sum / divider;
	return avg;
}

static void columns(FILE *f, const struct sched_avg *avg)
{
	fprintf(f, ",%lu,%lu,%lu,%lu,%lu,%u", avg->load_avg, avg->load_sum, avg->runnable_avg, avg->runnable_sum,
		avg->util_avg, avg->util_sum);
}

#define SIX(p) "," p "_load_avg," p "_load_sum," p "_runnable_avg," p "_runnable_sum," p "_util_avg," p "_util_sum"

static void propagate(const char *folder, const char *version)
{
	FILE *f = file(folder, "propagate_entity_load_avg", version,
		       "id,contrib,se_weight,weight,prop" SIX("own") SIX("se") SIX("above") SIX("se_after") SIX("above_after")
		       ",prop_after,above_prop");

	for (int id = 0; id < 1000; id++) {
		u32 contrib = below(1024);
		struct cfs_rq own = { .load.weight = weight(), .propagate = 1 }, above = { 0 };
		struct sched_entity se = { .load.weight = 2 + weight(), .cfs_rq = &above, .my_q = &own };

		own.avg = average(below(80), contrib, scale_load_down(own.load.weight));
		se.avg = average(8, contrib, 1);
		se.avg.load_avg = se_weight(&se) * se.avg.load_sum / (PELT_MIN_DIVIDER + contrib);
		if (!below(8))
			se.avg.util_avg = own.avg.util_avg, se.avg.runnable_avg = own.avg.runnable_avg;
		above.avg = average(8, contrib, scale_load_down(se.load.weight));
		if (below(2))
			above.avg.load_avg += se.avg.load_avg, above.avg.load_sum += se_weight(&se) * se.avg.load_sum;
		own.prop_runnable_sum = below(4) ? (long)below(2 * LOAD_AVG_MAX) - LOAD_AVG_MAX : 0;
		fprintf(f, "%d,%u,%lu,%lu,%ld", id, contrib, se.load.weight, own.load.weight, own.prop_runnable_sum);
		columns(f, &own.avg), columns(f, &se.avg), columns(f, &above.avg);
		propagate_entity_load_avg(&se);
		columns(f, &se.avg), columns(f, &above.avg);
		fprintf(f, ",%ld,%ld\n", own.prop_runnable_sum, above.prop_runnable_sum);
	}
	fclose(f);
}

static void h_load(const char *folder, const char *version)
{
	FILE *f = file(folder, "task_h_load", version,
		       "id,root_load_avg,se1_load_avg,load_avg1,se2_load_avg,load_avg2,task_load_avg,"
		       "h_load1,h_load2,task_h_load");

	for (int id = 0; id < 1000; id++) {
		struct task_group tg[3] = { 0 };
		struct cfs_rq cfs_rq[3] = { 0 };
		struct sched_entity se[3] = { 0 };
		struct task_struct p = { .se.cfs_rq = &cfs_rq[2], .se.avg.load_avg = below(90000) };

		for (int level = 0; level < 3; level++) {
			cfs_rq[level].tg = &tg[level];
			cfs_rq[level].avg.load_avg = below(6) ? below(300000) : 0;
			tg[level].se[0] = level ? &se[level] : NULL;
			se[level].avg.load_avg = below(100000);
			se[level].parent = level > 1 ? &se[level - 1] : NULL;
			se[level].cfs_rq = level ? &cfs_rq[level - 1] : NULL;
			se[level].my_q = &cfs_rq[level];
		}
		jiffies = 4294937296UL + id;
		unsigned long load = task_h_load(&p);
		fprintf(f, "%d,%lu,%lu,%lu,%lu,%lu,%lu,%lu,%lu,%lu\n", id, cfs_rq[0].avg.load_avg, se[1].avg.load_avg,
			cfs_rq[1].avg.load_avg, se[2].avg.load_avg, cfs_rq[2].avg.load_avg, p.se.avg.load_avg, cfs_rq[1].h_load,
			cfs_rq[2].h_load, load);
	}
	fclose(f);
}

int main(int argc, char **argv)
{
	const char *folder = argv[1], *version = argv[2];

	propagate(folder, version);
	if (strcmp(version, "6_1"))
		return 0;
	shares(folder, version);
	h_load(folder, version);
#ifdef TG_LOAD_AVG
	tg_load_avg(folder, version);
#endif
	return 0;
}
