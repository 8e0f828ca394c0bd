//! The sources that the build script of a scheduler's crate compiles: the calls of `BpfBuilder` (`scx_cargo`, earlier
//! `scx_utils`).

use crate::flags;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Expr, ExprForLoop, ExprIf, ExprMatch, ExprMethodCall, ExprPath, ExprWhile, Lit, LitStr};

/// The largest build script that is read, bytes. That of scx_flow has 3 KB.
pub const SCRIPT_MAX: u64 = 128 << 10;
/// The most words and signs of a build script: what reads it calls itself for each of them at most.
const TOKENS_MAX: usize = 8192;
/// The deepest brackets.
const DEPTH_MAX: usize = 64;
/// The stack of the thread that reads it, bytes: a build without optimization takes up to 9 KiB a sign (of `!!!!!x`).
const STACK: usize = 256 << 20;

/// The BPF sources of a crate, and what they are compiled with besides the usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildScript {
    /// The source of `enable_skel()`.
    pub main: String,
    /// The sources of `add_source()`, in the order of their names, as the builder takes them.
    pub others: Vec<String>,
    /// The folders of `add_include_path()`, the last one first.
    pub include: Vec<String>,
    /// The flags of `add_cflag()`.
    pub cflags: Vec<String>,
    /// The line in which a path first stands.
    lines: BTreeMap<String, usize>,
}

/// An error in a build script, with its place if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line, from 1.
    line: Option<usize>,
    what: String,
}

impl Wrong {
    fn new(what: impl Into<String>) -> Self {
        Wrong { line: None, what: what.into() }
    }

    /// The error, with the path of the script.
    pub fn at(&self, script: &Path) -> String {
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}: it {}", script.display(), self.what)
    }
}

#[derive(Default)]
struct Calls {
    found: BuildScript,
    builder: bool,
    flags: Vec<(usize, String)>,
    wrong: Option<Wrong>,
    /// How many conditions and loops are around.
    depth: u32,
    /// A text that begins with `BPF_`, as the names of the builder's environment do.
    environment: Option<String>,
    /// A text that begins as a flag that changes what is compiled.
    flag: Option<String>,
}

impl Calls {
    fn wrong(&mut self, line: usize, what: String) {
        self.wrong.get_or_insert(Wrong { line: Some(line), what });
    }

    fn inside(&mut self, walk: impl FnOnce(&mut Self)) {
        self.depth += 1;
        walk(self);
        self.depth -= 1;
    }
}

impl<'ast> Visit<'ast> for Calls {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        // The receiver is what was called before.
        self.visit_expr(&call.receiver);
        let method = call.method.to_string();
        if ["enable_skel", "add_source", "add_include_path", "add_cflag"].contains(&method.as_str()) {
            let text = match call.args.first() {
                Some(Expr::Lit(literal)) => match &literal.lit {
                    Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            };
            let line = call.method.span().start().line;
            match text {
                _ if self.depth > 0 => self.wrong(line, format!("calls {method}() under a condition or in a loop")),
                None => self.wrong(line, format!("calls {method}() with something other than a text")),
                Some(text) if method == "add_cflag" => self.flags.push((line, text)),
                // Clang would read it as a flag, or as the name of a file with flags.
                Some(text) if text.is_empty() || text.starts_with(['-', '@']) || Path::new(&text).is_absolute() => {
                    let text = shown(&text);
                    self.wrong(line, format!("calls {method}({text:?}); expected a path within its folder"));
                }
                // Clang tells by the ending what a file is, and runs other programs for some.
                Some(text) if method != "add_include_path" && !text.ends_with(".c") => {
                    self.wrong(line, format!("calls {method}({:?}); expected a source in C (.c)", shown(&text)));
                }
                Some(text) => {
                    self.found.lines.entry(text.clone()).or_insert(line);
                    match method.as_str() {
                        "enable_skel" => self.found.main = text,
                        "add_source" => self.found.others.push(text),
                        _ => self.found.include.insert(0, text),
                    }
                }
            }
        } else {
            call.args.iter().for_each(|argument| self.visit_expr(argument));
        }
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        for segment in &path.path.segments {
            self.builder |= segment.ident == "BpfBuilder";
            if segment.ident == "RustLandBuilder" {
                let what = "uses RustLandBuilder: its tasks are scheduled in user space, which is not modelled";
                self.wrong(segment.ident.span().start().line, what.into());
            }
        }
        visit::visit_expr_path(self, path);
    }

    fn visit_expr_if(&mut self, inner: &'ast ExprIf) {
        self.inside(|calls| visit::visit_expr_if(calls, inner));
    }

    fn visit_expr_match(&mut self, inner: &'ast ExprMatch) {
        self.inside(|calls| visit::visit_expr_match(calls, inner));
    }

    fn visit_expr_for_loop(&mut self, inner: &'ast ExprForLoop) {
        self.inside(|calls| visit::visit_expr_for_loop(calls, inner));
    }

