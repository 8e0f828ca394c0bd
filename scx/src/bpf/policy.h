/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of the policies, each function named as the kernel's or the posting's. Nothing here knows BPF: the
 * tests of ../../policy compile the same text natively and hold it against the crates `sched` and `pm`.
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
#include "pelt_clock.h"
#include "boost.h"
#include "group_share.h"
#include "weight.h"
#include "wakee_flips.h"
#include "affine.h"
#include "idle_scan.h"
#include "sis_prop.h"
#include "sis_short.h"
