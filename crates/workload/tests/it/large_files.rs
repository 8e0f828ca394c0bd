//! Files with very many parts. Each is read in a moment by code that is linear; code that compares each part with each
//! other part takes minutes.

use std::fmt::Write as _;
use std::path::Path;
use wakelab_workload::{RtApp, from_toml};

fn rt_app(threads: &str) -> usize {
    let text = format!("{{\"tasks\": {{{}}}}}", threads.trim_end_matches(','));
    let (file, warnings) = RtApp::parse(Path::new("large.json"), &text, true).unwrap_or_else(|e| panic!("{e}"));
    assert!(warnings.len() <= 100_000);
    file.copies(1).expect("it is built").tasks.len()
}

fn toml(text: &str) -> Result<usize, String> {
    let header = "[workload]\nbenchmark = \"b\"\ncase = \"c\"\nmetric = \"throughput\"\nunit = \"1/s\"\n\
                  better = \"higher\"\n";
    let workload = from_toml(&format!("{header}{text}"), Path::new("large.toml"), 1).map_err(|e| e.to_string())?;
    Ok(workload.tasks.len())
}

#[test]
fn threads_of_rt_app() {
    let mut text = String::new();
    for i in 0..100_000 {
        let _ = write!(text, "\"t{i}\": {{\"run\": 10, \"sleep\": 10}},");
    }
    assert_eq!(rt_app(&text), 100_000);
}

#[test]
fn threads_of_one_name() {
    assert_eq!(rt_app(&"\"t\": {\"run\": 10, \"sleep\": 10},".repeat(100_000)), 100_000);
}

#[test]
fn mutexes_of_one_thread_and_of_many() {
    let (mut locks, mut unlocks, mut own) = (String::new(), String::new(), String::new());
    for i in 0..40_000 {
        let _ = write!(locks, "\"lock{i}\": \"m{i}\", ");
        let _ = write!(unlocks, "\"unlock{i}\": \"m{i}\",");
        let _ = write!(own, "\"t{i}\": {{\"lock\": \"n{i}\", \"run\": 10, \"unlock\": \"n{i}\"}},");
    }
    let one = format!("\"one\": {{\"run\": 10, {locks} {}}}", unlocks.trim_end_matches(','));
    assert_eq!(rt_app(&one), 1);
    assert_eq!(rt_app(&own), 40_000);
}

#[test]
fn timers_and_forks_of_rt_app() {
    let (mut timers, mut forks, mut children) = (String::new(), String::new(), String::new());
    for i in 0..40_000 {
        let _ = write!(timers, "\"timer{i}\": {{\"ref\": \"unique{i}\", \"period\": 1000}},");
    }
    for i in 0..20_000 {
        let _ = write!(forks, "\"fork{i}\": \"c{i}\",");
        let _ = write!(children, "\"c{i}\": {{\"instance\": 0, \"loop\": 1, \"run\": 10}},");
    }
    assert_eq!(rt_app(&format!("\"t\": {{{}}}", timers.trim_end_matches(','))), 1);
    assert_eq!(rt_app(&format!("\"t\": {{\"loop\": 1, {} \"run\": 10}}, {children}", forks)), 1);
}

#[test]
fn control_groups_of_rt_app() {
    let groups = |count| {
        let mut text = String::new();
        for i in 0..count {
            let _ = write!(text, "\"t{i}\": {{\"taskgroup\": \"/a/g{i}\", \"run\": 10, \"sleep\": 10}},");
        }
        text
    };
    let one_of_many = "\"many\": {\"instance\": 100000, \"taskgroup\": \"/a/g99998\", \"run\": 10, \"sleep\": 10}";
    assert_eq!(rt_app(&(groups(99_999) + one_of_many)), 199_999);
    let text = format!("{{\"tasks\": {{{}}}}}", groups(100_000).trim_end_matches(','));
    let error = RtApp::parse(Path::new("large.json"), &text, false).expect_err("too many").to_string();
    assert!(error.contains("with this one there are 100001 control groups; expected 100000 at most"), "{error}");
}

/// One thread forks the next, and so on: a search of each thread's children, or one that calls itself, ends late.
#[test]
fn a_chain_of_forks() {
    let mut text = String::new();
    for i in 0..60_000 {
        let instances = u32::from(i == 0);
        let _ =
            write!(text, "\"t{i}\": {{\"instance\": {instances}, \"loop\": 1, \"fork\": \"t{}\", \"run\": 1}},", i + 1);
    }
    text += "\"t60000\": {\"instance\": 0, \"loop\": 1, \"run\": 1}";
    assert_eq!(rt_app(&text), 1);
}

