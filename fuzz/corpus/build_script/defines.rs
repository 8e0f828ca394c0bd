fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel("src/bpf/main.bpf.c", "bpf")
        .add_cflag("-DX=1")
        .add_cflag("-O3")
        .add_cflag("-Wno-unused")
        .add_cflag("-mllvm")
        .add_cflag("-bpf-stack-size=1024")
        .compile_link_gen()
        .unwrap();
}
