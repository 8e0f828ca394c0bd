//! The search policies, as docs/policies.md has them.

use std::fmt::Write;
use wakelab_kernel::Feature;
use wakelab_sched::select::policy;

/// A line for each switch of each policy that comes with the project, as Markdown.
pub fn markdown() -> String {
    let mut text = "| switch | what it does | tunables | source |\n|---|---|---|---|\n".to_owned();
    for about in policy::all() {
        for (n, switch) in about.switches.iter().enumerate().filter(|(_, switch)| switch.feature != Feature::OWN) {
            let tunables: Vec<String> = about.tunables.iter().map(|name| format!("`{name}`")).collect();
            let tunables = if n == 0 { tunables.join(", ") } else { String::new() };
            let (feature, source) = (switch.feature, switch.feature.source());
            let _ = writeln!(text, "| `{feature}` | {} | {tunables} | {source} |", switch.does);
        }
    }
    text
}
