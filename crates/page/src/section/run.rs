//! What was run: the command, the kernel, the machine, the features of each side. It is folded at the end of the page.

use crate::figure::Figure;
use crate::text::count;
use crate::view::{Block, CellView, HeadView, Label, TableView, View};
use crate::{Error, Kind, Page, limits};

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    let found = page.sides.len();
    if found > limits::SIDES {
        let hint = "make a page for some of them";
        return Err(Error::TooMuch { what: "sides".into(), found, limit: limits::SIDES, hint });
    }
    let mut view = View::folded("run", "What was run");
    let run = &page.run;
    let kind = match run.kind {
        Kind::Simulated => "simulated",
        Kind::Measured => "recorded on a running kernel",
        Kind::Both => "simulated and recorded",
    };
    let named = [
        ("Numbers are", kind),
        ("Kernel", &run.kernel),
        ("Machine", &run.machine),
        ("Workload", &run.workload),
        ("wakelab", &run.version),
    ];
    let named = named.into_iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let known = named.chain(run.facts.clone()).filter(|(_, value)| !value.is_empty());
    let facts = known.map(|(name, value)| (Label::new(name), value)).collect();
    view.blocks.push(Block::Facts { facts });
    if !run.command.is_empty() {
        view.text("To make this page again:");
        view.blocks.push(Block::Command { text: run.command.clone() });
    }
    if page.sides.iter().any(|side| !side.switches.is_empty() || !side.features.is_empty()) {
        sides(page, &mut view);
        features(page, &mut view, figures);
    }
    Ok(Some(view))
}

fn sides(page: &Page, view: &mut View) {
    let switches = |text: &str| if text.is_empty() { "nothing".to_string() } else { text.replace(',', ", ") };
    // A side is called as it is, not as the glossary has a word of that name.
    let label = |name: &str| Label { text: name.to_owned(), ..Label::default() };
    let facts = page.sides.iter().map(|side| (label(&side.name), switches(&side.switches))).collect();
    view.text("What each side switches on top of the kernel's features:");
    view.blocks.push(Block::Facts { facts });
}

/// Adds a table with a row for each feature; features in which the sides differ come first.
fn features(page: &Page, view: &mut View, figures: &mut Vec<Figure>) {
    let mut names: Vec<&str> = Vec::new();
    for feature in page.sides.iter().flat_map(|side| &side.features) {
        if !names.contains(&feature.name.as_str()) {
            names.push(&feature.name);
        }
    }
    if names.is_empty() {
        return;
    }
    let state = |side: &crate::Side, name: &str| {
        side.features.iter().find(|feature| feature.name == name).map_or("absent", |f| if f.on { "on" } else { "off" })
    };
    let differs = |name: &str| page.sides.iter().any(|side| state(side, name) != state(&page.sides[0], name));
    names.sort_by_key(|name| !differs(name));
    let mut figure = Figure::new("features", "table", "Scheduler features").column("feature", "Feature", "");
    for side in &page.sides {
        figure = figure.column(&side.name, &side.name, "");
    }
    let mut table = TableView { id: "features".into(), caption: "Scheduler features".into(), ..Default::default() };
    table.columns.push(HeadView::new("Feature", ""));
    let head = |side: &crate::Side| HeadView {
        label: Label { text: side.name.clone(), ..Label::default() },
        ..HeadView::default()
    };
    table.columns.extend(page.sides.iter().map(head));
    for name in &names {
        let states: Vec<&str> = page.sides.iter().map(|side| state(side, name)).collect();
        let class = if differs(name) { "differs" } else { "" };
        let cell = |text: &str| CellView { text: text.to_string(), class, ..CellView::default() };
        table.rows.push(std::iter::once(*name).chain(states.iter().copied()).map(cell).collect());
        figure.row(std::iter::once(*name).chain(states).map(serde_json::Value::from).collect::<Vec<_>>());
    }
    table.saved = true;
    let different = names.iter().filter(|name| differs(name)).count();
    if page.sides.len() > 1 {
        view.text(match different {
            0 => "The sides have the same features.".to_string(),
            n => format!("The sides differ in {}, first below.", count(n, "feature", "features")),
        });
    }
    view.blocks.push(Block::Table { table });
    figures.push(figure);
}
