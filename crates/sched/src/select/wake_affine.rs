//! `wake_affine()`: whether the search starts at the waking CPU or at the previous one; and `record_wakee()` and
//! `wake_wide()`, which decide whether it is called.

use super::decision::Affine;
use super::policy::{is_short_task, is_short_v6};
use super::{IdleView, PolicyView, RqView, Rules, Wakeup};
use crate::cpumask::Cpu;
use wakelab_kernel::Feature;

/// A task's record of the tasks that it woke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeeFlips {
    /// `wakee_flips`: how often the task woke another task than the time before, halved about once a second.
    pub wakee_flips: u32,
    /// `wakee_flip_decay_ts`: when `wakee_flips` was halved last, in jiffies.
    pub wakee_flip_decay_ts: u64,
    /// `last_wakee`: which task it woke last, by any number that identifies a task; `None` at first.
    pub last_wakee: Option<u64>,
}

/// The waker's state after it woke `wakee` at `jiffies` (`record_wakee()`, unchanged from 5.2 to 7.3).
///
/// `hz` is CONFIG_HZ: if more than a second has passed, the count is halved once, however long ago the last time was.
pub fn record_wakee(mut waker: WakeeFlips, wakee: u64, jiffies: u64, hz: u64) -> WakeeFlips {
    // time_after() compares the signed difference, so that the counter may wrap.
    if (jiffies.wrapping_sub(waker.wakee_flip_decay_ts.wrapping_add(hz)) as i64) > 0 {
        waker.wakee_flips >>= 1;
        waker.wakee_flip_decay_ts = jiffies;
    }
    if waker.last_wakee != Some(wakee) {
        waker.last_wakee = Some(wakee);
        waker.wakee_flips = waker.wakee_flips.wrapping_add(1);
    }
    waker
}

/// `wake_wide()`: whether waker and wakee have so many partners that placing all of them near each other would crowd
/// the LLC (unchanged from 5.2 to 7.3).
///
/// `llc_size` is `sd_llc_size` of the waking CPU.
#[inline]
pub fn wake_wide(waker_flips: u32, wakee_flips: u32, llc_size: u32) -> bool {
    let (master, slave) = (waker_flips.max(wakee_flips), waker_flips.min(wakee_flips));
    // The kernel multiplies an unsigned int by an int, which wraps at 32 bits.
    !(slave < llc_size || master < slave.wrapping_mul(llc_size))
}

/// The rule of `wake_affine()` that decided, with the loads that it compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffineDetail {
    /// The rule.
    pub rule: Affine,
    /// The effective loads of the waking and the previous CPU, if `wake_affine_weight()` compared them. If it returned
    /// early (a sync waker that is the whole load of its CPU), the loads that it had computed by then.
    pub loads: Option<(i64, i64)>,
}

impl AffineDetail {
    /// `wake_affine()` was not called.
    pub const NOT_ASKED: AffineDetail = AffineDetail { rule: Affine::NotAsked, loads: None };
}

/// `wake_affine()`: the CPU at which the search starts, the waking or the previous one, with the rule.
///
/// `imbalance_pct` is that of the lowest domain that holds both CPUs.
#[inline]
pub fn wake_affine(
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    imbalance_pct: u32,
    view: &(impl IdleView + PolicyView),
) -> (Cpu, AffineDetail) {
    let (this_cpu, prev_cpu) = (wakeup.waker.cpu, wakeup.wakee.prev_cpu);
    if rules.features.has(Feature::WA_IDLE)
        && let Some((cpu, rule)) = wake_affine_idle(rules, wakeup, view)
    {
        return (cpu, AffineDetail { rule, loads: None });
    }
    if rules.features.has(Feature::WA_WEIGHT) {
        let (taken, loads) = wake_affine_weight(rules, wakeup, imbalance_pct, view);
        let rule = if taken { Affine::Weight } else { Affine::Prev };
        return (if taken { this_cpu } else { prev_cpu }, AffineDetail { rule, loads: Some(loads) });
    }
    (prev_cpu, AffineDetail { rule: Affine::Prev, loads: None })
}

