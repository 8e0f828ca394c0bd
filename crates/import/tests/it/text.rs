//! Text traces: what other programs print of the same events, and what users do to such files.

use crate::real_files::{PERF_DATA, PERF_TEXT, TRACE_DAT, TRACE_TEXT, events};
use flate2::Compression;
use flate2::read::ZlibEncoder;
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use wakelab_events::stream::{ImportCounts, Names, Source, Switch, Switches, Tables, Wake, Wakes};
use wakelab_import::{
    BadLines, Event, EventKind, ImportError, Imported, Kind, KnownMachine, Losses, WhyBad, import, read_ctf,
    read_events,
};
use wakelab_testing::recorder_files::{gunzip, gzip, perfetto};

/// Reads a text; its events, without the names in the column of the task, which other formats do not have, and what it
/// lost.
fn read(text: &str) -> Result<(Vec<Event>, Losses), ImportError> {
    let mut events = Vec::new();
    let losses = read_events(Kind::Text, text.as_bytes(), &mut |event| {
        events.push(Event { comm: String::new(), ..event });
        Ok(())
    })?;
    Ok((events, losses))
}

/// How events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// tracefs since 5.9, with and without the thread group.
    Tracefs,
    TracefsTgid,
    /// tracefs from 4.13 to 5.8, with the thread group.
    TracefsOldTgid,
    /// `trace-cmd report`, plain and with libtraceevent's plugin.
    TraceCmd,
    TraceCmdPlugin,
    Perf,
    Babeltrace,
}

const FORMS: [Form; 7] = [
    Form::Tracefs,
    Form::TracefsTgid,
    Form::TracefsOldTgid,
    Form::TraceCmd,
    Form::TraceCmdPlugin,
    Form::Perf,
    Form::Babeltrace,
];

/// A line as the program writes it.
fn line(event: &Event, form: Form) -> String {
    let Event { t_ns, cpu, pid, kind, .. } = event;
    let (name, fields) = if form == Form::Babeltrace { ctf_fields(kind) } else { kernel_fields(kind, form) };
    let time = format!("{}.{:09}", t_ns / 1_000_000_000, t_ns % 1_000_000_000);
    let pid = pid.unwrap_or(0);
    match form {
        Form::Tracefs => format!("  a task:1 -{pid:<7} [{cpu:03}] dN.2. {time}: {name}: {fields}"),
        Form::TracefsTgid => format!("           <...>-{pid:<5} (-----) [{cpu:03}] d..2 {time}: {name}: {fields}"),
        Form::TracefsOldTgid => format!("           <...>-{pid:<5} [{cpu:03}] ({pid:5}) d..2 {time}: {name}: {fields}"),
        Form::TraceCmd | Form::TraceCmdPlugin => {
            format!("          <idle>-{pid:<5} [{cpu:03}] {time}: {name}:{:9}{fields}", "")
        }
        Form::Perf => {
            let system = if name.starts_with("sched") { "sched" } else { "power" };
            format!("{:>16} {pid:5} [{cpu:03}] {time}: {:>24}: {fields}", "a task:1 [x]", format!("{system}:{name}"))
        }
        Form::Babeltrace => {
            let name = name.replace("cpu_", "power_cpu_");
            format!("[{time}] box {name}: {{ cpu_id = {cpu} }}, {{ pid = 1, tid = {pid} }}, {{ {fields} }}")
        }
    }
}

