//! The first signal ends every command, whatever it does, and it leaves nothing behind.
#![cfg(target_os = "linux")]

use crate::inputs_survive::{LINES, Names, commands, files_of, flag, inputs, names_of};
use crate::interrupt::until_it_simulates;
use crate::support::names;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Commands that do nothing for long, and read no file that somebody names.
const SHORT: [&str; 12] = [
    "list",
    "docs",
    "demo",
    "doctor",
    "completions",
    "man",
    "playground",
    "kernel list",
    "kernel show",
    "machine list",
    "workload list",
    "measure-part",
];

/// Commands that read a file of a name, besides those with outputs.
const READERS: [(&str, &str); 4] = [
    ("machine show", "./m.toml"),
    ("workload show", "./w.toml"),
    ("report open", "a.json"),
    ("machine import", "--sysfs sys"),
];

/// Commands that would compute for hours.
const ENDLESS: &[(&str, &str)] = &[
    (
        "compare",
        "--machine test-2c --kernel v6.12 --workload netperf:TCP_RR --load 2 --base SIS_UTIL --with NO_SIS_UTIL \
         --time 3600s --html page.html --out table --events ev --perfetto traces --no-cache",
    ),
    ("run", "quickstart --repeat 1000 --no-cache --out table --html page.html"),
    ("score", "search --with NO_SIS_UTIL --no-cache --out table"),
    ("survey", "--machine test-8c --kernel v6.12 --repeat 100 --no-cache --out table --html page.html"),
    ("scx-check", "s.bpf.o --machine test-8c --budget 1000000"),
    ("sweep", "migration-cost --no-cache --out sweep"),
    ("reproduce", "--no-cache"),
    ("fit", "--observed tables/t ./c.toml --budget 100000 --no-cache --out new.toml"),
    ("calibrate", "--time 1h --out new.toml"),
    ("whatif", "run --with NO_SIS_UTIL --time 3600s --no-cache --out table --html page.html --workload new.toml"),
];

/// What a command may leave that was interrupted: the folder of a sweep, which goes on later, and the workload that was
/// whole before anything was simulated.
const LEFT: [&str; 2] = ["sweep", "new.toml"];

/// Begins a command, with a folder for temporary files below `at`.
fn begin(at: &Path, words: &[String]) -> Child {
    fs::create_dir_all(at.join("tmp")).expect("a folder");
    // The tests may run where signals are ignored.
    Command::new("env")
        .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_wakelab")])
        .args(words)
        .current_dir(at)
        .env("TMPDIR", at.join("tmp"))
        .env("XDG_CACHE_HOME", at.join("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs")
}

fn terminate(child: Child) -> Output {
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    child.wait_with_output().expect("it ends")
}

fn words(command: &str, line: &str) -> Vec<String> {
    format!("{command} {line}").split_whitespace().map(str::to_owned).collect()
}

/// Fails unless the command ended by the signal, and left nothing.
fn ended(at: &Path, before: &[String], words: &[String], output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{words:?}: {said}");
    assert_eq!(names(&at.join("tmp")), [""; 0], "{words:?} left temporary files");
    let left: Vec<String> = names(at).into_iter().filter(|name| !before.contains(name)).collect();
    let others: Vec<&String> = left.iter().filter(|name| !LEFT.contains(&&***name)).collect();
    assert!(others.is_empty(), "{words:?} left {others:?}");
}

#[test]
fn every_command_is_interrupted_here_or_short() {
    for (command, args) in commands() {
        let here = [LINES.iter().any(|line| line.0 == command), READERS.iter().any(|line| line.0 == command)];
        let reads = args.iter().any(|arg| names_of(&command, arg) == Names::Input);
        assert!(!reads || here.contains(&true), "{command}: it reads files, and is not interrupted here");
        let is_endless = ENDLESS.iter().any(|line| line.0 == command);
        assert!(reads || is_endless || SHORT.contains(&&*command), "{command}: say here how it is interrupted");
    }
}

/// Each input in turn is a pipe that somebody has opened, and never writes to.
#[test]
fn a_signal_ends_every_command_that_waits_for_an_input() {
    let folder = inputs();
    let at = folder.path();
    let all = commands();
    let lines = LINES.iter().copied().chain(READERS.map(|(command, line)| (command, line, &[][..])));
    let (mut waited, mut refused) = (0, 0);
    for (command, line, besides) in lines {
        let mut words = words(command, line);
        for output in &all[command] {
            let is_output = matches!(names_of(command, output), Names::Output | Names::OutputFolder);
            if is_output && output.is_required_set() {
                words.extend([flag(output).expect("a flag"), "new".to_owned()]);
            }
        }
        for file in files_of(at, line, besides) {
            let kept = at.join("tmp-kept");
            fs::rename(&file, &kept).expect("moved");
            assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo").success());
            fs::create_dir_all(at.join("tmp")).expect("a folder");
            fs::create_dir_all(at.join("cache")).expect("a folder");
            let before = names(at);
            let mut child = begin(at, &words);
            // Opens only when somebody reads.
            let writer = loop {
                const O_NONBLOCK: i32 = 0o4000;
                match fs::File::options().write(true).custom_flags(O_NONBLOCK).open(&file) {
                    Ok(writer) => break Some(writer),
                    Err(_) if child.try_wait().expect("a child").is_some() => break None,
                    Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
                }
            };
            if writer.is_some() && child.try_wait().expect("a child").is_none() {
                let output = terminate(child);
                // It may have refused the pipe meanwhile.
                match output.status.code() {
                    Some(2) => refused += 1,
                    _ => ended(at, &before, &words, &output),
                }
                waited += 1;
            } else {
                let output = child.wait_with_output().expect("it ended");
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(2), "{words:?} with a pipe at {}: {said}", file.display());
                refused += 1;
            }
            drop(writer);
            fs::rename(&kept, &file).expect("moved back");
        }
    }
    assert!(waited > 20 && refused > 5, "{waited} waited, {refused} were refused");
}

