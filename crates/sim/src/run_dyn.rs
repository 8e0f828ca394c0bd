//! Runs for any listener, compiled once for all of them where that counts more than their speed.

use crate::{Outcome, Setup, SimError};
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::Sink;

/// [`run`](crate::run) for a listener whose type is not worth a simulator of its own, which takes the compiler 15 s
/// each time. An event is a call through a pointer then. The listener has no `Sink::inputs()` of its own, which may not
/// be called.
///
/// In a release it is [`run`](crate::run): with a simulator in this crate, those that other crates compile take 1.6%
/// more instructions for a wake-up.
///
/// # Errors
/// As [`run`](crate::run).
pub fn run_dyn<S: Sink>(setup: &Setup<'_>, sink: &mut S, stop: &AtomicBool) -> Result<Outcome, SimError> {
    #[cfg(debug_assertions)]
    return once::run(setup, sink, stop);
    #[cfg(not(debug_assertions))]
    crate::run(setup, sink, stop)
}

#[cfg(debug_assertions)]
mod once {
    use crate::{Outcome, Setup, SimError};
    use std::sync::atomic::AtomicBool;
    use wakelab_events::sim::{Event, NewGroup, NewTask, Sink};

    /// The events that a listener can receive without knowing its type. The inputs of decisions are not among it: they
    /// come with the type of the simulator's state.
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
        crate::run(setup, &mut (), stop)
    }

    fn heard(setup: &Setup<'_>, sink: &mut dyn Listener, stop: &AtomicBool) -> Result<Outcome, SimError> {
        crate::run(setup, &mut Any::<false>(sink), stop)
    }

    fn heard_with_inputs(setup: &Setup<'_>, sink: &mut dyn Listener, stop: &AtomicBool) -> Result<Outcome, SimError> {
        crate::run(setup, &mut Any::<true>(sink), stop)
    }

    pub fn run<S: Sink>(setup: &Setup<'_>, sink: &mut S, stop: &AtomicBool) -> Result<Outcome, SimError> {
        match (S::ON, S::INPUTS) {
            (false, _) => unheard(setup, stop),
            (true, false) => heard(setup, sink, stop),
            (true, true) => heard_with_inputs(setup, sink, stop),
        }
    }
}
