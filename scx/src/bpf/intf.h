/* SPDX-License-Identifier: GPL-2.0-only */
/* What the program and the loader share. src/intf.rs has the numbers; a test holds the two against each other. */
#pragma once

#define MAX_CPUS 1024
#define MAX_SMT 8
#define MAX_LEVELS 6
#define LLC_DSQ 0x10000
#define MAX_GROUPS 4096
#define MAX_GROUP_DEPTH 16

/* Features, by the names of the kernel's features file and of the postings. */
enum feature {
	SIS_CORE = 1 << 0,
	SIS_UTIL = 1 << 1,
	SIS_UTIL_V1 = 1 << 2,
	SIS_UTIL_V2 = 1 << 3,
	SIS_UTIL_V3 = 1 << 4,
	SIS_UTIL_SMALL_LLC = 1 << 5,
	SIS_PROP = 1 << 6,
	SIS_LIMIT = 1 << 7,
	SIS_SHORT = 1 << 8,
	RUNNABLE_BOOST = 1 << 9,
	UTIL_EST = 1 << 10,
	WA_IDLE = 1 << 11,
	WA_WEIGHT = 1 << 12,
	WA_BIAS = 1 << 13,
	WAKEUP_PREEMPTION = 1 << 14,
};

/* Where a CPU is. */
struct cpu_info {
	u32 llc;	/* an index of llcs[] */
	u32 llc_pos;	/* its place among the CPUs of its LLC, ascending */
	u32 capacity;	/* 1024 is the largest */
	u32 nr_smt;	/* 0: the CPU is not known */
	u16 smt[MAX_SMT]; /* the CPUs of its core, ascending, itself too */
	u32 level[MAX_LEVELS]; /* CPUs with the same number share the domain of that level */
};

struct llc_info {
	u32 first;	/* of its CPUs in llc_cpus[] */
	u32 nr;
	u32 imbalance_pct; /* of the domain of the LLC */
	u32 pad;
};

/* The reasons of decisions, as the model calls them. */
enum reason {
	WHY_TARGET,
	WHY_PREV,
	WHY_KTHREAD,
	WHY_RECENT,
	WHY_SMT,
	WHY_CORE,
	WHY_CORE_CPU,
	WHY_SCAN,
	WHY_SHORT,
	WHY_LIMIT,
	WHY_OVERLOADED,
	WHY_NONE,
	WHY_CAPACITY,
	WHY_CURRENT_CPU,
	NR_WHYS,
};

/* Counted by each CPU for itself. */
struct counts {
	u64 sis_search;
	u64 sis_domain_search;
	u64 sis_scanned;
	u64 sis_failed;
	u64 reasons[NR_WHYS];
	u64 core_walks;		/* walks for an idle core */
	u64 most_looks;		/* of one walk that had a limit */
	u64 lost_claims;	/* another waker was faster */
	u64 freed_claims;	/* the task went elsewhere */
	u64 forks;
	u64 direct;		/* put on an idle CPU at once */
	u64 queued_llc;
	u64 queued_cpu;
	u64 kept;		/* went on after its slice */
	u64 pulled_llc;		/* from the LLC's queue */
	u64 pulled_cpu;		/* from its own */
	u64 pulled_sibling;	/* from that of another CPU of the LLC */
	u64 pulled_other;	/* from another LLC's */
	u64 pulled_load;	/* from an LLC with more load */
	u64 preempted;
	u64 kicked_idle;
	u64 brought_forward;	/* in a queue, for having waited long */
	u64 migrations;
	u64 boosted;		/* runnable raised the request */
	u64 recorded;
	u64 lost_records;
	u64 longest_wait_ns;	/* of a runnable task for a CPU */
	u64 longest_wait_pid;
};
