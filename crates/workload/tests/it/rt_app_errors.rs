//! What is wrong with a file of rt-app is told with its line and key.

use std::path::Path;
use wakelab_workload::RtApp;

fn parse(json: &str, lenient: bool) -> Result<(RtApp, Vec<String>), String> {
    let parsed = RtApp::parse(Path::new("w.json"), json, lenient);
    parsed.map(|(file, warnings)| (file, warnings.iter().map(ToString::to_string).collect())).map_err(|e| e.to_string())
}

/// A file with this as the only thread, which begins in line 2.
fn thread(text: &str) -> String {
    format!("{{\"tasks\": {{\n\"t\": {{{text}}}}}}}")
}

fn refused(json: &str, expected: &str) {
    for lenient in [false, true] {
        let error = parse(json, lenient).expect_err(json);
        assert_eq!(error, format!("w.json:{expected}"), "{json}");
    }
}

/// Refused, and let pass leniently.
fn let_pass(json: &str, place: &str, what: &str, instead: &str) {
    let hint = format!("--lenient (lenient = true in an experiment) turns this into a warning: {instead}");
    assert_eq!(parse(json, false).expect_err(json), format!("w.json:{place}: {what}\n  hint: {hint}"));
    let (_, warnings) = parse(json, true).expect(json);
    assert_eq!(warnings, [format!("w.json:{place}: {what}; read leniently, {instead}")]);
}

#[test]
fn what_is_no_json_has_its_line() {
    refused("{\"tasks\": {\n\"t\": {\"run\": 1\n\"sleep\": 2}}}", "2: this is not valid JSON: Expected comma");
    refused("{\n\"tasks\": {\"t\": {\"run\": }}}", "2: this is not valid JSON: Unexpected close brace");
    refused("{\"tasks\": \n /* ", "2: this is not valid JSON: Unterminated comment block");
    refused("", "1: the file is empty; expected rt-app's JSON, {\"tasks\": {...}}");
    refused("\n[1]", "2: expected an object, {\"tasks\": {...}}");
    let deep = format!("{{\"tasks\": {}", "[".repeat(100_000));
    refused(&deep, "1: this is not valid JSON: Maximum nesting depth exceeded");
    // Only suspend may stand without a value.
    refused(
        "{\"tasks\": {\"t\": {\"run\",\n}}}",
        "1: this is not valid JSON: Expected colon after the string or word in object property",
    );
}

#[test]
fn what_is_not_there_is_named() {
    refused(
        "{\"global\": {}}",
        "1: `tasks`: the key is missing; expected a value such as {\"thread0\": {\"run\": 1000, \"sleep\": 9000}}",
    );
    refused("{\n\"tasks\": {}}", "2: `tasks`: expected one or more threads, found {}");
    refused(
        &thread("\"priority\": 1"),
        "2: `tasks.t`: there are no events; expected one or more, such as \"run\": 1000",
    );
    refused(&thread("\"phases\": {}"), "2: `tasks.t.phases`: expected one or more phases, found {}");
    refused(
        &thread("\"phases\": {\n\"p\": {\"loop\": 2}}"),
        "3: `tasks.t.phases.p`: there are no events; expected one or more, such as \"run\": 1000",
    );
    refused(
        &thread("\"timer\": {\n\"ref\": \"unique\"}"),
        "2: `tasks.t.timer.period`: the key is missing; expected a value such as 10000",
    );
    refused(
        &thread("\"run\": 1,\n\"instance\": 0"),
        "1: `tasks`: no thread starts: \"instance\" is 0 in all of them; set it to 1 or more in at least one",
    );
}

