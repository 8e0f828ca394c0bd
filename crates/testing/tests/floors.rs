//! The floors of the house: no module at the top of a crate uses one that uses it, and no crate one that stands below
//! it in the table of ARCHITECTURE.md.
//!
//! Both are read from the sources. Where lib.rs passes on an item of a module, whoever names that uses the module. What
//! lib.rs itself has is no module.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The arrows that still close a circle: the crate, the modules, and what the lower one takes of the upper one. There
/// must be no other, and none here that is gone.
const UPWARDS: [(&str, &str, &str, &str); 54] = [
    ("bpf", "helpers", "machine", "Machine, which a helper acts on"),
    ("bpf", "kfuncs", "machine", "Machine, which a kernel function acts on"),
    ("cli", "completion", "commands", "the names of the book's pages"),
    ("cli", "in_process", "commands", "Command, which a caller's arguments are read as"),
    ("cli", "in_process", "output", "Exit, which a command ends with"),
    ("events", "decisions", "stream", "the names of tasks, and the topology of a simulated run"),
    ("events", "table", "recording", "the version of its schema"),
    ("events", "table", "simulated", "the version of its schema"),
    ("kernel", "feature", "setting", "Setting, which Switches reads beside features"),
    ("machine", "energy_model", "machine", "Machine, whose energy model it derives"),
    ("machine", "ensemble", "machine", "Machine, whose ensembles it reads"),
    ("page", "section", "page", "Page, which holds the data of all sections"),
    ("pm", "schedutil", "governor", "what governors are shown and answer"),
    ("pm", "schedutil", "policy", "Policy, whose frequencies it chooses"),
    ("sched", "domain", "select", "whether a form of the search reads the flag of clusters"),
    ("sched", "energy", "select", "View and util_fits_cpu()"),
    ("sched", "group_order", "balance", "SgLbStats, by which groups are ordered"),
    ("sched", "group_order", "group_sums", "GroupSums, which it reads"),
    ("sched", "group_order", "select", "GroupStats, by which groups are ordered"),
    ("sched", "group_sums", "balance", "BalanceRules, which say what is summed"),
    ("scx-bpf", "kernel_objects", "cgroups", "Cgroups, the kernel objects of groups"),
    ("scx-bpf", "kfuncs", "bpf_ops", "InKernel, which a kernel function acts on"),
    ("scx-bpf", "kfuncs", "cgroups", "the kernel functions for groups"),
    ("scx-core", "cgroup", "ext", "Ext, of which it has the operations for groups"),
    ("scx-core", "ops", "cgroup", "Bandwidth, which an operation is passed"),
    ("scx-core", "ops", "ext", "Ext, which is lent to a program"),
    ("scx-core", "ops", "stall", "how seconds are written"),
    ("scx-core", "stall", "entity", "the queues and tasks that it describes"),
    ("scx-core", "stall", "ext", "Ext, whose state it describes"),
    ("sim", "cpu", "ext", "TimerSoftirq, which a CPU has"),
    ("sim", "cpu", "tick", "Hrtimer, which a CPU has"),
    ("sim", "engine", "ext", "KickWait, which an event is"),
    ("sim", "engine", "search", "Search, which a CPU is in"),
    ("sim", "engine", "system", "System, which Sim has"),
    ("sim", "model", "asym_capacity", "its part of the model"),
    ("sim", "model", "change", "check(), of the changes of a workload"),
    ("sim", "model", "pm", "its part of the model"),
    ("sim", "model", "rcu_gp_kthread", "its tasks"),
    ("sim", "model", "rt", "its part of the model"),
    ("sim", "model", "uclamp", "its part of the model"),
    ("sim", "rt", "pm", "PmModel, by which capacity is scaled"),
    ("sim", "run", "pm", "PmSide, which a setup has"),
    ("sim", "sched_cache", "model", "Model, which its methods are on"),
    ("sim", "sched_cache", "system", "System, which its methods are on"),
    ("sim", "system", "ext", "its part of the state"),
    ("sim", "system", "pm", "its part of the state"),
    ("sim", "system", "rcu_gp_kthread", "its part of the state"),
    ("sim", "system", "rt", "its part of the state"),
    ("sim", "system", "search", "its part of the state"),
    ("sim", "system", "uclamp", "its part of the state"),
    ("sim", "system", "workqueue", "its part of the state"),
    ("sim", "task", "futex", "Calls, which a task has"),
    ("sim", "task_group", "system", "System, which its methods are on"),
    ("workload", "model", "benchmark", "the traits that models serve"),
];

