//! A policy that a program brings along, which uses wakelab as a library. docs/extending.md adds one.

use super::about::{About, Recorded, Switch};
use super::{HookContext, HookTask, HookView, Hooks, Plan, PolicyState, SearchContext, SearchPolicy, Verdict};
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;
use crate::select::SearchView;
use crate::select::decision::{Decision, Effects};
use std::any::Any;
use std::fmt::Debug;
use std::sync::OnceLock;
use wakelab_kernel::{Feature, OwnFeature, OwnFeatureError, add_own};

/// A search policy of a program's own: a [`SearchPolicy`] that may have data and is called through a pointer. It comes
/// after all others, and is not called if one of them ended the search.
///
/// What it keeps between searches is an [`OwnState`] of each LLC and of each CPU, which its hooks change and its search
/// reads with [`PolicyStates::llc::<Own>`](super::PolicyStates::llc) and [`cpu::<Own>`](super::PolicyStates::cpu). The
/// policy's own data must not change.
///
/// Its debug text describes it: finished runs are kept under that text, so that it has to contain all data on which a
/// decision depends. `#[derive(Debug)]` does that, unless such data is in a file or behind a pointer to a function.
pub trait OwnPolicy: Debug + Sync {
    /// The feature that switches the policy.
    fn feature(&self) -> OwnFeature;

    /// Called once before the scan, as [`SearchPolicy::before_scan`] is.
    fn before_scan(
        &self,
        cx: &SearchContext<'_>,
        view: &dyn SearchView,
        plan: &mut Plan,
        effects: &mut Effects,
    ) -> Verdict;

    /// Called once after the scan, when [`SearchPolicy::after_scan`] is.
    fn after_scan(&self, _cx: &SearchContext<'_>, _view: &dyn SearchView, _plan: &Plan, _effects: &mut Effects) {}

    /// Called with the CPU at which the scan ended, when [`SearchPolicy::scan_ended`] is.
    fn scan_ended(&self, _cx: &SearchContext<'_>, _last: Option<Cpu>, _effects: &mut Effects) {}

    /// The hooks that the policy has. The others are not called.
    fn hooks(&self) -> Hooks {
        Hooks::empty()
    }

    /// Its state of an LLC, of which `cpu` is one of the CPUs, when the domains are built.
    fn llc_state(&self, _domains: &SchedDomains, _cpu: Cpu) -> OwnState {
        OwnState::default()
    }

    /// Its state of a CPU when the domains are built.
    fn cpu_state(&self, _domains: &SchedDomains, _cpu: Cpu) -> OwnState {
        OwnState::default()
    }

    /// Called at the end of `scheduler_tick()`, before the balance softirq.
    fn on_tick(&self, _cx: &HookContext<'_>, _view: &dyn HookView, _llc: &mut OwnState, _cpu: &mut OwnState) {}

    /// Called when the idle task has been picked.
    fn on_idle(&self, _cx: &HookContext<'_>, _view: &dyn HookView, _llc: &mut OwnState, _cpu: &mut OwnState) {}

    /// Called when another task has been picked on an idle CPU.
    fn on_busy(&self, _cx: &HookContext<'_>, _view: &dyn HookView, _llc: &mut OwnState, _cpu: &mut OwnState) {}

    /// Called when a task has been enqueued.
    fn on_enqueue(
        &self,
        _cx: &HookContext<'_>,
        _view: &dyn HookView,
        _task: HookTask,
        _llc: &mut OwnState,
        _cpu: &mut OwnState,
    ) {
    }

    /// Called when a task has left the run queue.
    fn on_dequeue(
        &self,
        _cx: &HookContext<'_>,
        _view: &dyn HookView,
        _task: HookTask,
        _llc: &mut OwnState,
        _cpu: &mut OwnState,
    ) {
    }

    /// Called when a search has ended, with the states of the target and its LLC.
    fn on_decision(&self, _cx: &HookContext<'_>, _decision: &Decision, _llc: &mut OwnState, _cpu: &mut OwnState) {}
}

/// The state that a program's own policy keeps of an LLC or a CPU: a value of any type that can be cloned and
/// compared, or nothing.
#[derive(Debug, Default)]
pub struct OwnState(Option<Box<dyn Value>>);

impl OwnState {
    /// A state with this value.
    pub fn new<T: Clone + Debug + PartialEq + Send + Sync + 'static>(value: T) -> Self {
        OwnState(Some(Box::new(value)))
    }

    /// The value.
    ///
    /// # Panics
    /// If the state was made with another type.
    pub fn get<T: 'static>(&self) -> &T {
        let value = self.0.as_ref().and_then(|value| value.as_any().downcast_ref());
        value.expect("the policy has made the state with this type")
    }

    /// The value, to be changed.
    ///
    /// # Panics
    /// If the state was made with another type.
    pub fn get_mut<T: 'static>(&mut self) -> &mut T {
        let value = self.0.as_mut().and_then(|value| value.as_any_mut().downcast_mut());
        value.expect("the policy has made the state with this type")
    }
}

impl Clone for OwnState {
    fn clone(&self) -> Self {
        OwnState(self.0.as_ref().map(|value| value.boxed()))
    }
}

impl PartialEq for OwnState {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.equals(b.as_any()),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

impl PolicyState for OwnState {
    fn new(_: &SchedDomains, _: Cpu) -> Self {
        OwnState::default()
    }
}

/// A value whose type is known to the policy alone.
trait Value: Debug + Send + Sync {
    fn boxed(&self) -> Box<dyn Value>;
    fn equals(&self, other: &dyn Any) -> bool;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Clone + Debug + PartialEq + Send + Sync + 'static> Value for T {
    fn boxed(&self) -> Box<dyn Value> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

static POLICY: OnceLock<&'static dyn OwnPolicy> = OnceLock::new();

/// Adds a policy, once in a program, before any switch is read. Adding the same policy again changes nothing.
///
/// # Errors
/// If its name cannot be that of a feature or is taken, or if there is another policy already, even one of the same
/// name.
pub fn register(policy: &'static dyn OwnPolicy) -> Result<(), OwnFeatureError> {
    let feature = policy.feature();
    add_own(feature)?;
    let first = *POLICY.get_or_init(|| policy);
    // Two policies without data can have one address: then their texts tell them apart.
    let same = std::ptr::addr_eq(first, policy) && format!("{first:?}") == format!("{policy:?}");
    if same { Ok(()) } else { Err(OwnFeatureError::Second(feature.name)) }
}

/// The policy that was registered; `None` if there is none.
pub fn registered() -> Option<&'static dyn OwnPolicy> {
    POLICY.get().copied()
}

/// The policy that was registered, if one was, as a member of the registry.
#[derive(Debug)]
pub struct Own;

impl SearchPolicy for Own {
    const FEATURE: Feature = Feature::OWN;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::OWN,
            does: "what the program that adds it declares",
            recorded: Recorded::Not("what only its program knows"),
        }],
        tunables: &[],
    };

    type LlcState = OwnState;
    type CpuState = OwnState;

    #[inline]
    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, effects: &mut Effects) -> Verdict {
        registered().map_or(Verdict::Scan, |own| own.before_scan(cx, view, plan, effects))
    }

