//! The load, which is how much of a workload runs: instances, a percentage of the CPUs, or a rate.

use std::fmt;

/// How much of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// A number of instances, 1 or more.
    Instances(u32),
    /// As many instances as this percentage of the CPUs, 1 or more.
    Percent(u32),
    /// Transactions per second, 1 or more, one after another.
    PerSecond(u32),
}

/// A load that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  hint: {example}")]
pub struct LoadError {
    /// What is wrong, and what was expected.
    pub what: String,
    /// What would be right.
    pub example: String,
}

impl LoadError {
    fn new(what: impl Into<String>) -> Self {
        LoadError {
            what: what.into(),
            example: "such as 28, 1,2,4,8, 1..8/1, 25%, 25%..200%/25% or 10..400/s".to_owned(),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Instances(n) => write!(f, "{n}"),
            Load::Percent(n) => write!(f, "{n}%"),
            Load::PerSecond(n) => write!(f, "{n}/s"),
        }
    }
}

impl Load {
    /// The most instances that a load may have: more than any table prints, and few enough that a typing error does not
    /// take all memory.
    pub const INSTANCES_MAX: u32 = 100_000;

    /// The highest load, in % of the CPUs.
    pub const PERCENT_MAX: u32 = 100_000;

    /// The highest rate, per second: 10 us for each transaction.
    pub const RATE_MAX: u32 = 100_000;

    /// The most loads in a list.
    pub const LIST_MAX: usize = 1_000;

    /// Returns the number of instances on a machine of `nr_cpus` CPUs, rounded down; of a rate, the rate.
    ///
    /// # Errors
    /// Where it is none, or more than [`Load::INSTANCES_MAX`].
    pub fn instances(self, nr_cpus: u32) -> Result<u32, LoadError> {
        let (instances, says) = match self {
            Load::Instances(n) | Load::PerSecond(n) => (u64::from(n), self.to_string()),
            Load::Percent(n) => (u64::from(nr_cpus) * u64::from(n) / 100, format!("{self} of {nr_cpus} CPUs")),
        };
        match u32::try_from(instances) {
            Ok(0) => Err(LoadError::new(format!("a load of {says} is less than one instance; expected 1 or more"))),
            Ok(n) if n <= Self::INSTANCES_MAX => Ok(n),
            _ => Err(LoadError::new(format!(
                "a load of {says} makes {instances} instances; expected at most {}",
                Self::INSTANCES_MAX
            ))),
        }
    }

    /// Reads loads: `28`, `25%`, and, separated by commas or as a range with its step, more of them: `1,2,4,8`,
    /// `1..8/1`, `25%..200%/25%`. The end of a range is one of its loads if the steps meet it. A rate ends in `/s`:
    /// `50/s`, `10..400/30/s`, and `10..400/s`, which doubles it from the first on and ends with the last.
    ///
    /// # Errors
    /// Where the text is something else, a load or step is 0, a range is empty, a load comes twice, or
    /// there are more than [`Load::LIST_MAX`].
    pub fn parse_list(text: &str) -> Result<Vec<Load>, LoadError> {
        let mut loads = Vec::new();
        for part in text.split(',') {
            for load in parse_part(part.trim(), text)? {
                if loads.contains(&load) {
                    return Err(LoadError::new(format!("{text:?} has the load {load} twice; give it once")));
                }
                if loads.len() == Self::LIST_MAX {
                    let what = format!("{text:?} has too many loads; expected at most {}", Self::LIST_MAX);
                    return Err(LoadError::new(what));
                }
                loads.push(load);
            }
        }
        Ok(loads)
    }
}

