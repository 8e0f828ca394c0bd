//! One HTML file that shows what wakelab found. The file needs no network and no other file: it holds the charts' code
//! (Vega), the data and the style, and its content security policy forbids it to load anything.
//!
//! A [`Page`] is plain data. The caller fills in the results that it has; a section without data is left out.
//! [`render`] returns the text of the file:
//!
//! ```
//! let page = wakelab_page::Page { title: "Two kernels".into(), ..Default::default() };
//! let html = wakelab_page::render(&page)?;
//! assert!(html.starts_with("<!doctype html>"));
//! # Ok::<(), wakelab_page::Error>(())
//! ```
//!
//! This crate computes only what drawing needs. Data that grow with the number of events must be summed up before they
//! come here. [`HeatBuilder`] does that for heat maps in bounded memory, and [`limits`] lists how much fits on a page.

pub mod colour;
mod figure;
mod glossary;
pub mod limits;
mod page;
mod render;
mod section;
mod text;
mod view;

pub use limits::Error;
pub use page::{Assumed, Feature, Kind, Page, Place, Run, Side};
pub use render::render;
pub use section::comparison::{Comparison, Estimate, Metric, MetricRow, Verdict};
pub use section::heat::{Doing, Heat, HeatBuilder, HeatRow};
pub use section::latency::{Latency, Percentile};
pub use section::looked::Looked;
pub use section::migrations::Migrations;
pub use section::over_time::{Flip, LlcPoint, LlcSeries, Series, Shape, Timeline};
pub use section::search::{CostBin, SearchCost, StatPoint, Statistic};
pub use section::tables::{Align, Cell, Column, Section, Table};
pub use section::topology::{CpuPlace, Topology};
pub use section::wakeups::{CauseSum, Causes, Explained, ReasonCount, Reasons};
