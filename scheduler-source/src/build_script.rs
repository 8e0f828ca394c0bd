//! What the build script of a scheduler's crate compiles: the calls of `BpfBuilder` (`scx_cargo`, earlier `scx_utils`).

use syn::visit::{self, Visit};
use syn::{Expr, ExprForLoop, ExprIf, ExprMatch, ExprMethodCall, ExprPath, ExprWhile, Lit, LitStr};

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
}

#[derive(Default)]
struct Calls {
    found: BuildScript,
    builder: bool,
    wrong: Option<String>,
    /// How many conditions and loops are around.
    depth: u32,
    /// Texts that begin with `BPF_`, the names of the builder's environment, and such as change what is compiled.
    environment: Option<String>,
    flag: Option<String>,
}

impl Calls {
    fn wrong(&mut self, what: String) {
        self.wrong.get_or_insert(what);
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
            match text {
                _ if self.depth > 0 => self.wrong(format!("calls {method}() under a condition or in a loop")),
                None => self.wrong(format!("calls {method}() with something other than a text")),
                Some(text) => match method.as_str() {
                    "enable_skel" => self.found.main = text,
                    "add_source" => self.found.others.push(text),
                    "add_include_path" => self.found.include.insert(0, text),
                    _ => self.found.cflags.push(text),
                },
            }
        } else {
            call.args.iter().for_each(|argument| self.visit_expr(argument));
        }
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        for segment in &path.path.segments {
            self.builder |= segment.ident == "BpfBuilder";
            if segment.ident == "RustLandBuilder" {
                self.wrong("uses RustLandBuilder: its tasks are scheduled in user space, which is not modelled".into());
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
    /// Fails if it compiles no BPF program, or if what it compiles cannot be told from its text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file = syn::parse_file(text).map_err(|error| format!("is not Rust: {error}"))?;
        let mut calls = Calls::default();
        calls.visit_file(&file);
        let hint = "name a compiled object instead: scx:PATH.bpf.o";
        if let (Some(variable), Some(flag)) = (&calls.environment, &calls.flag) {
            return Err(format!("sets {variable} and has the flag {flag}, which is not read; {hint}"));
        }
        if let Some(what) = calls.wrong {
            return Err(format!("{what}; {hint}"));
        }
        let mut found = calls.found;
        if !calls.builder || found.main.is_empty() {
            return Err(format!("compiles no scheduler: expected BpfBuilder::new() and enable_skel(); {hint}"));
        }
        found.others.retain(|source| *source != found.main);
        found.others.sort();
        found.others.dedup();
        Ok(found)
    }
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
        };
        assert_eq!(BuildScript::parse(script), Ok(expected));
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
        assert!(error.starts_with("sets BPF_EXTRA_CFLAGS_POST_INCL and has the flag -DFAST"), "{error}");
    }

    #[test]
    fn what_the_text_does_not_tell_is_refused() {
        let with = |calls: &str| format!("fn main() {{ let mut b = scx_utils::BpfBuilder::new().unwrap(); {calls} }}");
        for (script, error) in [
            ("fn main( {".to_owned(), "is not Rust"),
            ("fn main() {}".to_owned(), "compiles no scheduler"),
            (with(""), "compiles no scheduler"),
            (with("b.enable_skel(path, \"bpf\");"), "calls enable_skel() with something other than a text"),
            (with("if x { b.add_source(\"a.bpf.c\"); }"), "calls add_source() under a condition or in a loop"),
            ("fn main() { scx_rustland_core::RustLandBuilder::new().unwrap(); }".into(), "uses RustLandBuilder"),
        ] {
            assert!(BuildScript::parse(&script).unwrap_err().contains(error), "{script}");
        }
    }
}
