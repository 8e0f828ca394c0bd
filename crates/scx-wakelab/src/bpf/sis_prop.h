/* SPDX-License-Identifier: GPL-2.0-only */
/* SIS_PROP of 5.14 to 6.4, and the bounds that SIS_LIMIT sets to its limit. */
#pragma once

struct scan_cost {
	u64 wake_stamp;		/* jiffies */
	u64 wake_avg_idle;	/* ns */
	u64 avg_scan_cost;	/* ns */
};

#define SIS_PROP_MIN 4
#define SIS_LIMIT_FLOOR 2

/* update_avg(): an eighth of the difference, rounded toward zero. BPF before v4 has no signed division. */
static __always_inline u64 update_avg(u64 avg, u64 sample)
{
	s64 diff = (s64)(sample - avg);

	return diff < 0 ? avg - ((0 - (u64)diff) >> 3) : avg + ((u64)diff >> 3);
}

/* The update of avg_idle in ttwu_do_activate(), after `idle` ns. avg_idle is at most `most`. */
static __always_inline u64 update_avg_idle(struct scan_cost *cost, u64 avg_idle, u64 idle, u64 most, u64 jiffies)
{
	avg_idle = update_avg(avg_idle, idle);
	if (avg_idle > most)
		avg_idle = most;
	cost->wake_stamp = jiffies;
	cost->wake_avg_idle = avg_idle / 2;
	return avg_idle;
}

/* Halves the predicted idle time for each jiffy since the last idle period. */
static __always_inline void sis_prop_decay(struct scan_cost *cost, u64 jiffies)
{
	u64 gone = jiffies - cost->wake_stamp, steps = 0, idle = cost->wake_avg_idle;

	if ((s64)gone <= 0)
		return;
	/* The kernel stops when it is 0, which takes as many steps as the number has bits. */
	if (idle >> 32) {
		steps += 32;
		idle >>= 32;
	}
	if (idle >> 16) {
		steps += 16;
		idle >>= 16;
	}
	if (idle >> 8) {
		steps += 8;
		idle >>= 8;
	}
	if (idle >> 4) {
		steps += 4;
		idle >>= 4;
	}
	if (idle >> 2) {
		steps += 2;
		idle >>= 2;
	}
	if (idle >> 1) {
		steps += 1;
		idle >>= 1;
	}
	steps += idle;
	if (steps > gone)
		steps = gone;
	cost->wake_stamp += steps;
	cost->wake_avg_idle = steps < 64 ? cost->wake_avg_idle >> steps : 0;
}

/* The limit as the kernel's nr, which is one more than the number of probes. */
static __always_inline s32 sis_prop_nr(const struct scan_cost *cost, u32 span_weight)
{
	u64 avg_cost = cost->avg_scan_cost + 1;
	u64 span_avg = span_weight * cost->wake_avg_idle;

	return span_avg > avg_cost * SIS_PROP_MIN ? (s32)(span_avg / avg_cost) : SIS_PROP_MIN;
}

/* The same limit, but from the number of CPUs of a core (at least 2) to twice that number. */
static __always_inline s32 sis_limit_nr(const struct scan_cost *cost, u32 span_weight, u32 siblings)
{
	u64 floor = siblings > SIS_LIMIT_FLOOR ? siblings : SIS_LIMIT_FLOOR;
	u64 avg_cost = cost->avg_scan_cost + 1;
	u64 span_avg = span_weight * cost->wake_avg_idle;
	u64 nr = floor;

	if (span_avg > floor * avg_cost) {
		nr = span_avg / avg_cost;
		if (nr > floor * 2)
			nr = floor * 2;
	}
	return nr;
}

/* After a scan of `time` ns that was not ended by its limit. */
static __always_inline void sis_prop_after_scan(struct scan_cost *cost, u64 time)
{
	cost->wake_avg_idle -= cost->wake_avg_idle < time ? cost->wake_avg_idle : time;
	cost->avg_scan_cost = update_avg(cost->avg_scan_cost, time);
}