#[test]
fn threads_that_wait_for_each_other() {
    let mut text = String::new();
    for i in 0..20_000 {
        let _ = write!(
            text,
            "\"t{i}\": {{\"run\": 10, \"lock\": \"m\", \"sync\": {{\"ref\": \"c\", \"mutex\": \"m\"}}, \
             \"unlock\": \"m\"}},"
        );
    }
    assert_eq!(rt_app(&text), 20_000);
}

#[test]
fn tasks_and_programs_of_a_file() {
    let program = "[[program]]\nname = \"p\"\nops = [\"begin\", {run = \"1us\"}, \"done\", {repeat = {to = 0}}]\n";
    let mut tasks = program.to_owned();
    for i in 0..100_000 {
        let _ = write!(tasks, "[[task]]\nname = \"t{i}\"\nprogram = \"p\"\ncount = 1\n");
    }
    assert_eq!(toml(&tasks), Ok(100_000));

    let mut programs = String::new();
    for i in 0..40_000 {
        let _ = write!(
            programs,
            "[[program]]\nname = \"p{i}\"\nops = [\"begin\", {{run = \"1us\"}}, \"done\", \
                                  {{repeat = {{to = 0}}}}]\n[[task]]\nname = \"t{i}\"\nprogram = \"p{i}\"\ncount = 1\n"
        );
    }
    assert_eq!(toml(&programs), Ok(40_000));
}

#[test]
fn resources_and_phases_of_a_file() {
    let mut text = String::new();
    for i in 0..20_000 {
        let _ = write!(
            text,
            "[[mutex]]\nname = \"m{i}\"\nper_instance = false\n[[phase]]\nname = \"f{i}\"\nops = [{{lock = \"m{i}\"}}, \
             {{run = \"1us\"}}, {{unlock = \"m{i}\"}}]\n[[program]]\nname = \"p{i}\"\nops = [\"begin\", \
             {{phase = \"f{i}\"}}, \"done\", {{repeat = {{to = 0}}}}]\n[[task]]\nname = \"t{i}\"\nprogram = \"p{i}\"\n\
             count = 1\n"
        );
    }
    assert_eq!(toml(&text), Ok(20_000));
}

#[test]
fn programs_that_become_too_many_steps_are_refused() {
    let mut text = "[[phase]]\nname = \"f\"\nops = [".to_owned();
    text += &"{run = \"1us\"}, ".repeat(9_000);
    text += "]\n";
    for i in 0..1_000 {
        let _ = write!(text, "[[program]]\nname = \"p{i}\"\nops = [{{phase = \"f\"}}]\n");
    }
    let error = toml(&text).unwrap_err();
    assert!(error.contains("with their phases expanded, the programs have more than 1000000 steps"), "{error}");

    let mut text = String::new();
    for i in 0..20_000 {
        let _ = write!(text, "[[phase]]\nname = \"f{i}\"\nops = [{{phase = \"f{}\"}}]\n", i + 1);
    }
    text +=
        "[[phase]]\nname = \"f20000\"\nops = [{run = \"1us\"}]\n[[program]]\nname = \"p\"\nops = [{phase = \"f0\"}]\n";
    let error = toml(&text).unwrap_err();
    assert!(error.contains("more than 64 deep"), "{error}");
}

#[test]
fn long_names_are_refused_in_a_short_message() {
    let name = "x".repeat(100_000);
    let program = format!("[[program]]\nname = \"{name}\"\nops = [\"exit\"]\n");
    for text in [program, format!("{name} = 1\n"), format!("[[task]]\n\"{name}\" = 1\n")] {
        let error = toml(&text).unwrap_err();
        assert!(error.len() < 1000, "{} bytes", error.len());
    }
    for text in [
        format!("\"{name}\": {{\"run\": 10}}"),
        format!("\"t\": {{\"{name}\": 10}}"),
        format!("\"t\": {{\"lock\": \"{name}\"}}"),
    ] {
        let text = format!("{{\"tasks\": {{{text}}}}}");
        let error = RtApp::parse(Path::new("large.json"), &text, false).unwrap_err().to_string();
        assert!(error.len() < 1000, "{} bytes: {}", error.len(), &error[..1000]);
    }
}
