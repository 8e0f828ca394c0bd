//! One group summed up (`update_sg_lb_stats()`).

use super::env::LbEnv;
use super::group_type::GroupType;
use super::pick_busiest::capacity_greater;
use super::view::BalanceView;
use crate::domain::{SchedGroup, SdFlags};

/// `struct sg_lb_stats`, and what is read of the group itself. Averages are in the kernel's units (1024 = one CPU, or one
/// nice-0 task for loads).
///
/// The last fields mean something on unequal CPUs only; of them, no pass fills in those of ITMT, whose machines
/// [`Balance::new`](super::Balance::new) refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgLbStats {
    /// Load per capacity × 1024; 0 unless overloaded.
    pub avg_load: u64,
    /// Summed load of the CPUs.
    pub group_load: u64,
    /// `sgc->capacity`.
    pub group_capacity: u64,
    /// Summed utilisation.
    pub group_util: u64,
    /// Summed runnable averages.
    pub group_runnable: u64,
    /// Tasks of all classes.
    pub sum_nr_running: u32,
    /// Tasks of the fair class; since 7.2 without those that sleep and are still queued.
    pub sum_h_nr_running: u32,
    /// Idle CPUs.
    pub idle_cpus: u32,
    /// How many CPUs.
    pub group_weight: u32,
    /// The type.
    pub group_type: GroupType,
    /// The largest load of a CPU that has one task and a reduced capacity; 0 for none. On unequal CPUs, misfit tasks'.
    pub group_misfit_task_load: u64,
    /// Siblings share a core while the destination idles (`smt_balance()`).
    pub group_smt_balance: bool,
    /// `group->flags`: those of the child domain.
    pub flags: SdFlags,
    /// `group->cores`: how many cores; filled in where tasks are spread by it.
    pub cores: u32,
    /// The destination idles and is preferred to the group (`sched_asym()`).
    pub group_asym_packing: bool,
    /// `arch_asym_cpu_priority()` of `group->asym_prefer_cpu`.
    pub prefer_priority: i32,
    /// `sgc->min_capacity`: of its smallest CPU.
    pub min_capacity: u64,
    /// `sgc->max_capacity`: of its largest.
    pub max_capacity: u64,
    /// With an energy model: one of its CPUs is overutilized (`SG_OVERUTILIZED`).
    pub group_overutilized: bool,
    /// With an energy model, since 7.2: none is, so that the group is not overloaded whatever the averages say.
    pub spare_by_energy: bool,
}

impl SgLbStats {
    /// What the first candidate is compared with (`init_sd_lb_stats()`).
    pub fn none() -> Self {
        SgLbStats { idle_cpus: u32::MAX, ..SgLbStats::default() }
    }

    /// `update_sg_lb_stats()`. Returns the group and whether one of its run queues has more than one task
    /// (`SG_OVERLOAD`).
    #[inline]
    pub(super) fn of<V: BalanceView>(env: &LbEnv<'_, V>, group: &SchedGroup, local: bool) -> (Self, u32, bool) {
        let (view, rules) = (env.view, &env.balance.rules);
        let asym = env.facts.asym_capacity();
        let reduced = rules.reduced_capacity && !asym && !local && env.facts.idles();
        let larger = |misfit| {
            misfit != 0
                && (!rules.misfit_if_larger
                    || capacity_greater(env.facts.dst_capacity, view.group_max_capacity(env.level, group)))
        };
        let (mut sgs, mut looked_at, mut overload) = (SgLbStats::default(), 0, false);
        for cpu in env.cpus_of(&group.span) {
            looked_at += 1;
            let load = view.cpu_load(cpu);
            sgs.group_load += load;
            sgs.group_util += env.cpu_util_cfs(cpu);
            sgs.group_runnable += view.cpu_runnable(cpu);
            let h_nr_running = env.h_nr_running(cpu);
            sgs.sum_h_nr_running += h_nr_running;
            let nr_running = view.nr_running(cpu);
            sgs.sum_nr_running += nr_running;
            overload |= nr_running > 1;
            if env.balance.energy {
                sgs.group_overutilized |= env.balance.cpu_overutilized(view, cpu);
            }
            if nr_running == 0 && view.idle_cpu(cpu) {
                sgs.idle_cpus += 1;
            } else if asym && !local {
                let misfit = view.misfit_task_load(cpu);
                if larger(misfit) {
                    sgs.group_misfit_task_load = sgs.group_misfit_task_load.max(misfit);
                }
                // A CPU that is about to go idle is to look for it.
                overload |= misfit != 0;
            } else if reduced && h_nr_running == 1 && env.check_cpu_capacity(cpu) {
                sgs.group_misfit_task_load = sgs.group_misfit_task_load.max(load);
            }
        }
        sgs.group_capacity = view.group_capacity(env.level, group);
        sgs.group_weight = group.weight;
        sgs.flags = group.flags;
        if asym {
            sgs.min_capacity = view.group_min_capacity(env.level, group);
            sgs.max_capacity = view.group_max_capacity(env.level, group);
        }
        sgs.spare_by_energy = rules.overloaded_by_energy && env.balance.energy && !sgs.group_overutilized;
        // With ITMT: sched_group_asym() would set group_asym_packing here.
        sgs.group_smt_balance =
            rules.smt_balance && !local && env.facts.idles() && sgs.is_smt() && sgs.sum_h_nr_running > 1;
        sgs.group_type = sgs.group_classify(env.sd.imbalance_pct, || view.group_imbalance(env.level, group));
        if sgs.group_type == GroupType::Overloaded {
            sgs.avg_load = sgs.load_per_capacity();
        }
        (sgs, looked_at, overload)
    }

    /// `group_load * SCHED_CAPACITY_SCALE / group_capacity`.
    #[inline]
    pub(super) fn load_per_capacity(&self) -> u64 {
        self.group_load * 1024 / self.group_capacity
    }

    /// Its CPUs are siblings of one core, and there are several.
    #[inline]
    pub(super) fn is_smt(&self) -> bool {
        self.flags.contains(SdFlags::SHARE_CPUCAPACITY)
    }
}
