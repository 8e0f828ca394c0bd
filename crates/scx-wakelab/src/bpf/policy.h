/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of the policies. Functions have the names of the kernel or of the posting. Nothing here depends on
 * BPF: the tests of scx-policy compile the same headers natively and compare them with the crates `sched` and
 * `pm`.
 */
#pragma once

#ifdef WAKELAB_NATIVE
#include <stdbool.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
#undef __always_inline
#define __always_inline inline __attribute__((always_inline, unused))
#endif

#define CAPACITY_SCALE 1024

#include "pelt.h"
#include "util_est.h"
#include "rq_clock_pelt.h"
#include "cpu_util.h"
#include "calc_group_shares.h"
#include "weight.h"
#include "wake_wide.h"
#include "wake_affine_weight.h"
#include "update_idle_cpu_scan.h"
#include "sis_prop.h"
#include "sis_short.h"
#include "sis_param.h"