fn kernel_fields(kind: &EventKind, form: Form) -> (&'static str, String) {
    match kind {
        EventKind::Switch { prev_pid, prev_comm, prev_sleeps, next_pid, next_comm } => {
            let state = if *prev_sleeps { "S" } else { "R+" };
            let text = match form {
                Form::TraceCmdPlugin => {
                    format!("{prev_comm}:{prev_pid} [120] {} ==> {next_comm}:{next_pid} [120]", &state[..1])
                }
                _ => format!(
                    "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio=120 prev_state={state} ==> \
                     next_comm={next_comm} next_pid={next_pid} next_prio=120"
                ),
            };
            ("sched_switch", text)
        }
        EventKind::Waking { pid, comm, prev_cpu } => {
            ("sched_waking", format!("comm={comm} pid={pid} prio=120 target_cpu={:03}", prev_cpu.expect("known")))
        }
        EventKind::Woken { pid, comm, dest_cpu, new } => {
            let cpu = dest_cpu.expect("known");
            let text = match form {
                Form::TraceCmdPlugin => format!("{comm}:{pid} [120]<CANT FIND FIELD success> CPU:{cpu:03}"),
                Form::TracefsTgid => format!("comm={comm} pid={pid} prio=120 success=1 target_cpu={cpu:03}"),
                _ => format!("comm={comm} pid={pid} prio=120 target_cpu={cpu:03}"),
            };
            (if *new { "sched_wakeup_new" } else { "sched_wakeup" }, text)
        }
        EventKind::Migrate { pid, comm, from_cpu, to_cpu } => {
            ("sched_migrate_task", format!("comm={comm} pid={pid} prio=120 orig_cpu={from_cpu} dest_cpu={to_cpu}"))
        }
        EventKind::Idle { cpu, state } => {
            ("cpu_idle", format!("state={} cpu_id={cpu}", state.map_or(u32::MAX, |state| state as u32)))
        }
        EventKind::Frequency { cpu, khz } => ("cpu_frequency", format!("state={khz} cpu_id={cpu}")),
    }
}

fn ctf_fields(kind: &EventKind) -> (&'static str, String) {
    let quoted = |comm: &str| format!("\"{}\"", comm.replace('\\', "\\\\").replace('"', "\\\""));
    match kind {
        EventKind::Switch { prev_pid, prev_comm, prev_sleeps, next_pid, next_comm } => {
            let (prev, next, state) = (quoted(prev_comm), quoted(next_comm), i32::from(*prev_sleeps));
            let before = format!("prev_comm = {prev}, prev_tid = {prev_pid}, prev_prio = 20, prev_state = {state}, ");
            ("sched_switch", format!("{before}next_comm = {next}, next_tid = {next_pid}, next_prio = 20"))
        }
        EventKind::Waking { pid, comm, prev_cpu: cpu } | EventKind::Woken { pid, comm, dest_cpu: cpu, .. } => {
            let (name, _) = kernel_fields(kind, Form::Tracefs);
            let comm = quoted(comm);
            (name, format!("comm = {comm}, tid = {pid}, prio = 20, target_cpu = {}", cpu.expect("known")))
        }
        EventKind::Migrate { pid, comm, from_cpu, to_cpu } => {
            let comm = quoted(comm);
            let cpus = format!("orig_cpu = {from_cpu}, dest_cpu = {to_cpu}");
            ("sched_migrate_task", format!("comm = {comm}, tid = {pid}, prio = 20, {cpus}"))
        }
        EventKind::Idle { cpu, state } => {
            let state = state.map_or(u32::MAX, |state| state as u32);
            ("cpu_idle", format!("state = {state}, cpu_id = {cpu}"))
        }
        EventKind::Frequency { cpu, khz } => ("cpu_frequency", format!("state = {khz}, cpu_id = {cpu}")),
    }
}

fn text(events: &[Event], form: Form) -> String {
    events.iter().fold(String::new(), |mut text, event| {
        let _ = writeln!(text, "{}", line(event, form));
        text
    })
}

/// The wake-ups and switches of an import, and what was imported.
fn imported(files: &[(&str, &[u8])]) -> Result<(Vec<Wake>, Vec<Switch>, Imported), ImportError> {
    let folder = tempfile::tempdir().expect("a folder");
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
    for (path, (_, bytes)) in paths.iter().zip(files) {
        fs::write(path, bytes).expect("written");
    }
    let to = folder.path().join("rec");
    let found = import(&paths, None, &to, &|_, _| {}, &AtomicBool::new(false))?;
    let sources = Source::at(&to).expect("a recording");
    let [Source::Recorded(tables)] = &sources[..] else { panic!("{sources:?}") };
    let mut wakes = Wakes::recorded(tables);
    let wakes = std::iter::from_fn(|| wakes.next_wake().expect("read")).collect();
    let mut switches = Switches::new(tables.switches.clone());
    let switches = std::iter::from_fn(|| switches.next_switch().expect("read")).collect();
    Ok((wakes, switches, found))
}