/// A load, or a range of them.
fn parse_part(part: &str, whole: &str) -> Result<Vec<Load>, LoadError> {
    if let Some(rates) = part.strip_suffix("/s") {
        return parse_rates(rates.trim(), part, whole);
    }
    let Some((from, rest)) = part.split_once("..") else { return Ok(vec![parse_one(part, whole)?]) };
    let Some((to, step)) = rest.split_once('/') else {
        return Err(LoadError::new(format!("the range {part} has no step; expected FROM..TO/STEP")));
    };
    if matches!(step.trim(), "0" | "0%") {
        return Err(LoadError::new(format!("the range {part} has a step of 0; expected 1 or more")));
    }
    let bounds = (parse_one(from.trim(), whole)?, parse_one(to.trim(), whole)?, parse_one(step.trim(), whole)?);
    let (make, from, to, step): (fn(u32) -> Load, _, _, _) = match bounds {
        (Load::Instances(from), Load::Instances(to), Load::Instances(step)) => (Load::Instances, from, to, step),
        (Load::Percent(from), Load::Percent(to), Load::Percent(step)) => (Load::Percent, from, to, step),
        _ => {
            let what = format!("the range {part} mixes instances and per cent; use one of them for all three numbers");
            return Err(LoadError::new(what));
        }
    };
    if from > to {
        return Err(LoadError::new(format!("the range {part} is empty; expected its start not above its end")));
    }
    Ok((from..=to).step_by(step as usize).map(make).collect())
}

/// One load; `whole` is the text that it is in.
fn parse_one(text: &str, whole: &str) -> Result<Load, LoadError> {
    let wrong = || {
        LoadError::new(format!(
            "{text:?} in {whole:?} is not a load; expected a whole number of instances, or a whole percentage of the \
             CPUs"
        ))
    };
    let (digits, percent) = text.strip_suffix('%').map_or((text, false), |digits| (digits, true));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(if text.is_empty() && whole.is_empty() {
            LoadError::new("the load is empty; expected a number of instances, or a percentage of the CPUs")
        } else {
            wrong()
        });
    }
    let max = if percent { Load::PERCENT_MAX } else { Load::INSTANCES_MAX };
    let (sign, too_high) = (if percent { "%" } else { "" }, digits.parse().map_or(true, |n: u32| n > max));
    if too_high {
        return Err(LoadError::new(format!("a load of {text} is too high; expected at most {max}{sign}")));
    }
    match digits.parse().map_err(|_| wrong())? {
        0 => Err(LoadError::new(format!("a load of {text} runs nothing; expected 1{sign} or more"))),
        n if percent => Ok(Load::Percent(n)),
        n => Ok(Load::Instances(n)),
    }
}

/// A rate, or a range of them: `text` is `part` without its `/s`, `whole` the text that it is in.
fn parse_rates(text: &str, part: &str, whole: &str) -> Result<Vec<Load>, LoadError> {
    let number = |text: &str| rate_number(text.trim(), part, whole);
    let Some((from, rest)) = text.split_once("..") else {
        return Ok(vec![Load::PerSecond(check_rate(number(text)?)?)]);
    };
    let (to, step) = rest.split_once('/').map_or((rest, None), |(to, step)| (to, Some(step)));
    let (from, to) = (check_rate(number(from)?)?, check_rate(number(to)?)?);
    if from > to {
        return Err(LoadError::new(format!("the range {part} is empty; expected its start not above its end")));
    }
    let rates: Vec<u32> = match step.map(number).transpose()? {
        Some(0) => return Err(LoadError::new(format!("the range {part} has a step of 0; expected 1 or more"))),
        Some(step) => (from..=to).step_by(step as usize).collect(),
        None => std::iter::successors(Some(from), |&rate| (rate < to).then(|| (2 * rate).min(to))).collect(),
    };
    Ok(rates.into_iter().map(Load::PerSecond).collect())
}

/// A rate that can be.
fn check_rate(rate: u32) -> Result<u32, LoadError> {
    match rate {
        0 => Err(LoadError::new("a load of 0/s runs nothing; expected 1/s or more")),
        rate if rate > Load::RATE_MAX => {
            let most = Load::RATE_MAX;
            Err(LoadError::new(format!("a load of {rate}/s is too high; expected at most {most}/s")))
        }
        rate => Ok(rate),
    }
}

