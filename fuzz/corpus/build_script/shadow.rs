#![allow(unused)]
mod a { pub fn b() {} }
fn main() {
    a::b();
    scx_cargo::BpfBuilder::new()
        .unwrap()
        .enable_skel("src/bpf/main.bpf.c", "bpf")
        .compile_link_gen()
        .unwrap();
}
