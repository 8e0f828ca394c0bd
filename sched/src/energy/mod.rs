//! Energy-aware placement: the energy model of the CPUs, and `find_energy_efficient_cpu()`.
//!
//! ```text
//!  em_create_perf_table   a domain's frequencies and powers ─▶ costs, inefficient states     table.rs
//!  EmPerfDomain           CPUs of one frequency: em_pd_get_efficient_state, em_cpu_energy    perf_domain.rs
//!  build_perf_domains     the root domain's list, where all conditions hold                  build.rs
//!        │
//!  find_energy_efficient_cpu ─ per domain the previous CPU and the one with most room        find.rs
//!    CpuRoom: room, and util_fits_cpu                                                        candidates.rs
//!    compute_energy ─ busy time and highest utilisation with the task here or there          compute.rs, env.rs
//!      effective_cpu_util ─ what other classes and interrupts add                            effective.rs
//!  the margin of a sixteenth, up to 5.18                                                     margin.rs
//! ```
//!
//! `select_task_rq_fair()` asks it for wake-ups on a machine that [`Rules::with_energy`](crate::select::Rules::with_energy)
//! has told of. While a CPU is overutilized ([`overutilized`]) it is not asked, and balancing does its work.

mod build;
mod candidates;
mod compute;
mod effective;
mod env;
mod find;
mod margin;
pub mod overutilized;
mod perf_domain;
mod table;

pub use build::{EasConditions, NoEas, PerfDomains, build_perf_domains};
pub use compute::compute_energy;
pub use effective::{
    CpuUtilType, EffectiveUtil, RqUtil, effective_cpu_util, effective_cpu_util_of_type, map_util_perf,
    sugov_effective_cpu_perf, uclamp_rq_util_with,
};
pub use find::find_energy_efficient_cpu;
pub use perf_domain::EmPerfDomain;
pub use table::{EmError, PerfState, em_create_perf_table};
