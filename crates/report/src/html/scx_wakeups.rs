//! The page of wake-ups under a scheduler of sched_ext: each with the operations that placed it, and the routes of all.

use super::explain::MOST;
use super::{Read, TEXT, n, table, text};
use crate::numbers::{count, seconds, thousands};
use crate::scx_wakeups::{self, sorted};
use wakelab_events::stream::RunDescription;
use wakelab_page::{Cell, Error, Explained as Told, Section, render};
use wakelab_study::SourceKinds;
use wakelab_study::recordings::scx_wakeups::{Routes, ScxWakeup};

/// So many routes are on a page.
const ROUTES: usize = 1000;

/// The page of explanations, of which it keeps the first 200, and of the routes of all.
#[derive(Debug, Default)]
pub struct ScxExplanations {
    told: Vec<Told>,
    routes: Routes,
}

/// The page of `--summary`.
impl From<Routes> for ScxExplanations {
    fn from(routes: Routes) -> Self {
        ScxExplanations { told: Vec::new(), routes }
    }
}

impl ScxExplanations {
    /// Takes one more wake-up.
    pub fn add(&mut self, about: &RunDescription, wakeup: &ScxWakeup) {
        self.routes.add(wakeup);
        if self.told.len() < MOST {
            self.told.push(told(about, wakeup));
        }
    }

    /// The page.
    ///
    /// # Errors
    /// Where there is more than a page takes.
    pub fn page(self, read: &Read<'_>) -> Result<String, Error> {
        let all = self.routes.open + self.routes.picked.values().map(|(n, _)| n).sum::<u64>();
        let wakeups = count(all, "wake-up");
        let (title, lead) = match self.told.len() as u64 {
            0 => ("How wakees came to a CPU".to_owned(), String::new()),
            shown if shown < all => {
                (format!("{wakeups} explained"), format!("The first {shown} of {wakeups} are shown."))
            }
            _ => (format!("{wakeups} explained"), String::new()),
        };
        let mut page = read.page(title, lead, SourceKinds { simulated: true, recorded: false });
        page.explained = self.told;
        page.sections.push(section(&self.routes, all));
        render(&page)
    }
}

/// An explanation, as it is printed.
fn told(about: &RunDescription, wakeup: &ScxWakeup) -> Told {
    let waited = |(at, _): (u64, _)| at.saturating_sub(wakeup.t_ns) / 1000;
    let why = wakeup.picked().map(|picked| format!("It ran {} us after the wake-up.", thousands(waited(picked))));
    let ScxWakeup { row, wakee: (pid, comm), t_ns, .. } = wakeup;
    Told {
        title: format!("row {row}: {comm}/{pid} at {}", seconds(*t_ns)),
        why: why.unwrap_or_default(),
        key: String::new(),
        text: scx_wakeups::text(about, wakeup).trim_end().to_owned(),
        looked: None,
    }
}

fn section(routes: &Routes, all: u64) -> Section {
    let mut paragraphs = vec![
        "A route is the operations that put a wakee on queues, and the queues. `select_cpu → local` is a direct \
         dispatch; `core` is the kernel's default."
            .to_owned(),
    ];
    if routes.open > 0 {
        paragraphs.push(format!("{} not picked before the run ended.", count(routes.open, "wakee")));
    }
    let all_routes = sorted(routes);
    if all_routes.len() > ROUTES {
        paragraphs.push(format!("The {ROUTES} most common of {} routes are shown.", all_routes.len()));
    }
    let row = |(route, (wakeups, ns)): (&str, (u64, u64))| {
        let share = 100.0 * wakeups as f64 / all.max(1) as f64;
        let mean_us = ns as f64 / 1e3 / wakeups.max(1) as f64;
        vec![text(route), n(wakeups), Cell::Number(share, 1), Cell::Number(mean_us, 2)]
    };
    let columns = [("Route", TEXT), ("Wake-ups", ""), ("Share", "%"), ("Mean wait", "us")];
    let rows = all_routes.into_iter().take(ROUTES).map(row).collect();
    Section {
        id: "routes".to_owned(),
        title: "Routes".to_owned(),
        paragraphs,
        tables: vec![table("routes-table", "Wake-ups by route", &columns, rows)],
    }
}
