/* SPDX-License-Identifier: GPL-2.0-only */
/* record_wakee() and wake_wide(): whether a waker has many wakees. */
#pragma once

struct wakee_flips {
	u64 decay_ts;	 /* jiffies */
	u64 last_wakee;	 /* identifies a task; 0 for none */
	u32 flips;
	u32 pad;
};

static __always_inline void record_wakee(struct wakee_flips *waker, u64 wakee, u64 jiffies, u64 hz)
{
	if ((s64)(jiffies - (waker->decay_ts + hz)) > 0) {
		waker->flips >>= 1;
		waker->decay_ts = jiffies;
	}
	if (waker->last_wakee != wakee) {
		waker->last_wakee = wakee;
		waker->flips++;
	}
}

static __always_inline bool wake_wide(u32 master, u32 slave, u32 llc_size)
{
	if (master < slave) {
		u32 other = master;

		master = slave;
		slave = other;
	}
	return !(slave < llc_size || master < slave * llc_size);
}
