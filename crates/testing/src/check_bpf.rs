//! What must hold for whatever bytes are an object of BPF, or become a program: it is refused, ends with a result or
//! with a fault, and takes no more memory and work than the limits say.

use crate::bpf_kernel::TestKernel;
use wakelab_bpf::btf::Btf;
use wakelab_bpf::image::{Function, Image, Insn, Kfunc, LocalType, Map, MapKind};
use wakelab_bpf::machine::{Limits, Machine};
use wakelab_bpf::reduced_btf::reduce;
use wakelab_bpf::{Kconfig, LinkOptions, Object};

/// An object, and the types that it is linked for.
const OBJECT: &[u8] = include_bytes!("../../bpf/tests/data/relocations.bpf.o");
const KERNEL: &[u8] = include_bytes!("../../bpf/tests/data/kernel.o");

/// What a program may use: it is run often.
const LIMITS: Limits = Limits { insns: 20_000, work: 1 << 20, memory: 16 << 20, objects: 200 };

/// A map of each of these, and all helpers and kernel functions of the machine, are there for programs.
pub const KINDS: [MapKind; 16] = [
    MapKind::Hash,
    MapKind::Array,
    MapKind::PercpuHash,
    MapKind::PercpuArray,
    MapKind::LruHash,
    MapKind::LpmTrie,
    MapKind::ArrayOfMaps,
    MapKind::HashOfMaps,
    MapKind::Queue,
    MapKind::Stack,
    MapKind::Ringbuf,
    MapKind::UserRingbuf,
    MapKind::TaskStorage,
    MapKind::CgrpStorage,
    MapKind::Arena,
    MapKind::PerfEventArray,
];

/// The helpers that the machine has.
pub const HELPERS: [i32; 55] = [
    1, 2, 3, 4, 5, 6, 7, 8, 14, 22, 25, 35, 45, 55, 87, 88, 89, 93, 94, 112, 113, 114, 115, 118, 125, 130, 131, 132,
    133, 134, 153, 154, 156, 157, 158, 160, 164, 165, 169, 170, 171, 172, 177, 181, 182, 194, 195, 197, 201, 202, 203,
    208, 209, 210, 211,
];

/// The machine's kernel functions, and two of the kernel's in tests.
pub const KFUNCS: [&str; 59] = [
    "bpf_cpumask_create",
    "bpf_cpumask_acquire",
    "bpf_cpumask_release",
    "bpf_cpumask_first",
    "bpf_cpumask_first_zero",
    "bpf_cpumask_first_and",
    "bpf_cpumask_set_cpu",
    "bpf_cpumask_clear_cpu",
    "bpf_cpumask_test_cpu",
    "bpf_cpumask_test_and_set_cpu",
    "bpf_cpumask_test_and_clear_cpu",
    "bpf_cpumask_setall",
    "bpf_cpumask_clear",
    "bpf_cpumask_and",
    "bpf_cpumask_or",
    "bpf_cpumask_xor",
    "bpf_cpumask_equal",
    "bpf_cpumask_intersects",
    "bpf_cpumask_subset",
    "bpf_cpumask_empty",
    "bpf_cpumask_full",
    "bpf_cpumask_copy",
    "bpf_cpumask_any_distribute",
    "bpf_cpumask_any_and_distribute",
    "bpf_cpumask_weight",
    "bpf_cpumask_populate",
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "bpf_iter_num_destroy",
    "bpf_iter_bits_new",
    "bpf_iter_bits_next",
    "bpf_iter_bits_destroy",
    "bpf_rcu_read_lock",
    "bpf_rcu_read_unlock",
    "bpf_preempt_disable",
    "bpf_preempt_enable",
    "bpf_local_irq_save",
    "bpf_local_irq_restore",
    "bpf_arena_alloc_pages",
    "bpf_arena_free_pages",
    "bpf_arena_reserve_pages",
    "bpf_obj_new_impl",
    "bpf_obj_drop_impl",
    "bpf_refcount_acquire_impl",
    "bpf_rbtree_add_impl",
    "bpf_rbtree_remove",
    "bpf_rbtree_first",
    "bpf_list_push_front_impl",
    "bpf_list_push_back_impl",
    "bpf_list_pop_front",
    "bpf_list_pop_back",
    "bpf_list_front",
    "bpf_list_back",
    "bpf_res_spin_lock",
    "bpf_res_spin_unlock",
    "bpf_stream_vprintk",
    "bpf_rdonly_cast",
    "nest",
    "read_first",
];