#[test]
fn a_signal_ends_every_command_that_computes() {
    for &(command, line) in ENDLESS {
        let folder = inputs();
        let at = folder.path();
        let words = words(command, line);
        fs::create_dir_all(at.join("tmp")).expect("a folder");
        fs::create_dir_all(at.join("cache")).expect("a folder");
        let before = names(at);
        let child = begin(at, &words);
        until_it_simulates(&child);
        ended(at, &before, &words, &terminate(child));
    }
}

/// Some CPU time of a command; `None` if it has ended.
fn ticks(child: &Child) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    (fields.next() != Some("Z")).then(|| fields.nth(10)?.parse().ok()).flatten()
}

/// A user may have one process only: no command can make a thread.
#[test]
fn no_command_panics_where_no_thread_can_be_made() {
    const ENOUGH: u64 = 30;
    let folder = inputs();
    let at = folder.path();
    let open = "chmod -R a+rwX .";
    assert!(Command::new("sh").args(["-c", open]).current_dir(at).status().expect("a shell").success());
    let all = commands();
    // Root may have any number.
    let user: &[&str] = match fs::metadata("/proc/self").map(|data| std::os::unix::fs::MetadataExt::uid(&data)) {
        Ok(0) => &["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"],
        _ => &["env"],
    };
    let limited = |words: &[String]| {
        let mut command = Command::new(user[0]);
        command.args(&user[1..]).args(["prlimit", "--nproc=1"]).args(words).current_dir(at);
        command.env("TMPDIR", at).env("XDG_CACHE_HOME", at.join("cache")).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped()).spawn()
    };
    let program = env!("CARGO_BIN_EXE_wakelab").to_owned();
    let works = limited(&[program.clone(), "list".to_owned()]).map(|child| child.wait_with_output());
    if !matches!(works, Ok(Ok(output)) if output.status.success()) {
        eprintln!("not run: no process can be limited here");
        return;
    }
    for &(command, line, _) in LINES {
        let mut words = [vec![program.clone()], words(command, line)].concat();
        for output in &all[command] {
            let is_output = matches!(names_of(command, output), Names::Output | Names::OutputFolder);
            if is_output && output.is_required_set() {
                words.extend([flag(output).expect("a flag"), format!("new-{command}")]);
            }
        }
        let mut child = limited(&words).expect("it runs");
        while child.try_wait().expect("a child").is_none() {
            if ticks(&child).is_none_or(|ticks| ticks > ENOUGH) {
                let _ = child.kill();
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let output = child.wait_with_output().expect("it ended");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked") && output.status.code() != Some(101), "{words:?}: {said}");
    }
}
