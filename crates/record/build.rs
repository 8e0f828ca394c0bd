//! Compiles the BPF program and makes its skeleton.

use libbpf_cargo::SkeletonBuilder;
use std::path::PathBuf;

const SOURCE: &str = "src/bpf/record.bpf.c";

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("record.skel.rs");
    // Those of the libbpf that is linked, not of one that the machine may have.
    let headers = std::env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let arguments = ["-Wall", "-Werror", "-I", &headers];
    if let Err(error) = SkeletonBuilder::new().source(SOURCE).clang_args(arguments).build_and_generate(&out) {
        eprintln!("{error:?}\n  hint: clang 14 or newer is needed: apt-get install clang libelf-dev zlib1g-dev");
        std::process::exit(1);
    }
    println!("cargo:rerun-if-changed=src/bpf");
}