#[test]
fn values_have_their_types_and_ranges() {
    let us = "expected us, a whole number from 0 to 2147483647, found";
    refused(&thread("\n\"run\": \"1\""), &format!("3: `tasks.t.run`: {us} \"1\""));
    refused(&thread("\"sleep\": -1"), &format!("2: `tasks.t.sleep`: {us} -1"));
    refused(&thread("\"runtime\": 1.5"), &format!("2: `tasks.t.runtime`: {us} 1.5"));
    refused(&thread("\"run\": 99999999999"), &format!("2: `tasks.t.run`: {us} 99999999999"));
    refused(
        &thread("\"run\": 1, \"lock\": [\"m\"]"),
        "2: `tasks.t.lock`: expected the name of a mutex in quotes, found [\"m\"]",
    );
    refused(
        &thread("\"timer\": {\"ref\": \"unique\",\n\"period\": 0}"),
        "3: `tasks.t.timer.period`: expected us, a whole number from 1 to 2147483647, found 0",
    );
    refused(
        &thread("\"timer\": {\"ref\": \"unique\", \"period\": 1,\n\"mode\": \"abs\"}"),
        "3: `tasks.t.timer.mode`: expected \"relative\" or \"absolute\", found \"abs\"",
    );
    refused(
        &thread("\"run\": 1,\n\"loop\": 0"),
        "3: `tasks.t.loop`: expected how often to repeat: 1 or more, or -1 for ever, found 0",
    );
    refused(
        &thread("\"run\": 1, \"cpus\": []"),
        "2: `tasks.t.cpus`: expected one or more CPUs, such as [0, 1], found []",
    );
    refused(
        &thread("\"run\": 1, \"cpus\": [0, 8192]"),
        "2: `tasks.t.cpus`: expected one or more CPUs, such as [0, 1], each below 8192, found [0, 8192]",
    );
    refused(
        &thread("\"run\": 1,\n\"priority\": 20"),
        "3: `tasks.t.priority`: the nice value of this policy is 20; expected -20 to 19",
    );
    refused(
        &thread("\"run\": 1, \"policy\": \"SCHED_OTHR\""),
        "2: `tasks.t.policy`: expected SCHED_OTHER, SCHED_IDLE, SCHED_FIFO, SCHED_RR or SCHED_DEADLINE, found \
         \"SCHED_OTHR\"\n  hint: did you mean `SCHED_OTHER`?",
    );
    refused(
        "{\"tasks\": {\"t\": {\"run\": 1}}, \"global\": {\n\"calibration\": \"CPUX\"}}",
        "2: `global.calibration`: expected a CPU, such as \"CPU0\", or a number of ns, found \"CPUX\"",
    );
    refused(
        "{\"tasks\": {\"t\": {\"run\": 1}}, \"resources\": {\"m\": {\n\"type\": \"mutx\"}}}",
        "2: `resources.m.type`: expected one of mutex, wait, signal, broadcast, sync, sleep, run, timer, \
         barrier, sem, semaphore, sem_wait, sem_post, found \"mutx\"",
    );
}

#[test]
fn a_key_that_is_no_event_comes_once() {
    refused(
        &thread("\"loop\": 2,\n\"run\": 1,\n\"loop\": 3"),
        "4: `tasks.t.loop`: the key is given twice, first in line 2; give it once",
    );
    refused("{\"tasks\": {},\n\"tasks\": {}}", "2: `tasks`: the key is given twice, first in line 1; give it once");
}

#[test]
fn unknown_keys_are_passed_over_leniently() {
    let out = "it is left out, as rt-app does";
    let_pass(
        &thread("\"run\": 1,\n\"prioriti\": 1"),
        "3: `tasks.t.prioriti`",
        "unknown key; did you mean `priority`?",
        out,
    );
    let_pass(
        "{\"tasks\": {\"t\": {\"run\": 1}},\n\"x\": 1}",
        "2: `x`",
        "unknown key; expected tasks, global, resources",
        out,
    );
    let_pass(
        "{\"tasks\": {\"t\": {\"run\": 1}}, \"global\": {\n\"gnu_plot\": true}}",
        "2: `global.gnu_plot`",
        "unknown key; did you mean `gnuplot`?",
        out,
    );
    let_pass(
        &thread("\"timer\": {\"ref\": \"unique\", \"period\": 1,\n\"x\": 1}"),
        "3: `tasks.t.timer.x`",
        "unknown key; expected ref, period, mode",
        out,
    );
}

#[test]
fn memrun_is_named_and_left_out_leniently() {
    let what = "memrun is not modelled, because the model has no memory; replace it by a \"run\" of the time that it \
                takes on your machine";
    let memrun = "\"sleep\": 1,\n\"memrun\": {\"type\": \"chase\", \"size\": 1048576}";
    let_pass(&thread(memrun), "3: `tasks.t.memrun`", what, "it is left out");
}

#[test]
fn an_absolute_timer_that_only_catches_up_is_said() {
    let timer = |run: u32, mode: &str| {
        let timer = format!("\"timer\": {{\"ref\": \"unique\", \"period\": 1000, \"mode\": \"{mode}\"}}");
        parse(&thread(&format!("\"run\": {run},\n{timer}")), false).expect("a file").1
    };
    let [warning] = &timer(1500, "absolute")[..] else { panic!("a warning") };
    assert!(warning.starts_with("w.json:3: `tasks.t.timer`: the work of this phase takes 1500 us"), "{warning}");
    assert!(timer(900, "absolute").is_empty() && timer(1500, "relative").is_empty());
}

