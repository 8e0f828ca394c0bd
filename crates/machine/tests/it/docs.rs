//! `docs/machines.md` says what is so.

use crate::support::read;
use wakelab_machine::{Cost, Costs, Origin, ScxCosts, names};

const PAGE: &str = include_str!("../../../../docs/machines.md");

/// The TOML files in the page.
fn examples() -> Vec<&'static str> {
    PAGE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_examples_are_machines() {
    let machines: Vec<_> = examples().into_iter().map(|text| read(text).unwrap_or_else(|e| panic!("{e}"))).collect();
    let shapes: Vec<_> = machines.iter().map(|m| (m.topology.nr_cpus(), m.uniform().is_some())).collect();
    assert_eq!(shapes, [(32, true), (6, false)]);
}

#[test]
fn every_cost_is_listed_with_what_it_is() {
    for (name, doc) in Costs::NAMES.iter().zip(Costs::DOCS) {
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("no row for {name}"));
        assert!(row.ends_with(&format!("| {doc} |")), "{row}\nis not: {doc}");
    }
}

#[test]
fn every_cost_of_sched_ext_is_listed_with_what_is_assumed() {
    for (name, unit, doc, cost) in ScxCosts::default().list() {
        let Cost { value, low, high, origin } = cost;
        let suffix = unit.suffix();
        let row = format!("| `{name}` | `{suffix}` | {value} | {low} to {high} | {doc} |");
        assert!(PAGE.lines().any(|line| line == row), "no row is {row}");
        assert!(matches!(origin, Origin::Assumed(_)) && (low..high).contains(&value), "{name}");
    }
}

#[test]
fn every_machine_is_listed() {
    for name in names() {
        assert!(PAGE.contains(&format!("| `{name}` |")), "{name} is not listed");
    }
}

/// The guide of machines: its file is a machine, and its line names it.
#[test]
fn the_machine_of_the_guide_can_be_read() {
    const GUIDE: &str = include_str!("../../../../docs/extending.md");
    let section = GUIDE.split("\n## Add a machine\n").nth(1).expect("the section");
    let block = |kind: &str| {
        let after = section.split(&format!("```{kind}\n")).nth(1).expect("a block");
        after.split("```").next().expect("its end")
    };
    let machine = read(block("toml")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((machine.topology.nr_cpus(), machine.counts().llcs), (16, 2));
    assert_eq!(block("text").trim(), format!("\"{}\",", machine.name));
    assert!(!names().contains(&machine.name.as_str()));
}
