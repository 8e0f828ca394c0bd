//! Programs that call a function with the largest arguments that there are, again and again.

use wakelab_bpf::image::{Image, LocalType, Map, MapKind};
use wakelab_bpf::machine::{Fault, FaultKind, Limits, Machine};
use wakelab_testing::bpf_asm::{assemble, map};
use wakelab_testing::bpf_kernel::{TestKernel, limited};
use wakelab_testing::most_memory;

const MIB: u32 = 1 << 20;

/// What the programs may use. The work would be done in a tenth of a second.
const LIMITS: Limits = Limits { insns: 4_000_000, work: 50_000_000, memory: 192 << 20, objects: 1 << 19 };

/// What the host may take for it, bytes.
const HOST: usize = 256 << 20;

/// A program that does `body` without end, with r6 counting up from 0, after `before`.
fn endless(before: &str, body: &str) -> String {
    format!("fn main\n{before}\nr6 = 0\nagain:\n{body}\nr6 += 1\ngoto again\nexit\n{FUNCTIONS}")
}

/// Callbacks.
const FUNCTIONS: &str = "fn empty\nr0 = 0; exit\nfn less\nr0 = 0; exit\n\
                         fn inner\nr1 = 8388608; r2 = fn empty; r3 = 0; r4 = 0; call 181; r0 = 0; exit\n";

/// A type with a node of a tree, and one that is large.
fn image(text: &str, maps: Vec<Map>) -> Image {
    let local = |id, size| LocalType { id, name: format!("type {id}"), size };
    Image { local_types: vec![local(5, 48), local(6, MIB)], ..assemble(text, maps) }
}

/// Runs a program to its fault, and holds the host's memory to the bound.
fn run(what: &str, text: &str, maps: Vec<Map>) -> (Fault, Machine) {
    let image = image(text, maps);
    let measured = most_memory::begin();
    let mut machine = limited(image, LIMITS);
    let fault = machine.call(&mut TestKernel::default(), 0, &[]).expect_err(what);
    let most = measured.most();
    assert!(most <= HOST, "{what}: {most} bytes, then {fault}");
    assert!(machine.memory().used() <= LIMITS.memory, "{what}: {} bytes counted", machine.memory().used());
    (fault, machine)
}

/// A map whose value has so many bytes, for texts and copies.
fn large(size: u32) -> Map {
    map("large", MapKind::Array, 4, size, 1)
}

#[test]
fn copies_and_texts_are_work() {
    // What is done in each round: bytes that are read or written, or elements.
    let copies: [(&str, u32, &str, &str); 9] = [
        ("probe_read", 32 * MIB, "", "r1 = &large; r2 = 33554432; r3 = &large + 33554432; call 113"),
        ("probe_read of what is not there", 32 * MIB, "", "r1 = &large; r2 = 33554432; r3 = 0; call 113"),
        ("probe_read_str", 32 * MIB, FILLED, "r1 = &large + 33554432; r2 = 33554432; r3 = &large; call 115"),
        ("strncmp", 32 * MIB, FILLED, "r1 = &large; r2 = 33554432; r3 = &large; call 182"),
        ("map_update_elem", 64 * MIB, KEY, "r1 = map large; r2 = r10; r2 += -8; r3 = &large; r4 = 0; call 2"),
        (
            "dynptr_read",
            32 * MIB,
            "r1 = &large; r2 = 33554432; r3 = 0; r4 = r10; r4 += -16; call 197",
            "r1 = &large + 33554432; r2 = 33554432; r3 = r10; r3 += -16; r4 = 0; r5 = 0; call 201",
        ),
        (
            "dynptr_write",
            32 * MIB,
            "r1 = &large; r2 = 33554432; r3 = 0; r4 = r10; r4 += -16; call 197",
            "r1 = r10; r1 += -16; r2 = 0; r3 = &large + 33554432; r4 = 33554432; r5 = 0; call 202",
        ),
        ("peek_elem", 4 * MIB, "r1 = map queue; r2 = &large; r3 = 0; call 87", "r1 = map queue; r2 = &large; call 89"),
        ("trace_printk", 4096, PERCENTS, "r1 = &large; r2 = 67108864; r3 = 1; r4 = 2; r5 = 3; call 6"),
    ];
    for (what, bytes, before, body) in copies {
        let maps = vec![large(64 * MIB), map("queue", MapKind::Queue, 0, 4 * MIB, 1 << 30)];
        let (fault, mut machine) = run(what, &endless(before, body), maps);
        assert!(matches!(fault.kind, FaultKind::Work { call: true }), "{what}: {fault}");
        let calls = machine.take_counts().helpers;
        // A value is filled in 26 steps.
        let most = 30 + LIMITS.work / (u64::from(bytes) / 8);
        assert!(calls <= most, "{what}: {calls} calls; expected up to {most}");
    }
}

