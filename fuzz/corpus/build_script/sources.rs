fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel("src/bpf/main.bpf.c", "bpf")
        .add_source("src/bpf/a.bpf.c")
        .add_source("src/bpf/lib/b.bpf.c")
        .add_source("src/bpf/a.bpf.c")
        .compile_link_gen()
        .unwrap();
}
