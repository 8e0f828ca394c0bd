//! A side as it is written: switches, the kernel that it may name itself, and its name.

use super::Given;
use crate::runs::scheduler::load_scheduler;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use wakelab_input::printable;
use wakelab_kernel::{Setting, SettingError, Switches};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_scx_fetch::{SchedulerName, Schedulers};

/// The word by which a side names a kernel of its own.
const KERNEL: &str = "kernel";
/// The longest name of a variant, in characters.
const NAME_MAX: usize = 40;
/// The name of the base if it is given none, and in files.
pub(super) const BASE: &str = "base";

/// A side with its name. Its text is read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSide {
    /// The name; the switches themselves if none was given.
    pub name: String,
    given: Given<String>,
    /// The text in its parts, or what is wrong with it, which is told when the side is looked up.
    pub(super) text: Result<SideText, String>,
}

impl NamedSide {
    /// Creates a side of what was given: `A,NO_B`, or empty; `kernel=v6.12` among them is a kernel of its own.
    pub fn new(name: impl Into<String>, given: Given<String>) -> Self {
        let text = SideText::parse(&given.value);
        NamedSide { name: name.into(), given, text }
    }

    /// Creates a base without a name of its own.
    pub(super) fn base(given: Given<String>) -> Self {
        NamedSide::new(BASE, given)
    }

    /// Creates the only variant, without a name of its own.
    pub(super) fn with(given: Given<String>) -> Self {
        NamedSide::new("with", given)
    }

    /// The text as it was given.
    pub fn given(&self) -> &Given<String> {
        &self.given
    }

    /// The kernel that the side names itself.
    pub(super) fn kernel(&self) -> Option<&str> {
        self.text.as_ref().ok()?.kernel.as_deref()
    }
}

/// The text of a side, `kernel=v6.12,SIS_PROP`, in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SideText {
    /// The kernel that the side names itself.
    pub kernel: Option<String>,
    /// The scheduler of sched_ext that the side loads (`scx:NAME`).
    pub scheduler: Option<SchedulerText>,
    /// The switches.
    pub switches: Switches,
}

/// A scheduler of sched_ext as a side names it: `scx:scx_bpfland@1.1.4`, `scx:scx_simple.bpf.o`, with variables that
/// are set in it as `scx.slice_ns=5000000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SchedulerText {
    /// Its crate or path.
    pub name: SchedulerName,
    /// Variables and their values.
    pub settings: Vec<(String, i128)>,
}

/// How a side names a scheduler, and begins the name of a variable of it.
const SCHEDULER: &str = "scx:";
const VARIABLE: &str = "scx.";

impl SchedulerText {
    /// Whether a word of a side is about a scheduler.
    fn has(word: &str) -> bool {
        let word = word.trim();
        word.starts_with(SCHEDULER) || word.starts_with(VARIABLE)
    }

    /// Reads the words of a side that are about a scheduler ([`SchedulerText::has`]); `None` if there are none.
    fn parse(words: &[&str]) -> Result<Option<Self>, String> {
        let mut path: Option<&str> = None;
        let mut settings = Vec::new();
        for word in words.iter().map(|word| word.trim()) {
            if let Some(named) = word.strip_prefix(SCHEDULER) {
                if named.is_empty() {
                    return Err("scx: names no scheduler; expected one as in scx:scx_bpfland".to_owned());
                }
                if let Some(first) = path.replace(named) {
                    return Err(format!("scx:{first} and scx:{named}; expected one of them"));
                }
                continue;
            }
            let setting = word.strip_prefix(VARIABLE).and_then(|setting| setting.split_once('='));
            match setting.and_then(|(name, value)| Some((name.trim().to_owned(), value.trim().parse().ok()?))) {
                Some(setting) => settings.push(setting),
                None => {
                    let expected = "expected a variable and a number, as in scx.slice_ns=5000000";
                    return Err(format!("{word} sets nothing; {expected}"));
                }
            }
        }
        match (path, words.first()) {
            (Some(path), _) => Ok(Some(SchedulerText { name: SchedulerName::parse(path)?, settings })),
            (None, Some(setting)) => {
                let setting = setting.trim();
                Err(format!("{setting} sets a variable of a scheduler, and none is named; expected scx:NAME, too"))
            }
            (None, None) => Ok(None),
        }
    }
}

impl fmt::Display for SchedulerText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEDULER}{}", self.name)?;
        self.settings.iter().try_for_each(|(name, value)| write!(f, ",{VARIABLE}{name}={value}"))
    }
}

/// The scheduler that a text names as a side does, with or without `scx:` before it, and the variables set in it.
///
/// # Errors
/// Fails if it names none, or anything besides, and if the scheduler cannot be found, read or compiled.
pub fn named_scheduler(schedulers: &Schedulers, text: &str) -> Result<BpfScheduler, String> {
    let text = if text.starts_with(SCHEDULER) { text.to_owned() } else { format!("{SCHEDULER}{text}") };
    let side = SideText::parse(&text)?;
    if side.kernel.is_some() || !side.switches.to_string().is_empty() {
        let expected = "expected a scheduler and variables that are set in it, as in scx_simple.bpf.o,scx.fifo_sched=1";
        return Err(format!("{text} is more than a scheduler; {expected}"));
    }
    let named = side.scheduler.expect("the text begins with one");
    load_scheduler(schedulers, &named.name, &named.settings).map(|(scheduler, _)| scheduler)
}

