fn more(flag: &str) {
    if let Ok(old) = std::env::var("BPF_EXTRA_CFLAGS_POST_INCL") {
        println!("{old} {flag}");
    }
}
fn main() {
    more("-Wno-missing-declarations");
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel("src/bpf/main.bpf.c", "bpf")
        .compile_link_gen()
        .unwrap();
}
