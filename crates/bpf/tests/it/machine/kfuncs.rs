//! The machine's own kernel functions, against plain definitions.

use proptest::prelude::*;
use wakelab_bpf::image::{LocalType, MapKind};
use wakelab_bpf::machine::{Limits, Machine};
use wakelab_testing::bpf_asm::{assemble, map};
use wakelab_testing::bpf_kernel::{TestKernel, machine};

fn call(machine: &mut Machine, name: &str, args: &[u64]) -> u64 {
    let function = machine.function(name).unwrap();
    machine.call(&mut TestKernel::default(), function, args).unwrap_or_else(|fault| panic!("{fault}"))
}

/// A function for each kernel function of cpumasks, with up to three arguments.
fn cpumasks(nr_cpus: u32) -> Machine {
    let names = "create release first first_zero first_and set_cpu clear_cpu test_cpu test_and_set_cpu \
                 test_and_clear_cpu \
                 setall clear and or xor equal intersects subset empty full copy any_distribute any_and_distribute \
                 weight";
    let text: String =
        names.split_whitespace().map(|name| format!("fn {name}\nkcall bpf_cpumask_{name}; exit\n")).collect();
    Machine::new(assemble(&text, Vec::new()), &Limits::default(), nr_cpus, &|_| false).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn cpumasks_are_sets(nr_cpus in 1u32..200, one in any::<[u64; 4]>(), other in any::<[u64; 4]>(), cpu in 0u32..210) {
        let mut machine = cpumasks(nr_cpus);
        let m = &mut machine;
        let bit = |words: [u64; 4], cpu: u32| words[cpu as usize / 64] >> (cpu % 64) & 1 == 1;
        let set = |words| (0..nr_cpus).filter(|&cpu| bit(words, cpu)).collect::<Vec<_>>();
        let (a, b, c) = (call(m, "create", &[]), call(m, "create", &[]), call(m, "create", &[]));
        for (mask, words) in [(a, one), (b, other)] {
            // Also bits that no CPU has.
            for (at, word) in words.iter().enumerate() {
                m.memory_mut().write_u64(mask + at as u64 * 8, *word).unwrap();
            }
        }
        let (x, y) = (set(one), set(other));
        let both: Vec<u32> = x.iter().copied().filter(|cpu| y.contains(cpu)).collect();
        let content = |m: &mut Machine, mask: u64| {
            (0..nr_cpus).filter(|&cpu| call(m, "test_cpu", &[u64::from(cpu), mask]) == 1).collect::<Vec<_>>()
        };
        prop_assert_eq!(call(m, "first", &[a]), u64::from(x.first().copied().unwrap_or(nr_cpus)));
        prop_assert_eq!(call(m, "first_and", &[a, b]), u64::from(both.first().copied().unwrap_or(nr_cpus)));
        let zero = (0..nr_cpus).find(|cpu| !x.contains(cpu)).unwrap_or(nr_cpus);
        prop_assert_eq!(call(m, "first_zero", &[a]), u64::from(zero));
        prop_assert_eq!(call(m, "weight", &[a]), x.len() as u64);
        prop_assert_eq!(call(m, "empty", &[a]), u64::from(x.is_empty()));
        prop_assert_eq!(call(m, "full", &[a]), u64::from(x.len() == nr_cpus as usize));
        prop_assert_eq!(call(m, "equal", &[a, b]), u64::from(x == y));
        prop_assert_eq!(call(m, "intersects", &[a, b]), u64::from(!both.is_empty()));
        prop_assert_eq!(call(m, "subset", &[a, b]), u64::from(x.iter().all(|cpu| y.contains(cpu))));
        prop_assert_eq!(call(m, "and", &[c, a, b]), u64::from(!both.is_empty()));
        prop_assert_eq!(content(m, c), both.clone());
        call(m, "or", &[c, a, b]);
        let either: Vec<u32> = (0..nr_cpus).filter(|cpu| x.contains(cpu) || y.contains(cpu)).collect();
        prop_assert_eq!(content(m, c), either);
        call(m, "xor", &[c, a, b]);
        let odd: Vec<u32> = (0..nr_cpus).filter(|cpu| x.contains(cpu) != y.contains(cpu)).collect();
        prop_assert_eq!(content(m, c), odd);
        call(m, "copy", &[c, a]);
        let had = x.contains(&cpu);
        prop_assert_eq!(call(m, "test_and_set_cpu", &[u64::from(cpu), c]), u64::from(had));
        prop_assert_eq!(call(m, "test_cpu", &[u64::from(cpu), c]), u64::from(cpu < nr_cpus));
        prop_assert_eq!(call(m, "test_and_clear_cpu", &[u64::from(cpu), c]), u64::from(cpu < nr_cpus));
        prop_assert_eq!(call(m, "weight", &[c]), (x.len() - usize::from(had)) as u64);
        call(m, "setall", &[c]);
        prop_assert_eq!(call(m, "full", &[c]), 1);
        call(m, "clear", &[c]);
        prop_assert_eq!(call(m, "empty", &[c]), 1);
        // Round and round, each once.
        if !x.is_empty() {
            let mut round: Vec<u64> = x.iter().map(|_| call(m, "any_distribute", &[a])).collect();
            round.sort_unstable();
            prop_assert_eq!(round, x.iter().map(|&cpu| u64::from(cpu)).collect::<Vec<_>>());
        }
        let next = call(m, "any_and_distribute", &[a, b]);
        let fits = if both.is_empty() { next == u64::from(nr_cpus) } else { both.contains(&(next as u32)) };
        prop_assert!(fits);
        for mask in [a, b, c] {
            call(m, "release", &[mask]);
        }
        prop_assert_eq!(m.objects(), 0);
    }

    #[test]
    fn bits_are_iterated(words in prop::collection::vec(prop_oneof![Just(0), any::<u64>(), 0u64..4], 1..5)) {
        // Writes each bit's number to an array, and returns how many there were.
        let text = "fn main\nr6 = r3; r7 = r3; r3 = r1; r1 = r10; r1 += -16; r9 = r2; r2 = r3; r3 = r9; \
                    kcall bpf_iter_bits_new\n\
                    again:; r1 = r10; r1 += -16; kcall bpf_iter_bits_next; if r0 == 0 goto out\n\
                    r1 = *(u32 *)(r0 + 0); *(u32 *)(r6 + 0) = r1; r6 += 4; goto again\n\
                    out:; r1 = r10; r1 += -16; kcall bpf_iter_bits_destroy; r0 = r6; r0 -= r7; r0 >>= 2; exit";
        let mut machine = machine(assemble(text, Vec::new()));
        let used = |machine: &Machine| machine.memory().used();
        let bits = machine.memory_mut().region("bits", words.len() as u32 * 8);
        let out = machine.memory_mut().region("out", 256 * 4);
        for (at, word) in words.iter().enumerate() {
            machine.memory_mut().write_u64(bits + at as u64 * 8, *word).unwrap();
        }
        call(&mut machine, "main", &[bits, words.len() as u64, out]);
        let before = used(&machine);
        let count = call(&mut machine, "main", &[bits, words.len() as u64, out]);
        prop_assert_eq!(used(&machine), before);
        let found: Vec<u32> = (0..count).map(|at| machine.memory().read_u32(out + at * 4).unwrap()).collect();
        let set = |bit: &u32| words[*bit as usize / 64] >> (bit % 64) & 1 == 1;
        let want: Vec<u32> = (0..words.len() as u32 * 64).filter(set).collect();
        prop_assert_eq!(found, want);
    }

    #[test]
    fn trees_are_in_their_order(keys in prop::collection::vec(0u64..20, 0..40)) {
        // A node has its key before it, as in the object of scx_flatcg.
        let text = "fn add\nr6 = r1; r1 = 5; r2 = 0; kcall bpf_obj_new_impl; *(u64 *)(r0 + 0) = r6; r2 = r0; r2 += 8\n\
                    r1 = &tree; r3 = fn less; r4 = 0; r5 = 0; kcall bpf_rbtree_add_impl; exit\n\
                    fn less\nr1 = *(u64 *)(r1 - 8); r2 = *(u64 *)(r2 - 8); r0 = 0; if r1 >= r2 goto no; r0 = 1; no:; \
                    exit\n\
                    fn take\nr1 = &tree; kcall bpf_rbtree_first; if r0 == 0 goto none; r1 = &tree; r2 = r0\n\
                    kcall bpf_rbtree_remove; r6 = *(u64 *)(r0 - 8); r1 = r0; r1 += -8; r2 = 0; \
                    kcall bpf_obj_drop_impl\n\
                    r0 = r6; exit\nnone:; r0 = -1; exit";
        let mut image = assemble(text, vec![map("tree", MapKind::Array, 4, 16, 1)]);
        image.local_types = vec![LocalType { id: 5, name: "cgv_node".to_string(), size: 40 }];
        let mut machine = machine(image);
        for &key in &keys {
            prop_assert_eq!(call(&mut machine, "add", &[key]), 0);
        }
        prop_assert_eq!(machine.objects(), keys.len() as u32);
        let mut sorted = keys;
        sorted.sort_unstable();
        for key in sorted {
            prop_assert_eq!(call(&mut machine, "take", &[]), key);
        }
        prop_assert_eq!(call(&mut machine, "take", &[]), u64::MAX);
        prop_assert_eq!(machine.objects(), 0);
    }
}