    fn visit_expr_while(&mut self, inner: &'ast ExprWhile) {
        self.inside(|calls| visit::visit_expr_while(calls, inner));
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        let text = text.value();
        if text.starts_with("BPF_") {
            self.environment.get_or_insert(text);
        } else if text.starts_with('-') && !text.starts_with("-W") {
            self.flag.get_or_insert(text);
        }
    }
}

impl BuildScript {
    /// Reads a build script.
    ///
    /// # Errors
    /// Fails if it compiles no BPF program, if what it compiles cannot be told from its text, or if it would pass a
    /// flag to clang that does more than compile.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        // A parser of Rust calls itself for what is nested.
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || Self::of(text));
            let thread = thread
                .map_err(|error| Wrong::new(format!("cannot be read: the system cannot start a thread: {error}")))?;
            thread.join().unwrap_or_else(|_| Err(Wrong::new("is not valid Rust")))
        })
    }

    fn of(text: &str) -> Result<Self, Wrong> {
        let not_rust = |line, error: &dyn std::fmt::Display| Wrong {
            line: Some(line),
            what: format!("is not valid Rust: {error}"),
        };
        let tokens: TokenStream =
            text.parse().map_err(|error: proc_macro2::LexError| not_rust(error.span().start().line, &error))?;
        bounded(tokens)?;
        let file = syn::parse_file(text).map_err(|error| not_rust(error.span().start().line, &error))?;
        let mut calls = Calls::default();
        calls.visit_file(&file);
        let hint = "name a compiled object instead: scx:PATH.bpf.o";
        if let (Some(variable), Some(flag)) = (&calls.environment, &calls.flag) {
            let (variable, flag) = (shown(variable), shown(flag));
            return Err(Wrong::new(format!("sets {variable} and has the flag {flag}, which is not supported; {hint}")));
        }
        if let Some(Wrong { line, what }) = calls.wrong {
            return Err(Wrong { line, what: format!("{what}; {hint}") });
        }
        flags::allowed(&calls.flags)
            .map_err(|(line, what)| Wrong { line: Some(line), what: format!("calls {what}; {hint}") })?;
        let mut found = calls.found;
        found.cflags = calls.flags.into_iter().map(|(_, flag)| flag).collect();
        if !calls.builder || found.main.is_empty() {
            return Err(Wrong::new(format!(
                "compiles no scheduler: expected BpfBuilder::new() and enable_skel(); {hint}"
            )));
        }
        found.others.retain(|source| *source != found.main);
        found.others.sort();
        found.others.dedup();
        Ok(found)
    }

    /// The line in which a path stands, from 1.
    pub fn line(&self, path: &str) -> usize {
        self.lines.get(path).copied().unwrap_or(1)
    }
}

/// A text of a script as an error repeats it.
fn shown(text: &str) -> String {
    wakelab_input::printable(&wakelab_input::shortened(text)).into_owned()
}

