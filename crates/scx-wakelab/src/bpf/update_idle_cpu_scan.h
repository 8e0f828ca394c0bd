/* SPDX-License-Identifier: GPL-2.0-only */
/* nr_idle_scan, the number of CPUs of an LLC that a search may probe, for each version of SIS_UTIL. */
#pragma once

enum idle_scan_form {
	IDLE_SCAN_MERGED,
	IDLE_SCAN_V1,
	IDLE_SCAN_V2,
	IDLE_SCAN_V3,
};

/* update_idle_cpu_scan(), as merged for 6.0 (70fb5ccf2ebb): llc_weight * (1 - (pct / 100)^2 x^2). */
static __always_inline s32 update_idle_cpu_scan(u64 sum_util, u32 llc_weight, u32 imbalance_pct)
{
	u64 x = sum_util / llc_weight;
	u64 tmp = x * x * imbalance_pct * imbalance_pct / (10000 * CAPACITY_SCALE);

	if ((s64)tmp > CAPACITY_SCALE)
		tmp = CAPACITY_SCALE;
	return (CAPACITY_SCALE - tmp) * llc_weight / CAPACITY_SCALE;
}

static __always_inline s32 nr_idle_scan(u64 sum_util, u32 llc_weight, u32 imbalance_pct, u32 form, bool small_llc)
{
	u64 full, left;
	s32 nr;

	if (!llc_weight)
		return 0;
	full = (u64)llc_weight * CAPACITY_SCALE;
	switch (form) {
	case IDLE_SCAN_V1:
		nr = sum_util * imbalance_pct < full * 100 ? llc_weight : 0;
		break;
	case IDLE_SCAN_V2:
		left = 2 * sum_util / CAPACITY_SCALE;
		left = left < llc_weight ? llc_weight - left : 0;
		nr = left > 4 ? left : 4;
		break;
	case IDLE_SCAN_V3:
		left = sum_util * 100 / full;
		left = left * left / 72;
		nr = llc_weight * (left < 100 ? 100 - left : 0) / 100;
		break;
	default:
		nr = update_idle_cpu_scan(sum_util, llc_weight, imbalance_pct);
	}
	if (small_llc && llc_weight <= 16)
		nr = (u32)nr * 32 / llc_weight;
	return nr;
}