/// A thread that waits for something that is left out would be a hog.
#[test]
fn a_waiter_is_never_made_a_hog() {
    for (waits, place) in [
        ("\"run\": 2000,\n\"iorun\": 4096", "iorun"),
        ("\"run\": 2000,\n\"event_wait\": \"x\"", "event_wait"),
        ("\"run\": 2000,\n\"poll\": 3", "poll"),
    ] {
        let error = parse(&thread(waits), true).expect_err("it would compute for ever");
        assert!(error.starts_with(&format!("w.json:3: `tasks.t.{place}`: this may wait")), "{error}");
        assert!(error.contains("without it the thread would compute for ever"), "{error}");
        // What waits besides keeps it from that.
        assert!(parse(&thread(&format!("{waits}, \"sleep\": 10")), true).is_ok(), "{waits}");
    }
    // So does what does not repeat for ever, or waits in another phase.
    let finite = ["\"loop\": 10, \"run\": 2000, \"iorun\": 4096", "\"run\": 2000, \"loop\": 10, \"poll\": 3"];
    for waits in finite {
        assert!(parse(&thread(waits), true).is_ok(), "{waits}");
    }
    let phases =
        |b: &str| thread(&format!("\"phases\": {{\n\"a\": {{\"run\": 1000, \"iorun\": 4096}}, \"b\": {{{b}}}}}"));
    for waits_or_is_a_hog in ["\"sleep\": 9000", "\"loop\": -1, \"run\": 1"] {
        assert!(parse(&phases(waits_or_is_a_hog), true).is_ok(), "{waits_or_is_a_hog}");
    }
    let error = parse(&phases("\"run\": 1"), true).expect_err("both phases would compute for ever");
    assert!(error.starts_with("w.json:3: `tasks.t.phases.a.iorun`: this may wait"), "{error}");
    // A hog that was one may have remarks.
    assert!(parse(&thread("\"run\": 2000,\n\"comment\": \"all day\""), true).is_ok());
}

#[test]
fn a_semaphore_that_nobody_posts_is_refused() {
    refused(
        &thread("\"run\": 1,\n\"sem_wait\": \"work\""),
        "3: `tasks.t.sem_wait`: no thread posts the semaphore \"work\", so this one would wait for ever; expected a \
         thread that does",
    );
}

#[test]
fn what_the_model_has_no_meaning_for_is_let_pass_leniently() {
    let out = "it is left out";
    let nodes = "the memory of nodes is not modelled";
    let_pass(&thread("\"run\": 1,\n\"membind_nodes\": [0]"), "3: `tasks.t.membind_nodes`", nodes, out);
    let_pass(
        &thread("\"run\": 1,\n\"dl-period\": 5"),
        "3: `tasks.t.dl-period`",
        "only a SCHED_DEADLINE thread has a period and a deadline",
        out,
    );
    let_pass(
        &thread("\"run\": 1,\n\"deadline\": 5"),
        "3: `tasks.t.deadline`",
        "the parameters of SCHED_DEADLINE are called dl-runtime, dl-period and dl-deadline",
        out,
    );
    let_pass(
        &thread("\"run\": 1, \"policy\": \"SCHED_IDLE\",\n\"dl-runtime\": 5"),
        "3: `tasks.t.dl-runtime`",
        "only a SCHED_OTHER thread can ask for a slice",
        out,
    );
    refused(
        &thread("\"run\": 1,\n\"dl-runtime\": -5"),
        "3: `tasks.t.dl-runtime`: expected the slice that the thread asks for, in us, a whole number from 0 to \
         2147483647, found -5",
    );
    let what = "SCHED_BATCH is not modelled; expected SCHED_OTHER, SCHED_IDLE, SCHED_FIFO, SCHED_RR or SCHED_DEADLINE";
    let json = thread("\"run\": 1, \"priority\": 50,\n\"policy\": \"SCHED_BATCH\"");
    let_pass(&json, "3: `tasks.t.policy`", what, "it becomes SCHED_OTHER with nice 0");
    let_pass(
        "{\"tasks\": {\"t\": {\"run\": 1}}, \"global\": {\n\"pi_enabled\": true}}",
        "2: `global.pi_enabled`",
        "mutexes with priority inheritance are not modelled",
        "the mutexes have no priority inheritance",
    );
    let_pass(
        &thread("\"run\": 1, \"sleep\": 1,\n\"iorun\": 5"),
        "3: `tasks.t.iorun`",
        "the time of writing bytes to a device, or of blocking there, is not modelled; replace it by a \"run\" of the \
         time that it takes on your machine",
        "it takes no time",
    );
    let_pass(
        &thread("\"phases\": {\"p\": {\"run\": 1}},\n\"sleep\": 1"),
        "3: `tasks.t.sleep`",
        "rt-app ignores this event, because the thread has phases; move it into a phase",
        out,
    );
    let_pass(
        &thread("\"phases\": {\n\"p\": {\"loop\": -1, \"run\": 1},\n\"q\": {\"run\": 1}}"),
        "4: `tasks.t.phases.q`",
        "the phase is never reached: the one in line 3 repeats for ever",
        out,
    );
}

