//! The sections of a page. Each file has the plain data of its sections, and how they become charts and tables.

pub(crate) mod comparison;
pub(crate) mod heat;
pub(crate) mod latency;
pub(crate) mod looked;
pub(crate) mod migrations;
pub(crate) mod over_time;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod tables;
pub(crate) mod topology;
pub(crate) mod wakeups;
pub(crate) mod words;

use crate::{Error, Page, figure::Figure, view::View};

/// The views of all sections for which the page has data, in the order of the page, and their charts: what was found
/// first, what it was found with folded at the end.
pub(crate) fn all(page: &Page) -> Result<(Vec<View>, Vec<Figure>), Error> {
    let mut figures = Vec::new();
    let f = &mut figures;
    let mut views = vec![comparison::view(page, f)?, comparison::power(page, f)?];
    // Where nothing is compared, tables that the caller wrote are the result.
    let tables_first = page.comparison.is_none() && page.reasons.is_empty();
    if tables_first {
        views.extend(tables::views(page, f)?);
    }
    views.push(wakeups::reasons(page, f)?);
    views.push(wakeups::causes(page, f)?);
    views.push(latency::view(page, f)?);
    views.push(search::search_view(page, f)?);
    views.push(search::cost_view(page, f)?);
    views.push(search::regret_view(page, f)?);
    views.push(migrations::view(page, f)?);
    views.push(heat::view(page, f)?);
    views.push(over_time::llcs(page, f)?);
    views.push(over_time::timelines(page, f)?);
    if !tables_first {
        views.extend(tables::views(page, f)?);
    }
    views.push(wakeups::explained(page)?);
    views.push(tables::notes(page));
    views.push(run::view(page, f)?);
    views.push(topology::view(page)?);
    views.push(tables::assumed(page, f)?);
    let mut views: Vec<View> = views.into_iter().flatten().collect();
    let labels: Vec<String> = views.iter_mut().flat_map(View::labels).map(|label| label.text.clone()).collect();
    let titles = figures.iter().flat_map(Figure::titles);
    views.push(words::view(labels.iter().map(String::as_str).chain(titles)));
    Ok((views, figures))
}
