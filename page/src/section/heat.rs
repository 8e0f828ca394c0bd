//! What each CPU did over time.

use crate::figure::{Figure, num};
use crate::text::number;
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;

/// CPU × time of one side: the share of each bin of time in which a CPU ran tasks, searched or was idle.
/// [`crate::HeatBuilder`] makes one of intervals.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Heat {
    /// The side's name.
    pub side: String,
    /// When the first bin begins, ms.
    pub start_ms: f64,
    /// How long a bin is, ms, more than 0.
    pub bin_ms: f64,
    /// A row for each CPU or group of CPUs; [`crate::limits::HEAT_ROWS`] at most.
    pub rows: Vec<HeatRow>,
}

/// A CPU, or CPUs that follow each other, over time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HeatRow {
    /// Its name: `5`, or `8-11` for a group.
    pub cpus: String,
    /// Share of each bin in which tasks ran, 0 to 1; as many bins in each row, [`crate::limits::HEAT_BINS`] at most. The
    /// page has it to 0.1 %.
    pub running: Vec<f32>,
    /// Share of each bin in which a wake-up searched for a CPU, 0 to 1. The rest is idle.
    pub searching: Vec<f32>,
}

/// To a tenth of a percent.
fn pct(share: f64) -> f64 {
    (share.clamp(0.0, 1.0) * 1000.0).round() / 10.0
}

fn check(heat: &Heat) -> Result<usize, Error> {
    let bins = heat.rows.first().map_or(0, |row| row.running.len());
    let what = || format!("the heat map of {}", heat.side);
    for (what, found, limit) in [("rows", heat.rows.len(), limits::HEAT_ROWS), ("bins", bins, limits::HEAT_BINS)] {
        if found > limit {
            let hint = "make it with HeatBuilder, which brings CPUs and time together";
            return Err(Error::TooMuch { what: format!("{what} in a heat map"), found, limit, hint });
        }
    }
    if heat.rows.iter().any(|row| row.running.len() != bins || row.searching.len() != bins) {
        return Err(Error::Inconsistent {
            what: what(),
            why: format!("expected {bins} bins in each row, as in the first"),
        });
    }
    if heat.bin_ms.is_nan() || heat.bin_ms <= 0.0 {
        return Err(Error::Inconsistent {
            what: what(),
            why: format!("a bin of {} ms, expected more than 0", heat.bin_ms),
        });
    }
    Ok(bins)
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.heat.is_empty() {
        return Ok(None);
    }
    let found = page.heat.len();
    if found > limits::HEATS {
        let hint = "show the sides of one load only";
        return Err(Error::TooMuch { what: "heat maps".into(), found, limit: limits::HEATS, hint });
    }
    let mut view = View::new("heat", "What each CPU did over time");
    view.text(
        "Each cell is a CPU in a bin of time; its colour is the share of the bin that was spent as chosen above it.",
    );
    let mut figure = Figure::new("heat-chart", "heat", "CPUs over time")
        .column("side", "Side", "")
        .column("cpus", "CPU", "")
        .column("from_ms", "From", "ms")
        .column("to_ms", "To", "ms")
        .column("running_pct", "Running", "%")
        .column("searching_pct", "Searching", "%")
        .column("idle_pct", "Idle", "%");
    let mut said = Vec::new();
    for heat in &page.heat {
        let bins = check(heat)?;
        let mut sums = [0.0; 2];
        for row in &heat.rows {
            for bin in 0..bins {
                let shares = [f64::from(row.running[bin]), f64::from(row.searching[bin])];
                sums = [sums[0] + shares[0], sums[1] + shares[1]];
                let at = |bin: usize| num(((heat.start_ms + heat.bin_ms * bin as f64) * 1e6).round() / 1e6);
                let idle = pct(1.0 - shares[0] - shares[1]);
                let texts = [&heat.side, &row.cpus].map(|text| text.as_str().into());
                let values = [at(bin), at(bin + 1), num(pct(shares[0])), num(pct(shares[1])), num(idle)];
                figure.row(texts.into_iter().chain(values).collect::<Vec<_>>());
            }
        }
        let cells = (heat.rows.len() * bins).max(1) as f64;
        let [running, searching] = sums.map(|sum| number(100.0 * sum / cells));
        said.push(format!("{}: CPUs ran tasks for {running} % of the time and searched for {searching} %.", heat.side));
    }
    figure.summary = said.join(" ");
    view.figure(figure, figures);
    Ok(Some(view))
}
