//! Writes a kernel's types, reduced to those that schedulers' programs ask for:
//! `reduce_btf vmlinux to.btf`, and then names of types if it is others: `task_struct 'scx_*' ...`. A `+` before a name
//! keeps it beside the usual ones: `+bpf_cpumask_create`.

use wakelab_bpf::btf::Btf;
use wakelab_bpf::reduced_btf::{ROOTS, reduce};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, to, roots @ ..] = arguments.as_slice() else {
        return Err("expected a kernel's vmlinux or BTF, and a file to write".into());
    };
    let kernel = Btf::of_elf(&std::fs::read(kernel)?)?;
    let (more, others): (Vec<&str>, Vec<&str>) =
        roots.iter().map(String::as_str).partition(|root| root.starts_with('+'));
    let usual = others.is_empty().then_some(ROOTS).into_iter().flatten();
    let roots: Vec<&str> = usual.chain(others).chain(more.iter().map(|root| &root[1..])).collect();
    let bytes = reduce(&kernel, &roots);
    let reduced = Btf::parse(&bytes)?;
    println!("{} of {} types, {} bytes", reduced.len(), kernel.len(), bytes.len());
    std::fs::write(to, bytes)?;
    Ok(())
}
