//! Formats of numbers for people, and escapes.

/// Formats a number with at least three significant digits and without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "n/a".into();
    }
    let decimals = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 4,
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

/// Formats a change: a number with its sign.
pub(crate) fn signed(value: f64) -> String {
    let text = number(value);
    if value > 0.0 && text != "0" { format!("+{text}") } else { text.replace('-', "\u{2212}") }
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

/// Returns a name as part of an anchor: lower case letters and digits; every other character becomes a hyphen.
pub(crate) fn anchor(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

/// Escapes JSON for a `<script>` element: without any `<`, no text in it can end the element.
pub(crate) fn json_in_html(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_at_least_and_commas() {
        let texts = [1786400.0, 999.4, -1234.5, 12.34, 1.5, 0.041, 0.0, f64::NAN].map(number);
        assert_eq!(texts, ["1,786,400", "999", "-1,234", "12.3", "1.5", "0.041", "0", "n/a"]);
        assert_eq!([2.0, -0.5, 0.0, 1e6].map(signed), ["+2", "\u{2212}0.5", "0", "+1,000,000"]);
        assert_eq!(count(100_000, "wake-up", "wake-ups"), "100,000 wake-ups");
    }

    #[test]
    fn json_in_html_has_no_way_out_of_its_element() {
        let json = serde_json::to_string("</script><!-- & -->").unwrap();
        let safe = json_in_html(&json);
        assert!(!safe.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!-- & -->");
    }
}
