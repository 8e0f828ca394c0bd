fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel("src/bpf/main.bpf.c", "bpf").add_cflag("-Xclang").add_cflag("-load")
        .compile_link_gen()
        .unwrap();
}
