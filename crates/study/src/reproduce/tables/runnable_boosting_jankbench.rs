//! `runnable-boosting-pixel6-jankbench`: frames and power of Jankbench on a Pixel 6, with runnable boosting.

use super::{Published, PublishedTable, Row, Sides};
use crate::compare::PublishedError;
use crate::reproduce::Quantity;

/// The sides of the runnable boosting posting; machine and other side depend on the table.
pub(super) const BOOST: Sides<'static> =
    Sides { machine: "", kernel: "v5.18-eas", base: "NO_RUNNABLE_BOOST", with: "" };

pub(super) struct Jankbench;

impl PublishedTable for Jankbench {
    fn name(&self) -> &'static str {
        "runnable-boosting-pixel6-jankbench"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["metric", "base", "runnable_boosting"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let (with, case, quantity) = side_case_and_quantity(row.text("metric")?);
        let sides = Sides { machine: "pixel6", with, ..BOOST };
        let recipe = match case {
            Some(case) => sides.recipe("jankbench", case, "1", &[]),
            None => Err(format!("metric {} is not known", row.text("metric")?)),
        };
        let (base, with) = (row.above_0("base")?, row.above_0("runnable_boosting")?);
        Ok(vec![Published {
            quantity,
            // Less is better of all of them.
            compare_pct: Some(100.0 * (1.0 - with / base)),
            values: Some([Some(base), Some(with)]),
            ..row.published(recipe)
        }])
    }
}

/// For a metric of the table: the switches of the other side, the case (`None` if the metric is not known), and the
/// quantity.
fn side_case_and_quantity(metric: &str) -> (&'static str, Option<&'static str>, Quantity) {
    let boost = "RUNNABLE_BOOST";
    match metric {
        "max_frame_duration" => (boost, Some("max"), Quantity::Value("longest frame, ms")),
        "mean_frame_duration" => (boost, Some("mean"), Quantity::Value("mean frame, ms")),
        "jank_percentage_16ms_deadline" => (boost, Some("jank"), Quantity::Value("frames that miss 16 ms, %")),
        "power_all_cpus_v2" => (boost, Some("mean"), Quantity::Power),
        // The first version of the posting did not boost the energy computation.
        "power_all_cpus_v1_without_EAS_max_util" => ("RUNNABLE_BOOST_V1", Some("mean"), Quantity::Power),
        _ => (boost, None, Quantity::SearchRates),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_of_version_1_is_that_without_the_energy_site() {
        assert_eq!(side_case_and_quantity("power_all_cpus_v1_without_EAS_max_util").0, "RUNNABLE_BOOST_V1");
        let v2 = side_case_and_quantity("power_all_cpus_v2");
        assert_eq!(v2, ("RUNNABLE_BOOST", Some("mean"), Quantity::Power));
        assert_eq!(side_case_and_quantity("other").1, None);
    }
}
