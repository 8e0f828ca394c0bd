//! Features by name.
use std::fmt;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// A feature, named as in the kernel's `features` file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types)]
        #[repr(u8)]
        pub enum Feature { $($(#[$doc])* $name),* }

        impl Feature {
            /// All features, in the order they are printed.
            pub const ALL: &[Feature] = &[$(Feature::$name),*];

            /// The name, as in the kernel's `features` file.
            pub fn name(self) -> &'static str {
                match self { $(Feature::$name => stringify!($name)),* }
            }
        }
    };
}

features! {
    /// Wake to an idle waking or previous CPU (`wake_affine_idle()`).
    WA_IDLE,
    /// Compare the loads of the waking and the previous CPU (`wake_affine_weight()`).
    WA_WEIGHT,
    /// Favour the waking CPU in that comparison by half of `imbalance_pct`'s excess.
    WA_BIAS,
    /// Limit the idle-CPU search in proportion to the average idle time.
    SIS_PROP,
    /// Limit the idle-CPU search by the LLC's utilisation.
    SIS_UTIL,
    /// Use estimated utilisation.
    UTIL_EST,
}

/// A set of features that are on.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct FeatureSet(u128);

impl FeatureSet {
    /// Nothing on.
    pub const EMPTY: FeatureSet = FeatureSet(0);

    /// Whether `feature` is on: `sched_feat()`.
    #[inline]
    pub fn has(self, feature: Feature) -> bool {
        self.0 >> feature as u32 & 1 != 0
    }

    /// The set with `feature` switched on or off.
    pub fn with(self, feature: Feature, on: bool) -> Self {
        let bit = 1 << feature as u32;
        FeatureSet(if on { self.0 | bit } else { self.0 & !bit })
    }
}

impl fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Feature::ALL.iter().filter(|&&x| self.has(x))).finish()
    }
}

/// A feature's name was not understood.
#[derive(Debug, thiserror::Error)]
#[error("unknown feature {name}")]
pub struct FeatureError {
    /// What was given.
    pub name: String,
}
