//! The loads, which are the same files on both sides.

use anyhow::{Result, anyhow};
use std::path::Path;
use wakelab_workload::Workload;

/// A load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Its name.
    pub name: &'static str,
    text: &'static str,
    /// How long it runs, ns.
    pub time: u64,
}

const S: u64 = 1_000_000_000;

/// All loads.
pub const LOADS: [Load; 6] = [
    Load { name: "hogs-one-cpu", text: include_str!("../hogs-one-cpu.toml"), time: 4 * S },
    Load { name: "hogs", text: include_str!("../hogs.toml"), time: 4 * S },
    Load { name: "order", text: include_str!("../order.toml"), time: 3 * S },
    Load { name: "pair", text: include_str!("../pair.toml"), time: S },
    Load { name: "sleepers", text: include_str!("../sleepers.toml"), time: 3 * S },
    Load { name: "forks", text: include_str!("../forks.toml"), time: 2 * S },
];

impl Load {
    /// Its tasks and programs.
    ///
    /// # Errors
    /// Fails if the file is wrong.
    pub fn workload(&self) -> Result<Workload> {
        let path = format!("loads/{}.toml", self.name);
        wakelab_workload::from_toml(self.text, Path::new(&path), 1).map_err(|error| anyhow!("{error}"))
    }
}
