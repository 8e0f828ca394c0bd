//! Programs that the verifier would not let through, and that would take the machine's own notes apart.

use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_bpf::image::{LocalType, Map, MapKind};
use wakelab_bpf::machine::{Counts, Fault, FaultKind, Kernel, Limits, Machine};
use wakelab_testing::bpf_asm::{assemble, map};
use wakelab_testing::bpf_kernel::{TestKernel, limited, machine};

/// A program's machine, with a type of 48 bytes and a value of 64.
fn hostile(text: &str) -> Machine {
    let mut image = assemble(text, vec![map("roots", MapKind::Array, 4, 64, 1)]);
    image.local_types = vec![LocalType { id: 5, name: "node".to_string(), size: 48 }];
    machine(image)
}

fn fault_of(text: &str) -> Fault {
    hostile(text).call(&mut TestKernel::default(), 0, &[]).expect_err(text)
}

/// Four nodes in a tree, the last of which is added with `less`.
fn tree(less: &str) -> String {
    let new = "r1 = 5; r2 = 0; kcall bpf_obj_new_impl; r2 = r0; r1 = &roots; r4 = 0; r5 = 0";
    let add = format!("{new}; r3 = fn no; kcall bpf_rbtree_add_impl");
    format!(
        "fn main\n{add}\nr7 = r0\n{add}\n{add}\n{new}; r3 = fn less; kcall bpf_rbtree_add_impl; exit\n\
         fn no\nr0 = 0; exit\nfn less\n{less}\nr0 = 0; exit"
    )
}

#[test]
fn a_comparison_may_not_change_trees_or_lists() {
    let pop = "r1 = &roots; kcall bpf_list_pop_front";
    let changes = [
        format!("{pop}\n{pop}\n{pop}"),
        "r6 = r2; r1 = &roots; r2 = r6; kcall bpf_rbtree_remove".to_string(),
        "r1 = 5; r2 = 0; kcall bpf_obj_new_impl; r2 = r0; r1 = &roots; r1 += 32; r3 = 0; r4 = 0\n\
         kcall bpf_list_push_back_impl"
            .to_string(),
        "r1 = r2; r2 = 0; kcall bpf_obj_drop_impl".to_string(),
    ];
    for change in changes {
        let fault = fault_of(&tree(&change));
        assert!(fault.to_string().contains("a less() that does not change trees or lists"), "{change}: {fault}");
    }
    let fault = fault_of(&tree("r2 = 0; kcall bpf_obj_drop_impl"));
    assert!(fault.to_string().contains("freed"), "{fault}");
}

#[test]
fn nodes_are_of_objects_alone() {
    for place in ["r2 = r10; r2 += -24", "r2 = &roots; r2 += 32", "r2 = 0", "r2 = map roots"] {
        let fault =
            fault_of(&format!("fn main\n{place}\nr1 = &roots; r3 = 0; r4 = 0; kcall bpf_list_push_back_impl\nexit"));
        let expected = fault.to_string().contains("a node of an object");
        assert!(expected || matches!(fault.kind, FaultKind::BadRead(_)), "{place}: {fault}");
    }
}

#[test]
fn an_object_that_goes_leaves_its_tree() {
    // Three nodes; the second is dropped while it is in the tree; then the tree is read and emptied.
    let text = format!(
        "fn main\n{add}\n{add}\nr9 = r8\n{add}\nr1 = r9; r2 = 0; kcall bpf_obj_drop_impl\nr6 = 0\n\
         more:; r1 = &roots; kcall bpf_list_pop_front; if r0 == 0 goto end; r1 = r0; r2 = 0\n\
         kcall bpf_obj_drop_impl; r6 += 1; goto more\nend:; r0 = r6; exit",
        add = "r1 = 5; r2 = 0; kcall bpf_obj_new_impl; r8 = r0; r2 = r0; r1 = &roots; r3 = 0; r4 = 0\n\
               kcall bpf_list_push_back_impl"
    );
    let mut machine = hostile(&text);
    assert_eq!(machine.call(&mut TestKernel::default(), 0, &[]), Ok(2));
    assert_eq!(machine.objects(), 0);
}

