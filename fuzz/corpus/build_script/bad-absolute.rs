fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel("src/bpf/main.bpf.c", "bpf").add_include_path("/etc")
        .compile_link_gen()
        .unwrap();
}