/// What is added to the switches of another side: switches, and a scheduler of sched_ext whose path begins at the
/// current folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedSide {
    /// The switches.
    pub switches: Switches,
    scheduler: Option<SchedulerText>,
}

impl FromStr for AddedSide {
    type Err = String;

    /// Fails with what is wrong if a word is unknown or names a kernel.
    fn from_str(text: &str) -> Result<Self, String> {
        match SideText::parse(text)? {
            SideText { kernel: Some(kernel), .. } => {
                Err(format!("kernel={kernel} names a kernel; expected switches and schedulers alone"))
            }
            SideText { scheduler, switches, .. } => Ok(AddedSide { switches, scheduler }),
        }
    }
}

impl AddedSide {
    /// The scheduler, if there is one, and how the side is written, with the version of a crate that was found.
    ///
    /// # Errors
    /// Fails if the scheduler cannot be found, read or compiled.
    pub fn load(&self, schedulers: &Schedulers) -> Result<(Option<Arc<BpfScheduler>>, String), String> {
        let Some(SchedulerText { name, settings }) = &self.scheduler else { return Ok((None, self.to_string())) };
        let (scheduler, name) = load_scheduler(schedulers, name, settings)?;
        let found = SchedulerText { name, settings: settings.clone() };
        let label = AddedSide { scheduler: Some(found), ..self.clone() }.to_string();
        Ok((Some(Arc::new(scheduler)), label))
    }

    /// The side on top of these switches.
    #[must_use]
    pub fn on(&self, base: &Switches) -> Self {
        AddedSide { switches: base.then(&self.switches), scheduler: self.scheduler.clone() }
    }
}

impl fmt::Display for AddedSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scheduler {
            Some(scheduler) if self.switches.is_empty() => write!(f, "{scheduler}"),
            Some(scheduler) => write!(f, "{scheduler},{}", self.switches),
            None => write!(f, "{}", self.switches),
        }
    }
}

impl SideText {
    /// Reads the text of a side.
    ///
    /// # Errors
    /// Fails with what is wrong if a word is unknown, if two contradict each other, or if two kernels are named.
    pub fn parse(text: &str) -> Result<Self, String> {
        let of_kernel = |word: &str| {
            let (name, kernel) = word.split_once('=')?;
            (name.trim() == KERNEL).then(|| kernel.trim().to_owned())
        };
        let mut kernel: Option<String> = None;
        for named in text.split(',').filter_map(of_kernel) {
            match &kernel {
                _ if named.is_empty() => return Err("kernel= names no kernel; expected one as in kernel=v6.12".into()),
                Some(first) if *first != named => {
                    return Err(format!("kernel={first} and kernel={named}; expected one of them"));
                }
                _ => kernel = Some(named),
            }
        }
        let words = text.split(',').filter(|word| of_kernel(word).is_none());
        let (of_scheduler, words): (Vec<&str>, Vec<&str>) = words.partition(|word| SchedulerText::has(word));
        let scheduler = SchedulerText::parse(&of_scheduler)?;
        let switches = words.join(",").parse().map_err(|error| format!("{error}"))?;
        Ok(SideText { kernel, scheduler, switches })
    }
}

/// Reads what a flag gives of a side. One that has no name is called what `unnamed` makes of its switches.
pub(super) fn of_flag<'a>(flag: &'static str, text: &'a str, unnamed: impl Fn(&'a str) -> &'a str) -> NamedSide {
    let (name, switches, text) = named(text);
    let name = name.unwrap_or_else(|| unnamed(switches)).to_owned();
    NamedSide { name, given: Given::by_flag(flag, switches.to_owned()), text }
}

/// Splits what a flag gives of a side, `NAME=SWITCHES` or `SWITCHES`, into the name and the switches, and reads these.
/// What is a tunable that is set, or looks like one, is no name.
fn named(text: &str) -> (Option<&str>, &str, Result<SideText, String>) {
    let whole = SideText::parse(text);
    let split = || text.split_once('=').filter(|(name, _)| check_name(name.trim()).is_ok());
    let Some((name, rest)) = whole.is_err().then(split).flatten() else { return (None, text, whole) };
    let is_value = rest.trim().parse::<f64>().is_ok();
    let (known, looks_known) = match Setting::new(name.trim(), "") {
        Err(SettingError::Unknown { near, .. }) => (false, !near.is_empty()),
        _ => (true, true),
    };
    let switches = SideText::parse(rest);
    let misspelt = switches.is_err() && (is_value || looks_known);
    if known || misspelt { (None, text, whole) } else { (Some(name.trim()), rest, switches) }
}

