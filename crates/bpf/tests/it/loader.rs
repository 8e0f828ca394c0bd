//! Objects made for the purpose (`tests/data`), linked for a kernel whose types are others than they assume.

use std::collections::BTreeMap;
use wakelab_bpf::btf::Btf;
use wakelab_bpf::image::{ABSENT, Image, Insn, MapKind, Member, POISON};
use wakelab_bpf::{ExternKind, Kconfig, LinkOptions, Object};

pub const RELOCATIONS: &[u8] = include_bytes!("../data/relocations.bpf.o");
pub const KERNEL: &[u8] = include_bytes!("../data/kernel.o");
pub const SIMPLE: &[u8] = include_bytes!("../data/scx_simple.bpf.o");

/// What the made-up kernel is.
pub fn options() -> LinkOptions<'static> {
    let kconfig = BTreeMap::from([
        ("LINUX_KERNEL_VERSION".to_string(), Kconfig::Number(0x70200)),
        ("CONFIG_HZ".to_string(), Kconfig::Number(250)),
        ("CONFIG_YES".to_string(), Kconfig::Yes),
        ("CONFIG_TEXT".to_string(), Kconfig::Text("text".to_string())),
    ]);
    LinkOptions {
        kfuncs: &|name| matches!(name, "kernel_function" | "kernel_changed"),
        ksyms: &|name| name == "kernel_variable",
        kconfig,
        ..LinkOptions::default()
    }
}

fn image() -> Image {
    let object = Object::parse(RELOCATIONS).unwrap();
    object.link(&Btf::of_elf(KERNEL).unwrap(), &options()).unwrap()
}

fn insns<'a>(image: &'a Image, function: &str) -> &'a [Insn] {
    let function = image.functions.iter().find(|of| of.name == function).unwrap();
    &image.insns[function.start as usize..][..function.len as usize]
}

/// What a program of moves, loads of 64 bits and stores puts into the elements of `out`.
fn stored(image: &Image, function: &str) -> BTreeMap<usize, u64> {
    #[derive(Clone, Copy)]
    enum Value {
        Number(u64),
        Address(u32, u64),
    }
    let mut registers = [Value::Number(0); 11];
    let mut out = BTreeMap::new();
    let code = insns(image, function);
    let (map, base, _) = image.variable("out").unwrap();
    let mut at = 0;
    while at < code.len() {
        let insn = code[at];
        let (dst, src) = (insn.dst as usize, insn.src as usize);
        match insn.code {
            0xb7 => registers[dst] = Value::Number(insn.imm as i64 as u64),
            0xb4 => registers[dst] = Value::Number(u64::from(insn.imm as u32)),
            0xbf => registers[dst] = registers[src],
            0x18 => {
                let high = code[at + 1].imm as u32;
                registers[dst] = match insn.src {
                    2 => Value::Address(insn.imm as u32, u64::from(high)),
                    _ => Value::Number(u64::from(high) << 32 | u64::from(insn.imm as u32)),
                };
                at += 1;
            }
            0x7b => {
                let (Value::Address(of, offset), Value::Number(number)) = (registers[dst], registers[src]) else {
                    panic!("a store of another kind at {at}")
                };
                assert_eq!(of, map);
                let place = offset as i64 + i64::from(insn.off) - i64::from(base);
                assert_eq!(out.insert(place as usize / 8, number), None);
            }
            0x95 => return out,
            code => panic!("instruction {code:#x} at {at}"),
        }
        at += 1;
    }
    out
}

/// The answers by hand, from `kernel.c`.
#[test]
fn each_kind_of_relocation_is_answered_by_the_kernels_types() {
    let image = image();
    let object = Object::parse(RELOCATIONS).unwrap();
    let kernel = Btf::of_elf(KERNEL).unwrap();
    let own = object.btf().find_composite("own").unwrap();
    let inner = kernel.find_composite("inner").unwrap();
    let expected: BTreeMap<usize, u64> = [
        48,
        64,
        1,
        0,
        1,
        0,
        32,
        4,
        56,
        59,
        1,
        0,
        128,
        1,
        0,
        u64::from(own),
        u64::from(inner),
        1,
        0,
        7,
        0x99_0000_0000,
        8,
    ]
    .into_iter()
    .enumerate()
    .collect();
    assert_eq!(stored(&image, "asks"), expected);
    assert_eq!(image.local_types.len(), 1);
    assert_eq!((image.local_types[0].id, image.local_types[0].size), (own, 24));
}

#[test]
fn a_field_is_found_by_its_path() {
    let kernel = Btf::of_elf(KERNEL).unwrap();
    let field = |path: &str| kernel.field("thing", path).map(|(offset, id)| (offset, kernel.size(id)));
    assert_eq!(field("in_unnamed"), Some((12, Some(4))));
    assert_eq!(field("inner.second"), Some((48, Some(4))));
    assert_eq!(field("many"), Some((56, Some(64))));
    assert_eq!([field("bits"), field("gone"), field("inner.gone"), field("added.x")], [None; 4]);
    assert_eq!(kernel.field("absent", "x"), None);
}

