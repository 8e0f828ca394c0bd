//! What was found: plain data for tables and JSON.

use super::Method;
use crate::reproduce::Class;
use serde::Serialize;

/// A constant that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Constant {
    /// Whose it is: `machine`, or the workload (`netperf:TCP_RR`).
    pub of: String,
    /// Its name there.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// What the comparison itself uses.
    pub value: u64,
    /// The lowest that it is given.
    pub low: u64,
    /// The highest.
    pub high: u64,
}

/// How sure the rows of a comparison are.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// How the constants were changed.
    pub method: Method,
    /// Where the samples' constants were drawn from: the experiment's seed.
    pub seed: u64,
    /// How many samples were asked for.
    pub asked: usize,
    /// Whether they are all there: false after a stop.
    pub complete: bool,
    /// What was changed.
    pub constants: Vec<Constant>,
    /// A row for each of the comparison's, in its order.
    pub rows: Vec<SensitivityRow>,
    /// What was run.
    pub samples: Vec<Sample>,
}

/// The experiment with other constants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// By constant.
    pub values: Vec<u64>,
    /// By row, %.
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
    /// With the constants as they are, %.
    pub compare_pct: f64,
    /// What a difference has to exceed to be an effect, %.
    pub noise_pct: f64,
    /// The class with the constants as they are: the conclusion.
    pub class: Class,
    /// In how many samples it is the same.
    pub same: Share,
    /// The lowest, the median and the highest compare% of the samples; `None` without any.
    pub range: Option<[f64; 3]>,
    /// What that comes to.
    pub verdict: Verdict,
    /// What each constant does to compare%, in the order of [`Sensitivity::constants`].
    pub influences: Vec<Influence>,
    /// What a rank correlation has to exceed so that, of as many constants that all do nothing, one does in 5% of the rows only
    /// (Bonferroni); `None` one at a time, and of fewer than four samples.
    pub stands_out_above: Option<f64>,
}

/// So many of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// So many.
    pub n: usize,
    /// Of so many.
    pub of: usize,
}

/// What a row's samples come to.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The class is the same whatever the constants: in 95% of the samples and more; one at a time, in all.
    Holds,
    /// It is the same on one side of these.
    Depends(Vec<Condition>),
    /// Samples differ, and no constant alone separates them; or there are fewer than [`SAMPLES_MIN`](super::SAMPLES_MIN).
    Uncertain,
}

/// Where a conclusion holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// The constant.
    #[serde(flatten)]
    pub constant: Constant,
    /// On which side the conclusion holds.
    pub side: Side,
    /// Between these two of its values, which were run, it changes.
    pub between: [u64; 2],
    /// In how many samples on that side the class is the same.
    pub inside: Share,
    /// In how many on the other.
    pub outside: Share,
}

/// A side of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Above it.
    Above,
    /// Below it.
    Below,
}

/// What a constant does to a row's compare%.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Influence {
    /// Whose constant.
    pub of: String,
    /// Its name.
    pub name: String,
    /// Spearman's rank correlation with compare%, -1 to 1; `None` one at a time, and where either does not vary.
    pub spearman: Option<f64>,
    /// compare% with the constant at its lowest and all others as they are; `None` in a hypercube.
    pub at_low_pct: Option<f64>,
    /// The same at its highest.
    pub at_high_pct: Option<f64>,
}
