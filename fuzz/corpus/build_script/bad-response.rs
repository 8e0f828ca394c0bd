fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel("@x", "bpf")
        .compile_link_gen()
        .unwrap();
}