/// Whether a script is so short and flat that it can be read by what calls itself.
fn bounded(tokens: TokenStream) -> Result<(), Wrong> {
    let (mut open, mut count) = (vec![tokens.into_iter()], 0);
    while let Some(inner) = open.last_mut() {
        let Some(token) = inner.next() else {
            open.pop();
            continue;
        };
        count += 1;
        let line = Some(token.span().start().line);
        if count > TOKENS_MAX {
            let what = format!("has more than {TOKENS_MAX} tokens; expected the build script of a scheduler");
            return Err(Wrong { line, what });
        }
        if let TokenTree::Group(group) = token {
            if open.len() > DEPTH_MAX {
                let what = format!("nests brackets deeper than {DEPTH_MAX}; expected the build script of a scheduler");
                return Err(Wrong { line, what });
            }
            open.push(group.stream().into_iter());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_those_that_the_script_names() {
        let script = r#"
            fn main() {
                scx_cargo::BpfBuilder::new()
                    .unwrap()
                    .enable_intf("src/bpf/intf.h", "bpf_intf.rs")
                    .enable_skel("src/bpf/main.bpf.c", "bpf")
                    .add_include_path("a").add_include_path("b").add_cflag("-DX=1")
                    .add_source("src/bpf/timer.bpf.c")
                    .add_source("src/bpf/lib/pmu.bpf.c")
                    .add_source("src/bpf/main.bpf.c")
                    .compile_link_gen()
                    .unwrap();
            }"#;
        let expected = BuildScript {
            main: "src/bpf/main.bpf.c".into(),
            others: vec!["src/bpf/lib/pmu.bpf.c".into(), "src/bpf/timer.bpf.c".into()],
            include: vec!["b".into(), "a".into()],
            cflags: vec!["-DX=1".into()],
            lines: BTreeMap::new(),
        };
        let mut found = BuildScript::parse(script).unwrap();
        assert_eq!(found.line("src/bpf/lib/pmu.bpf.c"), 9);
        found.lines.clear();
        assert_eq!(found, expected);
    }

    /// That of scx_flow suppresses a warning.
    #[test]
    fn warnings_are_no_flags_that_matter() {
        let script = |flag: &str| {
            let more = "fn more(flag: &str) { if let Ok(old) = std::env::var(\"BPF_EXTRA_CFLAGS_POST_INCL\") {} }";
            let build = "scx_cargo::BpfBuilder::new().unwrap().enable_skel(\"a.bpf.c\", \"bpf\").build();";
            format!("{more}\nfn main() {{ more(\"{flag}\"); {build} }}")
        };
        assert_eq!(BuildScript::parse(&script("-Wno-missing-declarations")).unwrap().main, "a.bpf.c");
        let error = BuildScript::parse(&script("-DFAST")).unwrap_err();
        assert!(error.what.starts_with("sets BPF_EXTRA_CFLAGS_POST_INCL and has the flag -DFAST"), "{error:?}");
    }

    #[test]
    fn what_the_text_does_not_tell_is_refused() {
        let with = |calls: &str| format!("fn main() {{ let mut b = scx_utils::BpfBuilder::new().unwrap(); {calls} }}");
        for (script, error) in [
            ("fn main( {".to_owned(), "is not valid Rust"),
            ("fn main() {}".to_owned(), "compiles no scheduler"),
            (with(""), "compiles no scheduler"),
            (with("b.enable_skel(path, \"bpf\");"), "calls enable_skel() with something other than a text"),
            (with("if x { b.add_source(\"a.bpf.c\"); }"), "calls add_source() under a condition or in a loop"),
            ("fn main() { scx_rustland_core::RustLandBuilder::new().unwrap(); }".into(), "uses RustLandBuilder"),
        ] {
            assert!(BuildScript::parse(&script).unwrap_err().what.contains(error), "{script}");
        }
    }

    #[test]
    fn what_clang_would_obey_is_refused_with_its_line() {
        let with = |call: &str| format!("fn main() {{\n    scx_cargo::BpfBuilder::new().unwrap()\n        {call};\n}}");
        let skel = ".enable_skel(\"a.bpf.c\", \"bpf\")";
        for (call, what) in [
            (
                format!("{skel}.add_cflag(\"-fplugin=./evil.so\")"),
                "add_cflag(\"-fplugin=./evil.so\"), which is not passed",
            ),
            (".enable_skel(\"@flags\", \"bpf\")".to_owned(), "calls enable_skel(\"@flags\"); expected a path"),
            (format!("{skel}.add_source(\"-fplugin=./evil.so\")"), "calls add_source(\"-fplugin=./evil.so\")"),
            (format!("{skel}.add_source(\"/etc/passwd\")"), "calls add_source(\"/etc/passwd\")"),
            (format!("{skel}.add_source(\"x.f90\")"), "calls add_source(\"x.f90\"); expected a source in C"),
            (".enable_skel(\"x.bc\", \"bpf\")".to_owned(), "calls enable_skel(\"x.bc\"); expected a source in C"),
            (format!("{skel}.add_include_path(\"/etc\")"), "calls add_include_path(\"/etc\")"),
        ] {
            let error = BuildScript::parse(&with(&call)).unwrap_err().at(Path::new("x/build.rs"));
            assert!(error.starts_with("x/build.rs:3: it ") && error.contains(what), "{error}");
        }
    }

    /// What has made a parser overflow its stack, and what would: brackets, and signs that nest without any.
    #[test]
    fn scripts_that_nest_are_refused() {
        let script = |inner: String| format!("fn main() {{ let x = {inner}; }}");
        let deep = |n: usize| script(format!("{}1{}", "(".repeat(n), ")".repeat(n)));
        for (text, error) in [
            (deep(60_000), "nests brackets deeper than 64"),
            (deep(80), "nests brackets deeper than 64"),
            (script(format!("{}1", "(".repeat(60_000))), "is not valid Rust"),
            (script("!".repeat(100_000)), "has more than 8192 tokens"),
            (script("1 + ".repeat(60_000)), "has more than 8192 tokens"),
        ] {
            let found = BuildScript::parse(&text).unwrap_err();
            assert!(found.what.contains(error), "{found:?}");
        }
        let most = TOKENS_MAX - 20;
        let mut chains = vec![
            "1 + ".repeat(most / 2) + "1",
            "x".to_owned() + &".a()".repeat(most / 3),
            "x".to_owned() + &" as u8".repeat(most / 2),
            "if a {} else ".repeat(most / 4) + "{}",
            "|x| ".repeat(most / 3) + "1",
            "a = ".repeat(most / 2) + "1",
            "x".to_owned() + &"?".repeat(most),
            format!("{}u8{}", "A::<".repeat(most / 8), ">".repeat(most / 8)),
            "(|| 1)()".to_owned() + &"[0]".repeat(most / 3),
        ];
        chains.extend(
            ["!", "-", "&", "*", "return ", "break ", "&mut ", "..", "'a: "].map(|sign| sign.repeat(most / 3) + "1"),
        );
        chains
            .extend(["&", "*const ", "!", "fn() -> ", "&'a "].map(|sign| format!("1 as {}u8", sign.repeat(most / 5))));
        for chain in chains {
            let error = BuildScript::parse(&script(chain)).unwrap_err();
            assert!(
                error.what.contains("compiles no scheduler") || error.what.contains("is not valid Rust"),
                "{error:?}"
            );
        }
    }
}
