fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel("src/bpf/main.bpf.c", "bpf").add_cflag("-D").add_cflag("@x")
        .compile_link_gen()
        .unwrap();
}
