//! The sections of a page. Each file has the plain data of its sections, and how they become charts and tables.

pub(crate) mod comparison;
pub(crate) mod heat;
pub(crate) mod latency;
pub(crate) mod migrations;
pub(crate) mod over_time;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod tables;
pub(crate) mod topology;
pub(crate) mod wakeups;

use crate::{Error, Page, figure::Figure, view::View};

/// The views of all sections for which the page has data, in the order of the page, and their charts.
pub(crate) fn all(page: &Page) -> Result<(Vec<View>, Vec<Figure>), Error> {
    let mut figures = Vec::new();
    let f = &mut figures;
    let mut views = vec![run::view(page, f)?, topology::view(page)?, comparison::view(page, f)?];
    views.push(search::search_view(page, f)?);
    views.push(search::cost_view(page, f)?);
    views.push(latency::view(page, f)?);
    views.push(wakeups::reasons(page, f)?);
    views.push(wakeups::causes(page, f)?);
    views.push(migrations::view(page, f)?);
    views.push(heat::view(page, f)?);
    views.push(over_time::llcs(page, f)?);
    views.push(over_time::timelines(page, f)?);
    views.push(search::regret_view(page, f)?);
    views.push(wakeups::explained(page)?);
    views.extend(tables::views(page, f)?);
    views.push(tables::notes(page, f)?);
    Ok((views.into_iter().flatten().collect(), figures))
}
