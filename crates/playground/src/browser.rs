//! What JavaScript calls. Text goes in and out as UTF-8 in this module's memory: `input()` gives room for a request,
//! and a call returns the length of its answer, JSON, which is at `answer()`. An answer is `{"ok": …}` or
//! `{"error": {"field", "what", "hint"}}`.
//!
//! An instance of the module makes one run after another. What a run borrows is never given back: a run is as long as
//! the worker that it is in, which the page ends with it.

// The names of functions must be known to JavaScript, which the attribute for it calls unsafe: two of one name would
// clash. Nothing else here is.
#![allow(unsafe_code)]

use crate::description::{Description, Problem, Side};
use crate::run::{Run, listeners};
use serde::Serialize;
use serde_json::json;
use std::cell::RefCell;
use wakelab_sim::steps::{Prepared, domains};

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static RUN: RefCell<Option<Run<'static>>> = const { RefCell::new(None) };
}

/// Makes room for a request of `bytes`, and returns where it is.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(bytes, 0);
        request.as_mut_ptr()
    })
}

/// Where the last answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// Answers with what can be named.
#[unsafe(no_mangle)]
pub extern "C" fn choices() -> usize {
    reply(Ok(crate::choices()))
}

/// Begins the run that the request describes, and answers how it begins.
#[unsafe(no_mangle)]
pub extern "C" fn start() -> usize {
    std::panic::set_hook(Box::new(|panic| {
        reply(Err::<(), _>(Problem::new("run", format!("the simulator failed: {panic}"))));
    }));
    reply(REQUEST.with_borrow(|request| begin(request)))
}

/// Goes on up to `time`, ns from the start. Answers with when it is, and whether the run is over.
#[unsafe(no_mangle)]
pub extern "C" fn advance(time: f64) -> usize {
    reply(with_run(|run| {
        let over = run.advance(time as u64)?;
        Ok(json!({"at_ns": run.at_ns(), "over": over}))
    }))
}

/// Answers with what is to be drawn.
#[unsafe(no_mangle)]
pub extern "C" fn frame() -> usize {
    reply(with_run(|run| Ok(run.frame())))
}

/// Answers with the result of a run that is over.
#[unsafe(no_mangle)]
pub extern "C" fn finish() -> usize {
    reply(RUN.take().ok_or_else(no_run).and_then(Run::finish))
}

/// The length of the last answer: of what was said when a call did not return.
#[unsafe(no_mangle)]
pub extern "C" fn answered() -> usize {
    ANSWER.with_borrow(Vec::len)
}

fn begin(request: &[u8]) -> Result<impl Serialize + use<>, Problem> {
    let description: Description =
        serde_json::from_slice(request).map_err(|e| Problem::new("run", format!("the description: {e}")))?;
    let side: &'static Side = Box::leak(Box::new(Side::new(&description)?));
    let setup = side.setup();
    let domains = Box::leak(Box::new(domains(&setup)?));
    let prepared = Box::leak(Box::new(Prepared::new(&setup, domains)?));
    let run = Run::new(side, prepared, Box::leak(Box::new(listeners(side))));
    let begun = run.begun();
    RUN.set(Some(run));
    Ok(begun)
}

fn with_run<T>(then: impl FnOnce(&mut Run<'static>) -> Result<T, Problem>) -> Result<T, Problem> {
    RUN.with_borrow_mut(|run| run.as_mut().ok_or_else(no_run).and_then(then))
}

fn no_run() -> Problem {
    Problem::new("run", "no run is under way; call start() first")
}

/// An answer.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer<T> {
    Ok(T),
    Error(Problem),
}

fn reply<T: Serialize>(result: Result<T, Problem>) -> usize {
    let answer = result.map_or_else(Answer::Error, Answer::Ok);
    ANSWER.with_borrow_mut(|text| {
        text.clear();
        serde_json::to_writer(&mut *text, &answer).expect("plain data is JSON");
        text.len()
    })
}
