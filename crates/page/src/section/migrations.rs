//! Wake-ups that moved tasks between LLCs.

use crate::figure::Figure;
use crate::text::{at, count, number};
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;

/// The wake-ups of a side by the LLC on which the wakee ran last and the LLC to which it went.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Migrations {
    /// The side's name.
    pub side: String,
    /// The benchmark and its case, as in [`crate::Place::case`].
    pub case: String,
    /// The load; empty if there is only one.
    pub load: String,
    /// The names of the LLCs; at most [`crate::limits::MATRIX_LLCS`].
    pub llcs: Vec<String>,
    /// The counts `[from][to]`: a row for each LLC with a value for each LLC. Wake-ups within an LLC are on the
    /// diagonal.
    pub wakeups: Vec<Vec<u64>>,
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.migrations.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("migrations", "Migrations between last-level caches");
    view.text(
        "From the LLC on which the wakee ran last (down) to the one on which it was put (across). The diagonal stayed \
         and is not coloured.",
    );
    let mut figure = Figure::new("migrations-chart", "matrix", "Wake-ups between LLCs")
        .column("case", "Case", "")
        .column("load", "Load", "")
        .column("side", "Side", "")
        .column("from_llc", "From LLC", "")
        .column("to_llc", "To LLC", "")
        .column("wakeups", "Wake-ups", "")
        .select("case", "Case")
        .select("load", "Load");
    let mut said = Vec::new();
    for migrations in &page.migrations {
        let (names, found) = (&migrations.llcs, migrations.llcs.len());
        if found > limits::MATRIX_LLCS {
            let hint = "bring LLCs together, such as those of a package";
            return Err(Error::TooMuch { what: "LLCs in a matrix".into(), found, limit: limits::MATRIX_LLCS, hint });
        }
        if migrations.wakeups.len() != found || migrations.wakeups.iter().any(|row| row.len() != found) {
            let what = format!("migrations of {}", migrations.side);
            return Err(Error::Inconsistent {
                what,
                why: format!("expected {found} rows of {found} counts, one per LLC"),
            });
        }
        let (mut all, mut moved) = (0, 0);
        for (from, row) in migrations.wakeups.iter().enumerate() {
            for (to, &wakeups) in row.iter().enumerate() {
                all += wakeups;
                moved += if from == to { 0 } else { wakeups };
                let Migrations { case, load, side, .. } = migrations;
                let texts = [case, load, side, &names[from], &names[to]].map(|text| text.as_str().into());
                figure.row(texts.into_iter().chain([wakeups.into()]).collect::<Vec<_>>());
            }
        }
        let share = number(100.0 * moved as f64 / all.max(1) as f64);
        let wakeups = count(all as usize, "wake-up", "wake-ups");
        let at = at(&migrations.case, &migrations.load);
        said.push(format!("{}{at}: {share} % of {wakeups} went to another LLC.", migrations.side));
    }
    figure.check(limits::POINTS, "show fewer loads on a page")?;
    figure.summary = said.into_iter().take(4).collect::<Vec<_>>().join(" ");
    view.figure(figure, figures);
    Ok(Some(view))
}
