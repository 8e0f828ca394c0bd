//! wakelab for Python: the native module `wakelab._wakelab`. Its package (`crates/python/wakelab`) makes arguments of
//! what it is called with, and objects of what comes out.
//!
//! It may use `cli`, as a library, and pyo3. It has no numbers other than the program's, starts no process but for a
//! cluster that is asked for, prints nothing, and handles no signal.

mod policy;
mod table;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::time::Duration;
use wakelab_cli::in_process::{Call, Ended, Said};

/// How often the thread that waits looks for signals, and tells how far the command is.
const LOOK: Duration = Duration::from_millis(50);
/// How long a command that is stopped is waited for. What takes longer ends without anybody waiting.
const STOP: Duration = Duration::from_millis(500);

/// What came of a command: its exit code or nothing, stdout, and what it says, each with its kind.
type Outcome = (Option<u8>, Py<PyBytes>, Vec<(&'static str, String)>);

/// Runs a command of the program: its arguments, as a page shows it, and the file of this module. Other Python threads
/// run meanwhile. `progress` is called with what is done, all, and what is being done.
#[pyfunction]
#[pyo3(signature = (args, command, library, progress=None))]
fn run(
    py: Python<'_>,
    args: Vec<String>,
    command: String,
    library: PathBuf,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let call = Call::begin(args, command, library).map_err(|error| PyOSError::new_err(error.to_string()))?;
    loop {
        let ended = py.detach(|| call.wait(LOOK));
        let told = || -> PyResult<()> {
            py.check_signals()?;
            if let (Some(progress), Some(done)) = (&progress, call.progress()) {
                progress.call1((done.done, done.all, done.what))?;
            }
            Ok(())
        }();
        if let Err(error) = told {
            call.stop();
            py.detach(|| call.wait(STOP));
            return Err(error);
        }
        if let Some(Ended { exit, out, said }) = ended {
            if let (None, Some(error)) = (exit, policy::raised()) {
                return Err(error);
            }
            let said = said.into_iter().map(|said| match said {
                Said::Error(text) => ("error", text),
                Said::Warning(text) => ("warning", text),
                Said::Note(text) => ("note", text),
            });
            return Ok((exit, PyBytes::new(py, &out).unbind(), said.collect()));
        }
    }
}

/// Makes TOML of JSON text.
#[pyfunction]
fn toml(json: &str) -> PyResult<String> {
    let value: serde_json::Value = serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    ::toml::to_string(&value).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// The native part of wakelab.
#[pymodule]
mod _wakelab {
    #[pymodule_export]
    use super::policy::{Search, set_policy};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::{run, toml};
}
