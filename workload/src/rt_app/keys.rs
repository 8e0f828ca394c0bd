//! Keys that the model has no meaning for.

use super::cx::Cx;
use super::json::Prop;
use crate::error::WorkloadError;
use wakelab_input::did_you_mean;

/// Keys of threads and phases that rt-app knows and the model does not, with what they are.
const NOT_MODELLED: [(&str, &str); 8] = [
    ("dl-period", DEADLINE),
    ("dl-deadline", DEADLINE),
    ("period", DEADLINE),
    ("deadline", DEADLINE),
    ("taskgroup", "cgroups are not modelled"),
    ("util_min", "utilisation clamps are not modelled"),
    ("util_max", "utilisation clamps are not modelled"),
    ("membind_nodes", "memory of nodes is not modelled"),
];

const DEADLINE: &str = "parameters of SCHED_DEADLINE are not modelled";
/// Keys of threads before rt-app 1.0.
const OLD: [&str; 3] = ["exec", "lock_order", "resources"];

/// What is said of a key that the model does not know, if rt-app does: it is left out if the file is read leniently.
/// Whether it was such a one. What even rt-app no longer knows is an error.
pub(super) fn not_modelled(cx: &Cx<'_>, prop: &Prop<'_>) -> Result<bool, WorkloadError> {
    if OLD.contains(&prop.name) {
        let what = "this is of the grammar before rt-app 1.0 (exec, lock_order, resources in threads), which rt-app \
                    no longer reads; expected events, such as \"run\": 1000";
        return Err(prop.place.error(cx.path, what));
    }
    let Some((_, what)) = NOT_MODELLED.iter().find(|(name, _)| *name == prop.name) else { return Ok(false) };
    cx.refuse(&prop.place, what, "it is left out").map(|()| true)
}

/// A key that nobody knows; rt-app passes over it.
pub(super) fn unknown<'k>(
    cx: &Cx<'_>,
    prop: &Prop<'_>,
    known: impl Iterator<Item = &'k str>,
) -> Result<(), WorkloadError> {
    let known: Vec<&str> = known.collect();
    let what = match did_you_mean(prop.name, known.iter().copied()) {
        Some(meant) => format!("unknown key; {meant}"),
        None => format!("unknown key; expected {}", known.join(", ")),
    };
    cx.refuse(&prop.place, &what, "it is left out, as rt-app does")
}
