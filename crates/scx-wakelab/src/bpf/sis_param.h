/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SIS_PARAM: SIS_UTIL with parameters. crates/sched/src/select/policy/sis_param.rs has what each means; without any it
 * is SIS_UTIL. All of them count only while the feature is on.
 */
#pragma once

/* Set before loading. src/select.rs of scx-policy has the same structure. */
struct sis_param {
	u64 run;		/* ns of the wakee's run for each CPU that is searched; 0 for no such limit */
	u64 short_run;		/* ns: a task that runs for less is short; 0 if none is */
	u32 util_pct;		/* in place of imbalance_pct; 0 for that itself */
	u32 floor;
	u32 cap;
	u32 failed;		/* how often failed searches halve the number */
	u32 short_scan;		/* % of the LLC */
	u32 pad;
};

/* SIS_UTIL as it is. */
#define SIS_PARAM_OF_SIS_UTIL { .cap = 0x7fffffff, .short_scan = 100 }

/* How many failed searches in a row are counted. */
#define SIS_FAILED_MAX 31

static __always_inline s32 sis_param_bounded(const volatile struct sis_param *param, s32 nr)
{
	u32 of = nr > 0 ? nr : 0;

	if (of < param->floor)
		of = param->floor;
	return of < param->cap ? of : param->cap;
}

static __always_inline bool sis_param_is_short(const volatile struct sis_param *param, u64 dur_avg)
{
	return dur_avg && dur_avg < param->short_run;
}

/* What is left of the number of CPUs for a wakee around a CPU whose searches have failed so often. */
static __always_inline s32 sis_param_limit(const volatile struct sis_param *param, s32 nr_idle_scan, u32 span_weight,
					   u32 failed, u64 dur_avg)
{
	s32 limit = nr_idle_scan;

	if (param->failed && failed) {
		u32 halved = limit < (s32)span_weight ? limit : span_weight;

		halved >>= (failed < param->failed ? failed : param->failed) & 31;
		limit = halved ? halved : 1;
	}
	if (param->run && dur_avg && dur_avg / param->run < limit)
		limit = dur_avg / param->run;
	return limit;
}
