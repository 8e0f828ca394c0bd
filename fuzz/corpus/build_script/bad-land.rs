fn main() {
    scx_rustland_core::RustLandBuilder::new()
        .unwrap()
        .compile_link_gen()
        .unwrap();
}