/// `wake_affine_idle()`: reads only the present moment; `None` leaves the choice to the loads.
#[inline]
pub fn wake_affine_idle(
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    view: &(impl IdleView + PolicyView),
) -> Option<(Cpu, Affine)> {
    let (this_cpu, prev_cpu) = (wakeup.waker.cpu, wakeup.wakee.prev_cpu);
    // An idle waking CPU means an interrupt. Its CPU is as good as prev only if they share a cache: otherwise the
    // interrupt's affinity would drag all tasks to one node.
    if view.available_idle_cpu(this_cpu) && rules.domains.cpus_share_cache(this_cpu, prev_cpu) {
        return Some(if view.available_idle_cpu(prev_cpu) {
            (prev_cpu, Affine::BothIdle)
        } else {
            (this_cpu, Affine::WakerIdle)
        });
    }
    if wakeup.sync() {
        let delayed = if rules.code.sync_ignores_delayed { view.h_nr_delayed(this_cpu) } else { 0 };
        // Unsigned in the kernel: a delayed task is counted in nr_running too, so this does not go below 0.
        if view.nr_running(this_cpu).wrapping_sub(delayed) == 1 {
            return Some((this_cpu, Affine::Sync));
        }
    }
    if rules.code.wa_idle_prev && view.available_idle_cpu(prev_cpu) {
        return Some((prev_cpu, Affine::PrevIdle));
    }
    let is_short = rules.features.has(Feature::SIS_SHORT) && is_short_task(rules, view.curr_dur_avg(this_cpu))
        || rules.features.has(Feature::SIS_SHORT_V6)
            && is_short_v6(rules, view.curr_dur_avg(this_cpu), wakeup.waker.wakee_flips);
    if is_short && view.nr_running(this_cpu) == 1 {
        return Some((this_cpu, Affine::Short));
    }
    None
}

/// `wake_affine_weight()`: whether the waking CPU's effective load would be the lower one, and the two loads compared.
///
/// The loads are weighed with the *other* CPU's capacity, which compares load/capacity without dividing:
///
/// ```text
/// this_eff = (load_this [- h_load(waker) if sync] + h_load(wakee)) × 100 × capacity_prev
/// prev_eff = (load_prev - h_load(wakee)) × (100 + (imbalance_pct - 100) / 2) × capacity_this [+ 1 if sync]
/// ```
///
/// Without WA_BIAS the two percentages are left out. All in 64 bits that wrap, compared as signed numbers.
#[inline]
pub fn wake_affine_weight(
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    imbalance_pct: u32,
    view: &impl RqView,
) -> (bool, (i64, i64)) {
    let (this_cpu, prev_cpu) = (wakeup.waker.cpu, wakeup.wakee.prev_cpu);
    let sync = wakeup.sync();
    let bias = rules.features.has(Feature::WA_BIAS);

    let mut this_eff = rules.load_of(this_cpu, view);
    if sync {
        // The waker is about to sleep, so its load goes; if that is more than the CPU has, nothing is left to compare.
        if wakeup.waker.h_load > this_eff {
            return (true, (this_eff as i64, rules.load_of(prev_cpu, view) as i64));
        }
        this_eff -= wakeup.waker.h_load;
    }
    this_eff = this_eff.wrapping_add(wakeup.wakee.h_load);
    if bias {
        this_eff = this_eff.wrapping_mul(100);
    }
    this_eff = this_eff.wrapping_mul(view.capacity_of(prev_cpu));

    let mut prev_eff = rules.load_of(prev_cpu, view).wrapping_sub(wakeup.wakee.h_load);
    if bias {
        prev_eff = prev_eff.wrapping_mul(u64::from(100 + imbalance_pct.wrapping_sub(100) / 2));
    }
    prev_eff = prev_eff.wrapping_mul(view.capacity_of(this_cpu));
    if sync {
        // A tie goes to the waking CPU: stack the wakee on its waker if nothing else is idle.
        prev_eff = prev_eff.wrapping_add(1);
    }
    let (this_eff, prev_eff) = (this_eff as i64, prev_eff as i64);
    (this_eff < prev_eff, (this_eff, prev_eff))
}
