//! The architecture, which no file of sysfs names: told by files that only its kernels write.

use super::sys::Sys;
use super::tree::{CPU, Tree};
use wakelab_sched::domain::Arch;

/// An instruction set whose kernels build domains in their own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isa {
    X86,
    Arm64,
    Riscv,
    Loongarch,
    Powerpc,
    S390,
}

impl Isa {
    /// Tells it from a word that begins with what `uname -m`, a modalias or a device tree says.
    pub(super) fn of_word(word: &str) -> Option<Isa> {
        const WORDS: &[(&str, Isa)] = &[
            ("x86", Isa::X86),
            ("i686", Isa::X86),
            ("amd64", Isa::X86),
            ("aarch64", Isa::Arm64),
            ("arm", Isa::Arm64),
            ("apple,", Isa::Arm64),
            ("qcom,kryo", Isa::Arm64),
            ("qcom,oryon", Isa::Arm64),
            ("riscv", Isa::Riscv),
            ("sifive,", Isa::Riscv),
            ("thead,", Isa::Riscv),
            ("spacemit,", Isa::Riscv),
            ("loong", Isa::Loongarch),
            ("ppc", Isa::Powerpc),
            ("power", Isa::Powerpc),
            ("s390", Isa::S390),
            ("z1", Isa::S390),
        ];
        let word = word.to_ascii_lowercase();
        WORDS.iter().find(|(start, _)| word.starts_with(start)).map(|&(_, isa)| isa)
    }

    /// How its kernels build domains, as far as that is modelled.
    pub(super) fn arch(self) -> Arch {
        if self == Isa::X86 { Arch::X86 } else { Arch::Arm64 }
    }

    /// Returns a note for readers about the levels that its kernels build.
    pub(super) fn note(self) -> Option<&'static str> {
        match self {
            Isa::X86 | Isa::Arm64 => None,
            Isa::Riscv => Some(
                "this is riscv, whose levels are the same as arm64's (drivers/base/arch_topology.c): arch = \"arm64\" \
                 stands for them",
            ),
            Isa::Loongarch => Some(
                "this is loongarch, which has the default levels without clusters: arch = \"arm64\" stands for them",
            ),
            Isa::Powerpc => Some(
                "this is powerpc: the levels SMT, CACHE and PKG of powerpc_topology are SMT, MC and PKG of arch = \
                 \"arm64\"; its coregroups (MC of shared processors) are left out",
            ),
            Isa::S390 => Some(
                "this is s390: the levels SMT, MC and PKG of s390_topology are those of arch = \"arm64\", and an LLC \
                 is a socket (cpu_coregroup_mask()), whatever caches there are",
            ),
        }
    }
}

/// Files below the folder of each CPU that only one architecture has.
const OF_CPU: &[(&str, Isa)] = &[
    ("regs/identification/midr_el1", Isa::Arm64),
    ("mte_tcf_preferred", Isa::Arm64),
    ("microcode", Isa::X86),
    ("thermal_throttle", Isa::X86),
    ("pir", Isa::Powerpc),
    ("dscr", Isa::Powerpc),
    ("purr", Isa::Powerpc),
    ("idle_purr", Isa::Powerpc),
    ("mmcr0", Isa::Powerpc),
    ("smt_snooze_delay", Isa::Powerpc),
    ("polarization", Isa::S390),
    ("capability", Isa::S390),
    ("topology/book_id", Isa::S390),
    ("topology/drawer_id", Isa::S390),
    ("topology/book_siblings_list", Isa::S390),
    ("topology/drawer_siblings_list", Isa::S390),
];