/// Wake-ups without the names of wakers: which are in columns, and in lists beside the events, differs.
fn without_column(wakes: &[Wake]) -> Vec<Wake> {
    wakes.iter().map(|wake| Wake { waker_comm: "".into(), ..wake.clone() }).collect()
}

#[test]
fn what_trace_cmd_and_perf_print_has_the_events_of_their_files() {
    for (kind, bytes, printed) in [(Kind::TraceDat, TRACE_DAT, TRACE_TEXT), (Kind::PerfData, PERF_DATA, PERF_TEXT)] {
        let mut binary = events(kind, bytes);
        // Printed times are in us; trace-cmd rounds them, perf cuts them off.
        let (mut printed, losses) = read(&String::from_utf8(gunzip(printed)).expect("text")).expect("events");
        assert_eq!(losses, Losses::default());
        printed.iter_mut().zip(&mut binary).for_each(|(printed, binary)| {
            assert!(printed.t_ns.abs_diff(binary.t_ns) <= 1000, "{printed:?} {binary:?}");
            printed.t_ns = binary.t_ns;
        });
        assert_eq!(printed, binary);
    }
}

#[test]
fn each_form_is_imported_as_the_binary_file_of_the_same_events() {
    for (kind, bytes) in [(Kind::TraceDat, TRACE_DAT), (Kind::PerfData, PERF_DATA)] {
        let all = events(kind, bytes);
        let (wakes, switches, binary) = imported(&[("file", bytes)]).expect("imported");
        assert!(wakes.len() > 20 && switches.len() > 50);
        for form in FORMS {
            let text = text(&all, form);
            let (found, losses) = read(&text).expect("events");
            assert_eq!((&found, losses), (&all, Losses::default()), "{form:?}");
            let (of_text, of_switches, imported) = imported(&[("file", text.as_bytes())]).expect("imported");
            assert_eq!(without_column(&of_text), without_column(&wakes), "{form:?}");
            assert!(of_switches == switches, "{form:?}");
            let counts = |of: &Imported| (of.wakings, of.switches, of.migrations, of.idle, of.frequencies, of.span);
            assert_eq!(counts(&imported), counts(&binary), "{form:?}");
        }
    }
}

#[test]
fn without_sched_waking_the_previous_cpu_is_where_the_task_ran_last() {
    let all = events(Kind::TraceDat, TRACE_DAT);
    let (with, ..) = imported(&[("file", text(&all, Form::Tracefs).as_bytes())]).expect("imported");
    let less: Vec<Event> = all.into_iter().filter(|event| !matches!(event.kind, EventKind::Waking { .. })).collect();
    let (without, ..) = imported(&[("file", text(&less, Form::Tracefs).as_bytes())]).expect("imported");
    let mut known = 0;
    for wake in without.iter().filter(|wake| wake.prev_cpu.is_some()) {
        let same = |one: &&Wake| one.wakee_pid == wake.wakee_pid && one.t_ns <= wake.t_ns;
        let one = with.iter().rfind(same).expect("the same wake-up");
        assert_eq!((one.prev_cpu, one.dest_cpu), (wake.prev_cpu, wake.dest_cpu), "{wake:?}");
        known += 1;
    }
    assert!(known > 20, "{known} of {}", without.len());
}

#[test]
fn gzip_of_each_kind_is_read() {
    let all = events(Kind::TraceDat, TRACE_DAT);
    let files = [TRACE_DAT.to_vec(), PERF_DATA.to_vec(), perfetto(&all, true), text(&all, Form::Tracefs).into_bytes()];
    for (at, bytes) in files.iter().enumerate() {
        let (wakes, switches, plain) = imported(&[("file", bytes)]).expect("imported");
        // Members of gzip may follow each other.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let members = [gzip(first), gzip(second)].concat();
        let (of_gzip, of_switches, found) = imported(&[("file", &members)]).expect("imported");
        let plain = Imported { files: found.files.clone(), ..plain };
        assert!((of_gzip, of_switches, &found) == (wakes, switches, &plain), "{at}");
        let cut = imported(&[("file", &members[..members.len() - 20])]).expect_err("cut off");
        assert!(cut.what.contains("the gzip file cannot be read"), "{cut}");
    }
}

