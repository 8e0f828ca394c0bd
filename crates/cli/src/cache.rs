//! The cache of finished runs.

use crate::in_process::host;
use crate::output::{say, say_warnings};
use crate::signals::{in_good_order, stop_flag};
use anyhow::Context;
use clap::Args;
use etcetera::BaseStrategy;
use etcetera::base_strategy::Xdg;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_report::numbers::{count, thousands};
use wakelab_scx_fetch::Schedulers;
use wakelab_study::runs::cache::{Cached, LIMIT_BYTES, Store};
use wakelab_study::runs::fence::{Fence, Start};
use wakelab_study::runs::{Program, Runner};

/// Whether this process is the program itself, with the arguments that it was started with, so that it can start
/// itself again.
pub static OWN_PROGRAM: AtomicBool = AtomicBool::new(false);

/// A fence whose workers are this program once more, if this process is that.
pub fn fence() -> Fence {
    let own = host().is_none() && OWN_PROGRAM.load(Ordering::Relaxed);
    Fence::new(own.then(Start::again))
}

/// The flags of the cache.
#[derive(Debug, Default, Args)]
pub struct CacheFlags {
    /// Keep finished runs in this folder.
    ///
    /// And read them from it; the default is `wakelab` in $XDG_CACHE_HOME or ~/.cache. Runs that are written out
    /// (--events, --perfetto) are always simulated. Compiled schedulers are kept there, too.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Simulate every run, and keep none.
    #[arg(long, conflicts_with_all = ["cache", "fresh"])]
    pub no_cache: bool,
    /// Simulate again, and replace what was kept.
    #[arg(long)]
    pub fresh: bool,
}

impl CacheFlags {
    /// Schedulers that are compiled, and kept beside the runs. If the usual folder cannot be made, nothing is kept.
    /// From the first that is compiled on, a signal ends that, and then the command.
    pub fn schedulers(&self) -> Schedulers {
        let folder = if self.no_cache { None } else { self.cache.clone().or_else(made_usual) };
        let schedulers = folder.map(|folder| folder.join(wakelab_study::runs::cache::SCHEDULERS));
        // Another thread has no host.
        let of_host = host().map(|host| host.stop);
        let stop = move || of_host.unwrap_or_else(stop_flag);
        Schedulers::new(schedulers, scratch, self.fresh, |line| say!("{line}"), Box::new(stop))
    }
}

/// The simulator, with a cache in front of it unless there is none, and a fence around foreign schedulers.
#[derive(Debug)]
pub struct CachedSimulator {
    store: Option<Store>,
    fence: Fence,
}

impl CachedSimulator {
    /// Opens the cache that the flags ask for. If the default folder cannot be used, there is a warning and no cache.
    ///
    /// # Errors
    /// Fails if a folder was named and cannot be used.
    pub fn open(args: &CacheFlags) -> anyhow::Result<Self> {
        if args.no_cache {
            return Ok(CachedSimulator::without_cache());
        }
        let _whole = in_good_order();
        if let Some(folder) = &args.cache {
            let hint = "name a folder that can be made and written, or run with --no-cache";
            let store =
                store(folder, args.fresh).context("--cache").map_err(|e| anyhow::anyhow!("{e:#}\n  hint: {hint}"));
            return Ok(CachedSimulator { store: Some(store?), fence: Fence::default() });
        }
        let store = usual_folder().and_then(|folder| store(&folder, args.fresh));
        let store = store.map_err(|error| say_warnings(&[format!("results are not kept: {error:#}")])).ok();
        Ok(CachedSimulator { store, fence: Fence::default() })
    }

    /// The simulator without a cache.
    pub fn without_cache() -> Self {
        CachedSimulator { store: None, fence: Fence::default() }
    }

    /// Makes the runs of foreign schedulers in processes of their own, if this is the program itself. Only for commands
    /// that serve them ([`serve_runs`](wakelab_study::runners::serve_runs)) before they write anything.
    pub fn fenced(self) -> Self {
        CachedSimulator { fence: fence(), ..self }
    }

    /// Whether some runs came from the cache.
    pub fn found_some(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.found() > 0)
    }

    /// Calls `use_runner` with the runner. Afterwards it prints to stderr how many runs came from the cache, and
    /// warnings.
    pub fn with<T>(&self, use_runner: impl FnOnce(&dyn Runner) -> T) -> T {
        let Some(store) = &self.store else { return use_runner(&self.fence) };
        let result = use_runner(&Cached { store, runner: &self.fence });
        say_warnings(&store.warnings());
        if store.found() > 0 {
            let (found, all) = (store.found() as u64, (store.found() + store.made()) as u64);
            let folder = store.folder().display();
            say!("{} of {} from {folder}; --fresh runs them again", thousands(found), count(all, "run"));
        }
        store.prune(LIMIT_BYTES);
        result
    }
}

fn store(folder: &Path, fresh: bool) -> anyhow::Result<Store> {
    let program = host().map_or_else(Program::running, |host| host.program());
    let program = program.context("cannot read the program's own file")?;
    Ok(Store::open(folder, program, fresh)?)
}

/// That folder, if it is there or can be made.
fn made_usual() -> Option<PathBuf> {
    usual_folder().ok().filter(|folder| std::fs::create_dir_all(folder).is_ok())
}

/// Where schedulers are compiled if none is kept.
fn scratch() -> PathBuf {
    made_usual().unwrap_or_else(std::env::temp_dir)
}

/// The folder where finished runs are kept unless a flag names another.
pub fn usual_folder() -> anyhow::Result<PathBuf> {
    Ok(Xdg::new().context("there is no home folder")?.cache_dir().join("wakelab"))
}
