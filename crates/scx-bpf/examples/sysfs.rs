//! Writes a machine as the files of sysfs that scx_utils reads: `sysfs MACHINE FOLDER`. Schedulers' own loaders then
//! find that machine (`SCX_SYSFS_PREFIX=FOLDER`), and what they make of it can be compared with ours.

use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let machine = wakelab_machine::get(&args.next().ok_or("expected a machine")?)?;
    let root = PathBuf::from(args.next().ok_or("expected a folder")?).join("sys/devices/system");
    let write = |path: &str, text: &str| -> std::io::Result<()> {
        let path = root.join(Path::new(path));
        std::fs::create_dir_all(path.parent().expect("it is in a folder"))?;
        std::fs::write(path, format!("{text}\n"))
    };
    let cpus = &machine.topology.cpus;
    let last = cpus.len() - 1;
    for name in ["online", "possible"] {
        write(&format!("cpu/{name}"), &if last == 0 { "0".to_owned() } else { format!("0-{last}") })?;
    }
    let like = |of: &dyn Fn(usize) -> u32, cpu: usize| {
        let alike = (0..cpus.len()).filter(|&other| of(other) == of(cpu)).map(|other| other.to_string());
        alike.collect::<Vec<_>>().join(",")
    };
    let smt = (0..cpus.len()).any(|cpu| like(&|cpu| cpus[cpu].core, cpu).contains(','));
    write("cpu/smt/active", if smt { "1" } else { "0" })?;
    for (at, cpu) in cpus.iter().enumerate() {
        let file = |name: &str| format!("cpu/cpu{at}/{name}");
        write(&file("topology/core_id"), &cpu.core.to_string())?;
        write(&file("topology/physical_package_id"), &cpu.package.to_string())?;
        write(&file("topology/cluster_id"), "-1")?;
        write(&file("cpu_capacity"), &cpu.capacity.to_string())?;
        let core = like(&|cpu| cpus[cpu].core, at);
        let llc = like(&|cpu| cpus[cpu].llc, at);
        for (index, size, shared, id) in
            [(0, "32K", &core, cpu.core), (2, "1024K", &core, cpu.core), (3, "32768K", &llc, cpu.llc)]
        {
            write(&file(&format!("cache/index{index}/size")), size)?;
            write(&file(&format!("cache/index{index}/shared_cpu_list")), shared)?;
            write(&file(&format!("cache/index{index}/id")), &id.to_string())?;
        }
        write(&format!("node/node{}/cpu{at}/topology/core_id", cpu.node), &cpu.core.to_string())?;
        let distances: Vec<String> =
            machine.topology.node_distance[cpu.node as usize].iter().map(u32::to_string).collect();
        write(&format!("node/node{}/distance", cpu.node), &distances.join(" "))?;
    }
    Ok(())
}
