// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler that asks for all there is in ops.enqueue(), as `mode` says, or takes what is not its own: what a
 * kernel's verifier would not let through. It needs no headers, so that it is small.
 */
typedef unsigned long long u64;
typedef unsigned int u32;
typedef int s32;

#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define barrier() asm volatile("" ::: "memory")

#define SCX_DSQ_GLOBAL 0x8000000000000001ULL

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
};

struct bpf_iter_bits {
	u64 __opaque[2];
};

struct sched_ext_ops {
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	u32 timeout_ms;
	char name[128];
};

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
extern void scx_bpf_destroy_dsq(u64 dsq_id) __ksym;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym;
extern void scx_bpf_dsq_reenq(u64 dsq_id, u64 reenq_flags) __ksym;
extern s32 bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
extern void bpf_iter_bits_destroy(struct bpf_iter_bits *it) __ksym;
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern u32 scx_bpf_nr_cpu_ids(void) __ksym;
extern s32 scx_bpf_task_cpu(struct task_struct *p) __ksym;

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_probe_read_kernel)(void *dst, u32 size, const void *src) = (void *)113;
static long (*bpf_timer_init)(void *timer, void *map, u64 flags) = (void *)169;
static long (*bpf_timer_set_callback)(void *timer, void *callback) = (void *)170;
static long (*bpf_timer_start)(void *timer, u64 nsecs, u64 flags) = (void *)171;

const volatile u32 mode;
char big[8 << 20];

struct {
	__uint(type, 6); /* BPF_MAP_TYPE_PERCPU_ARRAY */
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, 1 << 20);
} stats SEC(".maps");

struct {
	__uint(type, 2); /* BPF_MAP_TYPE_ARRAY */
	__type(key, u32);
	__uint(value_size, 1 << 20);
	__uint(max_entries, 1);
} timers SEC(".maps");

static int expired(void *map, u32 *key, void *value)
{
	return 0;
}

/* As many timers as a value has places for. */
static void start_timers(void)
{
	u32 zero = 0;
	char *value = bpf_map_lookup_elem(&timers, &zero);

	if (!value)
		return;
	for (u32 at = 0; at + 16 <= 1 << 20; at += 16) {
		bpf_timer_init(value + at, &timers, 1);
		bpf_timer_set_callback(value + at, expired);
		bpf_timer_start(value + at, 1000000000, 0);
	}
}

SEC("struct_ops/hostile_enqueue") void hostile_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 it[2];

	switch (mode) {
	case 1: /* queues without end */
		for (u64 id = 1;; id++)
			scx_bpf_create_dsq(id, -1);
	case 2: /* iterators everywhere */
		scx_bpf_create_dsq(1, -1);
		for (u32 at = 0; at < sizeof(big) - 64; at += 8)
			bpf_iter_scx_dsq_new((void *)(big + at), 1, 0);
		break;
	case 3: /* copies without end */
		for (;;)
			bpf_probe_read_kernel(big, sizeof(big), big);
	case 4: /* copies, a few each time */
		for (u32 n = 0; n < 100; n++)
			bpf_probe_read_kernel(big, sizeof(big), big);
		break;
	case 5: /* the task's own struct is freed */
		it[0] = ctx[0];
		it[1] = 128;
		barrier();
		bpf_iter_bits_destroy((void *)it);
		break;
	case 6:
		start_timers();
		break;
	case 7: /* all queues are to be asked for anew */
		for (u64 id = 1; id < 200000; id++)
			scx_bpf_create_dsq(id, -1);
		for (u64 id = 1; id < 200000; id++)
			scx_bpf_dsq_reenq(id, 0);
		break;
	default: /* nothing of that */
		scx_bpf_create_dsq(7, -1);
		if (!bpf_iter_scx_dsq_new((void *)big, 7, 0))
			bpf_iter_scx_dsq_next((void *)big);
		bpf_iter_scx_dsq_destroy((void *)big);
		if (!scx_bpf_dsq_nr_queued(7))
			scx_bpf_destroy_dsq(7);
		p = bpf_task_from_pid(scx_bpf_nr_cpu_ids());
		if (p) {
			scx_bpf_task_cpu(p);
			bpf_task_release(p);
		}
	}
	scx_bpf_dsq_insert((void *)ctx[0], SCX_DSQ_GLOBAL, 20000000, ctx[1]);
}

char _license[] SEC("license") = "GPL";

SEC(".struct_ops.link") struct sched_ext_ops hostile_ops = {
	.enqueue = (void *)hostile_enqueue,
	.timeout_ms = 1000,
	.name = "hostile",
};
