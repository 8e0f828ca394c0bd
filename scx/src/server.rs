//! The scx_stats socket: statistics for whoever asks, and switches of features.

use crate::features;
use crate::groups::GroupMetrics;
use crate::scheduler::Scheduler;
use crate::stats::{CpuMetrics, LlcMetrics, Metrics, ReasonMetrics};
use anyhow::{Context, Result, anyhow};
use scx_stats::prelude::*;
use serde_json::Value;
use std::time::Duration;

/// What a client asks.
#[derive(Clone, Debug)]
pub enum Ask {
    /// The statistics since the beginning.
    Stats,
    /// To switch features.
    Set(String),
}

/// What it is answered.
pub type Answer = Result<Value, String>;

/// The socket, while the scheduler runs.
pub type Server = StatsServer<Ask, Answer>;

/// Opens the socket.
///
/// # Errors
/// Where it cannot be made.
pub fn open() -> Result<Server> {
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
    StatsServer::new(data).launch().context("the statistics' socket cannot be opened (/var/run/scx/root/stats)")
}

/// Answers who has asked, for so long.
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

/// Asks the scheduler that runs.
///
/// # Errors
/// Where none runs, or it says no.
pub fn request<T: serde::de::DeserializeOwned>(arguments: &[(&str, &str)]) -> Result<T> {
    let mut client = StatsClient::new()
        .connect(Some(60_000))
        .context("no scx_wakelab can be asked (/var/run/scx/root/stats); is one running, and are you root?")?;
    let arguments = arguments.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    client.request("stats", arguments)
}
