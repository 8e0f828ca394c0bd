//! The kernel functions of 6.12 that newer kernels call otherwise.
//!
//! A source for 6.12 has them from that kernel's `vmlinux.h` (`bpftool btf dump`). That of newer kernels declares their
//! new names alone, so that such a source would not compile; under v6.12 its object runs.

use crate::clang::Failure;

/// The beginning of their header.
pub const HEADER: &str = "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\n";

/// Their names and declarations (`kernel/sched/ext.c` of 6.12; renamed in 6.13).
const DECLARED: [(&str, &str); 7] = [
    ("scx_bpf_dispatch", "void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)"),
    (
        "scx_bpf_dispatch_vtime",
        "void scx_bpf_dispatch_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags)",
    ),
    ("scx_bpf_consume", "bool scx_bpf_consume(u64 dsq_id)"),
    (
        "scx_bpf_dispatch_from_dsq_set_slice",
        "void scx_bpf_dispatch_from_dsq_set_slice(struct bpf_iter_scx_dsq *it__iter, u64 slice)",
    ),
    (
        "scx_bpf_dispatch_from_dsq_set_vtime",
        "void scx_bpf_dispatch_from_dsq_set_vtime(struct bpf_iter_scx_dsq *it__iter, u64 vtime)",
    ),
    (
        "scx_bpf_dispatch_from_dsq",
        "bool scx_bpf_dispatch_from_dsq(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id, \
         u64 enq_flags)",
    ),
    (
        "scx_bpf_dispatch_vtime_from_dsq",
        "bool scx_bpf_dispatch_vtime_from_dsq(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id, \
         u64 enq_flags)",
    ),
];

/// A header with those that clang did not find declared; `None` if it missed none of them.
///
/// All are declared if one is missing: clang counts errors up to a limit.
pub fn declared(failure: &Failure) -> Option<String> {
    let missed = |name: &str| DECLARED.iter().any(|(declared, _)| *declared == name);
    failure.names("undeclared function '", "'").find(|name| missed(name))?;
    let all: String = DECLARED.iter().map(|(_, text)| format!("extern {text} __ksym;\n")).collect();
    Some(format!("{HEADER}{all}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clang_misses_is_declared() {
        let failure = |name: &str| Failure::Refused {
            clang: String::new(),
            said: format!(
                "a.c:1:2: error: call to undeclared function 'f'\na.c:2:2: error: call to undeclared function '{name}'"
            ),
        };
        let header = declared(&failure("scx_bpf_consume")).unwrap();
        assert!(header.contains("extern bool scx_bpf_consume(u64 dsq_id) __ksym;\n"), "{header}");
        assert_eq!(declared(&failure("scx_bpf_dsq_insert")), None);
        for (name, text) in DECLARED {
            assert!(text.contains(&format!(" {name}(")), "{name}");
        }
    }
}
