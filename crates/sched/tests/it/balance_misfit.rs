//! Balancing between CPUs of unequal capacity, in cases worked out by hand from the sources: misfit tasks, and the flag
//! that a CPU has too much to do for placement by energy.

use crate::support::balance::{State, after_many_failures, domains_of};
use wakelab_kernel::{CapacitySearch, Feature, FeatureSet, Preset, UtilFits};
use wakelab_sched::CpuMask;
use wakelab_sched::balance::*;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, Topology, Uniform};
use wakelab_sched::runqueue::TaskId;

const TUNABLES: BalanceTunables =
    BalanceTunables { migration_cost: 500_000, nr_migrate: 32, preemption: true, hz: 250 };

/// The presets whose balancing knows misfit tasks, by their rules and names.
fn all() -> impl Iterator<Item = (BalanceRules, &'static str)> {
    let modelled = Preset::all().iter().filter(|preset| preset.code.capacity_search != CapacitySearch::WakeCap);
    modelled.map(|preset| (preset.balance, preset.name))
}

/// Two little CPUs (0 and 1) in a cache of their own and two big ones (2 and 3) in another; level 1 spans both.
fn two_kinds(little: u32, kernel: &str) -> SchedDomains {
    let mut topology = Uniform { llcs: 2, ..Uniform::new(2, 1) }.topology();
    topology.cpus[..2].iter_mut().for_each(|cpu| cpu.capacity = little);
    domains_of(&topology, kernel)
}

/// A little CPU runs one task that is too large for it.
fn misfit(little: u64) -> (State, TaskId) {
    let mut state = State::idle(4);
    for cpu in 0..2 {
        (state.cpus[cpu].capacity, state.cpus[cpu].capacity_orig) = (little, little);
    }
    state.run(0, 0);
    let task = state.running(0).unwrap();
    state.task(task).util_est = little;
    state.cpus[0].util = little;
    (state, task)
}

fn with_status(state: &mut State, balance: &Balance<'_>, cpu: Cpu) -> u64 {
    let load = balance.update_misfit_status(state, state.running(cpu), cpu);
    state.cpus[cpu as usize].misfit_task_load = load;
    load
}

fn pass(state: &State, balance: &Balance<'_>, cpu: Cpu, level: usize) -> Plan {
    let sd = SdBalance::new(balance.sd(cpu, level), 0);
    plan_balance(state, balance, cpu, level, CpuIdleType::NewlyIdle, &sd)
}

fn of(rules: BalanceRules, domains: &SchedDomains) -> Balance<'_> {
    let features = FeatureSet::EMPTY.with(Feature::UTIL_EST, true).with(Feature::ASYM_SMT, true);
    Balance::new(rules, features, TUNABLES, domains).unwrap()
}

#[test]
fn a_task_that_outgrew_its_cpu_is_a_misfit_and_is_pushed_to_a_larger_one_at_once() {
    for (rules, kernel) in all() {
        let domains = two_kinds(512, kernel);
        let balance = of(rules, &domains);
        let (mut state, task) = misfit(512);
        assert_eq!(with_status(&mut state, &balance, 0), 1024, "{kernel}");
        let plan = pass(&state, &balance, 2, 1);
        assert_eq!(plan.busiest, Some(0), "{kernel}");
        assert_eq!(plan.imbalance.map(|imbalance| imbalance.migration_type), Some(MigrationType::Misfit));
        assert!(plan.active_balance && plan.moves.is_empty(), "{kernel}: {plan:?}");
        assert_eq!(plan.overload, Some(true), "{kernel}");
        let pushed =
            active_load_balance_cpu_stop(&state, &balance, 0, 2, &after_many_failures(&balance, 2), false).unwrap();
        assert_eq!((pushed.task, pushed.level), (task, 1), "{kernel}");
    }
}

#[test]
fn a_waiting_misfit_task_is_pulled_and_one_that_fits_is_left() {
    for (rules, kernel) in all() {
        let domains = two_kinds(512, kernel);
        let balance = of(rules, &domains);
        let (mut state, _) = misfit(512);
        let (small, large) = (state.add(0), state.add(0));
        state.task(small).util_est = 100;
        state.task(large).util_est = 500;
        state.cpus[0].util = 100;
        state.cpus[0].runnable = 100;
        with_status(&mut state, &balance, 0);
        let plan = pass(&state, &balance, 2, 1);
        if plan.imbalance.map(|imbalance| imbalance.migration_type) == Some(MigrationType::Misfit) {
            assert_eq!(plan.moves.iter().map(|moved| moved.task).collect::<Vec<_>>(), [large], "{kernel}");
            assert!(plan.skipped.contains(&small));
        } else {
            panic!("{kernel}: {plan:?}");
        }
    }
}