#[test]
fn timers_that_threads_share_are_refused() {
    let own = "each thread gets its own";
    let expected = "and a timer that threads share is not modelled; use a name that begins with `unique`";
    let tick = "{\"ref\": \"tick\", \"period\": 1}";
    let_pass(
        &format!("{{\"tasks\": {{\"a\": {{\"timer\": {tick}}},\n\"b\": {{\"timer1\": {tick}, \"timer2\": {tick}}}}}}}"),
        "2: `tasks.b.timer1`",
        &format!("a uses the timer \"tick\" too (line 1), {expected}"),
        own,
    );
    let_pass(
        &thread(&format!("\"instance\": 3,\n\"timer\": {tick}")),
        "3: `tasks.t.timer`",
        &format!("3 threads share the timer \"tick\", {expected}"),
        own,
    );
}

#[test]
fn who_waits_is_woken_by_somebody_and_who_wakes_wakes_somebody() {
    refused(
        "{\"tasks\": {\"abcde\": {\n\"suspend\": \"abcde\", \"run\": 1}, \"b\": {\"sleep\": 1, \"resume\": \
         \"abcdf\"}}}",
        "2: `tasks.abcde.suspend`: no thread resumes or signals \"abcde\", so this one would wait for ever; expected \
         a thread that does\n  hint: did you mean `abcdf`?",
    );
    let_pass(
        &thread("\"run\": 1,\n\"resume\": \"x\""),
        "3: `tasks.t.resume`",
        "no thread suspends or waits for \"x\"",
        "it is left out",
    );
    refused(
        "{\"tasks\": {\"t\": {\"sleep\": 1,\n\"wait\": {\"ref\": \"q\", \"mutex\": \"m\"}, \"signal\": \"q\"}}}",
        "2: `tasks.t.wait`: waits for condition q with mutex m, which it does not hold; lock it first",
    );
}

#[test]
fn locks_barriers_and_forks_are_checked_with_their_lines() {
    refused(
        &thread("\"run\": 1,\n\"unlock\": \"m\""),
        "3: `tasks.t.unlock`: unlocks mutex m, which it does not hold; lock it first",
    );
    refused(
        &thread("\"lock\": \"m\",\n\"run\": 1,\n\"lock\": \"m\""),
        "4: `tasks.t.lock`: locks mutex m, which it already holds: it would wait for itself",
    );
    refused(
        &thread("\"run\": 1,\n\"barrier\": \"x\",\n\"barrier\": \"x\""),
        "4: `tasks.t.barrier`: the thread already meets others here in line 3; expected another barrier\n  hint: \
         rt-app counts each use as one more thread to wait for; give each meeting a name of its own",
    );
    refused(
        "{\"tasks\": {\"thread0\": {\"run\": 1,\n\"fork\": \"thread1\"}}}",
        "2: `tasks.thread0.fork`: \"tasks\" has no thread \"thread1\"; expected one that it has\n  hint: did you mean \
         `thread0`?",
    );
    refused(
        "{\"tasks\": {\"a\": {\"loop\": 1, \"run\": 1, \"fork\": \"b\"}, \"b\": {\"instance\": 0, \"loop\": 1, \
         \"run\": 1,\n\"fork\": \"c\"},\n\
         \"c\": {\"instance\": 0, \"loop\": 1, \"run\": 1, \"fork\": \"b\"}}}",
        "2: `tasks.b.fork`: forks c (forked), which leads back to this program: tasks without end\n  hint: use \
         `repeat` for what goes on for ever, and fork only programs that do not lead back here",
    );
    let forked_barrier = parse(
        "{\"tasks\": {\"a\": {\"loop\": 1, \"run\": 1, \"fork\": \"b\"}, \"b\": {\"instance\": 0, \"loop\": \
         1,\n\"barrier\": \"x\"}}}",
        false,
    );
    assert!(
        forked_barrier
            .unwrap_err()
            .starts_with("w.json:2: `tasks.b.barrier`: barrier x: a forked task uses this barrier")
    );
    let_pass(
        "{\"tasks\": {\"a\": {\"run\": 1},\n\"b\": {\"instance\": 0, \"run\": 1}}}",
        "2: `tasks.b`",
        "the thread never starts: \"instance\" is 0, and no thread that runs forks it",
        "it is left out",
    );
    let timeless = parse(&thread("\"yield\": \"\""), false).unwrap_err();
    assert!(timeless.starts_with("w.json:2: `tasks.t`: loops for ever without time passing"), "{timeless}");
}