fn rate_number(text: &str, part: &str, whole: &str) -> Result<u32, LoadError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten();
    let expected = "expected a whole number per second, such as 50/s";
    number.ok_or_else(|| LoadError::new(format!("{part:?} in {whole:?} is not a load; {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        Load::parse_list(text).unwrap().iter().map(Load::to_string).collect()
    }

    fn error(text: &str) -> String {
        Load::parse_list(text).unwrap_err().what
    }

    #[test]
    fn loads_and_their_lists_and_ranges_are_read() {
        assert_eq!(Load::parse_list("28"), Ok(vec![Load::Instances(28)]));
        assert_eq!(Load::parse_list("25%"), Ok(vec![Load::Percent(25)]));
        assert_eq!(list("1,2,4,8"), ["1", "2", "4", "8"]);
        assert_eq!(list("1..8/1").len(), 8);
        assert_eq!(list("25%..200%/25%"), ["25%", "50%", "75%", "100%", "125%", "150%", "175%", "200%"]);
        assert_eq!(list("1..8/3, 50%"), ["1", "4", "7", "50%"]);
        assert_eq!(list("3..3/9"), ["3"]);
    }

    #[test]
    fn rates_are_read_one_by_one_in_steps_and_as_a_sweep_that_doubles() {
        assert_eq!(Load::parse_list("50/s"), Ok(vec![Load::PerSecond(50)]));
        assert_eq!(list("10..400/s"), ["10/s", "20/s", "40/s", "80/s", "160/s", "320/s", "400/s"]);
        assert_eq!(list("10..40/15/s, 400/s"), ["10/s", "25/s", "40/s", "400/s"]);
        assert_eq!((list("10..40/s").len(), list("7..7/s")), (3, vec!["7/s".to_owned()]));
        assert_eq!(list("60000..100000/s"), ["60000/s", "100000/s"]);
        for (text, says) in [
            ("0/s", "a load of 0/s runs nothing; expected 1/s or more"),
            ("100001/s", "a load of 100001/s is too high; expected at most 100000/s"),
            ("400..10/s", "the range 400..10/s is empty; expected its start not above its end"),
            ("10..400/0/s", "the range 10..400/0/s has a step of 0; expected 1 or more"),
        ] {
            assert_eq!(error(text), says, "{text}");
        }
        for text in ["/s", "x/s", "5%/s", "1..5%/s", "1..5/x/s", "..5/s", "-1/s", "5/m"] {
            assert!(error(text).contains("is not a load; expected a whole number"), "{text}: {}", error(text));
        }
    }

    #[test]
    fn what_is_no_load_says_what_was_expected() {
        for (text, says) in [
            ("", "the load is empty; expected a number of instances, or a percentage of the CPUs"),
            ("0", "a load of 0 runs nothing; expected 1 or more"),
            ("0%", "a load of 0% runs nothing; expected 1% or more"),
            ("100001", "a load of 100001 is too high; expected at most 100000"),
            ("99999999999%", "a load of 99999999999% is too high; expected at most 100000%"),
            ("1..8", "the range 1..8 has no step; expected FROM..TO/STEP"),
            ("1..8/0", "the range 1..8/0 has a step of 0; expected 1 or more"),
            ("8..1/1", "the range 8..1/1 is empty; expected its start not above its end"),
            ("1..8/5%", "the range 1..8/5% mixes instances and per cent; use one of them for all three numbers"),
            ("1..1001/1", "\"1..1001/1\" has too many loads; expected at most 1000"),
            ("1,2,1", "\"1,2,1\" has the load 1 twice; give it once"),
        ] {
            assert_eq!(error(text), says, "{text}");
        }
        for text in ["many", "-1", "+1", "1.5", "1,", ",", "%", "1..x/1", "1../1", "..4/1", "1 2", "0x10", "1..4/"] {
            assert!(error(text).contains("is not a load; expected a whole number of instances"), "{text}");
        }
        assert_eq!(
            Load::parse_list("0").unwrap_err().to_string(),
            "a load of 0 runs nothing; expected 1 or more\n  hint: such as 28, 1,2,4,8, 1..8/1, 25%, 25%..200%/25% or \
             10..400/s"
        );
    }

    #[test]
    fn per_cent_are_of_the_cpus_and_never_of_none() {
        assert_eq!(Load::Percent(25).instances(112), Ok(28));
        assert_eq!(Load::Percent(200).instances(112), Ok(224));
        assert_eq!(Load::Percent(25).instances(6), Ok(1));
        assert_eq!(Load::Instances(7).instances(1), Ok(7));
        let says = |load: Load, cpus| load.instances(cpus).unwrap_err().what;
        assert_eq!(says(Load::Percent(25), 2), "a load of 25% of 2 CPUs is less than one instance; expected 1 or more");
        assert_eq!(says(Load::Instances(0), 2), "a load of 0 is less than one instance; expected 1 or more");
        assert!(says(Load::Percent(100_000), 8192).contains("8192000 instances; expected at most 100000"));
    }
}
