//! Pressure: the capacity that CPUs lack because their frequency is limited, as far as the scheduler is told.

use crate::numbered::PerCpu;
use crate::pm::PmModel;
use crate::system::System;
use wakelab_kernel::PressureForm;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::rt::{pressure_of, update_hw_load_avg};

/// On the scale of 1024; nothing where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// `cpufreq_get_pressure()`.
    cpufreq: PerCpu<u64>,
    /// `arch_scale_hw_pressure()`, up to 6.9 `arch_scale_thermal_pressure()`.
    hw: PerCpu<u64>,
}

impl Pressure {
    /// Of a side whose CPUs have these capacities, as a kernel of this form is told.
    pub fn new(form: PressureForm, pm: Option<&PmModel>, capacity: &[u64]) -> Self {
        let Some(pm) = pm.filter(|_| form != PressureForm::None) else { return Pressure::default() };
        let some = |of: PerCpu<u64>| if of.iter().all(|&pressure| pressure == 0) { PerCpu::default() } else { of };
        let cpus = || (0..).zip(capacity);
        let cpufreq = |(cpu, &capacity): (Cpu, &u64)| {
            let policy = &pm.policies[pm.policy_of[cpu]].policy;
            // arch_scale_freq_ref(), or else the highest frequency of the hardware.
            let max = if policy.freq_ref != 0 { policy.freq_ref } else { policy.cpuinfo().1 };
            pressure_of(capacity, policy.max().into(), max.into())
        };
        let hw = |(cpu, &capacity): (Cpu, &u64)| pressure_of(capacity, pm.hw_cap[cpu].into(), pm.nominal[cpu].into());
        let told = form == PressureForm::Hw;
        Pressure {
            cpufreq: if told { some(cpus().map(cpufreq).collect()) } else { PerCpu::default() },
            hw: some(cpus().map(hw).collect()),
        }
    }

    /// Whether there is any.
    pub fn is_some(&self) -> bool {
        !self.cpufreq.is_empty() || !self.hw.is_empty()
    }

    /// `cpufreq_get_pressure()`.
    pub fn cpufreq(&self, cpu: Cpu) -> u64 {
        self.cpufreq.get(cpu).copied().unwrap_or(0)
    }

    /// `arch_scale_hw_pressure()`.
    pub fn hw(&self, cpu: Cpu) -> u64 {
        self.hw.get(cpu).copied().unwrap_or(0)
    }
}

impl System<'_> {
    /// The pressure of this moment that placement reads beside its average: cpufreq's since 6.10, before thermal
    /// pressure.
    pub fn present_pressure(&self, cpu: Cpu) -> u64 {
        let Some(rt) = &self.rt else { return 0 };
        match rt.pressure {
            PressureForm::None => 0,
            PressureForm::Thermal => self.model.pressure.hw(cpu),
            PressureForm::Hw => self.model.pressure.cpufreq(cpu),
        }
    }

    /// `update_hw_load_avg()` of a tick, or with blocked averages.
    pub fn update_hw_avg(&mut self, cpu: Cpu) {
        if self.model.pressure.hw.is_empty() {
            return;
        }
        let (now, pressure) = (self.clock_task(cpu), self.model.pressure.hw(cpu));
        if let Some(rt) = &mut self.rt {
            update_hw_load_avg(now, &mut rt.cpus[cpu].avg_hw, pressure);
        }
    }
}
