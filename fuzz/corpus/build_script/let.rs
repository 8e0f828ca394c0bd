use scx_cargo::BpfBuilder;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut b = BpfBuilder::new()?;
    b.enable_skel("src/bpf/main.bpf.c", "bpf");
    b.compile_link_gen()?;
    Ok(())
}