#[test]
fn a_page_of_systrace_has_the_text_in_it() {
    let all = events(Kind::TraceDat, TRACE_DAT);
    let text = text(&all, Form::TracefsTgid);
    let script = format!("<script>{}</script>\n", "function x(){}".repeat(100_000));
    let old = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n\\\n");
    let old = format!(
        "<!DOCTYPE HTML>\n{script}<script>\nvar linuxPerfData = \"\\\n# tracer: nop\\n\\\n{old}\";\n</script>\n"
    );
    let new = format!(
        "<!DOCTYPE html>\n<html>\n{script}<script class=\"trace-data\" type=\"application/text\">\n# tracer: nop\n#\n\
         {text}\n</script>\n<script class=\"trace-data\">\nUSER PID\nroot 1\n</script>\n</html>\n"
    );
    for page in [old, new] {
        let (found, losses) = read(&page).expect("events");
        assert!(found == all && losses == Losses::default(), "{losses:?}");
        let (.., imported) = imported(&[("file", page.as_bytes())]).expect("imported");
        assert_eq!(imported.info.format, Some("systrace page"));
    }
}

#[test]
fn several_files_of_a_recording_are_merged_by_time() {
    let all = events(Kind::TraceDat, TRACE_DAT);
    let (wakes, switches, whole) = imported(&[("file", TRACE_DAT)]).expect("imported");
    let of_cpu = |cpu| all.iter().filter(|event| event.cpu == cpu).cloned().collect::<Vec<_>>();
    let (first, second) = (text(&of_cpu(0), Form::Tracefs), gzip(text(&of_cpu(1), Form::TraceCmd).as_bytes()));
    let (of_both, of_switches, found) = imported(&[("cpu0", first.as_bytes()), ("cpu1", &second)]).expect("imported");
    assert!((without_column(&of_both), of_switches) == (without_column(&wakes), switches));
    assert_eq!((found.late, found.span), (0, whole.span));
    // An error of one file is what is reported, with that file's name.
    let error = imported(&[("cpu0", first.as_bytes()), ("cpu1", b"some text\n")]).expect_err("no trace");
    assert!(error.file.ends_with("cpu1"), "{error}");
    let old = format!("# sched latency trace v1.1.5 on 5.10.0\n{first}");
    let new = format!("# sched latency trace v1.1.5 on 6.1.0\n{first}");
    let error = imported(&[("a", old.as_bytes()), ("b", new.as_bytes())]).expect_err("two kernels");
    assert!(error.what.contains("of the same machine"), "{error}");
}

/// A line of task 7 that wakes task 9 at `time`.
fn wakeup(time: &str) -> String {
    format!("  a-7 [000] d..2 {time}: sched_wakeup: comm=b pid=9 prio=120 target_cpu=001\n")
}

#[test]
fn lines_of_any_end_and_order_are_read() {
    let text = "capturing trace... done\nTRACE:\n".to_owned()
        + "# tracer: nop\r\n# entries-in-buffer/entries-written: 3/10   #P:2\r\n"
        + &wakeup("2.5").replace('\n', "\r\n")
        + "\n##### CPU 1 buffer started ####\nCPU:1 [LOST 40 EVENTS]\n"
        + &wakeup("1.000001")
        + "  a-7 [000] d..2 2.6: tracing_mark_write: B|7|x: y\n  a-7 [000] d..2 2.6: do_it <-caller\n => stack\n"
        + &wakeup("1.000000002");
    let (found, losses) = read(&text).expect("events");
    assert_eq!(found.iter().map(|event| event.t_ns).collect::<Vec<_>>(), [2_500_000_000, 1_000_001_000, 1_000_000_002]);
    assert_eq!(losses, Losses { lost: 40, overwritten: 7, ..Losses::default() });
    let (wakes, _, imported) = imported(&[("file", text.as_bytes())]).expect("imported");
    assert_eq!(wakes.iter().map(|wake| wake.t_ns).collect::<Vec<_>>(), [1_000_000_002, 1_000_001_000, 2_500_000_000]);
    assert_eq!((imported.late, imported.info.machine().as_str()), (0, "2 CPUs"));
}

