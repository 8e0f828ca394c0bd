//! Which idle governors there are.

use super::{IdleGovernor, Menu, Teo61, Teo73, Teo612};
use wakelab_kernel::{CpuidleRules, Teo};

/// An idle governor, described.
#[derive(Clone, Copy, Debug)]
pub struct IdleAbout {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
    /// Makes one for a CPU, in a kernel version's form; `None` if that form is not modelled.
    pub make: fn(&CpuidleRules) -> Option<Box<dyn IdleGovernor>>,
}

/// Every idle governor, the default first.
pub static IDLE_GOVERNORS: &[IdleAbout] = &[
    IdleAbout {
        name: "menu",
        what: "the next timer, corrected by how long the CPU slept before, or the interval that repeats itself",
        make: |rules| Some(Box::new(Menu::new(rules.menu))),
    },
    IdleAbout {
        name: "teo",
        what: "the next timer, unless most wake-ups lately came earlier",
        make: |rules| {
            Some(match rules.teo? {
                Teo::Recent => Box::new(Teo61::default()),
                Teo::TickHits => Box::new(Teo612::default()),
                Teo::ShortIdles => Box::new(Teo73::default()),
            })
        },
    },
];
