/* SPDX-License-Identifier: GPL-2.0-only */
/* What the program and the loader share. */
#pragma once

#define MAX_CPUS 1024
#define MAX_SMT 8
#define MAX_LEVELS 6
#define LLC_DSQ 0x10000
#define MAX_GROUPS 4096
#define MAX_GROUP_DEPTH 16

/* The features, named as in the kernel's features file and in the postings. */
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
	SIS_PARAM = 1 << 15,
};

/* The topology of a CPU. */
struct cpu_info {
	u32 llc;	/* an index of llcs[] */
	u32 llc_pos;	/* its index in the ascending list of the CPUs of its LLC */
	u32 capacity;	/* 1024 is the largest */
	u32 nr_smt;	/* 0 if the CPU does not exist */
	u16 smt[MAX_SMT]; /* the CPUs of its core with itself, ascending */
	u32 level[MAX_LEVELS]; /* CPUs with the same number share the domain of that level */
};

struct llc_info {
	u32 first;	/* index of its first CPU in llc_cpus[] */
	u32 nr;
	u32 imbalance_pct; /* of the domain that spans the LLC */
	u32 pad;
};

/* The reasons of decisions, with the names that the model uses. */
enum reason {
	PLACED_TARGET,
	PLACED_PREV,
	PLACED_KTHREAD,
	PLACED_RECENT,
	PLACED_SMT,
	PLACED_CORE,
	PLACED_CORE_CPU,
	PLACED_SCAN,
	PLACED_SHORT,
	PLACED_LIMIT,
	PLACED_OVERLOADED,
	PLACED_NONE,
	PLACED_CAPACITY,
	PLACED_CURRENT_CPU,
	NR_REASONS,
};

/* Counters of a CPU. */
struct counts {
	u64 sis_search;
	u64 sis_domain_search;
	u64 sis_scanned;
	u64 sis_failed;
	u64 reasons[NR_REASONS];
	u64 core_scans;		/* scans for an idle core */
	u64 max_probes;		/* of one scan with a limit */
	u64 lost_claims;	/* another waker was faster */
	u64 freed_claims;	/* the task went to another CPU */
	u64 forks;
	u64 direct;		/* inserted at once on an idle CPU */
	u64 queued_llc;
	u64 queued_cpu;
	u64 kept;		/* ran on after its slice */
	u64 pulled_llc;		/* from the LLC's queue */
	u64 pulled_cpu;		/* from its own */
	u64 pulled_sibling;	/* from that of another CPU of the LLC */
	u64 pulled_other;	/* from another LLC's */
	u64 pulled_load;	/* from an LLC with more load */
	u64 preempted;
	u64 kicked_idle;
	u64 brought_forward;	/* in a queue, because it had waited long */
	u64 migrations;
	u64 boosted;		/* runnable_avg raised the request to cpufreq */
	u64 recorded;
	u64 lost_records;
	u64 longest_wait_ns;	/* of a runnable task for a CPU */
	u64 longest_wait_pid;
};
