//! The text of loads.

use super::{Load, LoadError, rate};

/// A load, or a range of them.
pub(super) fn parse_part(part: &str, whole: &str) -> Result<Vec<Load>, LoadError> {
    if let Some(rates) = part.strip_suffix("/s") {
        return rate::parse(rates.trim(), part, whole);
    }
    let Some((from, rest)) = part.split_once("..") else { return Ok(vec![parse(part, whole)?]) };
    let Some((to, step)) = rest.split_once('/') else {
        return Err(LoadError::new(format!("the range {part} has no step; expected FROM..TO/STEP")));
    };
    if matches!(step.trim(), "0" | "0%") {
        return Err(LoadError::new(format!("the range {part} has a step of 0; expected 1 or more")));
    }
    let bounds = (parse(from.trim(), whole)?, parse(to.trim(), whole)?, parse(step.trim(), whole)?);
    let (make, from, to, step): (fn(u32) -> Load, _, _, _) = match bounds {
        (Load::Instances(from), Load::Instances(to), Load::Instances(step)) => (Load::Instances, from, to, step),
        (Load::Percent(from), Load::Percent(to), Load::Percent(step)) => (Load::Percent, from, to, step),
        _ => {
            let what = format!("the range {part} mixes instances and per cent; expected one of them in all three");
            return Err(LoadError::new(what));
        }
    };
    if from > to {
        return Err(LoadError::new(format!("the range {part} is empty; expected its start not above its end")));
    }
    Ok((from..=to).step_by(step as usize).map(make).collect())
}

/// One load; `whole` is the text that it is in.
fn parse(text: &str, whole: &str) -> Result<Load, LoadError> {
    let wrong = || {
        LoadError::new(format!(
            "{text:?} in {whole:?} is no load; expected a whole number of instances, or of per cent of the CPUs"
        ))
    };
    let (digits, percent) = text.strip_suffix('%').map_or((text, false), |digits| (digits, true));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(if text.is_empty() && whole.is_empty() {
            LoadError::new("the load is empty; expected a number of instances, or of per cent of the CPUs")
        } else {
            wrong()
        });
    }
    let max = if percent { Load::PERCENT_MAX } else { Load::INSTANCES_MAX };
    let (sign, too_high) = (if percent { "%" } else { "" }, digits.parse().map_or(true, |n: u32| n > max));
    if too_high {
        return Err(LoadError::new(format!("a load of {text} is too high; expected {max}{sign} at most")));
    }
    match digits.parse().map_err(|_| wrong())? {
        0 => Err(LoadError::new(format!("a load of {text} is none; expected 1{sign} or more"))),
        n if percent => Ok(Load::Percent(n)),
        n => Ok(Load::Instances(n)),
    }
}
