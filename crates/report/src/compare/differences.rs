//! What the sides of a comparison differ in, in the head of each form.

use textwrap::Options;
use wakelab_study::compare::ExperimentInfo;

/// The columns of the text.
const WIDTH: usize = 100;

/// What `with` has otherwise than `base`, on one line.
pub(crate) fn differ(experiment: &ExperimentInfo) -> String {
    if experiment.differ.is_empty() {
        "nothing: both sides are the same".to_owned()
    } else {
        experiment.differ.join(", ")
    }
}

/// The same after `heading`, and under it what the switches leave unsaid, a line each.
pub(super) fn differences(experiment: &ExperimentInfo, heading: &str) -> String {
    let indent = " ".repeat(heading.len());
    let lines = std::iter::once(format!("{heading}{}", differ(experiment)));
    let notes = experiment.notes.iter().map(|note| format!("{indent}{note}"));
    lines.chain(notes).fold(String::new(), |text, line| text + &wrapped(&line, heading.len()))
}

/// A line, and what it has to go on in, so many blanks to the right.
pub(super) fn wrapped(line: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    textwrap::fill(line, Options::new(WIDTH).subsequent_indent(&indent)) + "\n"
}
