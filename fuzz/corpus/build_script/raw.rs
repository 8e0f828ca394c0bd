fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel(r#"src/main.bpf.c"#, "bpf")
        .compile_link_gen()
        .unwrap();
}