type Arrows = BTreeMap<String, BTreeSet<String>>;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The folders of the crates.
fn names() -> BTreeSet<String> {
    let entries = fs::read_dir(crates()).expect("the folder of the crates");
    entries.map(|entry| entry.expect("a folder").file_name().into_string().expect("a name")).collect()
}

/// A path as code names it: `["crate", "a", "b"]`.
type Named = Vec<String>;

fn tokens(path: &Path) -> Vec<TokenTree> {
    let tokens: TokenStream = read(path).parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    tokens.into_iter().collect()
}

fn is(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn word(token: Option<&TokenTree>) -> Option<String> {
    let Some(TokenTree::Ident(ident)) = token else { return None };
    Some(ident.to_string())
}

fn group(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<Vec<TokenTree>> {
    let Some(TokenTree::Group(group)) = token else { return None };
    (group.delimiter() == delimiter).then(|| group.stream().into_iter().collect())
}

/// Collects the paths of a tree that begins here, each with `before` before it.
fn tree(mut tokens: &[TokenTree], mut before: Named, found: &mut Vec<Named>) {
    loop {
        if let Some(inner) = group(tokens.first(), Delimiter::Brace) {
            return inner.split(|token| is(Some(token), ',')).for_each(|one| tree(one, before.clone(), found));
        }
        before.extend(word(tokens.first()).or_else(|| is(tokens.first(), '*').then(|| "*".to_owned())));
        if !(tokens.len() > 3 && is(tokens.get(1), ':') && is(tokens.get(2), ':')) {
            return found.push(before);
        }
        tokens = &tokens[3..];
    }
}

/// Collects the paths below `crate` that the code of a module names, without its tests.
fn paths(tokens: &[TokenTree], module: &[String], found: &mut Vec<Named>) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1);
        at += 1;
        match (token, word(Some(token)).as_deref()) {
            (TokenTree::Punct(_), _) if is(Some(token), '#') => {
                let attribute = group(next, Delimiter::Bracket).unwrap_or_default();
                let attribute = attribute.into_iter().collect::<TokenStream>().to_string().replace(' ', "");
                if attribute.starts_with("cfg(test)") || attribute.starts_with("cfg(all(test") {
                    let ends = |token| is(Some(token), ';') || group(Some(token), Delimiter::Brace).is_some();
                    at += tokens[at..].iter().position(ends).map_or(0, |end| end + 1);
                }
            }
            // `pub(in crate::a)` says who may use it.
            (_, Some("pub")) if group(next, Delimiter::Parenthesis).is_some() => at += 1,
            (_, Some("mod")) => {
                let (name, Some(inner)) = (word(next), group(tokens.get(at + 1), Delimiter::Brace)) else { continue };
                paths(&inner, &[module, &name.into_iter().collect::<Vec<_>>()].concat(), found);
                at += 2;
            }
            (_, Some(first @ ("crate" | "super"))) if is(next, ':') && (at < 2 || !is(tokens.get(at - 2), ':')) => {
                let up = if first == "super" { module.len().saturating_sub(1) } else { 0 };
                let mut named = Vec::new();
                tree(&tokens[at + 2..], module[..up].to_vec(), &mut named);
                for mut path in named {
                    while let Some(more) = path.iter().position(|name| name == "super") {
                        path.drain(more.saturating_sub(1)..=more);
                    }
                    found.push(path);
                }
            }
            (TokenTree::Group(group), _) => paths(&group.stream().into_iter().collect::<Vec<_>>(), module, found),
            _ => {}
        }
    }
}

/// The modules at the top of a crate, and of the items that its root passes on the module.
fn top(root: &[TokenTree]) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let starts = |what: &'static str| (0..root.len()).filter(move |&at| word(root.get(at)).as_deref() == Some(what));
    let modules: BTreeSet<String> = starts("mod").filter_map(|at| word(root.get(at + 1))).collect();
    let mut used = Vec::new();
    starts("use").for_each(|at| tree(&root[at + 1..], Vec::new(), &mut used));
    let passed_on = used.into_iter().filter_map(|mut path| {
        path.retain(|name| name != "crate" && name != "self");
        Some((path.last()?.clone(), path.first().filter(|first| modules.contains(*first))?.clone()))
    });
    let passed_on = passed_on.collect();
    (modules, passed_on)
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// By module at the top of a crate: those that it uses.
fn arrows(name: &str) -> Arrows {
    let src = crates().join(name).join("src");
    let root = ["lib.rs", "main.rs"].map(|root| src.join(root)).into_iter().find(|root| root.exists());
    let (modules, passed_on) = top(&tokens(&root.expect("a crate has a root")));
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut arrows = Arrows::new();
    for file in files {
        let below = file.strip_prefix(&src).expect("it is below").with_extension("");
        let module = below.iter().map(|part| part.to_str().expect("a name").to_owned()).filter(|part| part != "mod");
        let module: Named = module.collect();
        if !modules.contains(&module[0]) {
            continue;
        }
        let mut named = Vec::new();
        paths(&tokens(&file), &module, &mut named);
        let used = named.iter().filter_map(|path| path.first());
        let used = used.filter_map(|first| modules.get(first).or(passed_on.get(first)));
        let others = used.filter(|used| **used != module[0]).cloned();
        arrows.entry(module[0].clone()).or_default().extend(others);
    }
    arrows
}

