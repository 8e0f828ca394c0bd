//! What a page of recordings or of recorded runs says of where its numbers come from.

use super::machine::recorded;
use crate::VERSION;
use std::collections::BTreeSet;
use std::sync::Arc;
use wakelab_events::{ReadError, TopoFile};
use wakelab_page::{Kind, Page, Run, limits};
use wakelab_study::Kinds;

/// So many names are written out.
const NAMES: usize = 6;

/// What was read.
#[derive(Clone, Copy, Debug)]
pub struct Read<'a> {
    /// The command that makes the page again.
    pub command: &'a str,
    /// How many files or sources.
    pub files: usize,
    /// Machines and kernels of those with decisions.
    pub machines: &'a [Arc<TopoFile>],
    /// What could not be read to its end.
    pub errors: &'a [ReadError],
}

impl Read<'_> {
    /// A page with what is known before anything is counted.
    pub(super) fn page(&self, title: String, lead: String, kinds: Kinds) -> Page {
        let kind = match kinds.name() {
            Some("both") => Kind::Both,
            Some("simulated") => Kind::Simulated,
            _ => Kind::Measured,
        };
        let one = match self.machines {
            [first, rest @ ..] if rest.iter().all(|topo| topo.topology == first.topology) => Some(first),
            _ => None,
        };
        let drawn = one.filter(|topo| topo.domains.nr_cpus as usize <= limits::CPUS);
        let error = |error: &ReadError| format!("Not read to its end: {error}");
        Page {
            title,
            lead,
            run: Run {
                command: self.command.to_owned(),
                version: VERSION.to_owned(),
                kind,
                kernel: names(self.machines.iter().map(|topo| topo.release.as_str())),
                machine: names(self.machines.iter().map(|topo| topo.topology.as_str())),
                workload: String::new(),
                facts: vec![("files or folders read".to_owned(), self.files.to_string())],
            },
            machine: drawn.map(|topo| recorded(topo)),
            notes: self.errors.iter().map(error).collect(),
            ..Page::default()
        }
    }
}

/// Different names, or how many there are.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let different: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    match different.len() {
        n if n > NAMES => format!("{n} different"),
        _ => different.into_iter().collect::<Vec<_>>().join(", "),
    }
}
