//! Compiles the scheduler's arithmetic and the control flow of its placement for this machine.

fn main() {
    for file in ["native.c", "native_select.c", "kernel_stub.h"] {
        println!("cargo:rerun-if-changed=src/{file}");
    }
    println!("cargo:rerun-if-changed=../scx-wakelab/src/bpf");
    cc::Build::new()
        .files(["src/native.c", "src/native_select.c"])
        .include("../scx-wakelab/src/bpf")
        .flag("-Wall")
        .flag("-Wextra")
        // Numbers of CPUs are signed where -1 stands for none; arguments of stubs are not read.
        .flag("-Wno-sign-compare")
        .flag("-Wno-unused-parameter")
        // BPF does not trap on them, and neither does the kernel's own code.
        .flag("-fwrapv")
        .warnings_into_errors(true)
        .opt_level(2)
        .compile("wakelab_policy");
}