/// Files and folders of the machine that only one architecture has, below the root of the tree.
const OF_MACHINE: &[(&str, Isa)] = &[
    ("devices/system/cpu/intel_pstate", Isa::X86),
    ("devices/system/cpu/amd_pstate", Isa::X86),
    ("devices/system/cpu/microcode", Isa::X86),
    ("devices/system/machinecheck", Isa::X86),
    ("devices/cpu_core", Isa::X86),
    ("devices/cpu_atom", Isa::X86),
    ("devices/intel_pt", Isa::X86),
    ("devices/msr", Isa::X86),
    ("devices/system/cpu/aarch32_el0", Isa::Arm64),
    ("devices/system/cpu/dscr_default", Isa::Powerpc),
    ("devices/system/cpu/subcores_per_core", Isa::Powerpc),
    ("devices/system/cpu/dispatching", Isa::S390),
    ("devices/system/cpu/rescan", Isa::S390),
];

/// Drivers of one architecture, of frequencies and of idle states.
const DRIVERS: &[(&str, Isa)] = &[
    ("intel_", Isa::X86),
    ("amd-pstate", Isa::X86),
    ("acpi-cpufreq", Isa::X86),
    ("pcc-cpufreq", Isa::X86),
    ("powernow-k8", Isa::X86),
    ("cppc_cpufreq", Isa::Arm64),
    ("scmi", Isa::Arm64),
    ("scpi", Isa::Arm64),
    ("psci", Isa::Arm64),
    ("qcom-cpufreq", Isa::Arm64),
    ("mediatek", Isa::Arm64),
    ("tegra", Isa::Arm64),
    ("apple-cpufreq", Isa::Arm64),
    ("vexpress-spc", Isa::Arm64),
    ("powernv", Isa::Powerpc),
    ("pseries", Isa::Powerpc),
    ("riscv", Isa::Riscv),
    ("sbi", Isa::Riscv),
    ("loongson", Isa::Loongarch),
];

/// Returns the architecture. `None` if nothing tells it.
pub(super) fn read(sys: &Sys<'_>) -> Option<Isa> {
    let tree = sys.tree;
    let of_cpu = || OF_CPU.iter().find(|(file, _)| (0..sys.len()).any(|cpu| tree.has(&sys.path(cpu, file))));
    let of_machine = || OF_MACHINE.iter().find(|(file, _)| tree.has(file));
    let found = of_cpu().or_else(of_machine).map(|&(_, isa)| isa);
    // arch_topology.c writes it; x86 does so for hybrid machines only, which the files above tell.
    let capacity = || (0..sys.len()).any(|cpu| tree.has(&sys.path(cpu, "cpu_capacity"))).then_some(Isa::Arm64);
    found.or_else(|| by_words(sys)).or_else(|| by_driver(sys)).or_else(capacity)
}

/// By what udev is told: `cpu:type:x86,ven0000...`, `OF_COMPATIBLE_0=riscv`.
fn by_words(sys: &Sys<'_>) -> Option<Isa> {
    let texts = [format!("{CPU}/modalias"), sys.path(0, "uevent"), sys.path(0, "of_node/compatible")];
    texts.iter().find_map(|path| {
        let text = quietly(sys.tree, path)?;
        let words = text.lines().flat_map(|line| line.split(['=', '\0']));
        words.map(|word| word.strip_prefix("cpu:type:").unwrap_or(word)).find_map(Isa::of_word)
    })
}

fn by_driver(sys: &Sys<'_>) -> Option<Isa> {
    let policies = sys.tree.numbered(&format!("{CPU}/cpufreq"), "policy").unwrap_or_default();
    let policy = policies.first().map(|policy| format!("{CPU}/cpufreq/policy{policy}/scaling_driver"));
    let files = [Some(format!("{CPU}/cpuidle/current_driver")), policy, Some(sys.path(0, "cpufreq/scaling_driver"))];
    files.iter().flatten().find_map(|path| {
        let driver = quietly(sys.tree, path)?;
        DRIVERS.iter().find(|(start, _)| driver.starts_with(start)).map(|&(_, isa)| isa)
    })
}

/// A file's text; none if it cannot be read, as nothing but the architecture is told by it.
fn quietly(tree: Tree<'_>, path: &str) -> Option<String> {
    tree.text(path).ok().flatten()
}
