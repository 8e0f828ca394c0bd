//! Cells and lines of CSV, the same for every command.

use wakelab_sched::select::Reason;

/// Lines of one length as CSV.
pub(crate) fn written(lines: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.write_record(&line).expect("all lines are of one length, and memory takes them");
    }
    let bytes = writer.into_inner().expect("memory takes all");
    String::from_utf8(bytes).expect("only text went in")
}

/// Columns by their names, which blanks separate.
pub(crate) fn names(names: &str) -> impl Iterator<Item = String> {
    names.split(' ').map(str::to_owned)
}

/// A text as no spreadsheet runs it: one that begins as a formula does, as a workload's name may, gets an apostrophe
/// before it, whatever follows; so a text stays a text in a spreadsheet, too, where `+1` would be the number 1. A dash
/// alone stands for nothing, and numbers are no texts ([`number`]).
pub(crate) fn text(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text != "-";
    if formula { format!("'{text}") } else { text.to_owned() }
}

/// All digits that tell the number from its neighbours.
pub(crate) fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// The same; empty for `None`.
pub(crate) fn number_or_none(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

/// A whole number; empty for `None`.
pub(crate) fn whole_or_none(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// `reason_idle` and so on: a column for each reason, whether it is met or not, so that files have the same columns.
pub(crate) fn reason_columns() -> impl Iterator<Item = String> {
    Reason::ALL.into_iter().map(|reason| format!("reason_{}", reason.name()))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn no_name_is_a_formula() {
        assert_eq!(
            ["=1+1", "@SUM(A1)", "+cmd|'/C calc'!A0", "-2+3", "\t=1", "+1", "-1.5", "=", "+"]
                .map(text)
                .map(|cell| cell.starts_with('\'')),
            [true; 9]
        );
        let plain = ["netperf", "", "-", "1.5", "a=b", "28 threads", "TCP_RR"];
        assert_eq!(plain.map(text), plain);
    }
}
