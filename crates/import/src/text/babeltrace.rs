//! CTF traces, which babeltrace2 turns into text.

use super::read;
use crate::event::{Event, Losses};
use crate::trace_info::TraceInfo;
use crate::{ImportError, Kind};
use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use wakelab_input::files;

/// The program, which is in a package of the same name.
pub(crate) const PROGRAM: &str = "babeltrace2";
/// How deep a trace may be in the folders of an LTTng session (`session/kernel/metadata`).
const MAX_DEPTH: usize = 4;
/// How much of the metadata is read, bytes, and how many bytes of messages of the program are kept.
const MOST_METADATA: u64 = 16 << 20;
const MOST_MESSAGES: usize = 1 << 16;

/// Whether a folder is a CTF trace, or has one in it: a file `metadata`, whose first bytes are those of CTF.
pub(crate) fn is_trace(folder: &Path) -> bool {
    metadata(folder, MAX_DEPTH).is_some()
}

/// The first part of the metadata of the first trace in a folder.
fn metadata(folder: &Path, depth: usize) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    // Text begins with `/* CTF 1.8 */`, packets with a number in the byte order of the machine.
    let begins = [&b"/* CTF"[..], &MAGIC.to_le_bytes(), &MAGIC.to_be_bytes()];
    if let Ok(file) = files::open_file(&folder.join("metadata"))
        && file.take(MOST_METADATA).read_to_end(&mut start).is_ok()
        && begins.iter().any(|begin| start.starts_with(begin))
    {
        return Some(start);
    }
    if depth == 0 {
        return None;
    }
    let mut folders: Vec<_> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.iter().filter(|path| path.is_dir()).find_map(|path| metadata(path, depth - 1))
}

const MAGIC: u32 = 0x75d1_1d57;

/// Calls `each` with every event that babeltrace2 prints of the trace, which it merges by time.
pub(crate) fn read_folder(
    program: &Path,
    path: &Path,
    info: &RefCell<TraceInfo>,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    info.borrow_mut().format = Some(Kind::Ctf.name());
    if let Some(metadata) = metadata(path, MAX_DEPTH) {
        environment(&String::from_utf8_lossy(&metadata), &mut info.borrow_mut());
    }
    // The program reads the streams beside it.
    files::note_folder(path, &[("", "")]);
    let started = Command::new(program)
        .args(["--clock-seconds", "--no-delta", "--color=never"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut program = match started {
        Ok(program) => program,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Err(ImportError::new(path, "reading a CTF trace needs babeltrace2, which was not found")
                .with_hint("install the package babeltrace2 (its name in Debian, Ubuntu, Fedora and Arch Linux)"));
        }
        Err(e) => return Err(ImportError::new(path, format!("{PROGRAM} cannot be started: {e}"))),
    };
    let (Some(output), Some(errors)) = (program.stdout.take(), program.stderr.take()) else {
        return Err(ImportError::new(path, format!("{PROGRAM} cannot be read")));
    };
    let messages = match thread::Builder::new().spawn(move || messages(errors)) {
        Ok(messages) => messages,
        Err(error) => {
            let _ = program.kill();
            let _ = program.wait();
            let what = format!("the system cannot start a thread to read the messages of {PROGRAM}: {error}");
            return Err(ImportError::new(path, what).with_hint("raise the limit (ulimit -u, pids.max)"));
        }
    };
    let result = read(path, BufReader::with_capacity(1 << 18, output), info, each);
    if result.is_err() {
        // It may be waiting for its output to be read.
        let _ = program.kill();
    }
    let status = program.wait().map_err(|e| ImportError::new(path, e.to_string()))?;
    let (messages, lost) = messages.join().unwrap_or_default();
    if !status.success() && (result.is_ok() || status.code().is_some()) {
        let last = messages.lines().rfind(|line| line.contains("ERROR") || line.contains("error")).unwrap_or_default();
        let what = format!("{PROGRAM} failed ({status}): {}", last.trim());
        return Err(ImportError::new(path, what).with_hint(format!("`{PROGRAM} {}` says more", path.display())));
    }
    result.map(|losses| Losses { lost: losses.lost.saturating_add(lost), ..losses })
}

/// The program's messages, and how many events it says the tracer discarded.
fn messages(errors: impl Read) -> (String, u64) {
    let (mut kept, mut lost) = (String::new(), 0_u64);
    for line in BufReader::new(errors).lines().map_while(Result::ok) {
        // `WARNING: Tracer discarded 12 events between …`; without a number if it is not known.
        if let Some((_, discarded)) = line.split_once("racer discarded ")
            && discarded.contains("event")
        {
            let number = discarded.split(' ').next().and_then(|number| number.parse().ok());
            lost = lost.saturating_add(number.unwrap_or(1));
        }
        if kept.len() < MOST_MESSAGES {
            kept += &line;
            kept.push('\n');
        }
    }
    (kept, lost)
}

/// The `env` of the metadata: `hostname = "box"; kernel_release = "6.1.0"; …`.
fn environment(metadata: &str, info: &mut TraceInfo) {
    let value = |key: &str| {
        let value = metadata.split_once(&format!("{key} = \""))?.1.split_once('"')?.0;
        Some(value.to_owned()).filter(|value| !value.is_empty() && value.len() <= 256)
    };
    // LTTng and perf differ in their names.
    info.release = value("kernel_release").or_else(|| value("\trelease"));
    info.arch = value("architecture_name").or_else(|| value("machine"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discarded_events_are_counted_from_the_messages() {
        let text = "WARNING: Tracer discarded 12 events between [00:00:01] and [00:00:02] in trace x\n\
                    WARNING: Tracer may have discarded events between [1] and [2]\nTracer discarded 3 events\nother\n";
        assert_eq!(messages(text.as_bytes()).1, 15);
    }

    #[test]
    fn the_kernel_is_in_the_environment() {
        let mut info = TraceInfo::default();
        environment("/* CTF 1.8 */\nenv {\n\thostname = \"box\";\n\tkernel_release = \"6.1.0\";\n};", &mut info);
        assert_eq!((info.release.as_deref(), info.arch), (Some("6.1.0"), None));
    }
}