/// The modules that are reached from one.
fn reached(arrows: &Arrows, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = vec![from];
    while let Some(one) = left.pop() {
        left.extend(arrows.get(one).into_iter().flatten().filter(|used| reached.insert((*used).clone())).map(|u| &**u));
    }
    reached
}

/// The arrows of which each is part of a circle.
fn in_circles(arrows: &Arrows) -> Vec<(&str, &str)> {
    let reached: BTreeMap<&str, BTreeSet<String>> = arrows.keys().map(|one| (&**one, reached(arrows, one))).collect();
    let all = arrows.iter().flat_map(|(from, used)| used.iter().map(move |to| (&**from, &**to)));
    all.filter(|(from, to)| reached.get(to).is_some_and(|of| of.contains(*from))).collect()
}

#[test]
fn modules_at_the_top_of_a_crate_have_no_circles() {
    let mut wrong = Vec::new();
    for name in names() {
        let mut arrows = arrows(&name);
        let upwards = || UPWARDS.iter().filter(|(of, ..)| *of == name);
        for (_, from, to, _) in upwards() {
            if !arrows.get_mut(*from).is_some_and(|used| used.remove(*to)) {
                wrong.push(format!("{name}: {from} does not use {to} any more; take it out of the list"));
            }
        }
        let circles = in_circles(&arrows);
        wrong.extend(circles.into_iter().map(|(from, to)| format!("{name}: {from} -> {to} is part of a circle")));
        let closes_none = upwards().filter(|(_, from, to, _)| !reached(&arrows, to).contains(*from));
        wrong.extend(
            closes_none.map(|(_, from, to, _)| format!("{name}: {from} -> {to} closes no circle; do not list it")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_code_names_is_found_wherever_it_stands() {
    let text = "use crate::{a::B, c}; use super::d::E; #[cfg(test)] mod tests { use crate::no; } \
                mod f { use super::super::g::H; } fn i() -> crate::j::K { vec![crate::l()] } // crate::no \n\
                pub(in crate::no) fn n() { \"crate::no\"; super::super::o::p(); }";
    let tokens: Vec<TokenTree> = text.parse::<TokenStream>().expect("tokens").into_iter().collect();
    let mut found = Vec::new();
    paths(&tokens, &["x".to_owned(), "y".to_owned()], &mut found);
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["a::B", "c", "x::d::E", "x::g::H", "j::K", "l", "o::p"]);
}

/// The crates in the order of the table of ARCHITECTURE.md.
fn order() -> Vec<String> {
    let text = read(&crates().join("../ARCHITECTURE.md"));
    let table = text.split("\n| room |").nth(1).expect("a table of rooms");
    let cells = table.lines().skip(2).map_while(|row| row.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(|cell| cell.split(", ").map(|name| name.trim_matches('`').to_owned())).collect()
}

/// The crates of the house that a crate uses, but for those of its tests.
fn uses(name: &str) -> BTreeSet<String> {
    let manifest = read(&crates().join(name).join("Cargo.toml"));
    let mut used = BTreeSet::new();
    let mut counts = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            counts = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
        } else if let Some(name) = line.strip_prefix("wakelab-").filter(|_| counts) {
            used.extend(name.split(['.', ' ', '=']).next().map(str::to_owned));
        }
    }
    used
}

#[test]
fn crates_use_only_those_above_them_in_the_table() {
    let order = order();
    let crates = names();
    let listed: BTreeSet<String> = order.iter().filter(|name| !name.contains('/')).cloned().collect();
    assert_eq!(crates, listed, "the crates, and those of the table");
    let place = |name: &str| order.iter().position(|one| one == name);
    let mut wrong = Vec::new();
    for name in &crates {
        let used = uses(name);
        assert!(used.is_subset(&crates), "{name}: {used:?}");
        wrong.extend(
            used.into_iter().filter(|used| place(used) > place(name)).map(|used| format!("{name} uses {used}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
