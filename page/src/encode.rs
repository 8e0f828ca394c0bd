//! A column of values in as few bytes as is easy: the page's script undoes it (`assets/js/data.js`).

use serde::Serialize;
use serde_json::Value;

/// A column's values in one of four forms.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoded {
    /// One after the other.
    Plain(Vec<Value>),
    /// A value and how often it follows itself.
    Runs(Vec<(Value, usize)>),
    /// Values that come again and again in this order, and how many there are in all.
    Tile(Vec<Value>, usize),
    /// Different texts, and which of them stands where.
    Words(Vec<Value>, Vec<usize>),
}

/// The shortest of the forms, by a guess that is good enough.
pub(crate) fn encode(values: Vec<Value>) -> Encoded {
    if values.len() < 8 {
        return Encoded::Plain(values);
    }
    let runs = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if runs * 3 < values.len() {
        return Encoded::Runs(runs_of(values));
    }
    if let Some(period) = period(&values) {
        let all = values.len();
        return Encoded::Tile(values.into_iter().take(period).collect(), all);
    }
    if values.iter().all(Value::is_string) {
        let mut words: Vec<Value> = Vec::new();
        let mut at = Vec::with_capacity(values.len());
        for value in &values {
            at.push(words.iter().position(|word| word == value).unwrap_or_else(|| {
                words.push(value.clone());
                words.len() - 1
            }));
            if words.len() > 64 {
                return Encoded::Plain(values);
            }
        }
        return Encoded::Words(words, at);
    }
    Encoded::Plain(values)
}

fn runs_of(values: Vec<Value>) -> Vec<(Value, usize)> {
    let mut runs: Vec<(Value, usize)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((last, times)) if *last == value => *times += 1,
            _ => runs.push((value, 1)),
        }
    }
    runs
}

/// After how many values they all come again, if they do so twice at least.
fn period(values: &[Value]) -> Option<usize> {
    let period = 1 + values[1..].iter().position(|value| *value == values[0])?;
    let whole = period > 1 && period * 2 <= values.len();
    (whole && values.iter().zip(&values[period..]).all(|(a, b)| a == b)).then_some(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(encoded: Encoded) -> Vec<Value> {
        match encoded {
            Encoded::Plain(values) => values,
            Encoded::Runs(runs) => runs.into_iter().flat_map(|(v, n)| std::iter::repeat_n(v, n)).collect(),
            Encoded::Tile(tile, all) => tile.into_iter().cycle().take(all).collect(),
            Encoded::Words(words, at) => at.into_iter().map(|at| words[at].clone()).collect(),
        }
    }

    #[test]
    fn each_form_gives_back_what_was_put_in() {
        let columns: [Vec<Value>; 5] = [
            (0..20).map(Value::from).collect(),
            (0..20).map(|i| Value::from(i / 10)).collect(),
            (0..23).map(|i| Value::from(i % 5)).collect(),
            (0..20).map(|i| Value::from(["a", "b", "c"][i * i % 3])).collect(),
            (0..200).map(|i| Value::from(format!("text {i}"))).collect(),
        ];
        for column in columns {
            assert_eq!(decode(encode(column.clone())), column);
        }
    }

    #[test]
    fn grids_take_the_short_forms() {
        assert!(matches!(encode((0..20).map(|i| Value::from(i / 10)).collect()), Encoded::Runs(_)));
        assert!(matches!(encode((0..23).map(|i| Value::from(i % 5)).collect()), Encoded::Tile(_, 23)));
    }
}
