//! Links objects for a kernel and says what they are: `link vmlinux object...`.

use std::collections::BTreeMap;
use wakelab_bpf::btf::Btf;
use wakelab_bpf::{Kconfig, LinkOptions, Object};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let kernel = std::fs::read(arguments.next().ok_or("expected a kernel's BTF")?)?;
    let began = std::time::Instant::now();
    let kernel = Btf::of_elf(&kernel)?;
    println!("{} types in {} ms", kernel.len(), began.elapsed().as_millis());
    let kconfig = BTreeMap::from([
        ("LINUX_KERNEL_VERSION".to_string(), Kconfig::Number(7 << 16 | 2 << 8)),
        ("CONFIG_HZ".to_string(), Kconfig::Number(1000)),
        ("CONFIG_NR_CPUS".to_string(), Kconfig::Number(8192)),
    ]);
    for path in arguments {
        let began = std::time::Instant::now();
        let object = Object::parse(&std::fs::read(&path)?);
        let object = match object {
            Ok(object) => object,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        let parsed = began.elapsed().as_millis();
        let kfuncs = |name: &str| kernel.function(name).is_some();
        let options = LinkOptions { kfuncs: &kfuncs, kconfig: kconfig.clone(), ..LinkOptions::default() };
        match object.link(&kernel, &options) {
            Ok(image) => {
                println!(
                    "{path}: {} insns, {} functions, {} maps, {} kfuncs, ksyms {:?}, {} accesses, {} poisoned, \
                     {} left out, parsed in {parsed} ms, with linking {} ms",
                    image.insns.len(),
                    image.functions.len(),
                    image.maps.len(),
                    image.kfuncs.len(),
                    image.ksyms,
                    image.accesses.len(),
                    image.poisoned.len(),
                    image.left_out.len(),
                    began.elapsed().as_millis(),
                );
                if std::env::var_os("VERBOSE").is_some() {
                    for ops in &image.struct_ops {
                        println!("  {} {}: {:?}", ops.type_name, ops.name, ops.members);
                    }
                    for map in &image.maps {
                        println!(
                            "  map {} {:?} key {} value {} entries {} flags {:#x} data {} slots {:?} inner {}",
                            map.name,
                            map.kind,
                            map.key_size,
                            map.value_size,
                            map.max_entries,
                            map.flags,
                            map.data.len(),
                            map.slots,
                            map.inner.is_some()
                        );
                        for variable in &map.variables {
                            println!(
                                "    {} {} {} / {} members {}",
                                variable.name,
                                variable.offset,
                                variable.size,
                                variable.element,
                                variable.members.len()
                            );
                        }
                    }
                    println!("  kfuncs {:?}", image.kfuncs.iter().map(|of| of.name.as_str()).collect::<Vec<_>>());
                    for access in &image.accesses {
                        println!("  {access:?}");
                    }
                    println!("  poisoned {:?}", image.poisoned);
                    println!("  left out {:?}", image.left_out);
                    println!("  local types {:?}", image.local_types);
                }
            }
            Err(error) => println!("{path}:\n{error}"),
        }
    }
    Ok(())
}