/// A key of 0 at the end of the stack frame.
const KEY: &str = "r1 = 0; *(u64 *)(r10 - 8) = r1";

/// The value without a zero in its first half.
const FILLED: &str = "r1 = &large; r2 = 1; *(u8 *)(r1 + 0) = r2\n\
                      r7 = 1\nfill:\nr1 = &large; r1 += r7; r2 = r7; r3 = &large; call 113\nr7 += r7\n\
                      if r7 < 33554432 goto fill";

/// A format that is all `%9999d`, as far as it is read.
const PERCENTS: &str = "r1 = &large; r2 = 0x3939393925 ll; *(u64 *)(r1 + 0) = r2; r2 = 100; *(u8 *)(r1 + 5) = r2\n\
                        r7 = 6\nfill:\nr1 = &large; r1 += r7; r2 = r7; r3 = &large; call 113\nr7 += r7\n\
                        if r7 < 33554432 goto fill";

#[test]
fn what_is_kept_is_memory() {
    let kept: [(&str, &str, &str); 13] = [
        ("push_elem", "", "r1 = map queue; r2 = &large; r3 = 0; call 87"),
        ("push_elem of little", "", "r1 = map bytes; r2 = &large; r3 = 0; call 87"),
        ("update_elem", "", "*(u64 *)(r10 - 8) = r6; r1 = map hash; r2 = r10; r2 += -8; r3 = &large; r4 = 0; call 2"),
        (
            "update_elem of CPUs",
            "",
            "*(u64 *)(r10 - 8) = r6; r1 = map percpu; r2 = r10; r2 += -8; r3 = &large; r4 = 0; call 2",
        ),
        (
            "update_elem of prefixes",
            "",
            "r1 = &large; r2 = 64; *(u32 *)(r1 + 0) = r2; *(u64 *)(r1 + 4) = r6; r2 = r1; r1 = map trie; r3 = r2\n\
             r4 = 0; call 2",
        ),
        ("task_storage_get", "", "r1 = map storage; r2 = r6; r2 += 1; r3 = 0; r4 = 1; call 156"),
        ("ringbuf_reserve of nothing", "", "r1 = map ring; r2 = 0; r3 = 0; call 131"),
        ("ringbuf_reserve", "", "r1 = map ring; r2 = 1048576; r3 = 0; call 131"),
        ("timer_init", "", "r1 = &large; r2 = r6; r2 <<= 3; r1 += r2; r2 = map large; r3 = 1; call 169"),
        ("kptr_xchg", "", "r1 = &large; r2 = r6; r2 <<= 3; r1 += r2; r2 = 1; call 194"),
        ("obj_new", "", "r1 = 6; r2 = 0; kcall bpf_obj_new_impl"),
        ("iter_bits_new", "", "r1 = r10; r1 += -16; r2 = &large; r3 = 511; kcall bpf_iter_bits_new"),
        (
            "list_push_back",
            "",
            "r1 = 5; r2 = 0; kcall bpf_obj_new_impl; r2 = r0; r1 = &large; r3 = 0; r4 = 0\n\
             kcall bpf_list_push_back_impl",
        ),
    ];
    for (what, before, body) in kept {
        let maps = vec![
            large(32 * MIB),
            map("queue", MapKind::Queue, 0, MIB, 1 << 30),
            map("bytes", MapKind::Queue, 0, 1, 1 << 30),
            map("hash", MapKind::Hash, 8, 64, 1 << 30),
            map("percpu", MapKind::PercpuHash, 8, 32 << 10, 1 << 30),
            map("trie", MapKind::LpmTrie, 260, 1, 1 << 30),
            map("storage", MapKind::TaskStorage, 4, 8, 0),
            map("ring", MapKind::Ringbuf, 0, 0, 1 << 30),
        ];
        let (fault, _) = run(what, &endless(before, body), maps);
        let ends = matches!(fault.kind, FaultKind::NoMemory(_) | FaultKind::Work { .. } | FaultKind::Endless { .. });
        assert!(ends || matches!(fault.kind, FaultKind::BadWrite(_)), "{what}: {fault}");
    }
}

