//! Writes a kernel's types, reduced to those that schedulers' programs ask for:
//! `reduce_btf vmlinux to.btf`, and then names of types if it is others: `task_struct 'scx_*' ...`.

use wakelab_bpf::btf::Btf;
use wakelab_bpf::reduced_btf::{ROOTS, reduce};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, to, roots @ ..] = arguments.as_slice() else {
        return Err("expected a kernel's vmlinux or BTF, and a file to write".into());
    };
    let kernel = Btf::of_elf(&std::fs::read(kernel)?)?;
    let roots: Vec<&str> = if roots.is_empty() { ROOTS.to_vec() } else { roots.iter().map(String::as_str).collect() };
    let bytes = reduce(&kernel, &roots);
    let reduced = Btf::parse(&bytes)?;
    println!("{} of {} types, {} bytes", reduced.len(), kernel.len(), bytes.len());
    std::fs::write(to, bytes)?;
    Ok(())
}