#[test]
fn chains_of_objects_go_one_after_the_other() {
    // Each object has a reference to the next at its beginning; or a list with the next, whose node is at 16.
    let kptr = "r1 = r7; r2 = r8; call 194";
    let list = "r1 = r7; r2 = r8; r2 += 16; r3 = 0; r4 = 0; kcall bpf_list_push_back_impl";
    for link in [kptr, list] {
        let text = format!(
            "fn main\nr1 = 5; r2 = 0; kcall bpf_obj_new_impl; r6 = r0; r7 = r0; r9 = 0\n\
             more:; r1 = 5; r2 = 0; kcall bpf_obj_new_impl; r8 = r0; {link}; r7 = r8; r9 += 1\n\
             if r9 < 200000 goto more\nr1 = r6; r2 = 0; kcall bpf_obj_drop_impl; r0 = 0; exit"
        );
        let mut machine = hostile(&text);
        assert_eq!(machine.call(&mut TestKernel::default(), 0, &[]), Ok(0), "{link}");
        assert_eq!(machine.objects(), 0, "{link}");
    }
}

#[test]
fn an_iterator_frees_what_it_has_made_alone() {
    let forged = |held: &str, bits: u32| {
        format!(
            "fn main\nr9 = r1; *(u64 *)(r10 - 32) = r9\n{held}\n*(u64 *)(r10 - 16) = r2; r2 = {bits}\n\
             *(u64 *)(r10 - 8) = r2; r1 = r10; r1 += -16\n"
        )
    };
    let places = ["r2 = r10; r2 >>= 32; r2 <<= 32", "r2 = &roots", "r2 = map roots", "r2 = r9", "r2 = 0x100000000 ll"];
    for place in places {
        for bits in [128, 512, 65, 1 << 31, 63] {
            for function in ["bpf_iter_bits_destroy", "bpf_iter_bits_next"] {
                let mut machine = hostile(&format!("{}kcall {function}\nexit", forged(place, bits)));
                let fault = machine.call_ops(&mut TestKernel::default(), 0, &[1]).unwrap_err();
                let expected = format!("{function}() expected an iterator that bpf_iter_bits_new() has made");
                assert!(fault.to_string().contains(&expected), "{place}: {fault}");
                // All that was there is there.
                let mut again = || machine.call_ops(&mut TestKernel::default(), 0, &[1]).unwrap_err().to_string();
                assert_eq!(again(), fault.to_string());
            }
        }
    }
    // What an iterator has made is freed once.
    let text = "fn main\nr1 = r10; r1 += -16; r2 = &roots; r3 = 8; kcall bpf_iter_bits_new\n\
                r1 = r10; r1 += -16; kcall bpf_iter_bits_destroy; r1 = r10; r1 += -16\n\
                kcall bpf_iter_bits_destroy; exit";
    assert!(fault_of(text).to_string().contains("bpf_iter_bits_destroy() expected an iterator"));
}

#[test]
fn iterators_write_where_the_program_may() {
    for call in ["kcall bpf_iter_num_next", "kcall bpf_iter_num_destroy"] {
        let rodata = Map { read_only: true, data: vec![1, 0, 0, 0, 9, 0, 0, 0], ..map("ro", MapKind::Array, 4, 8, 1) };
        let text = format!("fn main\nr1 = &ro; {call}; exit");
        let fault = machine(assemble(&text, vec![rodata])).call(&mut TestKernel::default(), 0, &[]).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::ReadOnly(_)), "{fault}");
    }
}