#[test]
fn loads_and_stores_get_the_kernels_offsets_and_sizes() {
    let image = image();
    let mut accesses: Vec<(u8, i16)> = Vec::new();
    for insn in insns(&image, "stop") {
        // Loads and stores but those of `in_bss` and of the context.
        if matches!(insn.code & 7, 1..=3) && insn.off != 0 {
            accesses.push((insn.code, insn.off));
        }
    }
    accesses.sort_unstable_by_key(|(_, off)| *off);
    // `whole` became one of 8 bytes, `shrunk_to_u8` of one; `flexible[5]` is beyond the struct.
    assert_eq!(accesses, [(0x79, 8), (0x63, 12), (0x71, 16), (0x79, 24), (0x63, 48), (0x7b, 88), (0x63, 148)]);
}

#[test]
fn what_the_kernel_lacks_is_poisoned_and_named() {
    let image = image();
    let poisoned = image.functions.iter().find(|of| of.name == "poisoned").unwrap();
    let texts: Vec<&str> = image.poisoned.iter().map(|(_, text)| text.as_str()).collect();
    let green = "enumval_value of colour.GREEN";
    let expected = ["byte_off of thing.gone", "type_size of absent", green, green, "byte_off of thing.was_long"];
    assert_eq!(texts, expected);
    for (at, text) in &image.poisoned {
        let insn = image.insns[*at as usize];
        assert_eq!((insn.code, insn.imm), (0x85, POISON), "{text}");
        assert!((poisoned.start..poisoned.start + poisoned.len).contains(at), "{text}");
    }
    let gone = image.accesses.iter().find(|of| of.path == "gone").unwrap();
    assert_eq!((gone.type_name.as_str(), gone.exists, gone.used), ("thing", false, true));
    let both = image.accesses.iter().find(|of| of.type_name == "both").unwrap();
    assert_eq!((both.path.as_str(), both.exists, both.used), ("b", true, false));
}

#[test]
fn calls_and_addresses_are_resolved() {
    let image = image();
    let named = |name: &str| image.functions.iter().position(|of| of.name == name).unwrap();
    let mut called = Vec::new();
    let mut kfuncs = Vec::new();
    let mut helpers = Vec::new();
    for (at, insn) in image.insns.iter().enumerate() {
        match (insn.code, insn.src) {
            (0x85, 0) if insn.imm != POISON => helpers.push(insn.imm),
            (0x85, 1) => {
                let to = (at as i64 + 1 + i64::from(insn.imm)) as u32;
                called.push(image.functions.iter().position(|of| of.start == to).unwrap());
            }
            (0x85, 2) => kfuncs.push(insn.imm),
            (0x18, 4) => assert_eq!(image.functions[named("callback")].start, insn.imm as u32),
            _ => {}
        }
    }
    assert_eq!(called, [named("static_function"), named("global_function")]);
    helpers.sort_unstable();
    assert_eq!(helpers, [1, 1, 5, 181]);
    // `kernel_changed` has other arguments than the object assumes; `kernel_absent` is not there.
    assert_eq!(kfuncs.iter().filter(|number| **number == ABSENT).count(), 2);
    assert!(kfuncs.iter().all(|number| *number == ABSENT || image.kfuncs[*number as usize].name == "kernel_function"));
    assert_eq!(image.kfuncs.iter().map(|of| (of.weak, of.args)).collect::<Vec<_>>(), [(true, 2), (false, 2)]);
    assert_eq!(image.ksyms, ["kernel_variable"]);
    assert_eq!(image.left_out, [("kprobe/somewhere".to_string(), "left_out".to_string())]);
    let args: Vec<u32> =
        ["callback", "start", "static_function"].map(|name| image.functions[named(name)].args).to_vec();
    assert_eq!(args, [2, 1, 1]);
}

#[test]
fn lines_tell_where_instructions_come_from() {
    let image = image();
    let source = include_str!("../data/relocations.bpf.c");
    let at = image.poisoned[0].0;
    let line = image.line(at).unwrap();
    assert!(line.file.ends_with("relocations.bpf.c"), "{}", line.file);
    assert_eq!(source.lines().nth(line.line as usize - 1).unwrap().trim(), &*line.text);
    assert_eq!(&*line.text, "out[0] = thing->gone;");
    assert_eq!(image.function_of(at).unwrap().name, "poisoned");
}

#[test]
fn maps_are_as_btf_defines_them() {
    let image = image();
    let map = |name: &str| image.maps.iter().position(|map| map.name == name).unwrap();
    let hash = &image.maps[map("hash")];
    assert_eq!((hash.kind, hash.key_size, hash.value_size), (MapKind::Hash, 8, 24));
    assert_eq!((hash.max_entries, hash.flags), (100, 1));
    let outer = &image.maps[map("outer")];
    let (first, second) = (map("first_inner") as u32, map("second_inner") as u32);
    assert_eq!(outer.kind, MapKind::ArrayOfMaps);
    assert_eq!(outer.slots, [None, Some(first), None, Some(second)]);
    let inner = outer.inner.as_ref().unwrap();
    assert_eq!((inner.kind, inner.max_entries, inner.value_size), (MapKind::Array, 5, 8));
    let arena = &image.maps[map("arena")];
    assert_eq!((arena.kind, arena.max_entries, arena.data.as_slice()), (MapKind::Arena, 16, &42u64.to_le_bytes()[..]));
    assert!(image.maps[map(".rodata")].read_only && !image.maps[map(".data")].read_only);
    let numbers = ["LINUX_KERNEL_VERSION", "CONFIG_HZ", "CONFIG_YES", "CONFIG_ABSENT"];
    assert_eq!(numbers.map(|name| image.number_of(name).unwrap()), [0x70200, 250, 1, 0]);
    assert_eq!(image.bytes_of("CONFIG_TEXT").unwrap(), b"text\0\0\0\0");
}