#[test]
fn bad_lines_are_counted_with_the_first_of_them() {
    let text = wakeup("1.0")
        + "what is this\n  a-7 [000] d..2 1.5: sched_wakeup: comm=b pid=x\n  a-7 [000] d..2 1.5: sched_swi\n"
        + &wakeup("2.0");
    let (found, losses) = read(&text).expect("events");
    // The third line could be of the tracer `function`.
    assert_eq!((found.len(), losses.bad_lines, losses.first_bad_line), (2, 2, Some(2)));
    // What ends in the middle of a line may have lost digits of its last number.
    let (found, losses) = read(text.trim_end_matches("1\n")).expect("events");
    assert_eq!((found.len(), losses.bad_lines), (1, 3));
    // Of several files, each reason is told with the file of its first line.
    let other = wakeup("3.0") + "  a-7 [000] d..2 1.5: sched_wakeup: comm=b pid=x\n" + &text;
    let files = [("a", wakeup("1.0")), ("b", wakeup("2.0") + "what is this\n"), ("c", other)];
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let (.., imported) = imported(&files).expect("imported");
    assert_eq!((imported.losses.bad_lines, imported.losses.first_bad_line), (4, Some(2)));
    let firsts = imported.losses.bad.iter().map(|bad| (&imported.files[bad.file], bad.lines, bad.first));
    let firsts: Vec<(bool, bool, u64, u64)> =
        firsts.map(|(file, lines, first)| (file.ends_with("b"), file.ends_with("c"), lines, first)).collect();
    assert_eq!(firsts, [(true, false, 2, 2), (false, true, 2, 2)]);
}

#[test]
fn a_line_of_any_length_and_any_bytes_is_passed_over() {
    let mut text = wakeup("1.0").into_bytes();
    text.extend(b"x".repeat(200_000));
    text.extend(b"\n\xff\xfe\n");
    text.extend(wakeup("2.0").replace("comm=b", "comm=\u{fc}").into_bytes());
    let mut found = Vec::new();
    let losses = read_events(Kind::Text, &text, &mut |event| {
        found.push(event);
        Ok(())
    });
    assert_eq!((found.len(), losses.expect("read").first_bad_line), (2, Some(3)));
}

#[test]
fn perf_without_cpus_is_refused_with_the_next_step() {
    let line = "  a  7  1.5:  sched:sched_wakeup: comm=b pid=9 prio=120 target_cpu=001\n";
    let (found, losses) = read(line).expect("read");
    assert_eq!((found.len(), losses.unread), (0, 1));
    let error = imported(&[("file", line.as_bytes())]).expect_err("no CPU");
    assert!(error.to_string().contains("perf record -a"), "{error}");
}

#[test]
fn what_is_no_trace_is_refused_with_what_was_expected_and_how_to_record() {
    for bytes in [&b"some text\nof no trace\n"[..], b"", b"\x7fELF\x02\x01\0\0", b"<!doctype html>\n<html></html>\n"] {
        for bytes in [bytes.to_vec(), gzip(bytes)] {
            let error = imported(&[("file", &bytes)]).expect_err("no trace").to_string();
            for expected in ["expected trace.dat", "perf.data", "ftrace", "trace-cmd record", "perf script", "perfetto"]
            {
                assert!(error.contains(expected), "{expected}: {error}");
            }
        }
    }
    let error = imported(&[("file", b"  a-7 [000] d..2 1.5: sched_wakeup: comm=b\n")]).expect_err("a bad line");
    assert!(error.what.contains("does not understand") && error.what.contains("line 1"), "{error}");
    let error = imported(&[("file", b"  a-7 [000] d..2 1.5: tracing_mark_write: x\n")]).expect_err("no event");
    assert!(error.what.contains("found none") && error.to_string().contains("sched_waking"), "{error}");
}

