//! x86's frequency scale held against numbers that the kernel's own code computed: every row.

use crate::support::rows;
use wakelab_pm::invariance::{CpuKind, Msrs, intel_set_max_freq_ratio, scale_freq_tick};

#[test]
fn the_frequency_scale_is_the_kernels() {
    for row in rows("x86_freq_scale.csv") {
        let got = scale_freq_tick(row.get("aperf_delta"), row.get("mperf_delta"), row.get("max_freq_ratio"));
        let before = row.get("freq_scale_before");
        row.check(&[("freq_scale_after", got.unwrap_or(before)), ("disabled", got.is_err().into())]);
    }
}

#[test]
fn the_highest_frequency_of_every_kind_of_cpu_is_the_kernels() {
    for row in rows("x86_max_freq_ratio.csv") {
        let kind = match row.text("cpu_kind") {
            "core" => CpuKind::Core,
            "slv" => CpuKind::Silvermont,
            "glm" => CpuKind::Goldmont,
            "knl" => CpuKind::KnightsLanding,
            "skx" => CpuKind::SkylakeX,
            other => panic!("{other}: no such kind"),
        };
        let msrs = Msrs {
            platform_info: row.hex("msr_platform_info"),
            turbo_ratio_limit: row.hex("msr_turbo_ratio_limit"),
            turbo_ratio_limit1: row.hex("msr_turbo_ratio_limit1"),
            atom_core_ratios: row.hex("msr_atom_core_ratios"),
            atom_core_turbo_ratios: row.hex("msr_atom_turbo_ratios"),
        };
        let got = intel_set_max_freq_ratio(kind, &msrs, row.flag("turbo_disabled"));
        row.check(&[
            ("ok", got.is_some().into()),
            ("turbo_freq_ratio", got.map_or(1024, |ratio| ratio.turbo_ratio())),
            ("max_freq_ratio", got.map_or(1024, |ratio| ratio.ratio())),
        ]);
    }
}