#[test]
fn a_cpu_that_is_no_larger_pulls_no_misfit() {
    for (rules, kernel) in all() {
        let domains = two_kinds(512, kernel);
        let balance = of(rules, &domains);
        let (mut state, _) = misfit(512);
        with_status(&mut state, &balance, 0);
        // What is left of the big ones is no more than the little one has.
        state.cpus[2].capacity = 520;
        state.cpus[3].capacity = 520;
        assert_eq!(pass(&state, &balance, 2, 1).imbalance, None, "{kernel}");
        // Its neighbour in the cache is as large.
        assert_eq!(pass(&state, &balance, 1, 1).imbalance, None, "{kernel}");
    }
}

#[test]
fn a_task_is_no_misfit_where_it_fits_or_may_not_leave_or_has_nowhere_to_go() {
    let domains = two_kinds(512, "v6.12");
    let (old, new) = (of(BalanceRules::V6_1, &domains), of(BalanceRules::V6_12, &domains));
    let (mut state, task) = misfit(512);
    state.task(task).util_est = 409;
    assert_eq!(new.update_misfit_status(&state, Some(task), 0), 0);
    state.task(task).util_est = 410;
    assert_eq!(new.update_misfit_status(&state, Some(task), 0), 1024);
    assert_eq!(new.update_misfit_status(&state, None, 0), 0);
    state.task(task).h_load = 0;
    assert_eq!(new.update_misfit_status(&state, Some(task), 0), 1);
    // Both little CPUs: before 6.10 nobody asked whether a larger one is allowed.
    state.task(task).cpus = CpuMask::from_cpus(4, [0, 1]);
    assert_eq!([&old, &new].map(|balance| balance.update_misfit_status(&state, Some(task), 0)), [1, 0]);
    state.task(task).cpus = CpuMask::from_cpus(4, [0]);
    assert_eq!([&old, &new].map(|balance| balance.update_misfit_status(&state, Some(task), 0)), [0, 0]);
}

#[test]
fn equal_cpus_have_no_misfits() {
    let domains = domains_of(&Topology::one_llc(&[1024; 4]), "v6.12");
    let balance = of(BalanceRules::V6_12, &domains);
    let mut state = State::idle(4);
    state.run(0, 0);
    assert_eq!(with_status(&mut state, &balance, 0), 0);
}

/// 7.2: a sibling that is busy takes part of what the larger CPU has.
#[test]
fn since_7_2_a_misfit_goes_to_an_idle_core_only() {
    let mut topology = Uniform { llcs: 2, ..Uniform::new(2, 2) }.topology();
    topology.cpus[..4].iter_mut().for_each(|cpu| cpu.capacity = 512);
    for (rules, kernel, pulls) in [(BalanceRules::V6_12, "v6.12", true), (BalanceRules::V7_2, "v7.2", false)] {
        let domains = domains_of(&topology, kernel);
        let balance = of(rules, &domains);
        let mut state = State::idle(8);
        (0..4).for_each(|cpu| (state.cpus[cpu].capacity, state.cpus[cpu].capacity_orig) = (512, 512));
        state.run(0, 0);
        state.task(state.running(0).unwrap()).util_est = 512;
        state.run(5, 0);
        assert_eq!(with_status(&mut state, &balance, 0), 1024);
        let level = balance.nr_levels(4) - 1;
        let misfit = |cpu| {
            pass(&state, &balance, cpu, level).imbalance.map(|imbalance| imbalance.migration_type)
                == Some(MigrationType::Misfit)
        };
        assert_eq!((misfit(4), misfit(6)), (pulls, true), "{kernel}");
    }
}

