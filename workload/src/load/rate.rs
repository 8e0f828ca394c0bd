//! The text of rates: `50/s`, `10..400/30/s`, `10..400/s`.

use super::{Load, LoadError};

/// A rate, or a range of them: `text` is `part` without its `/s`, `whole` the text that it is in.
pub(super) fn parse(text: &str, part: &str, whole: &str) -> Result<Vec<Load>, LoadError> {
    let number = |text: &str| number(text.trim(), part, whole);
    let Some((from, rest)) = text.split_once("..") else { return Ok(vec![Load::PerSecond(one(number(text)?)?)]) };
    let (to, step) = rest.split_once('/').map_or((rest, None), |(to, step)| (to, Some(step)));
    let (from, to) = (one(number(from)?)?, one(number(to)?)?);
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
fn one(rate: u32) -> Result<u32, LoadError> {
    match rate {
        0 => Err(LoadError::new("a load of 0/s is none; expected 1/s or more")),
        rate if rate > Load::RATE_MAX => {
            let most = Load::RATE_MAX;
            Err(LoadError::new(format!("a load of {rate}/s is too high; expected {most}/s at most")))
        }
        rate => Ok(rate),
    }
}

fn number(text: &str, part: &str, whole: &str) -> Result<u32, LoadError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten();
    let expected = "expected a whole number a second, such as 50/s";
    number.ok_or_else(|| LoadError::new(format!("{part:?} in {whole:?} is no load; {expected}")))
}
