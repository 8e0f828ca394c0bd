//! x86's frequency scale held against numbers that the kernel's own code computed: every row.

use crate::support::{Row, rows};
use wakelab_pm::invariance::{MaxFreqRatio, scale_freq_tick};

#[test]
fn the_frequency_scale_is_the_kernels() {
    for row in rows("x86_freq_scale.csv") {
        let got = scale_freq_tick(row.get("aperf_delta"), row.get("mperf_delta"), row.get("max_freq_ratio"));
        let before = row.get("freq_scale_before");
        row.check(&[("freq_scale_after", got.unwrap_or(before)), ("disabled", got.is_err().into())]);
    }
}

/// The base and the turbo ratio that the kernel reads from a CPU's registers (`intel_set_max_freq_ratio()`, 5.10 to
/// 7.3). Machine files give frequencies in place of registers, so that only this test reads them.
fn base_and_turbo(row: &Row) -> (u64, u64) {
    let limits = row.hex("msr_turbo_ratio_limit");
    let base = (row.hex("msr_platform_info") >> 8) & 0xff;
    // skx_set_max_freq_ratio(): the ratio of the first group with so many cores.
    let group = |cores: u64| {
        let sizes = row.hex("msr_turbo_ratio_limit1");
        let shift = (0..64).step_by(8).find(|shift| (sizes >> shift) & 0xff >= cores)?;
        Some((limits >> shift) & 0xff)
    };
    // core_set_max_freq_ratio(): that of four active cores; a CPU with fewer has none, and takes that of one.
    let core = match (limits >> 24) & 0xff {
        0 => limits & 0xff,
        four => four,
    };
    match row.text("cpu_kind") {
        "core" => (base, core),
        "slv" => ((row.hex("msr_atom_core_ratios") >> 16) & 0x3f, row.hex("msr_atom_turbo_ratios") & 0x3f),
        "glm" => (base, group(1).unwrap_or(core)),
        "skx" => (base, group(4).unwrap_or(core)),
        "knl" => (base, knl_turbo(limits, 1)),
        other => panic!("{other}: no such kind"),
    }
}

/// `knl_set_max_freq_ratio()`: the ratio after so many steps down. An int in the kernel, here u64: a ratio below 0
/// would come to the same huge number there. The kernel leaves the frequency unset, 0, if it finds too few steps.
fn knl_turbo(limits: u64, steps: u32) -> u64 {
    let mut ratio = ((limits >> 8) & 0xff) as i32;
    let mut found = 0;
    for shift in (16..64).step_by(8) {
        if found >= steps {
            return ratio as u64;
        }
        let delta = ((limits >> (shift + 5)) & 0x7) as i32;
        if delta != 0 {
            found += 1;
            ratio -= delta;
        }
    }
    0
}

#[test]
fn the_highest_frequency_of_every_kind_of_cpu_is_the_kernels() {
    for row in rows("x86_max_freq_ratio.csv") {
        let (base, turbo) = base_and_turbo(&row);
        let known = base != 0 && turbo != 0;
        let mut ratio = known.then(|| MaxFreqRatio::new(turbo.wrapping_mul(1024) / base)).flatten();
        row.check(&[("ok", ratio.is_some().into()), ("turbo_freq_ratio", ratio.map_or(1024, |ratio| ratio.ratio()))]);
        if let Some(ratio) = &mut ratio {
            ratio.arch_set_max_freq_ratio(row.flag("turbo_disabled"));
        }
        row.check(&[("max_freq_ratio", ratio.map_or(1024, |ratio| ratio.ratio()))]);
    }
}