#[test]
fn numbers_are_iterated() {
    let text = "fn main\nr3 = r2; r2 = r1; r1 = r10; r1 += -8; kcall bpf_iter_num_new; r7 = r0; r6 = 0\n\
                again:; r1 = r10; r1 += -8; kcall bpf_iter_num_next; if r0 == 0 goto out\n\
                r6 *= 10; r1 = *(u32 *)(r0 + 0); r6 += r1; goto again\n\
                out:; r1 = r10; r1 += -8; kcall bpf_iter_num_destroy; r0 = r6; if r7 == 0 goto end; r0 = r7; end:; \
                exit";
    let mut machine = machine(assemble(text, Vec::new()));
    assert_eq!(call(&mut machine, "main", &[1, 5]), 1234);
    assert_eq!(call(&mut machine, "main", &[3, 3]), 0);
    assert_eq!(call(&mut machine, "main", &[4, 3]), -22i64 as u64);
    assert_eq!(call(&mut machine, "main", &[0, 8 * 1024 * 1024 + 1]), -7i64 as u64);
}

#[test]
fn lists_have_two_ends() {
    let text = "fn front\nr6 = r1; r1 = 5; r2 = 0; kcall bpf_obj_new_impl; *(u64 *)(r0 + 0) = r6; r2 = r0; r2 += 8\n\
                r1 = &list; r3 = 0; r4 = 0; kcall bpf_list_push_front_impl; exit\n\
                fn back\nr6 = r1; r1 = 5; r2 = 0; kcall bpf_obj_new_impl; *(u64 *)(r0 + 0) = r6; r2 = r0; r2 += 8\n\
                r1 = &list; r3 = 0; r4 = 0; kcall bpf_list_push_back_impl; exit\n\
                fn take_front\nr1 = &list; kcall bpf_list_pop_front; if r0 == 0 goto none; r0 = *(u64 *)(r0 - 8); \
                exit\n\
                none:; r0 = -1; exit\n\
                fn take_back\nr1 = &list; kcall bpf_list_pop_back; if r0 == 0 goto end; r0 = *(u64 *)(r0 - 8); exit\n\
                end:; r0 = -1; exit";
    let mut image = assemble(text, vec![map("list", MapKind::Array, 4, 16, 1)]);
    image.local_types = vec![LocalType { id: 5, name: "element".to_string(), size: 32 }];
    let mut machine = machine(image);
    for (name, key) in [("back", 2), ("back", 3), ("front", 1), ("back", 4)] {
        assert_eq!(call(&mut machine, name, &[key]), 0);
    }
    let order: Vec<u64> = ["take_front", "take_back", "take_front", "take_back", "take_back"]
        .map(|name| call(&mut machine, name, &[]))
        .into();
    assert_eq!(order, [1, 4, 2, 3, u64::MAX]);
}

