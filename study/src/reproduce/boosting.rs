//! The tables of runnable boosting: which side and case a row is of.

use super::What;

/// The load-balance site alone.
pub(super) const BALANCING: &str = "RUNNABLE_BOOST,NO_RUNNABLE_BOOST_FREQ,NO_RUNNABLE_BOOST_EAS";

/// What a metric of the Jankbench table is of: what is switched on, the case (`None` for a metric that is not known), and what of it.
pub(super) fn jankbench(metric: &str) -> (&'static str, Option<&'static str>, What) {
    let boost = "RUNNABLE_BOOST";
    match metric {
        "max_frame_duration" => (boost, Some("max"), What::Value("longest frame, ms")),
        "mean_frame_duration" => (boost, Some("mean"), What::Value("mean frame, ms")),
        "jank_percentage_16ms_deadline" => (boost, Some("jank"), What::Value("frames that miss 16 ms, %")),
        "power_all_cpus_v2" => (boost, Some("mean"), What::Power),
        // The posting's first version did not boost in energies.
        "power_all_cpus_v1_without_EAS_max_util" => ("RUNNABLE_BOOST_V1", Some("mean"), What::Power),
        _ => (boost, None, What::Search),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_of_version_1_is_that_without_the_energy_site() {
        assert_eq!(jankbench("power_all_cpus_v1_without_EAS_max_util").0, "RUNNABLE_BOOST_V1");
        assert_eq!(jankbench("power_all_cpus_v2"), ("RUNNABLE_BOOST", Some("mean"), What::Power));
        assert_eq!(jankbench("other").1, None);
    }
}