/// Traces of real devices, as `recorded/README.md` says.
#[test]
fn traces_of_real_devices_have_the_events_that_are_in_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/recorded");
    for (name, format, wakings, switches, cpus, span_ms) in [
        ("juno-4.19.ftrace.txt.gz", "ftrace text", 1068, 1856, Some(6), 6676),
        ("phone-2012.systrace.html.gz", "systrace page", 877, 1472, None, 2066),
    ] {
        let bytes = fs::read(folder.join(name)).expect("a file");
        let lines = String::from_utf8(gunzip(&bytes)).expect("text");
        let count = |event: &str| lines.matches(event).count() as u64;
        let (wakes, ran, found) = imported(&[(name, &bytes)]).expect("imported");
        assert_eq!((found.info.format, found.info.cpus, found.losses.bad_lines), (Some(format), cpus, 0));
        assert_eq!((found.wakings, found.switches), (wakings, switches), "{name}");
        assert_eq!((found.wakings, found.switches), (count(": sched_wakeup: "), count(": sched_switch: ")), "{name}");
        assert_eq!((wakes.len(), ran.len()), (wakings as usize, switches as usize));
        let (from, to) = found.span.expect("events");
        assert_eq!((to - from) / 1_000_000, span_ms, "{name}");
    }
}

#[cfg(unix)]
mod ctf {
    use super::*;

    /// An LTTng session with a kernel trace, of which the programs below need only the metadata.
    fn session() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let kernel = folder.path().join("session/kernel");
        fs::create_dir_all(&kernel).expect("made");
        let metadata = "/* CTF 1.8 */\nenv {\n\thostname = \"box\";\n\tkernel_release = \"6.1.0\";\n};\n";
        fs::write(kernel.join("metadata"), metadata).expect("written");
        folder
    }

    /// A program that does what a script says.
    fn program(folder: &Path, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("babeltrace2");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("made executable");
        path
    }

    fn run(program: &Path, folder: &Path) -> (Result<Losses, ImportError>, Vec<Event>) {
        let mut events = Vec::new();
        let losses = read_ctf(program, folder, &mut |event| {
            events.push(event);
            Ok(())
        });
        (losses, events)
    }

    #[test]
    fn a_ctf_trace_is_what_babeltrace2_prints() {
        let folder = session();
        let all = events(Kind::TraceDat, TRACE_DAT);
        fs::write(folder.path().join("printed"), text(&all, Form::Babeltrace)).expect("written");
        let script = "echo 'WARNING: Tracer discarded 12 events between [1] and [2]' >&2; cat \"${0%/*}/printed\"";
        let (losses, found) = run(&program(folder.path(), script), folder.path());
        assert_eq!((losses, found), (Ok(Losses { lost: 12, ..Losses::default() }), all));
    }

    #[test]
    fn without_babeltrace2_its_package_is_named() {
        let folder = session();
        let (error, _) = run(&folder.path().join("babeltrace2"), folder.path());
        let error = error.expect_err("there is no program").to_string();
        assert!(error.contains("install the package babeltrace2"), "{error}");
    }

    #[test]
    fn a_failure_of_babeltrace2_is_reported_with_its_words() {
        let folder = session();
        let script = "echo 'ERROR: cannot open the trace' >&2; exit 1";
        let (error, _) = run(&program(folder.path(), script), folder.path());
        let error = error.expect_err("it failed").to_string();
        assert!(error.contains("ERROR: cannot open the trace"), "{error}");
    }

    #[test]
    fn a_folder_that_is_no_ctf_trace_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("metadata"), "other").expect("written");
        let error =
            import(&[folder.path().to_owned()], None, &folder.path().join("rec"), &|_, _| {}, &AtomicBool::new(false))
                .expect_err("no trace");
        assert!(error.what.contains("folder of a CTF trace"), "{error}");
    }
}