/// Whether a variant can have this name: 1 to 40 letters, digits, or one of `_.+-` and blanks in between.
///
/// # Errors
/// Fails with what was expected.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let good = |c: char| c.is_alphanumeric() || "_.+- ".contains(c);
    let length = name.chars().count();
    if name.trim() == name && (1..=NAME_MAX).contains(&length) && name.chars().all(good) {
        return Ok(());
    }
    let found = printable(name);
    Err(format!("{found:?} is not a name for a variant; expected 1 to {NAME_MAX} letters, digits, blanks or _ . + -"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_may_name_its_kernel_anywhere() {
        for text in ["kernel=v6.12,SIS_PROP,migration_cost=0", "SIS_PROP, kernel = v6.12 ,migration_cost=0"] {
            let side = SideText::parse(text).unwrap();
            assert_eq!(side.kernel.as_deref(), Some("v6.12"), "{text}");
            assert_eq!(side.switches.to_string(), "SIS_PROP,migration_cost=0", "{text}");
        }
        assert_eq!(
            SideText::parse("").unwrap(),
            SideText { kernel: None, scheduler: None, switches: Switches::default() }
        );
        let error = SideText::parse("kernel=v6.1,kernel=v6.12").unwrap_err();
        assert_eq!(error, "kernel=v6.1 and kernel=v6.12; expected one of them");
        assert!(SideText::parse("kernel=,SIS_PROP").unwrap_err().contains("expected one as in kernel=v6.12"));
        assert!(SideText::parse("kernel=v6.1,SIS_PROPP").unwrap_err().contains("SIS_PROPP"));
    }

    #[test]
    fn a_side_may_load_a_scheduler_and_set_its_variables() {
        let side =
            SideText::parse("scx:a/b.bpf.o, scx.slice_ns=5000,kernel=v7.2,scx.x[1].y=-1,governor=schedutil").unwrap();
        let scheduler = side.scheduler.unwrap();
        assert_eq!(scheduler.name, SchedulerName::Path("a/b.bpf.o".to_owned()));
        assert_eq!(scheduler.settings, [("slice_ns".to_owned(), 5000), ("x[1].y".to_owned(), -1)]);
        assert_eq!(scheduler.to_string(), "scx:a/b.bpf.o,scx.slice_ns=5000,scx.x[1].y=-1");
        assert_eq!(
            (side.kernel.as_deref(), side.switches.to_string()),
            (Some("v7.2"), "governor=schedutil".to_owned())
        );
        for (text, error) in [
            ("scx:", "scx: names no scheduler"),
            ("scx:a,scx:b", "scx:a and scx:b; expected one of them"),
            ("scx:a,scx.b=c", "scx.b=c sets nothing; expected a variable and a number"),
            ("scx:scx_simple.bpf", "scx:scx_simple.bpf does not name a scheduler; expected a crate (scx_bpfland,"),
            ("scx:scx_bpfland@new", "scx:scx_bpfland@new: \"new\" is not a version"),
            ("scx.b=1", "scx.b=1 sets a variable of a scheduler, and none is named"),
        ] {
            assert!(SideText::parse(text).unwrap_err().starts_with(error), "{text}");
        }
    }

    #[test]
    fn a_name_stands_before_the_first_equals_sign() {
        for (text, expected) in [
            ("SIS_UTIL", (None, "SIS_UTIL")),
            ("", (None, "")),
            ("migration_cost=0", (None, "migration_cost=0")),
            ("governor=schedutil,no_turbo", (None, "governor=schedutil,no_turbo")),
            ("kernel=v6.12", (None, "kernel=v6.12")),
            ("scx:a.o,scx.slice_ns=1", (None, "scx:a.o,scx.slice_ns=1")),
            ("mine=scx:a.o", (Some("mine"), "scx:a.o")),
            ("new=scx:scx_bpfland@1.1.4", (Some("new"), "scx:scx_bpfland@1.1.4")),
            ("uclamp_min:ui=512", (None, "uclamp_min:ui=512")),
            ("new=kernel=v6.12", (Some("new"), "kernel=v6.12")),
            ("cheap=migration_cost=0,SIS_UTIL", (Some("cheap"), "migration_cost=0,SIS_UTIL")),
            ("plain=", (Some("plain"), "")),
            ("ui first=uclamp_min:ui=512", (Some("ui first"), "uclamp_min:ui=512")),
            // The error is then about what was written after the name.
            ("mine=SIS_UTILL", (Some("mine"), "SIS_UTILL")),
        ] {
            let (name, switches, read) = named(text);
            assert_eq!((name, switches), expected, "{text}");
            assert_eq!(read, SideText::parse(switches), "{text}");
        }
    }

    /// Misspelt tunables keep the error that names the right one.
    #[test]
    fn what_looks_like_a_tunable_is_no_name() {
        for text in ["migration_cots=0", "governr=schedutil", "migration_cost=SIS_UTIL", "zzz=17", "A,b=SIS_UTIL"] {
            assert_eq!(named(text), (None, text, SideText::parse(text)), "{text}");
        }
    }

    #[test]
    fn names_are_short_and_have_no_commas() {
        for name in ["sis_util", "v6.12 + patch", "a", "Früher"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", " a", "a,b", "a=b", "a\u{1b}", &"x".repeat(41)] {
            assert!(check_name(name).unwrap_err().contains("is not a name for a variant"), "{name}");
        }
    }
}