#[test]
fn references_in_values_go_with_them() {
    let text = "fn keep\nr1 = map tasks; r2 = 0x500000000 ll; r3 = 0; r4 = 1; call 156; \
                r6 = r0\nkcall bpf_cpumask_create\n\
                r1 = r6; r2 = r0; call 194; if r0 == 0 goto end; r1 = r0; kcall bpf_cpumask_release; r0 = 1; end:; \
                exit";
    let mut machine = machine(assemble(text, vec![map("tasks", MapKind::TaskStorage, 4, 16, 0)]));
    assert_eq!(call(&mut machine, "keep", &[]), 0);
    assert_eq!(call(&mut machine, "keep", &[]), 1);
    assert_eq!(machine.objects(), 1);
    machine.storage_free(&mut TestKernel::default(), 0x5_0000_0000);
    assert_eq!((machine.objects(), machine.map_len(0)), (0, 0));
}

#[test]
fn references_to_the_kernels_objects_are_given_back() {
    let text = "fn keep\nr6 = r1; r1 = map tasks; r2 = 0x500000000 ll; r3 = 0; r4 = 1; call 156; r1 = r0; r2 = r6\n\
                call 194; exit";
    let mut machine = machine(assemble(text, vec![map("tasks", MapKind::TaskStorage, 4, 16, 0)]));
    assert_eq!(call(&mut machine, "keep", &[0x7_0000_0000]), 0);
    // A reference that is taken out again is the program's.
    assert_eq!(call(&mut machine, "keep", &[0x8_0000_0000]), 0x7_0000_0000);
    let mut kernel = TestKernel::default();
    machine.storage_free(&mut kernel, 0x5_0000_0000);
    assert_eq!(kernel.released, [0x8_0000_0000]);
}

