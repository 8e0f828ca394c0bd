//! The sections: each file has what is shown as plain data, and how it becomes charts and tables.

pub(crate) mod comparison;
pub(crate) mod explained;
pub(crate) mod heat;
pub(crate) mod heat_builder;
pub(crate) mod latency;
pub(crate) mod llc;
pub(crate) mod migrations;
pub(crate) mod notes;
pub(crate) mod reasons;
pub(crate) mod run;
pub(crate) mod search_cost;
pub(crate) mod statistic;
pub(crate) mod tables;
pub(crate) mod timeline;
pub(crate) mod topology;
pub(crate) mod topology_svg;

use crate::{Error, Page, figure::Figure, view::View};

/// All sections that the page has data for, in their order, and their charts.
pub(crate) fn all(page: &Page) -> Result<(Vec<View>, Vec<Figure>), Error> {
    let mut figures = Vec::new();
    let f = &mut figures;
    let mut views = vec![run::view(page, f)?, topology::view(page)?, comparison::view(page, f)?];
    views.push(statistic::search_view(page, f)?);
    views.push(search_cost::view(page, f)?);
    views.push(latency::view(page, f)?);
    views.push(reasons::view(page, f)?);
    views.push(migrations::view(page, f)?);
    views.push(heat::view(page, f)?);
    views.push(llc::view(page, f)?);
    views.push(timeline::view(page, f)?);
    views.push(statistic::regret_view(page, f)?);
    views.push(explained::view(page)?);
    views.extend(tables::views(page, f)?);
    views.push(notes::view(page, f)?);
    Ok((views.into_iter().flatten().collect(), figures))
}
