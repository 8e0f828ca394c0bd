//! The result of a sensitivity study: plain data for tables and JSON.

use super::Method;
use crate::compare::{Assumed, Class};
use serde::Serialize;
use wakelab_statistics::Better;

/// A constant that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Constant {
    /// The owner of the constant: `machine`, or the workload (`netperf:TCP_RR`).
    pub of: String,
    /// Its name there.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Its value in the comparison itself.
    pub value: u64,
    /// The lowest value of the samples.
    pub low: u64,
    /// The highest value of the samples.
    pub high: u64,
}

impl From<Assumed> for Constant {
    fn from(Assumed { of, name, unit, value, low, high, .. }: Assumed) -> Self {
        Constant { of, name, unit, value, low, high }
    }
}

/// How sure the rows of a comparison are.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// How the constants were changed.
    pub method: Method,
    /// The seed of the samples: that of the experiment.
    pub seed: u64,
    /// The measurements that the machine was fitted to, if the samples are its ensemble.
    pub fitted: Option<String>,
    /// The number of samples that were asked for.
    pub asked: usize,
    /// Whether all samples are there: false after a stop.
    pub complete: bool,
    /// The constants that were changed.
    pub constants: Vec<Constant>,
    /// A row for each row of the comparison, in its order.
    pub rows: Vec<SensitivityRow>,
    /// The samples that were run.
    pub samples: Vec<Sample>,
}

/// The experiment with other constants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The values by constant.
    pub values: Vec<u64>,
    /// compare% by row.
    pub compare_pct: Vec<Option<f64>>,
}

/// How sure a row is.
#[derive(Clone, Debug, PartialEq)]
pub struct SensitivityRow {
    /// `netperf`.
    pub benchmark: String,
    /// `TCP_RR`.
    pub case: String,
    /// `224 threads`.
    pub load: String,
    /// The direction in which the metric is better.
    pub better: Better,
    /// compare% with the constants as they are.
    pub compare_pct: f64,
    /// The noise limit, %: a larger difference is an effect.
    pub noise_pct: f64,
    /// The conclusion: the class with the constants as they are.
    pub class: Class,
    /// The samples in which the class is the same.
    pub same: Share,
    /// The samples of each class.
    pub classes: Classes,
    /// The lowest, the median and the highest compare% of the samples; `None` without samples.
    pub range: Option<[f64; 3]>,
    /// The conclusion from the samples.
    pub verdict: Verdict,
    /// The effect of each constant on compare%, in the order of [`Sensitivity::constants`].
    pub influences: Vec<Influence>,
    /// What a rank correlation has to exceed to stand out: of as many constants without any effect, one would exceed it
    /// in only 5% of the rows (Bonferroni). `None` one at a time, and for fewer samples than [`super::SAMPLES_MIN`].
    pub stands_out_above: Option<f64>,
}

/// How many samples are of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Classes {
    /// The samples in which the other side is better by more than the noise.
    pub better: usize,
    /// The samples in which both are the same, within the noise.
    pub same: usize,
    /// The samples in which it is worse.
    pub worse: usize,
}

/// A part of a number of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The part.
    pub n: usize,
    /// The whole.
    pub of: usize,
}

/// The conclusion from the samples of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The class does not depend on the constants: it is the same in at least 95% of the samples; one at a time, in
    /// all.
    Holds,
    /// The class is the same on one side of these constants.
    Depends(Vec<Condition>),
    /// The samples differ and no single constant separates them, or there are fewer than
    /// [`SAMPLES_MIN`](super::SAMPLES_MIN).
    Uncertain,
}

/// A condition under which a conclusion holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// The constant.
    #[serde(flatten)]
    pub constant: Constant,
    /// The side on which the conclusion holds.
    pub side: Side,
    /// The sampled values between which the conclusion changes.
    pub between: [u64; 2],
    /// The samples on that side with the same class.
    pub inside: Share,
    /// The samples on the other side with the same class.
    pub outside: Share,
}

/// A side of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Above the value.
    Above,
    /// Below the value.
    Below,
}

/// The effect of a constant on the compare% of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Influence {
    /// The owner of the constant.
    pub of: String,
    /// Its name.
    pub name: String,
    /// Spearman's rank correlation with compare%, -1 to 1; `None` one at a time, and if one of the two does not vary.
    pub spearman: Option<f64>,
    /// compare% with the constant at its lowest and all others as they are; `None` in a hypercube.
    pub at_low_pct: Option<f64>,
    /// compare% with the constant at its highest and all others as they are; `None` in a hypercube.
    pub at_high_pct: Option<f64>,
}
