//! How much load is to be moved, where balancing goes by load alone (up to 5.4; read in 5.3).

use super::by_load::{Classified, LoadType};

/// `calculate_imbalance()`: how much load; `avg_load` is the domain's. 0 means balance.
pub(super) fn calculate_imbalance(local: &Classified, busiest: &Classified, avg_load: u64) -> u64 {
    let mut busiest = *busiest;
    if busiest.kind == LoadType::Imbalanced {
        busiest.load_per_task = busiest.load_per_task.min(avg_load);
    }
    // By its type a group can be the busiest that is not above the average.
    if busiest.avg_load <= avg_load || local.avg_load >= avg_load {
        return fix_small_imbalance(local, &busiest, 0);
    }
    let surplus = (busiest.avg_load - avg_load).min(load_above_capacity(local, &busiest));
    // Saturating: with small capacities the surplus may be the whole range.
    let surplus = surplus.saturating_mul(busiest.sums.group_capacity);
    let room = (avg_load - local.avg_load) * local.sums.group_capacity;
    let imbalance = surplus.min(room) / 1024;
    if imbalance < busiest.load_per_task { fix_small_imbalance(local, &busiest, imbalance) } else { imbalance }
}

/// Between overloaded groups no CPU is to become idle: what the busiest has above its capacity.
fn load_above_capacity(local: &Classified, busiest: &Classified) -> u64 {
    let both = busiest.kind == LoadType::Overloaded && local.kind == LoadType::Overloaded;
    let (tasks, capacity) = (u64::from(busiest.sums.sum_nr_running) * 1024, busiest.sums.group_capacity);
    if both && tasks > capacity { (tasks - capacity) * 1024 / capacity } else { u64::MAX }
}

/// `fix_small_imbalance()`: a task's load, if the busiest group is so much above the local one or the move gains capacity;
/// else what there was.
fn fix_small_imbalance(local: &Classified, busiest: &Classified, imbalance: u64) -> u64 {
    let (theirs, ours) = (busiest.sums.group_capacity, local.sums.group_capacity);
    // A local group without tasks takes what the pulling CPU's have on average, and that has none.
    let heavier = local.sums.sum_nr_running != 0 && busiest.load_per_task > local.load_per_task;
    let scaled = busiest.load_per_task * 1024 / theirs;
    if busiest.avg_load + scaled >= local.avg_load + scaled * if heavier { 1 } else { 2 } {
        return busiest.load_per_task;
    }
    let capacity = |capacity: u64, group: &Classified, avg_load: u64| capacity * group.load_per_task.min(avg_load);
    let now = (capacity(theirs, busiest, busiest.avg_load) + capacity(ours, local, local.avg_load)) / 1024;
    let left = match busiest.avg_load > scaled {
        true => capacity(theirs, busiest, busiest.avg_load - scaled),
        false => 0,
    };
    let added = (busiest.avg_load * theirs).min(busiest.load_per_task * 1024) / ours;
    let moved = (left + capacity(ours, local, local.avg_load + added)) / 1024;
    if moved > now { busiest.load_per_task } else { imbalance }
}
