//! Compiles the BPF program and makes its skeleton.

fn main() {
    let mut builder = scx_cargo::BpfBuilder::new().unwrap_or_else(|e| stop(&e));
    builder.enable_skel("src/bpf/main.bpf.c", "bpf").build().unwrap_or_else(|e| stop(&e));
    println!("cargo:rerun-if-changed=src/bpf");
}

fn stop(error: &dyn std::fmt::Debug) -> ! {
    eprintln!("{error:?}\n  hint: clang 16 or newer and libclang are needed; crates/scx-wakelab/build installs them");
    std::process::exit(1);
}