#[test]
fn pages_of_an_arena_are_given_and_taken() {
    let text = "fn alloc\nr3 = r1; r1 = map arena; r4 = -1; r5 = 0; kcall bpf_arena_alloc_pages; exit\n\
                fn free\nr3 = r2; r2 = r1; r1 = map arena; kcall bpf_arena_free_pages; exit\n\
                fn reserve\nr3 = r2; r2 = r1; r1 = map arena; kcall bpf_arena_reserve_pages; exit\n\
                fn write\n*(u64 *)(r1 + 0) = 7; r0 = *(u64 *)(r1 + 0); exit\nfn read\nr0 = *(u64 *)(r1 + 0); exit\n\
                fn global\nr1 = &arena; r0 = *(u32 *)(r1 + 0); exit";
    let mut arena = map("arena", MapKind::Arena, 0, 0, 16);
    arena.data = vec![9, 0, 0, 0];
    let mut machine = machine(assemble(text, vec![arena]));
    let m = &mut machine;
    assert_eq!(call(m, "global", &[]), 9);
    let one = call(m, "alloc", &[2, 0]);
    // Page 0 is nobody's, and page 1 has the global.
    assert_eq!(one & 0xffff_ffff, 2 * 4096);
    let two = call(m, "alloc", &[1, 0]);
    assert_eq!(two, one + 2 * 4096);
    assert_eq!(call(m, "write", &[one]), 7);
    call(m, "free", &[one, 2]);
    assert_eq!(call(m, "alloc", &[1, 0]), one);
    assert_eq!(call(m, "read", &[one]), 0);
    assert_eq!(call(m, "reserve", &[two + 4096, 10]), 0);
    assert_eq!(call(m, "reserve", &[two, 1]), -16i64 as u64);
    assert_eq!(call(m, "reserve", &[two, 100]), -22i64 as u64);
    // One page is left at the first place, one at the end.
    assert_eq!(call(m, "alloc", &[1, 0]), one + 4096);
    assert_eq!(call(m, "alloc", &[2, 0]), 0);
    assert_eq!(call(m, "alloc", &[1, 0]) & 0xffff_ffff, 15 * 4096);
    assert_eq!(call(m, "alloc", &[1, 0]), 0);
}
