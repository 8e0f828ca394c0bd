//! Where results are kept.

use crate::args::Kept;
use crate::output::{say, say_warnings};
use anyhow::Context;
use etcetera::BaseStrategy;
use etcetera::base_strategy::Xdg;
use std::path::{Path, PathBuf};
use wakelab_report::numbers::{count, thousands};
use wakelab_study::cache::{Cached, LIMIT_BYTES, Program, Store};
use wakelab_study::compare::{Runner, Simulator};

/// The simulator, with or without a store before it.
#[derive(Debug)]
pub struct KeptRuns(Option<Store>);

impl KeptRuns {
    /// As the flags say. Without a folder that can be used, nothing is kept; that is an error only where one was named.
    pub fn open(args: &Kept) -> anyhow::Result<Self> {
        if args.no_cache {
            return Ok(KeptRuns(None));
        }
        if let Some(folder) = &args.cache {
            let hint = "name a folder that can be made and written, or run with --no-cache";
            let store =
                store(folder, args.fresh).context("--cache").map_err(|e| anyhow::anyhow!("{e:#}\n  hint: {hint}"));
            return Ok(KeptRuns(Some(store?)));
        }
        let store = usual_folder().and_then(|folder| store(&folder, args.fresh));
        Ok(KeptRuns(store.map_err(|error| say_warnings(&[format!("results are not kept: {error:#}")])).ok()))
    }

    /// Nothing is kept.
    pub fn none() -> Self {
        KeptRuns(None)
    }

    /// Gives `use_runner` what makes runs; afterwards says on stderr how many were there already, and what went wrong.
    pub fn with<T>(&self, use_runner: impl FnOnce(&dyn Runner) -> T) -> T {
        let Some(store) = &self.0 else { return use_runner(&Simulator) };
        let result = use_runner(&Cached { store, runner: &Simulator });
        say_warnings(&store.warnings());
        if store.found() > 0 {
            let (found, all) = (store.found() as u64, (store.found() + store.made()) as u64);
            let folder = store.folder().display();
            say!("{} of {} from {folder}; --fresh makes them again", thousands(found), count(all, "run"));
        }
        store.prune(LIMIT_BYTES);
        result
    }
}

fn store(folder: &Path, fresh: bool) -> anyhow::Result<Store> {
    let program = Program::running().context("the program's own file cannot be read")?;
    Ok(Store::open(folder, program, fresh)?)
}

fn usual_folder() -> anyhow::Result<PathBuf> {
    Ok(Xdg::new().context("there is no home folder")?.cache_dir().join("wakelab"))
}
