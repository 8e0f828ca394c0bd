fn main() {
    let b = scx_cargo::BpfBuilder::new().unwrap();
    if x { b.add_source("a.bpf.c"); }
    b
        .enable_skel("src/bpf/main.bpf.c", "bpf")
        .compile_link_gen()
        .unwrap();
}