#[test]
fn references_that_go_to_the_kernel_do_not_nest() {
    /// A kernel that frees a task with its last reference, and with it what programs keep of it.
    #[derive(Default)]
    struct Frees(TestKernel, u32, u32);
    impl Kernel for Frees {
        fn kfunc(&mut self, machine: &mut Machine, kfunc: u32, args: [u64; 5]) -> Result<u64, Fault> {
            self.0.kfunc(machine, kfunc, args)
        }
        fn ktime_ns(&mut self) -> u64 {
            self.0.ktime_ns()
        }
        fn smp_processor_id(&mut self) -> u32 {
            self.0.smp_processor_id()
        }
        fn prandom_u32(&mut self) -> u32 {
            self.0.prandom_u32()
        }
        fn current_task(&mut self) -> u64 {
            self.0.current_task()
        }
        fn ksym(&mut self, machine: &mut Machine, name: &str, cpu: Option<u32>) -> Option<u64> {
            self.0.ksym(machine, name, cpu)
        }
        fn kptr_release(&mut self, machine: &mut Machine, addr: u64) {
            self.1 += 1;
            assert_eq!(self.2, 0, "one after the other");
            self.2 += 1;
            machine.storage_free(self, addr);
            self.2 -= 1;
        }
        fn timer_start(&mut self, done: &Counts, timer: u64, function: (u32, u32), nsecs: u64, flags: u64) {
            self.0.timer_start(done, timer, function, nsecs, flags);
        }
        fn timer_cancel(&mut self, timer: u64) -> bool {
            self.0.timer_cancel(timer)
        }
        fn printk(&mut self, text: String) {
            self.0.printk(text);
        }
    }
    // What is kept of each task has a reference to the next.
    let text = "fn main\nr6 = 1\nmore:; r1 = map tasks; r2 = r6; r2 <<= 32; r3 = 0; r4 = 1; call 156; r1 = r0\n\
                r6 += 1; r2 = r6; r2 <<= 32; call 194; if r6 < 50000 goto more; r0 = 0; exit";
    let mut machine = machine(assemble(text, vec![map("tasks", MapKind::TaskStorage, 4, 8, 0)]));
    let mut kernel = Frees::default();
    assert_eq!(machine.call(&mut kernel, 0, &[]), Ok(0));
    machine.storage_free(&mut kernel, 1 << 32);
    assert_eq!((kernel.1, machine.map_len(0)), (49_999, 0));
}

#[test]
fn calls_within_calls_do_not_multiply_what_they_may_do() {
    // Each program calls itself twice through the kernel: 2^16 calls, of which each has 100 million instructions.
    let text = "fn main\nr6 = r1; r7 = 0\nturn:; r7 += 1; if r7 < 100000 goto turn\n\
                r1 = r6; kcall nest; r1 = r6; kcall nest; exit";
    let limits = Limits { work: 10_000_000, ..Limits::default() };
    let mut machine = limited(assemble(text, Vec::new()), limits);
    let mut kernel = TestKernel { nest: Some(0), ..TestKernel::default() };
    let fault = machine.call(&mut kernel, 0, &[15]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Work { .. } | FaultKind::Endless { .. }), "{fault}");
    assert!(machine.take_counts().insns < 20_000_000);
}

#[test]
fn nested_callbacks_have_room_on_the_hosts_stack() {
    // Calls in calls, and in each as many loops in loops as there are stack frames.
    let text = "fn main\nr6 = r1; r1 = 1; r2 = fn body; r3 = r6; r4 = 0; call 181; r0 = 0; exit\n\
                fn body\nr6 = r2; r1 = 1; r2 = fn body; r3 = r6; r4 = 0; r7 = 0\n\
                if r6 == 0 goto end; r1 = r6; kcall nest; r1 = 1; r2 = fn body; r3 = r6; call 181\nend:; r0 = 0; exit";
    let mut machine = machine(assemble(text, Vec::new()));
    let mut kernel = TestKernel { nest: Some(0), ..TestKernel::default() };
    assert!(machine.call(&mut kernel, 0, &[14]).is_err());
}

#[test]
fn what_takes_no_time_ends_all_the_same() {
    // One copy of a mebibyte in each call: none is too much, but all are.
    let text = "fn main\nr1 = &large; r2 = 1048576; r3 = r1; call 113; exit";
    let mut machine = machine(assemble(text, vec![map("large", MapKind::Array, 4, 1 << 20, 1)]));
    let mut calls = 0;
    let fault = loop {
        match machine.call(&mut TestKernel::default(), 0, &[]) {
            Ok(_) => calls += 1,
            Err(fault) => break fault,
        }
        assert!(calls < 10_000, "no end");
    };
    assert_eq!(fault.kind, FaultKind::Work { call: false });
    assert!(
        fault.to_string().contains("of all calls so far have done as much work as this number of instructions"),
        "{fault}"
    );
    assert!(calls > 1000, "{calls}");
}

