//! Compiles the scheduler's arithmetic for this machine.

fn main() {
    println!("cargo:rerun-if-changed=src/native.c");
    println!("cargo:rerun-if-changed=../src/bpf");
    cc::Build::new()
        .file("src/native.c")
        .include("../src/bpf")
        .flag("-Wall")
        .flag("-Wextra")
        // BPF does not trap on them, and neither does the kernel's own code.
        .flag("-fwrapv")
        .warnings_into_errors(true)
        .opt_level(2)
        .compile("wakelab_policy");
}
