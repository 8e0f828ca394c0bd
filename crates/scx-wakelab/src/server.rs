//! The socket of scx_stats, which serves statistics and takes switches of features. Only root may use it.

use crate::groups::GroupMetrics;
use crate::scheduler::Scheduler;
use crate::stats::{CpuMetrics, LlcMetrics, Metrics, ReasonMetrics};
use anyhow::{Context, Result, anyhow};
use rustix::fs::Mode;
use rustix::process::umask;
use scx_stats::prelude::*;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use wakelab_scx_decisions::features;

/// Where the socket is, for all clients of scx_stats.
const SOCKET: &str = "/var/run/scx/root/stats";

/// A request of a client.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Asks for the statistics since the start.
    Stats,
    /// Switches features.
    Set(String),
}

/// The answer to a request.
pub type Answer = Result<Value, String>;

/// The socket, while the scheduler runs.
pub type Server = StatsServer<Ask, Answer>;

/// Opens the socket. Its mode is 0600, whatever the umask is, because clients can switch features.
///
/// # Errors
/// Fails if it cannot be made.
pub fn open() -> Result<Server> {
    open_at(Path::new(SOCKET))
}

fn open_at(path: &Path) -> Result<Server> {
    let ask = |what: Ask,
               channel: (&crossbeam::channel::Sender<Ask>, &crossbeam::channel::Receiver<Answer>)|
     -> Result<Value> {
        channel.0.send(what)?;
        channel.1.recv()?.map_err(|text| anyhow!(text))
    };
    let data = StatsServerData::new()
        .add_meta(Metrics::meta())
        .add_meta(ReasonMetrics::meta())
        .add_meta(GroupMetrics::meta())
        .add_meta(LlcMetrics::meta())
        .add_meta(CpuMetrics::meta())
        .add_stats("top", Box::new(move |_, channel| ask(Ask::Stats, channel)))
        .add_stats(
            "set",
            Box::new(move |arguments, channel| {
                let list = arguments.get("features").cloned().unwrap_or_default();
                ask(Ask::Set(list), channel)
            }),
        );
    let failed = || format!("cannot open the socket for statistics ({})", path.display());
    // scx_stats sets no mode. With this umask there is no moment at which others can connect.
    let umask = Umask::set(Mode::RWXG | Mode::RWXO);
    let server = StatsServer::new(data).set_path(path).launch().with_context(failed)?;
    drop(umask);
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).with_context(failed)?;
    Ok(server)
}

/// Another umask while this lives. No other thread makes files meanwhile.
struct Umask(Mode);

impl Umask {
    fn set(mode: Mode) -> Self {
        Umask(umask(mode))
    }
}

impl Drop for Umask {
    fn drop(&mut self) {
        umask(self.0);
    }
}

/// Answers a request, and waits for one this long.
pub fn answer(server: &Server, scheduler: &mut Scheduler<'_>, wait: Duration) {
    let (answers, asks) = server.channels();
    if let Ok(ask) = asks.recv_timeout(wait) {
        let answer = match ask {
            Ask::Stats => serde_json::to_value(Metrics::read(scheduler)).map_err(|e| e.to_string()),
            Ask::Set(list) => features::switched(scheduler.features(), &list).map_err(|e| e.to_string()).map(|on| {
                scheduler.set_features(on);
                Value::from(features::text(on))
            }),
        };
        let _ = answers.send(answer);
    }
}

/// Sends a request to the running scheduler.
///
/// # Errors
/// Fails if none runs, or if it refuses the request.
pub fn request<T: serde::de::DeserializeOwned>(arguments: &[(&str, &str)]) -> Result<T> {
    let mut client = StatsClient::new()
        .connect(Some(60_000))
        .context("scx_wakelab does not answer on /var/run/scx/root/stats; is it running, and are you root?")?;
    let arguments = arguments.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    client.request("stats", arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test for all values, because the umask is one of the process.
    #[test]
    fn nobody_else_can_use_the_socket_whatever_the_umask() {
        let folder = std::env::temp_dir().join(format!("wakelab-socket-{}", std::process::id()));
        for mask in [0o000, 0o022, 0o077, 0o177] {
            let socket = folder.join(format!("{mask:o}")).join("stats");
            let before = Umask::set(Mode::from_raw_mode(mask));
            let server = open_at(&socket);
            let after = umask(Mode::from_raw_mode(mask));
            drop(before);
            drop(server.unwrap());
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
            assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700), "umask {mask:03o}");
            assert_eq!(after.bits(), mask, "the umask is as before");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
