fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel(path, "bpf")
        .compile_link_gen()
        .unwrap();
}
