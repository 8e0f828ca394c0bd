/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-entity load tracking (kernel/sched/pelt.c, 7.2): periods of 1024 us, half-life 32 periods, integers only. */
#pragma once

#define LOAD_AVG_PERIOD 32
#define LOAD_AVG_MAX 47742
#define PELT_PERIOD 1024
#define PELT_MIN_DIVIDER (LOAD_AVG_MAX - 1024)

/* sched-pelt.h: 2^32 y^n, truncated. */
static const u32 runnable_avg_yN_inv[LOAD_AVG_PERIOD] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
	0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
	0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
	0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

/* struct sched_avg. The units are those of crates/sched/src/pelt/accumulate_sum.rs. */
struct pelt {
	u64 last_update_time; /* ns of the CPU's PELT clock */
	u64 load_sum;
	u64 runnable_sum;
	u32 util_sum;
	u32 period_contrib;
	u64 load_avg;
	u64 runnable_avg;
	u64 util_avg;
	u32 util_est; /* of a task, with UTIL_AVG_UNCHANGED */
	u32 pad;
};

/* mul_u64_u32_shr(val, mul, 32) without 128 bits. */
static __always_inline u64 pelt_mul_shr32(u64 val, u32 mul)
{
	return ((u64)(u32)val * mul >> 32) + (val >> 32) * mul;
}

static __always_inline u64 decay_load(u64 val, u64 n)
{
	if (n > LOAD_AVG_PERIOD * 63)
		return 0;
	return pelt_mul_shr32(val >> (n / LOAD_AVG_PERIOD), runnable_avg_yN_inv[n % LOAD_AVG_PERIOD]);
}

static __always_inline u32 __accumulate_pelt_segments(u64 periods, u32 d1, u32 d3)
{
	u32 c1 = decay_load(d1, periods);
	u32 c2 = LOAD_AVG_MAX - (u32)decay_load(LOAD_AVG_MAX, periods) - PELT_PERIOD;

	return c1 + c2 + d3;
}

static __always_inline u64 accumulate_sum(u64 delta, struct pelt *sa, u64 load, u64 runnable, bool running)
{
	u32 contrib = (u32)delta;
	u64 periods;

	delta += sa->period_contrib;
	periods = delta / PELT_PERIOD;
	if (periods) {
		sa->load_sum = decay_load(sa->load_sum, periods);
		sa->runnable_sum = decay_load(sa->runnable_sum, periods);
		sa->util_sum = decay_load(sa->util_sum, periods);
		delta %= PELT_PERIOD;
		if (load)
			contrib = __accumulate_pelt_segments(periods, PELT_PERIOD - sa->period_contrib, delta);
	}
	sa->period_contrib = delta;
	if (load)
		sa->load_sum += load * contrib;
	if (runnable)
		sa->runnable_sum += runnable * contrib << 10;
	if (running)
		sa->util_sum += contrib << 10;
	return periods;
}

/* Accounts the time up to `now`. Returns whether the averages must be updated. */
static __always_inline bool ___update_load_sum(u64 now, struct pelt *sa, u64 load, u64 runnable, bool running)
{
	u64 delta = now - sa->last_update_time;

	if ((s64)delta < 0) {
		sa->last_update_time = now;
		return false;
	}
	delta >>= 10;
	if (!delta)
		return false;
	sa->last_update_time += delta << 10;
	if (!load) {
		runnable = 0;
		running = false;
	}
	return accumulate_sum(delta, sa, load, runnable, running);
}

static __always_inline u32 get_pelt_divider(const struct pelt *sa)
{
	return PELT_MIN_DIVIDER + sa->period_contrib;
}

/* `load` is the weight of a task; 1 for a CPU. */
static __always_inline void ___update_load_avg(struct pelt *sa, u64 load)
{
	u32 divider = get_pelt_divider(sa);

	sa->load_avg = load * sa->load_sum / divider;
	sa->runnable_avg = sa->runnable_sum / divider;
	sa->util_avg = sa->util_sum / divider;
}

/* An average after `ns` of idle time, in whole periods. */
static __always_inline u64 decayed(u64 avg, u64 ns)
{
	return ns >> 20 ? decay_load(avg, ns >> 20) : avg;
}