#[test]
fn struct_ops_have_their_programs_and_values() {
    let object = Object::parse(RELOCATIONS).unwrap();
    assert_eq!(object.struct_ops(), [("made_up".to_string(), "ops___v2".to_string())]);
    let image = image();
    let [ops] = image.struct_ops.as_slice() else { panic!("{:?}", image.struct_ops) };
    let program = |name: &str| Member::Program(image.functions.iter().position(|of| of.name == name).unwrap() as u32);
    assert_eq!((ops.name.as_str(), ops.type_name.as_str()), ("made_up", "ops"));
    let expected = [
        ("start", program("start")),
        ("stop", program("stop")),
        ("flags", Member::Number(0x12)),
        ("name", Member::Text("made_up".to_string())),
        ("not_in_kernel", Member::Number(0xffff_ffff)),
    ];
    let expected: Vec<(String, Member)> = expected.into_iter().map(|(name, of)| (name.to_string(), of)).collect();
    assert_eq!(ops.members, expected);
}

#[test]
fn all_that_is_missing_is_told_at_once() {
    let object = Object::parse(RELOCATIONS).unwrap();
    let kernel = Btf::of_elf(KERNEL).unwrap();
    let nothing = LinkOptions { kfuncs: &|_| false, ksyms: &|_| false, ..LinkOptions::default() };
    let mut problems = object.link(&kernel, &nothing).unwrap_err().problems;
    problems.sort();
    let expected = [
        "start: calls kernel_function(), which this kernel does not have",
        "start: needs CONFIG_HZ of the kernel's configuration, which is unknown",
        "start: needs LINUX_KERNEL_VERSION of the kernel's configuration, which is unknown",
        "start: needs the variable kernel_variable, which this kernel does not have",
    ];
    assert_eq!(problems, expected);
    let asked = LinkOptions { programs: &|section, _| section == "kprobe/somewhere", ..options() };
    let error = object.link(&kernel, &asked).unwrap_err().to_string();
    assert_eq!(error, "left_out: calls kernel_required(), which this kernel does not have");
    let other = LinkOptions { struct_ops: Some("other"), ..options() };
    let error = object.link(&kernel, &other).unwrap_err().to_string();
    assert_eq!(error, "no struct_ops other; the object has made_up");
    let kinds = |kind| object.externs().iter().filter(|of| of.kind == kind).count();
    assert_eq!([ExternKind::Function, ExternKind::Variable, ExternKind::Kconfig].map(kinds), [5, 2, 5]);
}

/// Types that are as the compiler saw them change no instruction but references.
#[test]
fn scx_simple_is_itself_on_the_kernel_it_was_compiled_for() {
    let object = Object::parse(SIMPLE).unwrap();
    let has = |name: &str| object.btf().function(name).is_some();
    let options = LinkOptions { kfuncs: &has, struct_ops: Some("simple_ops"), ..LinkOptions::default() };
    let image = object.link(object.btf(), &options).unwrap();
    assert!(image.poisoned.is_empty() && image.left_out.is_empty());
    let ops = &image.struct_ops[0];
    let names: Vec<&str> = ops.members.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["select_cpu", "enqueue", "dispatch", "running", "stopping", "enable", "init", "exit", "name"];
    assert_eq!((ops.type_name.as_str(), names.as_slice()), ("sched_ext_ops", &expected[..]));
    let accesses: Vec<&str> = image.accesses.iter().map(|of| of.path.as_str()).collect();
    assert!(["scx.dsq_vtime", "scx.slice", "scx.weight"].iter().all(|path| accesses.contains(path)), "{accesses:?}");
    let file = object::read::File::parse(SIMPLE).unwrap();
    let mut compared = 0;
    for function in &image.functions {
        use object::{Object as _, ObjectSection as _};
        let raw = file.section_by_name(&function.section).unwrap().data().unwrap();
        let linked = &image.insns[function.start as usize..][..function.len as usize];
        for (insn, raw) in linked.iter().zip(raw.chunks_exact(8)) {
            // Calls, loads of addresses and their second halves are references.
            if !matches!(insn.code, 0x85 | 0x18 | 0) {
                let imm = i32::from_le_bytes([raw[4], raw[5], raw[6], raw[7]]);
                let off = i16::from_le_bytes([raw[2], raw[3]]);
                assert_eq!((insn.code, insn.off, insn.imm), (raw[0], off, imm), "{}", function.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}
