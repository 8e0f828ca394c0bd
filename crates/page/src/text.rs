//! Formats of numbers for people, and escapes.

/// Formats a number with three significant digits, two decimals at most, and without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "n/a".into();
    }
    let decimals = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { grouped(text) }
}

/// Groups the digits before the decimal point by thousands, with commas.
pub(crate) fn grouped(number: &str) -> String {
    let whole = number.find('.').unwrap_or(number.len());
    let mut text = String::with_capacity(number.len() + 4);
    for (i, c) in number.char_indices() {
        let left = whole.saturating_sub(i);
        if left > 0 && left % 3 == 0 && text.ends_with(|before: char| before.is_ascii_digit()) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

/// The decimals of numbers that stand in one column: what they need, two at most, and fewer where one of them is large.
pub(crate) fn decimals(values: impl Iterator<Item = f64>) -> usize {
    let (mut largest, mut needed) = (0.0_f64, 0);
    for value in values.filter(|value| value.is_finite()) {
        largest = largest.max(value.abs());
        needed = match () {
            () if value.fract() == 0.0 => needed,
            () if (value * 10.0).round() / 10.0 == value => needed.max(1),
            () => 2,
        };
    }
    match largest {
        1000.0.. => 0,
        100.0.. => needed.min(1),
        _ => needed,
    }
}

/// Formats a number with so many decimals and commas; `n/a` for what is no number.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "n/a".into();
    }
    let text = format!("{value:.decimals$}");
    // What rounds to nothing has no sign.
    let nothing = text.trim_start_matches('-').chars().all(|digit| digit == '0' || digit == '.');
    grouped(if nothing { text.trim_start_matches('-') } else { &text })
}

/// Formats a change: a number with so many decimals and its sign.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let positive = value > 0.0 && text.chars().any(|digit| ('1'..='9').contains(&digit));
    if positive { format!("+{text}") } else { text.replace('-', "\u{2212}") }
}

/// Formats a number with its unit, if it has one.
pub(crate) fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => number(value),
        "%" => format!("{} %", number(value)),
        unit => format!("{} {unit}", number(value)),
    }
}

/// Formats a count with its noun: "1 wake-up", "2 wake-ups".
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(&n.to_string()), if n == 1 { one } else { many })
}

/// Says where in a sentence: ` at load 28 of netperf TCP_RR`; nothing if there is one place only.
pub(crate) fn at(case: &str, load: &str) -> String {
    match (case, load) {
        ("", "") => String::new(),
        ("", load) => format!(" at load {load}"),
        (case, "") => format!(" of {case}"),
        (case, load) => format!(" at load {load} of {case}"),
    }
}

/// Returns a name as part of an anchor: lower case letters and digits; every other character becomes a hyphen.
pub(crate) fn anchor(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

/// Escapes JSON for a `<script>` element: without any `<`, no text in it can end the element.
pub(crate) fn json_in_html(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Text for an element of HTML, with what stands between two backticks as code, as in the terminal's texts.
pub(crate) fn prose(words: &str) -> String {
    let escaped = minijinja::HtmlEscape(words).to_string();
    let mut rest = escaped.as_str();
    let mut html = String::new();
    // A backtick without a second one is a character.
    while let Some((before, (code, after))) =
        rest.split_once('`').and_then(|(before, rest)| Some((before, rest.split_once('`')?)))
    {
        html += &format!("{before}<code>{code}</code>");
        rest = after;
    }
    html + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(prose("`wakelab docs pm` has a < b"), "<code>wakelab docs pm</code> has a &lt; b");
        assert_eq!(prose("a ` alone"), "a ` alone");
        assert_eq!(prose("`<b>` and `"), "<code>&lt;b&gt;</code> and `");
        assert_eq!(prose("\"a\" and 'b'"), "&quot;a&quot; and &#x27;b&#x27;");
        assert_eq!(prose(""), "");
    }

    #[test]
    fn numbers_have_three_digits_at_least_and_commas() {
        let texts = [1786400.0, 999.4, -1234.5, 12.34, 1.5, 0.041, 0.0, f64::NAN].map(number);
        assert_eq!(texts, ["1,786,400", "999", "-1,234", "12.3", "1.5", "0.04", "0", "n/a"]);
        assert_eq!([2.0, -1.6, 0.0, 1e6].map(|n| signed(n, 0)), ["+2", "\u{2212}2", "0", "+1,000,000"]);
        assert_eq!([2.0, -0.5, 0.0, -0.001].map(|n| signed(n, 1)), ["+2.0", "\u{2212}0.5", "0.0", "0.0"]);
        assert_eq!(count(100_000, "wake-up", "wake-ups"), "100,000 wake-ups");
    }

    #[test]
    fn a_column_has_the_decimals_that_it_needs() {
        let of = |values: &[f64]| decimals(values.iter().copied());
        assert_eq!([of(&[1.0, 200.0]), of(&[1.5, 2.0]), of(&[0.0412, 99.0])], [0, 1, 2]);
        assert_eq!([of(&[123.456, 0.5]), of(&[1e6, 0.123]), of(&[f64::NAN])], [1, 0, 0]);
    }

    #[test]
    fn json_in_html_has_no_way_out_of_its_element() {
        let json = serde_json::to_string("</script><!-- & -->").unwrap();
        let safe = json_in_html(&json);
        assert!(!safe.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!-- & -->");
    }
}