/// A kernel with what the objects of the corpus need.
fn options() -> LinkOptions<'static> {
    let kconfig = [
        ("LINUX_KERNEL_VERSION", Kconfig::Number(0x70200)),
        ("CONFIG_HZ", Kconfig::Number(250)),
        ("CONFIG_YES", Kconfig::Yes),
        ("CONFIG_TEXT", Kconfig::Text("text".to_string())),
    ];
    LinkOptions {
        kfuncs: &|name| matches!(name, "kernel_function" | "kernel_changed"),
        ksyms: &|name| name == "kernel_variable",
        kconfig: kconfig.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
        ..LinkOptions::default()
    }
}

/// The functions of an object's image, run one after the other; how many there were, 0 if it is refused.
pub fn object(bytes: &[u8]) -> usize {
    let kernel = Btf::of_elf(KERNEL).expect("types");
    let image = match Object::parse(bytes).and_then(|object| object.link(&kernel, &options())) {
        Ok(image) => image,
        Err(error) => {
            assert!(!error.problems.is_empty() && error.problems.iter().all(|problem| !problem.is_empty()));
            return 0;
        }
    };
    match Machine::new(image, &LIMITS, 3, &|_| true) {
        Ok(machine) => run(machine),
        Err(refused) => {
            assert!(!refused.is_empty());
            1
        }
    }
}

/// Types that an object is linked for, and that are reduced; how many there were, 0 if they are refused.
pub fn types(bytes: &[u8]) -> usize {
    let Ok(kernel) = Btf::of_elf(bytes) else { return 0 };
    let _ = Object::parse(OBJECT).expect("an object").link(&kernel, &options());
    Btf::parse(&reduce(&kernel, &["*"])).expect("reduced types are types");
    kernel.len() as usize
}

/// A program of 4 bytes for each step; how many calls of helpers and kernel functions it made, and 1.
pub fn program(bytes: &[u8]) -> usize {
    match Machine::new(image_of(bytes), &LIMITS, 3, &|name| matches!(name, "nest" | "read_first")) {
        Ok(machine) => run(machine),
        Err(refused) => {
            assert!(!refused.is_empty());
            0
        }
    }
}

/// Calls each function of an image with a few arguments, and all timers that they started.
fn run(mut machine: Machine) -> usize {
    let mut kernel = TestKernel { nest: Some(0), ..TestKernel::default() };
    let sample = [1, 2, 3];
    for map in 0..machine.image().maps.len() as u32 {
        machine.user_ringbuf_push(map, &sample);
    }
    for function in 0..machine.image().functions.len().min(20) as u32 {
        for args in [[0, 0, 0], [1, 2, 3]] {
            if let Err(fault) = machine.call_ops(&mut kernel, function, &args) {
                assert!(!fault.to_string().is_empty());
            }
        }
    }
    for (timer, _) in std::mem::take(&mut kernel.timers) {
        let _ = machine.call_timer(&mut kernel, timer);
    }
    let counts = machine.take_counts();
    let done = 1 + (counts.helpers + counts.own_kfuncs + counts.kfuncs) as usize;
    for map in 0..machine.image().maps.len() as u32 {
        machine.ringbuf_take(map);
    }
    machine.storage_free(&mut kernel, 1 << 32);
    assert!(machine.memory().used() <= LIMITS.memory, "{} bytes", machine.memory().used());
    done
}

