/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tasks of a load do under a sched_ext scheduler: wake-ups, switches, and where sched_ext's core queues them.
 * A task is the load's if its name begins with "wl~".
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define OURS 0x7e6c77 /* "wl~" */

enum kind { WAKING, SWITCH, INSERT, ENQUEUED, REMOTE };

/* As in src/recorder.rs. */
struct doing {
	u64 at;
	u32 kind;
	u32 cpu;
	s32 pid;
	s32 next;
	u64 comm;
	u64 next_comm;
	u64 value;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} doings SEC(".maps");

u64 lost;

static u64 name_of(struct task_struct *p)
{
	u64 comm = 0;

	bpf_probe_read_kernel(&comm, sizeof(comm), p->comm);
	return (comm & 0xffffff) == OURS ? comm : 0;
}

static void note(u32 kind, struct task_struct *p, struct task_struct *next, u64 value)
{
	u64 comm = p ? name_of(p) : 0, next_comm = next ? name_of(next) : 0;
	struct doing *doing;

	if (!comm && !next_comm)
		return;
	doing = bpf_ringbuf_reserve(&doings, sizeof(*doing), 0);
	if (!doing) {
		__sync_fetch_and_add(&lost, 1);
		return;
	}
	doing->at = bpf_ktime_get_ns();
	doing->kind = kind;
	doing->cpu = bpf_get_smp_processor_id();
	doing->pid = p ? p->pid : 0;
	doing->next = next ? next->pid : 0;
	doing->comm = comm;
	doing->next_comm = next_comm;
	doing->value = value;
	/* The reader comes when the load is over. */
	bpf_ringbuf_submit(doing, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *p)
{
	note(WAKING, p, NULL, 0);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	/* TASK_RUNNING is 0; a preempted task stays runnable whatever its state is. */
	note(SWITCH, prev, next, !preempt && prev_state != 0);
	return 0;
}

SEC("fentry/dispatch_enqueue")
int BPF_PROG(insert, struct scx_sched *sch, struct rq *rq, struct scx_dispatch_q *dsq, struct task_struct *p)
{
	/*
	 * sched_autogroup_exit_task() takes each exiting task off its queue and puts it back, which the simulator does
	 * not count.
	 */
	if (!(p->flags & PF_EXITING))
		note(INSERT, p, NULL, BPF_CORE_READ(dsq, id));
	return 0;
}

/* Of consume_dispatch_q() and scx_bpf_dsq_move(), where the task's run queue is the one of the local queue. */
SEC("fentry/move_local_task_to_local_dsq")
int BPF_PROG(move_local, struct scx_sched *sch, struct task_struct *p)
{
	note(INSERT, p, NULL, 1ULL << 63 | 2); /* SCX_DSQ_LOCAL */
	return 0;
}

SEC("fentry/move_remote_task_to_local_dsq")
int BPF_PROG(move_remote, struct task_struct *p)
{
	note(REMOTE, p, NULL, 0);
	return 0;
}

/* Whether the scheduler dispatched the task at once: it has no claim on it then (SCX_OPSS_NONE). */
SEC("fexit/do_enqueue_task")
int BPF_PROG(enqueued, struct rq *rq, struct task_struct *p, u64 enq_flags, int sticky_cpu)
{
	if (sticky_cpu < 0 && !(p->flags & PF_EXITING))
		note(ENQUEUED, p, NULL, (BPF_CORE_READ(p, scx.ops_state.counter) & 3) == 0);
	return 0;
}
