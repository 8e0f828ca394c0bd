//! Runs for any listener, compiled once for all of them.

use crate::{Outcome, Setup, SimError, run};
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, NewGroup, NewTask, Sink};

/// What a listener can be told without knowing its type. The inputs of decisions are not among it: they come with
/// the type of the simulator's state.
trait Listener {
    fn event(&mut self, time: u64, event: &Event);
    fn group(&mut self, time: u64, group: &NewGroup<'_>);
    fn task(&mut self, time: u64, task: &NewTask<'_>);
    fn gave_up(&self) -> bool;
}

impl<S: Sink> Listener for S {
    fn event(&mut self, time: u64, event: &Event) {
        Sink::event(self, time, event);
    }

    fn group(&mut self, time: u64, group: &NewGroup<'_>) {
        Sink::group(self, time, group);
    }

    fn task(&mut self, time: u64, task: &NewTask<'_>) {
        Sink::task(self, time, task);
    }

    fn gave_up(&self) -> bool {
        Sink::gave_up(self)
    }
}

struct Any<'a, const INPUTS: bool>(&'a mut dyn Listener);

impl<const INPUTS: bool> Sink for Any<'_, INPUTS> {
    const ON: bool = true;
    const INPUTS: bool = INPUTS;

    fn event(&mut self, time: u64, event: &Event) {
        self.0.event(time, event);
    }

    fn group(&mut self, time: u64, group: &NewGroup<'_>) {
        self.0.group(time, group);
    }

    fn task(&mut self, time: u64, task: &NewTask<'_>) {
        self.0.task(time, task);
    }

    fn gave_up(&self) -> bool {
        self.0.gave_up()
    }
}

fn unheard(setup: &Setup<'_>, stop: &AtomicBool) -> Result<Outcome, SimError> {
    run(setup, &mut (), stop)
}

fn heard(setup: &Setup<'_>, sink: &mut dyn Listener, stop: &AtomicBool) -> Result<Outcome, SimError> {
    run(setup, &mut Any::<false>(sink), stop)
}

fn heard_with_inputs(setup: &Setup<'_>, sink: &mut dyn Listener, stop: &AtomicBool) -> Result<Outcome, SimError> {
    run(setup, &mut Any::<true>(sink), stop)
}

/// [`run`] for a listener whose type is not worth a simulator of its own, which takes the compiler 15 s each time. An
/// event is a call through a pointer then. `Sink::inputs()` is not called.
///
/// # Errors
/// As [`run`].
pub fn run_dyn<S: Sink>(setup: &Setup<'_>, sink: &mut S, stop: &AtomicBool) -> Result<Outcome, SimError> {
    match (S::ON, S::INPUTS) {
        (false, _) => unheard(setup, stop),
        (true, false) => heard(setup, sink, stop),
        (true, true) => heard_with_inputs(setup, sink, stop),
    }
}
