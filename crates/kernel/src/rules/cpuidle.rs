//! The idle governors (`drivers/cpuidle/governors/menu.c` and `teo.c`).

use super::describe::{forms, rules};

rules! {
    /// The version-dependent parts of the idle governors.
    pub struct CpuidleRules {
        /// menu.
        pub menu: MenuRules,
        /// teo's form; none for a version whose teo is not modelled.
        pub teo: Option<Teo>,
    }
}

rules! {
    /// The version-dependent parts of menu.
    pub struct MenuRules {
        /// How the typical interval is found (`get_typical_interval()`).
        pub typical: Typical,
        /// Tasks that wait for I/O have buckets of their own, and lower the exit latency that is allowed
        /// (`performance_multiplier()`; in 6.8, not in 6.12).
        pub iowaiters: bool,
        /// With the tick stopped, a short prediction becomes the time to the next event, not to the next timer
        /// (`menu_select()`, 5.10).
        pub stopped_takes_delta: bool,
        /// With the tick stopped, a short prediction stands if the timer comes within two ticks anyway
        /// (`SAFE_TIMER_RANGE_NS`; 7.2, 7.3).
        pub safe_timer_range: bool,
        /// A short typical interval is taken without reading the timers (in 6.6, not in 6.1).
        pub typical_first: bool,
        /// With the tick stopped, the timers are read however short the typical interval is, so that a short prediction
        /// becomes the time to the next one; before, to no end (`menu_select()`; in stable 6.12.y, not in 6.8).
        pub stopped_reads_timers: bool,
        /// A state that is too slow to leave ends the search before its residency is compared, and polling gives way
        /// only to a state that is left within the predicted time (`menu_select()`; in 6.12, not in 6.8).
        pub latency_first: bool,
    }
}

forms! {
    /// How menu finds the typical interval.
    pub enum Typical {
        /// Outliers above are left out, one after the other; it is not computed if it could not matter (5.3 to 6.1).
        BelowPrediction = "if it matters, without outliers above",
        /// Outliers above are left out, one after the other; it is always computed (6.6 to 6.12).
        Upwards = "without outliers above",
        /// Outliers on the side that is further off are left out (6.18 to 7.3).
        BothSides = "without outliers on both sides",
    }
}

forms! {
    /// teo's form.
    pub enum Teo {
        /// Bins of hits and intercepts, and how many of the last nine wake-ups were intercepts (5.15 to about 6.2).
        Recent = "bins and recent intercepts",
        /// Bins without recent intercepts, and one more for hits of the tick (6.12).
        TickHits = "bins and hits of the tick",
        /// Bins, intercepts of the tick, and a count of short idle periods (7.2 and 7.3).
        ShortIdles = "bins and short idle periods",
    }
}