/// A map of each kind, all small.
fn maps() -> Vec<Map> {
    let of = |name: String, kind, key_size, value_size| Map::new(name, kind, key_size, value_size, 4);
    let maps = KINDS.iter().enumerate().map(|(at, &kind)| {
        let of_maps = matches!(kind, MapKind::ArrayOfMaps | MapKind::HashOfMaps);
        let key = match kind {
            MapKind::Queue | MapKind::Stack | MapKind::Ringbuf | MapKind::UserRingbuf | MapKind::Arena => 0,
            MapKind::LpmTrie => 8,
            _ => 4,
        };
        let inner = of_maps.then(|| Box::new(of("inner".to_string(), MapKind::Array, 4, 24)));
        let slots = if of_maps { vec![Some(0)] } else { Vec::new() };
        Map { inner, slots, ..of(format!("m{at}"), kind, key, if of_maps { 4 } else { 24 }) }
    });
    maps.collect()
}

/// The program of bytes, with a callback after it. What a call returns is in r6, and then often an argument.
fn image_of(bytes: &[u8]) -> Image {
    let mut insns = vec![Insn { code: 0xb7, dst: 6, ..Insn::default() }];
    let wide = |src: u8, dst: u8, low: i32, high: i32| {
        [Insn { code: 0x18, dst, src, imm: low, ..Insn::default() }, Insn { imm: high, ..Insn::default() }]
    };
    let mut functions_at = Vec::new();
    for step in bytes.chunks_exact(4).take(400) {
        let [kind, register, a, b] = [step[0], 1 + step[1] % 5, step[2], step[3]];
        let number = i32::from(i16::from_le_bytes([a, b]));
        match kind % 16 {
            0..=2 => insns.push(Insn { code: 0x85, imm: HELPERS[usize::from(a) % HELPERS.len()], ..Insn::default() }),
            3..=5 => {
                let imm = i32::from(a) % KFUNCS.len() as i32;
                insns.push(Insn { code: 0x85, src: 2, imm, ..Insn::default() });
            }
            6 => insns.extend(wide(1, register, i32::from(a) % KINDS.len() as i32, 0)),
            // The values of an array, of an array of CPUs and of the arena.
            7 => insns.extend(wide(2, register, [1, 3, 14][usize::from(a) % 3], i32::from(b % 64))),
            8 | 9 => {
                insns.push(Insn { code: 0xbf, dst: register, src: 10, ..Insn::default() });
                insns.push(Insn { code: 0x07, dst: register, imm: -i32::from(a), ..Insn::default() });
            }
            10 => insns.push(Insn { code: 0xbf, dst: register, src: 6, ..Insn::default() }),
            11 => insns.push(Insn { code: 0xb7, dst: register, imm: number, ..Insn::default() }),
            12 => insns.extend(wide(0, register, number, number.rotate_left(u32::from(b)))),
            13 => {
                functions_at.push(insns.len());
                insns.extend(wide(4, register, 0, 0));
            }
            14 => insns.push(Insn { code: 0x7b, dst: 10, src: register, off: -8 * i16::from(a % 64), imm: 0 }),
            _ => insns.push(Insn { code: a, dst: register, src: b % 11, off: number as i16 / 512, imm: number }),
        }
        if kind % 16 <= 5 {
            insns.push(Insn { code: 0xbf, dst: 6, ..Insn::default() });
        }
    }
    insns.push(Insn { code: 0x95, ..Insn::default() });
    let main = insns.len() as u32;
    for at in functions_at {
        insns[at].imm = main as i32;
    }
    // r0 = *(u64 *)(r2 + 0); r0 = 0; exit
    insns.push(Insn { code: 0x79, src: 2, ..Insn::default() });
    insns.push(Insn { code: 0xb7, ..Insn::default() });
    insns.push(Insn { code: 0x95, ..Insn::default() });
    let function = |name: &str, start: u32, len: u32| Function {
        name: name.to_string(),
        section: ".text".to_string(),
        start,
        len,
        args: 5,
    };
    Image {
        insns,
        functions: vec![function("main", 0, main), function("callback", main, 3)],
        maps: maps(),
        kfuncs: KFUNCS.iter().map(|name| Kfunc { name: name.to_string(), weak: false, args: 5 }).collect(),
        local_types: vec![LocalType { id: 5, name: "node".to_string(), size: 48 }],
        ..Image::default()
    }
}
