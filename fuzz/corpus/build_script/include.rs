fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .add_include_path("src")
        .add_include_path("src/bpf")
        .enable_skel("src/bpf/main.bpf.c", "bpf")
        .compile_link_gen()
        .unwrap();
}