/// The folder of an import of one file, which is removed with the first value.
fn folder_of(bytes: &[u8]) -> (tempfile::TempDir, Box<Tables>, Imported) {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, to) = (folder.path().join("file"), folder.path().join("rec"));
    fs::write(&path, bytes).expect("written");
    let found = import(&[path], None, &to, &|_, _| {}, &AtomicBool::new(false)).expect("imported");
    let sources = Source::at(&to).expect("a recording");
    let [Source::Recorded(tables)] = &sources[..] else { panic!("{sources:?}") };
    (folder, tables.clone(), found)
}

#[test]
fn warnings_count_lines_by_event_and_by_what_is_wrong() {
    let switch =
        "  a 7 [000] 1.5: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b ";
    let lines = [
        "  a 7 [000] 1.4: sched:sched_wakeup: comm=b pid=1234 prio=120 target_cpu=001".to_owned(),
        format!("{switch}next_pid=12"),
        format!("{switch}next_pid=1234 next_prio=120"),
        switch[..switch.len() - 8].to_owned() + "ne>",
        switch[..switch.len() - 20].to_owned() + ">",
        "  a 7 [000] 1.6: sched:sched_swi>".to_owned(),
        "  a 7 [000] 1.6: sched:sched_wakeup: comm=b pid=1234 prio=120 target_cpu=00".to_owned(),
    ];
    let (found, losses) = read(&(lines.join("\n") + "\n")).expect("events");
    assert_eq!(found.len(), 2);
    let bad = |event, why, lines, first| BadLines { event, why, lines, file: 0, first };
    let expected = [
        bad(Some("sched_switch"), WhyBad::Cut, 1, 2),
        bad(Some("sched_switch"), WhyBad::CutByPager, 2, 4),
        bad(None, WhyBad::CutByPager, 1, 6),
        bad(Some("sched_wakeup"), WhyBad::Cut, 1, 7),
    ];
    assert_eq!((&losses.bad[..], losses.bad_lines, losses.first_bad_line), (&expected[..], 5, Some(2)));
}

#[test]
fn wakings_without_an_end_are_counted_and_refused_if_there_is_nothing_else() {
    let waking =
        |at: &str, pid| format!("  a-7 [002] d... {at}: sched_waking: comm=b pid={pid} prio=120 target_cpu=001\n");
    let two = waking("1.1", 20) + &waking("1.2", 21);
    let switch = "  c-8 [003] d... 1.3: sched_switch: prev_comm=c prev_pid=8 prev_prio=120 prev_state=S ==> \
                  next_comm=swapper/3 next_pid=0 next_prio=120\n";
    let (.., found) = imported(&[("file", (two.clone() + switch).as_bytes())]).expect("imported");
    assert_eq!((found.wakings, found.unfinished, found.switches), (0, 2, 1));
    let error = imported(&[("file", two.as_bytes())]).expect_err("nothing else").to_string();
    assert!(error.contains("only 2 sched_waking events whose wake-ups or runs are not in the file"), "{error}");
}

#[test]
fn names_are_those_of_any_field_and_of_the_column() {
    let text = "  my waker-11 [000] d... 1.1: sched_waking: comm=beta pid=12 prio=120 target_cpu=001\n\
                <...>-14 [001] d... 1.2: sched_migrate_task: comm=gamma pid=13 prio=120 orig_cpu=0 dest_cpu=1\n\
                <idle>-0 [001] d... 1.3: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> \
                next_comm=beta next_pid=12 next_prio=120\n";
    let (_folder, tables, _) = folder_of(text.as_bytes());
    let mut names = Names::new(tables.names.clone());
    let names: Vec<(i64, String)> = std::iter::from_fn(|| names.next_name().expect("read"))
        .map(|named| (named.pid, named.comm.to_string()))
        .collect();
    let of = |pid, comm: &str| (pid, comm.to_owned());
    assert_eq!(names, [of(12, "beta"), of(11, "my waker"), of(13, "gamma")]);
    let mut wakes = Wakes::recorded(&tables);
    assert_eq!(&*wakes.next_wake().expect("read").expect("a wake-up").waker_comm, "my waker");
}

