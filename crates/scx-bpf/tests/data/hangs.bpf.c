// SPDX-License-Identifier: GPL-2.0
/* A scheduler that lets a CPU, or the time, stand still, as `mode` says. The kernel lets each through. */
#include "own.h"

const volatile u32 mode;
u64 nr_dispatched, nr_fired;

struct timer {
	u64 opaque[2];
};

struct {
	__uint(type, 2 /* BPF_MAP_TYPE_ARRAY */);
	__type(key, u32);
	__type(value, struct timer);
	__uint(max_entries, 1);
} timers SEC(".maps");

#define QUEUE 7

static int fires(void *map, u32 *key, struct timer *timer)
{
	nr_fired++;
	if (mode == 4)
		bpf_timer_start(timer, 0, 0);
	return 0;
}

static void starts_timer(u64 nsecs, u32 times)
{
	u32 zero = 0;
	struct timer *timer = bpf_map_lookup_elem(&timers, &zero);

	if (!timer)
		return;
	bpf_timer_init(timer, &timers, 1 /* CLOCK_MONOTONIC */);
	bpf_timer_set_callback(timer, fires);
	for (u32 at = 0; at < times; at++)
		bpf_timer_start(timer, nsecs, 0);
}

OP(enqueue) void hangs_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	switch (mode) {
	case 4: /* a timer that starts itself anew at once */
		if (!nr_fired)
			starts_timer(0, 1);
		break;
	case 5: /* one that never expires */
		starts_timer(-1ULL, 1);
		break;
	case 6: /* one that is started again and again, and expires once */
		starts_timer(1000000, 100000);
		break;
	}
	insert(p, mode < 4 ? QUEUE : SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ctx[1]);
}

OP(dispatch) void hangs_dispatch(u64 *ctx)
{
	s32 cpu = ctx[0];

	nr_dispatched++;
	switch (mode) {
	case 1: /* it preempts whom it has just picked, for ever */
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		break;
	case 2: /* and its neighbour's */
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		scx_bpf_kick_cpu(cpu ^ 1, SCX_KICK_PREEMPT);
		break;
	case 3: /* every third time, which ends */
		if (nr_dispatched % 3 == 0)
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		break;
	}
	move_to_local(QUEUE);
}

OP(init) s32 hangs_init(u64 *ctx)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops hangs_ops = {
	.enqueue	= (void *)hangs_enqueue,
	.dispatch	= (void *)hangs_dispatch,
	.init		= (void *)hangs_init,
	.timeout_ms	= 1000,
	.name		= "hangs",
};
