//! Energy-aware placement: the energy model of the CPUs, and `find_energy_efficient_cpu()` (feec,
//! `kernel/sched/fair.c`).
//!
//! ```text
//!  EmPerfDomain           CPUs of one frequency and their table of states               em_perf_domain.rs
//!    em_create_perf_table, em_pd_get_efficient_state, em_cpu_energy
//!  build_perf_domains     the root domain's list, if all conditions hold                build_perf_domains.rs
//!        │
//!  find_energy_efficient_cpu                                                            find_energy_efficient_cpu.rs
//!    per domain: the previous CPU, and the CPU with the most spare capacity
//!    compute_energy ─ busy time, and highest utilisation with the task on a CPU         compute_energy.rs
//!      effective_cpu_util ─ what other classes and interrupts add                       effective_cpu_util.rs
//!  cpu_overutilized       hands placement over to load balancing                        cpu_overutilized.rs
//! ```
//!
//! `select_task_rq_fair()` calls it for wake-ups if [`Rules::energy`](crate::select::Rules::energy) holds the
//! performance domains. While a CPU is overutilized (`cpu_overutilized()`), wake-ups and load balancing ignore
//! energy.

mod build_perf_domains;
mod compute_energy;
mod cpu_overutilized;
mod effective_cpu_util;
mod em_perf_domain;
mod find_energy_efficient_cpu;

pub use build_perf_domains::{EasConditions, NoEas, PerfDomains, build_perf_domains};
pub use compute_energy::compute_energy;
pub(crate) use cpu_overutilized::cpu_overutilized;
pub use effective_cpu_util::{
    CpuUtilType, EffectiveUtil, RqUtil, effective_cpu_util, effective_cpu_util_of_type, map_util_perf,
    sugov_effective_cpu_perf, uclamp_rq_util_with,
};
pub use em_perf_domain::{EmError, EmPerfDomain, PerfState, em_create_perf_table};
pub use find_energy_efficient_cpu::find_energy_efficient_cpu;
