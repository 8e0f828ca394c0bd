fn main() {
    std::fs::write("src/intf.h", "#define X 1\n").unwrap();
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel("src/bpf/main.bpf.c", "bpf")
        .compile_link_gen()
        .unwrap();
}
