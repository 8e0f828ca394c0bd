//! One HTML file that shows what wakelab found. The file needs no network and no other file: the charts' code (Vega),
//! the data and the style are in it, and it forbids itself to load anything.
//!
//! A [`Page`] is plain data. Whoever has results fills in what there is; a section whose data are absent is left out.
//! [`render`] makes the file's text:
//!
//! ```
//! let page = wakelab_page::Page { title: "Two kernels".into(), ..Default::default() };
//! let html = wakelab_page::render(&page)?;
//! assert!(html.starts_with("<!doctype html>"));
//! # Ok::<(), wakelab_page::Error>(())
//! ```
//!
//! Nothing is computed here but what drawing takes. Data that grow with the number of events are brought together before
//! they come here: [`HeatBuilder`] and [`thin`] do it in bounded memory, and [`limits`] says how much a page takes.

mod encode;
mod error;
mod figure;
pub mod limits;
mod page;
mod render;
mod script;
mod section;
mod text;
mod thin;
mod view;

pub use error::Error;
pub use page::{Assumed, Feature, Kind, Page, Run, Side};
pub use render::render;
pub use section::comparison::{Comparison, Estimate, Metric, MetricRow, Verdict};
pub use section::explained::Explained;
pub use section::heat::{Heat, HeatRow};
pub use section::heat_builder::{Doing, HeatBuilder};
pub use section::latency::{Latency, Percentile};
pub use section::llc::{Flip, LlcPoint, LlcSeries};
pub use section::migrations::Migrations;
pub use section::reasons::{ReasonCount, Reasons};
pub use section::search_cost::{CostBin, SearchCost};
pub use section::statistic::{StatPoint, Statistic};
pub use section::tables::{Align, Cell, Column, Section, Table};
pub use section::timeline::{Series, Shape, Timeline};
pub use section::topology::{CpuPlace, Topology};
pub use thin::thin;
