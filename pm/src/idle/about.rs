//! Which idle governors there are.

use super::{IdleGovernor, Menu, MenuRules, Teo61, Teo73, Teo612};
use std::fmt;

/// An idle governor, described.
#[derive(Clone, Copy, Debug)]
pub struct IdleAbout {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
    /// One for a CPU, in the form that the preset of this name has; `None` if that form is not here.
    pub make: fn(&str) -> Option<Box<dyn IdleGovernor>>,
}

/// Every idle governor, the default first.
pub static IDLE_GOVERNORS: &[IdleAbout] = &[
    IdleAbout {
        name: "menu",
        what: "the next timer, corrected by how long the CPU slept before, or the interval that repeats itself",
        make: |preset| Some(Box::new(Menu::new(MenuRules::of_preset(preset)?))),
    },
    IdleAbout {
        name: "teo",
        what: "the next timer, unless most wake-ups lately came earlier",
        make: |preset| match preset {
            "v5.18" | "v5.18-eas" | "v5.19-rc1" | "v5.19-rc2-tip" | "v6.1" => Some(Box::new(Teo61::default())),
            "v6.12" => Some(Box::new(Teo612::default())),
            "v7.2" | "v7.3" => Some(Box::new(Teo73::default())),
            _ => None,
        },
    },
];

/// Why there is no such governor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdleGovernorError {
    /// None has that name.
    Unknown {
        /// The name.
        name: String,
    },
    /// It has, but not in the form of that kernel.
    NotOfKernel {
        /// The governor.
        name: String,
        /// The preset.
        preset: String,
    },
}

impl fmt::Display for IdleGovernorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let names: Vec<_> = IDLE_GOVERNORS.iter().map(|about| about.name).collect();
                write!(f, "no idle governor `{name}`: expected one of {}", names.join(", "))
            }
            Self::NotOfKernel { name, preset } => {
                write!(
                    f,
                    "idle governor `{name}` is not modelled in the form of {preset}: take menu, or a later kernel"
                )
            }
        }
    }
}

impl std::error::Error for IdleGovernorError {}

/// The idle governor of that name for a CPU of a kernel preset.
pub fn idle_governor(name: &str, preset: &str) -> Result<Box<dyn IdleGovernor>, IdleGovernorError> {
    let about = IDLE_GOVERNORS
        .iter()
        .find(|about| about.name == name)
        .ok_or_else(|| IdleGovernorError::Unknown { name: name.to_owned() })?;
    let not_of = || IdleGovernorError::NotOfKernel { name: name.to_owned(), preset: preset.to_owned() };
    (about.make)(preset).ok_or_else(not_of)
}