    #[inline]
    fn after_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &Plan, effects: &mut Effects) {
        if let Some(own) = registered() {
            own.after_scan(cx, view, plan, effects);
        }
    }

    #[inline]
    fn scan_ended(cx: &SearchContext<'_>, last: Option<Cpu>, effects: &mut Effects) {
        if let Some(own) = registered() {
            own.scan_ended(cx, last, effects);
        }
    }

    fn hooks() -> Hooks {
        registered().map_or(Hooks::empty(), OwnPolicy::hooks)
    }

    fn llc_state(domains: &SchedDomains, cpu: Cpu) -> OwnState {
        registered().map_or_else(OwnState::default, |own| own.llc_state(domains, cpu))
    }

    fn cpu_state(domains: &SchedDomains, cpu: Cpu) -> OwnState {
        registered().map_or_else(OwnState::default, |own| own.cpu_state(domains, cpu))
    }

    fn on_tick(cx: &HookContext<'_>, view: &impl HookView, llc: &mut OwnState, cpu: &mut OwnState) {
        if let Some(own) = registered() {
            own.on_tick(cx, view, llc, cpu);
        }
    }

    fn on_idle(cx: &HookContext<'_>, view: &impl HookView, llc: &mut OwnState, cpu: &mut OwnState) {
        if let Some(own) = registered() {
            own.on_idle(cx, view, llc, cpu);
        }
    }

    fn on_busy(cx: &HookContext<'_>, view: &impl HookView, llc: &mut OwnState, cpu: &mut OwnState) {
        if let Some(own) = registered() {
            own.on_busy(cx, view, llc, cpu);
        }
    }

    fn on_enqueue(cx: &HookContext<'_>, view: &impl HookView, task: HookTask, llc: &mut OwnState, cpu: &mut OwnState) {
        if let Some(own) = registered() {
            own.on_enqueue(cx, view, task, llc, cpu);
        }
    }

    fn on_dequeue(cx: &HookContext<'_>, view: &impl HookView, task: HookTask, llc: &mut OwnState, cpu: &mut OwnState) {
        if let Some(own) = registered() {
            own.on_dequeue(cx, view, task, llc, cpu);
        }
    }

    fn on_decision(cx: &HookContext<'_>, decision: &Decision, llc: &mut OwnState, cpu: &mut OwnState) {
        if let Some(own) = registered() {
            own.on_decision(cx, decision, llc, cpu);
        }
    }
}