#[test]
fn a_misfit_task_has_a_busy_cpu_kick_an_idle_one() {
    for (rules, kernel) in all() {
        let domains = two_kinds(512, kernel);
        let balance = of(rules, &domains);
        let (mut state, _) = misfit(512);
        let kicks = |state: &State| {
            let mut nohz = Nohz::new(&balance, 0);
            (1..4).for_each(|cpu| nohz.enter_idle(&balance, cpu));
            nohz.needs_update = false;
            nohz.balancer_kick(state, &balance, 0, 1000)
                .is_some_and(|kick| kick.flags.contains(NohzFlags::BALANCE_KICK))
        };
        assert!(!kicks(&state), "{kernel}");
        with_status(&mut state, &balance, 0);
        assert!(kicks(&state), "{kernel}");
    }
}

/// More tasks than little CPUs, none too large for one, while the big ones idle.
fn crowded(little: u64) -> State {
    let mut state = State::idle(4);
    (0..2).for_each(|cpu| (state.cpus[cpu].capacity, state.cpus[cpu].capacity_orig) = (little, little));
    state.run(0, 2);
    state.run(1, 0);
    (state.cpus[0].util, state.cpus[0].runnable) = (200, 700);
    (state.cpus[1].util, state.cpus[1].runnable) = (200, 200);
    state
}

#[test]
fn with_an_energy_model_nothing_is_balanced_until_a_cpu_is_overutilized() {
    for (rules, kernel) in all() {
        let domains = two_kinds(512, kernel);
        let (plain, energy) = (of(rules, &domains), of(rules, &domains).with_energy());
        let mut state = crowded(512);
        assert!(!pass(&state, &plain, 2, 1).moves.is_empty(), "{kernel}");
        assert_eq!(pass(&state, &plain, 2, 1).overutilized, None);
        let plan = pass(&state, &energy, 2, 1);
        assert_eq!((plan.moves.len(), plan.overutilized), (0, Some(false)), "{kernel}");
        // Above four fifths of the CPU.
        state.cpus[0].util = 410;
        assert!(energy.becomes_overutilized(&state, 0) && !plain.becomes_overutilized(&state, 0));
        let plan = pass(&state, &energy, 2, 1);
        assert_eq!((plan.moves.is_empty(), plan.overutilized), (false, Some(true)), "{kernel}");
    }
}

/// A run queue's minimum clamp of 600 is more than the little CPU's 512. 5.10 then finds that the CPU does not fit. 6.1
/// returns -1 ("only the minimum is missed"), which is no overutilization, and 7.2 ignores the minimum. A maximum clamp
/// of 400 caps what would be too much, 500 of 512, except in 5.18, which applies no clamps here.
#[test]
fn the_clamps_of_a_run_queue_decide_whether_its_cpu_is_overutilized() {
    for (rules, kernel) in all() {
        let domains = two_kinds(512, kernel);
        let balance = of(rules, &domains).with_energy();
        let overutilized = |util, clamps: Option<(u64, u64)>| {
            let (mut state, _) = misfit(512);
            state.uclamp_used = clamps.is_some();
            state.cpus[0].util = util;
            state.cpus[0].uclamp = clamps.unwrap_or((600, 400));
            balance.becomes_overutilized(&state, 0)
        };
        let at = kernel;
        assert_eq!((overutilized(100, None), overutilized(500, None)), (false, true), "{at}: no clamp has been set");
        assert_eq!((overutilized(100, Some((0, 1024))), overutilized(500, Some((0, 1024)))), (false, true), "{at}");
        assert_eq!(overutilized(100, Some((600, 1024))), rules.util_fits == UtilFits::YesNo, "{at}: minimum");
        assert_eq!(overutilized(500, Some((0, 400))), rules.util_fits == UtilFits::Clamped, "{at}: maximum");
    }
}

/// Before the misfit was unlinked from the flag, a task of which only the minimum is missed had to wait for it.
#[test]
fn since_6_1_a_misfit_is_pulled_though_no_cpu_is_overutilized() {
    for (rules, kernel) in all() {
        let domains = two_kinds(512, kernel);
        let balance = of(rules, &domains).with_energy();
        let (mut state, _) = misfit(512);
        with_status(&mut state, &balance, 0);
        state.cpus[0].util = 300;
        assert!(!balance.becomes_overutilized(&state, 0));
        let misfit = pass(&state, &balance, 2, 1).active_balance;
        assert_eq!(misfit, rules.misfit_before_energy, "{kernel}");
    }
}