#[test]
fn what_atrace_z_compressed_is_read_as_the_text_in_it() {
    let text = wakeup("1.0") + &wakeup("2.0");
    let mut bytes = b"capturing trace... done\nTRACE:\n".to_vec();
    ZlibEncoder::new(text.as_bytes(), Compression::best()).read_to_end(&mut bytes).expect("compressed");
    let (wakes, _, found) = imported(&[("file", &bytes)]).expect("imported");
    let (expected, ..) = imported(&[("file", text.as_bytes())]).expect("imported");
    assert_eq!((wakes, found.info.format), (expected, Some("ftrace text")));
    bytes.truncate(bytes.len() - 8);
    let error = imported(&[("file", &bytes)]).expect_err("cut").to_string();
    assert!(error.contains("atrace -z"), "{error}");
}

#[test]
fn text_of_perf_without_its_column_of_the_task_is_read() {
    let text = " [000] 1.1: sched_waking: comm=beta pid=12 prio=-1 target_cpu=001\n \
                [001] 1.2: sched_wakeup: comm=beta pid=12 prio=-1 target_cpu=001\n \
                [001] 1.3: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=beta \
                next_pid=12 next_prio=-1\n";
    let (wakes, switches, found) = imported(&[("file", text.as_bytes())]).expect("imported");
    assert_eq!((wakes.len(), switches.len(), found.losses), (1, 1, Losses::default()));
    assert_eq!((wakes[0].waker_pid, wakes[0].waker_cpu, wakes[0].prev_cpu), (0, 0, Some(1)));
}

#[test]
fn utf16_is_named() {
    let text: Vec<u8> =
        std::iter::once(0xfeff).chain(wakeup("1.0").encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let error = imported(&[("file", &text)]).expect_err("UTF-16").to_string();
    assert!(error.contains("found UTF-16") && error.contains("iconv -f UTF-16"), "{error}");
}

#[test]
fn cpus_that_begin_apart_are_told_of() {
    let at = |time: &str, cpu| wakeup(time).replace("[000]", &format!("[{cpu:03}]"));
    let (.., found) =
        imported(&[("file", (at("1.0", 0) + &at("1.2", 3) + &at("2.0", 0)).as_bytes())]).expect("imported");
    assert_eq!(found.begin_apart(), Some((200_000_000, 3)));
    let (.., found) = imported(&[("file", (at("1.0", 0) + &at("1.001", 3) + &at("2.0", 0)).as_bytes())]).expect("read");
    assert_eq!(found.begin_apart(), None);
    let header = "# entries-in-buffer/entries-written: 3/10   #P:4\n";
    let text = header.to_owned() + &at("1.0", 0) + &at("1.001", 3) + &at("2.0", 0);
    let (_folder, tables, found) = folder_of(text.as_bytes());
    assert_eq!(found.begin_apart(), Some((1_000_000, 3)));
    let counts = ImportCounts::of(&tables).expect("read").expect("an import");
    assert_eq!((counts.overwritten, counts.cpu_begins_ns), (7, vec![(0, 1_000_000_000), (3, 1_001_000_000)]));
}

#[test]
fn a_machine_that_the_user_names_says_which_cpus_share_a_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    fs::write(&path, wakeup("1.0")).expect("written");
    let into = |name: &str, cpu_llc: Vec<Option<u32>>| {
        let machine = KnownMachine { name: "mine".to_owned(), cpu_llc };
        let to = folder.path().join(name);
        import(std::slice::from_ref(&path), Some(&machine), &to, &|_, _| {}, &AtomicBool::new(false))
    };
    let gap = vec![Some(0), Some(0), None, Some(2), None];
    assert_eq!(into("a", gap).expect("imported").info.cpu_llc, Some(vec![0, 0, 3, 2, 4]));
    fs::write(&path, wakeup("1.0").replace("target_cpu=001", "target_cpu=002")).expect("written");
    let gap = into("c", vec![Some(0), Some(0), None, Some(2)]).expect_err("the wakee's CPU").to_string();
    assert!(gap.contains("the trace has CPU 2, but mine has CPUs 0-1,3"), "{gap}");
    let none = into("b", Vec::new()).expect_err("too small").to_string();
    assert!(none.contains("the trace has CPU 0, but mine has 0 CPUs"), "{none}");
}