#[test]
fn work_is_no_time() {
    // The same instructions, of which one copies a byte and one a mebibyte, count the same.
    let counts = |bytes: u32| {
        let text = format!("fn main\nr1 = &large; r2 = {bytes}; r3 = r1; call 113; exit");
        let mut machine = machine(assemble(&text, vec![map("large", MapKind::Array, 4, 1 << 20, 1)]));
        machine.call(&mut TestKernel::default(), 0, &[]).unwrap();
        machine.take_counts()
    };
    assert_eq!(counts(1), counts(1 << 20));
}

#[test]
fn a_program_that_is_to_stop_ends_at_its_next_work() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let text = "fn main\nr6 = 0\nmore:; r1 = &large; r2 = 8; r3 = r1; call 113; r6 += 1; if r6 < 10 goto more; exit";
    let mut machine = machine(assemble(text, vec![map("large", MapKind::Array, 4, 8, 1)]));
    machine.set_stop(&STOP);
    assert_eq!(machine.call(&mut TestKernel::default(), 0, &[]), Ok(0));
    STOP.store(true, Ordering::Relaxed);
    let fault = machine.call(&mut TestKernel::default(), 0, &[]).unwrap_err();
    assert_eq!((&fault.kind, machine.take_counts().helpers), (&FaultKind::Stopped, 10));
}

#[test]
fn precisions_of_any_length_are_read() {
    let text = "fn main\nr1 = &text; r2 = 64; r3 = 7; r4 = 0; r5 = 0; call 6; exit";
    let mut format = b"%.99999999999999999999999999999999999999999d".to_vec();
    format.resize(64, 0);
    let format = Map { data: format, ..map("text", MapKind::Array, 4, 64, 1) };
    let mut kernel = TestKernel::default();
    machine(assemble(text, vec![format])).call(&mut kernel, 0, &[]).unwrap();
    assert_eq!(kernel.printed.len(), 1);
}

#[test]
fn maps_are_held_to_what_the_kernel_takes() {
    let of = |kind, key, value, entries| map("m", kind, key, value, entries);
    let refused = [
        (of(MapKind::Hash, 4, 0, 1), "values of 0 bytes; expected 1 to 4194304"),
        (of(MapKind::Hash, 513, 4, 1), "keys of 513 bytes; expected 1 to 512"),
        (of(MapKind::Hash, 4, 4, 0), "max_entries is 0; expected 1 or more"),
        (of(MapKind::Array, 4, 0, 1), "values of 0 bytes; expected 1 to 2147483647"),
        (of(MapKind::Array, 8, 4, 1), "keys of 8 bytes; expected 4"),
        (of(MapKind::PercpuArray, 4, 40 << 10, 1), "values of 40960 bytes; expected 1 to 32768"),
        (of(MapKind::LpmTrie, 261, 4, 1), "keys of 261 bytes; expected 5 to 260"),
        (of(MapKind::LpmTrie, 4, 4, 1), "keys of 4 bytes; expected 5 to 260"),
        (of(MapKind::Queue, 0, 0, 1), "values of 0 bytes; expected 1 to 4194304"),
        (of(MapKind::TaskStorage, 4, 70_000, 0), "values of 70000 bytes; expected 1 to 65535"),
        (of(MapKind::ArrayOfMaps, 4, 4, 1), "no definition of its inner maps"),
        (of(MapKind::HashOfMaps, 4, 8, 1), "values of 8 bytes; expected 4"),
        (of(MapKind::Arena, 0, 0, 0), "max_entries is 0; expected 1 or more"),
    ];
    for (map, expected) in refused {
        let image = assemble("fn main\nexit", vec![map.clone()]);
        let refused = Machine::new(image, &Limits::default(), 8, &|_| true).unwrap_err().to_string();
        assert!(refused.contains(&format!("map m has {expected}")), "{map:?}: {refused}");
    }
}