/// More tasks than CPUs, which have waited for them, though no CPU is full.
#[test]
fn since_7_2_a_group_without_an_overutilized_cpu_is_not_overloaded() {
    for (rules, kernel, group) in
        [(BalanceRules::V6_12, "v6.12", GroupType::Overloaded), (BalanceRules::V7_2, "v7.2", GroupType::FullyBusy)]
    {
        let domains = two_kinds(512, kernel);
        let mut state = crowded(512);
        state.cpus[1].runnable = 900;
        let balance = of(rules, &domains).with_energy();
        let sd = SdBalance::new(balance.sd(2, 1), 0);
        let mut env = LbEnv::new(&state, &balance, 2, 1, CpuIdleType::NewlyIdle, &sd);
        assert_eq!(update_sd_lb_stats(&mut env).busiest_stat.group_type, group, "{kernel}");
    }
}

/// It can be said again and again, on a CPU that idles, while the task may not go.
#[test]
fn since_6_12_a_pass_for_misfits_is_no_failure_and_leaves_the_interval() {
    for (rules, kernel, failures, interval) in
        [(BalanceRules::V6_1, "v6.1", 1, 8), (BalanceRules::V6_12, "v6.12", 0, 4)]
    {
        let domains = two_kinds(512, kernel);
        let balance = of(rules, &domains);
        let (mut state, task) = misfit(512);
        state.task(task).cpus = CpuMask::from_cpus(4, [0, 1, 3]);
        assert_eq!(with_status(&mut state, &balance, 0), 1024);
        let mut sd = SdBalance::new(balance.sd(2, 1), 0);
        let plan = plan_balance(&state, &balance, 2, 1, CpuIdleType::Idle, &sd);
        assert_eq!(plan.outcome, Outcome::OnePinned, "{kernel}");
        sd.tune(balance.sd(2, 1), CpuIdleType::Idle, &plan);
        assert_eq!((sd.nr_balance_failed, sd.balance_interval), (failures, interval), "{kernel}");
    }
}

/// 7.3: a group with a misfit that the pulling CPU cannot help is what it is without.
#[test]
fn since_7_3_a_misfit_counts_only_for_a_larger_cpu() {
    for (rules, kernel, group) in
        [(BalanceRules::V7_2, "v7.2", GroupType::MisfitTask), (BalanceRules::V7_3, "v7.3", GroupType::HasSpare)]
    {
        let domains = two_kinds(512, kernel);
        let balance = of(rules, &domains);
        let (mut state, _) = misfit(512);
        with_status(&mut state, &balance, 0);
        let sgs = |state: &State| {
            let sd = SdBalance::new(balance.sd(2, 1), 0);
            let mut env = LbEnv::new(state, &balance, 2, 1, CpuIdleType::NewlyIdle, &sd);
            let sds = update_sd_lb_stats(&mut env);
            (sds.busiest.map(|_| sds.busiest_stat.group_type), sds.overload)
        };
        assert_eq!(sgs(&state), (Some(GroupType::MisfitTask), true));
        (2..4).for_each(|cpu| state.cpus[cpu].capacity = 520);
        let expected = (group != GroupType::MisfitTask).then_some(group);
        assert_eq!(sgs(&state), (expected, true), "{kernel}");
    }
}

/// 7.3: the only task of a CPU whose sibling is busy may go to a core that is no larger.
#[test]
fn since_7_3_a_busy_sibling_lets_the_only_task_of_a_cpu_go_to_an_equal_core() {
    let mut topology = Uniform { llcs: 2, ..Uniform::new(2, 2) }.topology();
    topology.cpus[..4].iter_mut().for_each(|cpu| cpu.capacity = 512);
    for (rules, kernel, taken) in [(BalanceRules::V7_2, "v7.2", None), (BalanceRules::V7_3, "v7.3", Some(0))] {
        let domains = domains_of(&topology, kernel);
        let balance = of(rules, &domains);
        let mut state = State::idle(8);
        (0..4).for_each(|cpu| (state.cpus[cpu].capacity, state.cpus[cpu].capacity_orig) = (512, 512));
        state.run(0, 0);
        state.run(1, 0);
        (4..8).for_each(|cpu| state.cpus[cpu].capacity = 512);
        let plan = pass(&state, &balance, 4, balance.nr_levels(4) - 1);
        assert_eq!(plan.busiest, taken, "{kernel}: {plan:?}");
    }
}
