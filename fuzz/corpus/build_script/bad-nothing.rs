fn main() {
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_intf("a.h", "b")
        .compile_link_gen()
        .unwrap();
}
