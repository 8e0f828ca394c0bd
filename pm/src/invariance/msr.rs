//! The ratio as the kernel finds it at boot, from model-specific registers.

use super::max_freq_ratio::MaxFreqRatio;

/// Kinds of CPUs by how their registers read (the `has_*_turbo_ratio_limits` tables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuKind {
    /// Intel's cores that no other kind stands for.
    Core,
    /// Atoms with registers of their own: Silvermont.
    Silvermont,
    /// Goldmont.
    Goldmont,
    /// Xeon Phi.
    KnightsLanding,
    /// Skylake-X.
    SkylakeX,
}

/// The registers, raw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Msrs {
    /// MSR_PLATFORM_INFO.
    pub platform_info: u64,
    /// MSR_TURBO_RATIO_LIMIT.
    pub turbo_ratio_limit: u64,
    /// MSR_TURBO_RATIO_LIMIT1.
    pub turbo_ratio_limit1: u64,
    /// MSR_ATOM_CORE_RATIOS.
    pub atom_core_ratios: u64,
    /// MSR_ATOM_CORE_TURBO_RATIOS.
    pub atom_core_turbo_ratios: u64,
}

/// The highest frequency over the base (`intel_set_max_freq_ratio()`, 5.10 to 7.3); `None` if the registers do not say,
/// so that there is no invariance.
pub fn intel_set_max_freq_ratio(kind: CpuKind, msrs: &Msrs, turbo_disabled: bool) -> Option<MaxFreqRatio> {
    let base = (msrs.platform_info >> 8) & 0xff;
    let of_kind = match kind {
        CpuKind::Silvermont => Some(((msrs.atom_core_ratios >> 16) & 0x3f, msrs.atom_core_turbo_ratios & 0x3f)),
        CpuKind::Goldmont => skx_turbo(msrs, 1).map(|turbo| (base, turbo)),
        CpuKind::KnightsLanding => Some((base, knl_turbo(msrs.turbo_ratio_limit, 1))),
        CpuKind::SkylakeX => skx_turbo(msrs, 4).map(|turbo| (base, turbo)),
        CpuKind::Core => None,
    };
    let (base, turbo) = of_kind.unwrap_or((base, core_turbo(msrs.turbo_ratio_limit)));
    if base == 0 || turbo == 0 {
        return None;
    }
    let mut ratio = MaxFreqRatio::new(turbo.wrapping_mul(1024) / base)?;
    ratio.arch_set_max_freq_ratio(turbo_disabled);
    Some(ratio)
}

/// `knl_set_max_freq_ratio()`: the ratio after so many steps down. An int in the kernel, here u64: a ratio below 0
/// would come to the same huge number there.
fn knl_turbo(msr: u64, steps: u32) -> u64 {
    let mut ratio = ((msr >> 8) & 0xff) as i32;
    let mut found = 0;
    for shift in (16..64).step_by(8) {
        if found >= steps {
            return ratio as u64;
        }
        let delta = ((msr >> (shift + 5)) & 0x7) as i32;
        if delta != 0 {
            found += 1;
            ratio -= delta;
        }
    }
    // The kernel leaves the frequency unset here, having found too few steps.
    0
}

/// `skx_set_max_freq_ratio()`: the ratio of the first group with so many cores.
fn skx_turbo(msrs: &Msrs, cores: u64) -> Option<u64> {
    let shift = (0..64).step_by(8).find(|shift| (msrs.turbo_ratio_limit1 >> shift) & 0xff >= cores)?;
    Some((msrs.turbo_ratio_limit >> shift) & 0xff)
}

/// `core_set_max_freq_ratio()`: that of four active cores; a CPU with fewer has none, and takes that of one.
fn core_turbo(msr: u64) -> u64 {
    match (msr >> 24) & 0xff {
        0 => msr & 0xff,
        four => four,
    }
}
