/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types, with the fields that are read and no others. Offsets come from the running kernel's BTF
 * when the program is loaded (CO-RE); a field that a kernel lacks is asked for with bpf_core_field_exists()
 * first. A name with three underscores is another version's form of the type.
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_RB_NO_WAKEUP = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
	unsigned long bits[1];
};

struct util_est___pair {
	unsigned int enqueued;
	unsigned int ewma;
};

/* Up to 6.7 two values, since then one. */
struct sched_avg___pair {
	struct util_est___pair util_est;
};

struct sched_avg {
	u64 last_update_time;
	unsigned long load_avg;
	unsigned long runnable_avg;
	unsigned long util_avg;
	unsigned int util_est;
};

struct load_weight {
	unsigned long weight;
};

struct cfs_rq;

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
	unsigned long __rb_parent_color;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct sched_entity {
	struct load_weight load;
	struct rb_node run_node;
	u64 exec_start;
	u64 vruntime;
	struct sched_avg avg;
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq;
};

/* EEVDF, since 6.6; `vprot` since 6.18. */
struct sched_entity___eevdf {
	u64 deadline;
	u64 slice;
	s64 vlag;
	u64 vprot;
	unsigned char sched_delayed;
	unsigned char rel_deadline;
	unsigned char custom_slice;
};

/* `unsigned int` up to 6.8, a byte in 6.12; it is 0 or 1. */
struct sched_entity___byte {
	unsigned char on_rq;
};

struct cfs_rq {
	struct sched_avg avg;
	struct rb_root_cached tasks_timeline;
	struct sched_entity *curr;
	struct sched_entity *next;
	unsigned long h_load;
	u64 last_h_load_update;
	unsigned int h_nr_queued;
	unsigned int h_nr_runnable;
	unsigned int h_nr_idle;
};

/* CFS, up to 6.5. */
struct cfs_rq___cfs {
	u64 min_vruntime;
	struct sched_entity *last;
};

/* EEVDF; the names of the sums are of 6.6 to 6.18. */
struct cfs_rq___eevdf {
	u64 zero_vruntime;
	s64 avg_vruntime;
	u64 avg_load;
};

/* In 7.2, not in 6.18. */
struct cfs_rq___sums {
	s64 sum_w_vruntime;
	u64 sum_weight;
	unsigned int sum_shift;
};

/* The entities of this queue itself: `nr_running` up to 6.12. */
struct cfs_rq___queued {
	unsigned int nr_queued;
};

struct cfs_rq___running {
	unsigned int nr_running;
};

/* Names up to 6.12. */
struct cfs_rq___old {
	unsigned int h_nr_running;
	unsigned int idle_h_nr_running;
	unsigned int h_nr_delayed;
};

struct kernfs_node {
	u64 id;
	const char *name;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct autogroup {
	unsigned long id;
};

/* `burst` since 5.14. */
struct cfs_bandwidth {
	s64 period;
	u64 quota;
	u64 burst;
};

/* Bit fields of one word. */
struct uclamp_se {
	unsigned int bits;
};

/*
 * With FAIR_GROUP_SCHED `shares`, `idle` since 5.15; with CFS_BANDWIDTH, SCHED_AUTOGROUP, UCLAMP_TASK_GROUP the rest.
 */
struct task_group {
	struct cgroup_subsys_state css;
	int idle;
	unsigned long shares;
	struct task_group *parent;
	struct autogroup *autogroup;
	struct cfs_bandwidth cfs_bandwidth;
	struct uclamp_se uclamp_req[2];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	unsigned int flags;
	unsigned int policy;
	int prio;
	int static_prio;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	int pid;
	int tgid;
	char comm[16];
	unsigned int wakee_flips;
	unsigned long wakee_flip_decay_ts;
	struct task_struct *last_wakee;
	int recent_used_cpu;
	int numa_preferred_nid;
	struct sched_entity se;
	struct css_set *cgroups;
	struct task_group *sched_task_group;
};

/* `int` up to 6.18, a byte since. */
struct task_struct___int {
	int on_rq;
};

struct task_struct___byte {
	u8 on_rq;
};

/* `state` up to 5.13. */
struct task_struct___state {
	unsigned int __state;
};

struct task_struct___old_state {
	long state;
};

/* Where a task's CPU is: since 5.16, before. */
struct thread_info {
	unsigned long flags;
	u32 cpu;
};

struct task_struct___info {
	struct thread_info thread_info;
};

struct task_struct___cpu {
	u32 cpu;
};

/* x86 from 6.2 to 6.14; before and after, a variable of its own. */
struct pcpu_hot {
	int preempt_count;
};

struct cpuidle_state {
	unsigned int exit_latency;
};

struct sched_group_capacity {
	unsigned long capacity;
	int imbalance;
};

struct sched_group {
	struct sched_group *next;
	unsigned int group_weight;
	struct sched_group_capacity *sgc;
	int flags;
	unsigned long cpumask[0];
};

struct sched_domain_shared {
	int has_idle_cores;
	int nr_idle_scan;
};

struct sched_domain {
	struct sched_domain *parent;
	struct sched_group *groups;
	unsigned int imbalance_pct;
	unsigned int imb_numa_nr;
	int flags;
	unsigned int nr_balance_failed;
	u64 avg_scan_cost;
	char *name;
	struct sched_domain_shared *shared;
	unsigned int span_weight;
};

struct sched_domain___span {
	unsigned long span[0];
};

/* In 7.2: by `sd_llc_id`, the queued tasks of a CPU that prefer that LLC; of its lowest domain. */
struct sched_domain___cache {
	unsigned int llc_max;
	unsigned int *llc_counts;
};

/* In 7.2: the load of an LLC as the last periodic pass over LLCs left it. */
struct sched_domain_shared___cache {
	unsigned long util_avg;
	unsigned long capacity;
};

enum cpu_idle_type {
	CPU_IDLE,
	CPU_NEWLY_IDLE,
};

enum migration_type {
	migrate_load,
};

struct lb_env {
	struct sched_domain *sd;
	int dst_cpu;
	enum cpu_idle_type idle;
	long imbalance;
	struct cpumask *cpus;
	enum migration_type migration_type;
};

struct rq {
	unsigned int nr_running;
	unsigned int ttwu_pending;
	u64 nr_switches;
	u64 clock_task;
	int cpu;
	struct cfs_rq cfs;
	struct task_struct *curr;
	struct task_struct *idle;
	struct sched_domain *sd;
	unsigned long cpu_capacity;
	u64 idle_stamp;
	u64 avg_idle;
	unsigned long wake_stamp;
	u64 wake_avg_idle;
	struct cpuidle_state *idle_state;
};

/* In 6.18, not in 6.12; it is `curr` but for proxy execution. */
struct rq___donor {
	struct task_struct *donor;
};

/* Up to 6.6. */
struct rq___orig {
	unsigned long cpu_capacity_orig;
};

#pragma clang attribute pop