#[test]
fn cpus_that_the_machine_does_not_have_are_told_where_they_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let says = |json: &str| {
        let path = dir.path().join("w.json");
        std::fs::write(&path, json).unwrap();
        let load = wakelab_workload::Load::Instances(1);
        let error = wakelab_workload::build(path.to_str().unwrap(), load, 4, &Default::default()).unwrap_err();
        error.to_string().strip_prefix(&format!("{}:", path.display())).unwrap().to_owned()
    };
    let what = "its affinity has CPU 4; the machine has CPUs 0 to 3";
    assert_eq!(says(&thread("\"run\": 1, \"instance\": 2,\n\"cpus\": [4]")), format!("3: `tasks.t.cpus`: {what}"));
    let phase = thread("\"phases\": {\"a\": {\"run\": 1},\n\"b\": {\"run\": 1, \"cpus\": [0, 4]}}");
    assert_eq!(says(&phase), format!("3: `tasks.t.phases.b.cpus`: {what}"));
}

#[test]
fn clamps_that_sched_setattr_refuses_are_refused() {
    let numbers = "expected a clamp, -1 for none, a whole number from -1 to 1024";
    refused(&thread("\"run\": 1,\n\"util_min\": 1025"), &format!("3: `tasks.t.util_min`: {numbers}, found 1025"));
    refused(&thread("\"run\": 1,\n\"util_max\": -2"), &format!("3: `tasks.t.util_max`: {numbers}, found -2"));
    refused(
        &thread("\"phases\": {\"p\": {\"run\": 1, \"util_max\": 8,\n\"util_min\": 9}}"),
        "3: `tasks.t.phases.p.util_min`: expected a minimum that is not above \"util_max\", 8, found 9",
    );
}

#[test]
fn priorities_and_reservations_are_in_their_ranges() {
    for priority in [0, 100, -5] {
        let json = thread(&format!("\"run\": 1, \"policy\": \"SCHED_RR\",\n\"priority\": {priority}"));
        let error = parse(&json, true).unwrap_err();
        assert!(error.starts_with("w.json:3: `tasks.t.priority`: ") && error.contains("99"), "{error}");
    }
    let deadline = |keys: &str| thread(&format!("\"policy\": \"SCHED_DEADLINE\", \"run\": 1,\n{keys}"));
    refused(
        &deadline("\"dl-period\": 20000"),
        "2: `tasks.t`: SCHED_DEADLINE needs a reservation; set \"dl-runtime\" and \"dl-period\", in us",
    );
    refused(
        &deadline("\"dl-runtime\": 5000, \"dl-period\": 4000"),
        "3: `tasks.t.dl-period`: the deadline of 4000000 ns is shorter than the runtime of 5000000 ns; expected at \
         least the runtime",
    );
    refused(
        &deadline("\"dl-runtime\": 10, \"dl-period\": 0"),
        "3: `tasks.t.dl-period`: the deadline of 0 ns is shorter than the runtime of 10000 ns; expected at least the \
         runtime",
    );
    refused(
        &deadline("\"dl-runtime\": 5000, \"dl-period\": 20000, \"cpus\": [0]"),
        "3: `tasks.t.cpus`: sched_setattr() gives SCHED_DEADLINE only to threads that may use all CPUs (EPERM \
         otherwise); remove \"cpus\"",
    );
    let json = "{\"tasks\": {\"a\": {\"policy\": \"SCHED_DEADLINE\", \"dl-runtime\": 5000, \"loop\": 1,\n\
                \"fork\": \"b\", \"run\": 1},\n\"b\": {\"instance\": 0, \"loop\": 1, \"run\": 1}}}";
    refused(json, "2: `tasks.a.fork`: a SCHED_DEADLINE thread cannot fork (EAGAIN); use another policy for it");
}
