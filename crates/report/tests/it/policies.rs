//! docs/policies.md lists every search policy as the policy describes itself.

use std::fmt::Write;
use wakelab_kernel::{Feature, Setting, Switches};
use wakelab_sched::select::policy;

/// The table of docs/policies.md: a line for each switch of each policy that comes with the project.
fn markdown() -> String {
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

#[test]
fn the_page_has_the_table_that_the_policies_give() {
    let page = include_str!("../../../../docs/policies.md");
    let table = markdown();
    assert!(page.contains(&table), "docs/policies.md is to have this table:\n{table}");
}

#[test]
fn every_tunable_of_a_policy_can_be_set_and_is_on_the_page() {
    let page = include_str!("../../../../docs/policies.md");
    for name in policy::all().flat_map(|about| about.tunables) {
        // What is out of range names the range.
        let error = Setting::new(name, "x").unwrap_err().to_string();
        assert!(error.starts_with(&format!("{name}=x: expected a number from")), "{error}");
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn every_switch_can_be_written() {
    for switch in policy::switches().filter(|switch| switch.feature.modelled()) {
        let name = switch.feature.name();
        assert_eq!(name.parse::<Switches>().unwrap().to_string(), name);
    }
}
