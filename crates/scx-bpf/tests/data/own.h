/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a scheduler needs of the kernel, for those that are to compile without the kernel's headers: types whose members
 * are found by their names when the object is loaded (CO-RE), and declarations of kernel functions.
 */
typedef unsigned long long u64;
typedef unsigned int u32;
typedef int s32;

#define SEC(name)		__attribute__((section(name), used))
#define KFUNC			__attribute__((section(".ksyms"))) __weak
#define __weak			__attribute__((weak))
#define __uint(name, value)	int (*name)[value]
#define __type(name, of)	typeof(of) *name
#define OP(name)		SEC("struct_ops/" #name)

#define SCX_DSQ_GLOBAL		0x8000000000000001ULL
#define SCX_DSQ_LOCAL		0x8000000000000002ULL
#define SCX_DSQ_LOCAL_ON	0xC000000000000000ULL
#define SCX_SLICE_DFL		20000000ULL
#define SCX_KICK_IDLE		1
#define SCX_KICK_PREEMPT	2
#define SCX_KICK_WAIT		4

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	int pid;
};
#pragma clang attribute pop

struct cpumask;
struct scx_init_task_args;
struct scx_exit_task_args;
struct scx_cpu_acquire_args;
struct scx_cpu_release_args;

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, _Bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	_Bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	void (*update_idle)(s32 cpu, _Bool idle);
	void (*cpu_acquire)(s32 cpu, struct scx_cpu_acquire_args *args);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init)(void);
	u32 dispatch_max_batch;
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_timer_init)(void *timer, void *map, u64 flags) = (void *)169;
static long (*bpf_timer_set_callback)(void *timer, void *function) = (void *)170;
static long (*bpf_timer_start)(void *timer, u64 nsecs, u64 flags) = (void *)171;
static long (*bpf_timer_cancel)(void *timer) = (void *)172;

extern s32 scx_bpf_create_dsq(u64 dsq, s32 node) KFUNC;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags) KFUNC;
extern void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime, u64 enq_flags) KFUNC;
extern _Bool scx_bpf_dsq_move_to_local(u64 dsq) KFUNC;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) KFUNC;
extern u32 scx_bpf_nr_cpu_ids(void) KFUNC;
extern s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, _Bool *is_idle) KFUNC;
extern _Bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) KFUNC;
extern u32 scx_bpf_reenqueue_local(void) KFUNC;
extern u32 scx_bpf_dispatch_nr_slots(void) KFUNC;
extern void scx_bpf_dispatch_cancel(void) KFUNC;
extern void scx_bpf_cpuperf_set(s32 cpu, u32 perf) KFUNC;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq) KFUNC;

/* As 6.12 calls them. */
extern void scx_bpf_dispatch(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags) KFUNC;
extern void scx_bpf_dispatch_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime, u64 enq_flags) KFUNC;
extern _Bool scx_bpf_consume(u64 dsq) KFUNC;

static inline void insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags)
{
	if (scx_bpf_dsq_insert)
		scx_bpf_dsq_insert(p, dsq, slice, enq_flags);
	else
		scx_bpf_dispatch(p, dsq, slice, enq_flags);
}

static inline void insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime, u64 enq_flags)
{
	if (scx_bpf_dsq_insert_vtime)
		scx_bpf_dsq_insert_vtime(p, dsq, slice, vtime, enq_flags);
	else
		scx_bpf_dispatch_vtime(p, dsq, slice, vtime, enq_flags);
}

static inline _Bool move_to_local(u64 dsq)
{
	return scx_bpf_dsq_move_to_local ? scx_bpf_dsq_move_to_local(dsq) : scx_bpf_consume(dsq);
}

char _license[] SEC("license") = "GPL";