#[test]
fn elements_that_are_looked_at_are_work() {
    let looks: [(&str, &str, &str); 8] = [
        ("for_each_map_elem", "", "r1 = map array; r2 = fn empty; r3 = 0; r4 = 0; call 164"),
        (
            "lookup_elem of prefixes",
            "",
            "r1 = &large; r2 = 2048; *(u32 *)(r1 + 0) = r2; r2 = r1; r1 = map trie; call 1",
        ),
        ("loop in loop", "", "r1 = 8388608; r2 = fn inner; r3 = 0; r4 = 0; call 181"),
        ("timer_start", TIMERS, "r1 = &large; r2 = 0; r3 = 0; call 171"),
        (
            "arena_alloc_pages",
            "",
            "r1 = map arena; r2 = 0; r3 = 1; r4 = -1; r5 = 0; kcall bpf_arena_alloc_pages; if r0 == 0 goto again",
        ),
        ("arena_free_pages", ARENA, "r1 = map arena; r2 = 0; r3 = 1048576; kcall bpf_arena_free_pages"),
        ("arena_reserve_pages", ARENA, "r1 = map arena; r2 = 0; r3 = 1048575; kcall bpf_arena_reserve_pages"),
        (
            "rbtree",
            TREE,
            "r1 = &large; r2 = r9; kcall bpf_rbtree_remove; r1 = &large; r2 = r9; r3 = fn less; r4 = 0\n\
                          r5 = 0; kcall bpf_rbtree_add_impl",
        ),
    ];
    for (what, before, body) in looks {
        let maps = vec![
            large(MIB),
            map("array", MapKind::Array, 4, 8, 16 * MIB),
            map("trie", MapKind::LpmTrie, 260, 1, 1 << 30),
            map("arena", MapKind::Arena, 0, 0, 1 << 20),
        ];
        let (fault, mut machine) = run(what, &endless(before, body), maps);
        let kind = &fault.kind;
        assert!(matches!(kind, FaultKind::Work { .. } | FaultKind::Endless { .. } | FaultKind::NoMemory(_)), "{fault}");
        // Each callback is one, too.
        assert!(machine.take_counts().calls <= LIMITS.insns, "{what}");
    }
}

/// A thousand timers, of which the first has a callback.
const TIMERS: &str = "r7 = 0\nmore:\nr1 = &large; r2 = r7; r2 <<= 4; r1 += r2; r2 = map large; r3 = 1; call 169\n\
                      r7 += 1\nif r7 < 1000 goto more\nr1 = &large; r2 = fn empty; call 170";

/// Many pages.
const ARENA: &str = "r1 = map arena; r2 = 0; r3 = 8192; r4 = -1; r5 = 0; kcall bpf_arena_alloc_pages";

/// A tree of ten thousand nodes; r9 is the last.
const TREE: &str = "r7 = 0\nmore:\nr1 = 5; r2 = 0; kcall bpf_obj_new_impl; r9 = r0; r2 = r0; r1 = &large\n\
                    r3 = fn less; r4 = 0; r5 = 0; kcall bpf_rbtree_add_impl; r7 += 1\nif r7 < 10000 goto more";

#[test]
fn locks_are_as_many_as_the_kernels_table_holds() {
    let body = "r1 = &large; r2 = r6; r2 <<= 2; r1 += r2; call 93";
    let (fault, _) = run("spin_lock", &endless("", body), vec![large(MIB)]);
    assert!(fault.to_string().contains("while 31 locks are held, which is the limit"), "{fault}");
}

#[test]
fn maps_that_are_too_large_are_refused_before_they_are_made() {
    let inner = Some(Box::new(map("inner", MapKind::Array, 4, 4, 1)));
    let outer = Map { inner, ..map("outer", MapKind::ArrayOfMaps, 4, 4, 1 << 31) };
    let large = [
        outer,
        map("array", MapKind::Array, 4, 8, (1 << 29) - 1),
        map("array", MapKind::Array, 4, i32::MAX as u32, 1),
        map("stats", MapKind::PercpuArray, 4, 8, 60_000_000),
    ];
    for of in large {
        let measured = most_memory::begin();
        let refused = Machine::new(assemble("fn main\nexit", vec![of.clone()]), &LIMITS, 8, &|_| true).unwrap_err();
        assert!(measured.most() < 1 << 20, "{}: {} bytes", of.name, measured.most());
        let refused = refused.to_string();
        assert!(refused.contains("bytes of memory would be used") || refused.contains("4 GiB"), "{refused}");
    }
}

#[test]
fn all_machines_of_the_process_share_its_memory() {
    let machine = || {
        let limits = Limits { memory: u64::MAX, ..LIMITS };
        Machine::new(assemble("fn main\nexit", Vec::new()), &limits, 1, &|_| true).unwrap()
    };
    // The other tests of this program take none meanwhile.
    let _alone = most_memory::begin();
    let (mut first, mut second) = (machine(), machine());
    first.memory_mut().charge(3 << 30).unwrap();
    let refused = second.memory_mut().charge(2 << 30).unwrap_err().to_string();
    assert!(refused.contains("by all runs together, which is the limit; run fewer simulations"), "{refused}");
    let clone = first.clone();
    assert!(second.memory_mut().charge(1).is_err(), "a copy of a machine has as much");
    drop(clone);
    drop(first);
    second.memory_mut().charge(2 << 30).expect("what the first had is free again");
}
