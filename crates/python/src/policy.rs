//! A search policy whose decisions a Python function makes: for teaching, as each search waits for the interpreter.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;
use wakelab_kernel::OwnFeature;
use wakelab_sched::CpuMask;
use wakelab_sched::select::policy::{OwnPolicy, Plan, SearchContext, Verdict, register};
use wakelab_sched::select::{Effects, SearchView};

/// The feature that switches the policy. A program has one policy of its own, and its name stays.
const NAME: &str = "SIS_PYTHON";

/// The function that decides, if one was given.
static DECIDES: Mutex<Option<Py<PyAny>>> = Mutex::new(None);
/// The first exception of the function since it was last looked for.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);
/// How often a function was given.
static GENERATION: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy)]
struct PythonPolicy {
    /// Of this process.
    began: SystemTime,
}

/// Runs are kept under this text. What a function decides by is not known, so that it differs for each function and
/// process.
impl fmt::Debug for PythonPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generation = GENERATION.load(Ordering::Relaxed);
        write!(f, "PythonPolicy({}, {:?}, {generation})", std::process::id(), self.began)
    }
}

impl OwnPolicy for PythonPolicy {
    fn feature(&self) -> OwnFeature {
        OwnFeature { name: NAME, doc: "Let a Python function decide how to scan.", source: "the caller of the package" }
    }

    fn before_scan(&self, cx: &SearchContext<'_>, view: &dyn SearchView, plan: &mut Plan, _: &mut Effects) -> Verdict {
        // Nothing is decided when the interpreter ends.
        let decided = Python::try_attach(|py| decide(py, cx, view, plan));
        match decided {
            Some(Ok(verdict)) => verdict,
            Some(Err(error)) => {
                lock(&RAISED).get_or_insert(error);
                // The run ends as from a panic, without a message; the exception is what its caller sees.
                std::panic::resume_unwind(Box::new(NAME));
            }
            None => std::panic::resume_unwind(Box::new(NAME)),
        }
    }
}

/// A search, as a policy sees it when it begins.
#[pyclass(frozen, get_all, module = "wakelab._wakelab")]
pub struct Search {
    /// The CPU around which the search is made.
    target: u32,
    /// The CPU of the waking task.
    waker_cpu: u32,
    /// The CPU on which the wakee ran last.
    prev_cpu: u32,
    /// The CPUs of the target's LLC that the wakee may use.
    cpus: Vec<u32>,
    /// Those of them that are idle now. A kernel would have to probe them to know.
    idle: Vec<u32>,
    /// Whether the scan is for an idle core; it then has no limit.
    has_idle_core: bool,
    /// How many CPUs the scan may probe as the kernel's own policies have it; `None` for no limit.
    limit: Option<i32>,
}

fn decide(py: Python<'_>, cx: &SearchContext<'_>, view: &dyn SearchView, plan: &mut Plan) -> PyResult<Verdict> {
    let function = lock(&DECIDES).as_ref().map(|function| function.clone_ref(py));
    let function = function.ok_or_else(|| {
        PyRuntimeError::new_err(format!("{NAME}: no function was given; call wakelab.policy() first"))
    })?;
    let cpus: Vec<u32> = cx.sd.span.iter().filter(|&cpu| cx.wakeup.wakee.cpus_ptr.test(cpu)).collect();
    let search = Search {
        target: cx.target,
        waker_cpu: cx.wakeup.waker.cpu,
        prev_cpu: cx.wakeup.wakee.prev_cpu,
        idle: cpus.iter().copied().filter(|&cpu| view.available_idle_cpu(cpu)).collect(),
        has_idle_core: cx.has_idle_core,
        limit: (plan.nr != i32::MAX).then(|| plan.nr - 1),
        cpus: cpus.clone(),
    };
    let answer = function.call1(py, (search,))?.into_bound(py);
    if answer.is_none() {
        return Ok(Verdict::Scan);
    }
    let wrong = || {
        let expected =
            "expected None, the number of CPUs to probe, or a list of CPUs to probe, all among the search's cpus";
        PyValueError::new_err(format!("{NAME}: {expected}; found {answer}"))
    };
    if let (Ok(probes), false) = (answer.extract::<i32>(), answer.is_instance_of::<pyo3::types::PyBool>()) {
        return match probes {
            0 => Ok(Verdict::Overloaded),
            // The scan counts down before it probes.
            1.. if probes < i32::MAX => {
                plan.nr = probes + 1;
                Ok(Verdict::Scan)
            }
            _ => Err(wrong()),
        };
    }
    let only: Vec<u32> = answer.extract().map_err(|_| wrong())?;
    if only.iter().any(|cpu| !cpus.contains(cpu)) {
        return Err(wrong());
    }
    plan.restrict_to(&CpuMask::from_cpus(cx.rules.domains.nr_cpus, only));
    Ok(Verdict::Scan)
}

/// Gives the function that decides. `SIS_PYTHON` is a switch from then on.
#[pyfunction]
pub fn set_policy(function: Py<PyAny>) -> PyResult<()> {
    static REGISTERED: OnceLock<Result<(), String>> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        let policy: &'static PythonPolicy = Box::leak(Box::new(PythonPolicy { began: SystemTime::now() }));
        register(policy).map_err(|error| error.to_string())
    });
    registered.clone().map_err(PyRuntimeError::new_err)?;
    GENERATION.fetch_add(1, Ordering::Relaxed);
    *lock(&DECIDES) = Some(function);
    Ok(())
}

/// The exception that has ended a run, if one has.
pub fn raised() -> Option<PyErr> {
    lock(&RAISED).take()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
