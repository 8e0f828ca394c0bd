//! What ends a program before its end, with its message.

use wakelab_bpf::image::{Image, Insn, MapKind, POISON};
use wakelab_bpf::machine::{Fault, FaultKind, Limits};
use wakelab_testing::bpf_asm::{assemble, map};
use wakelab_testing::bpf_kernel::{TestKernel, limited, machine};

fn fault(image: Image) -> Fault {
    machine(image).call(&mut TestKernel::default(), 0, &[]).unwrap_err()
}

fn array() -> wakelab_bpf::image::Map {
    map("array", MapKind::Array, 4, 16, 2)
}

#[track_caller]
fn expect(text: &str, message: &str) {
    assert_eq!(fault(assemble(text, vec![array()])).to_string(), message);
}

#[test]
fn a_read_outside_of_a_region_says_which_region_is_near() {
    expect(
        "fn main\nr1 = &array + 24\nr0 = *(u64 *)(r1 + 4)\nexit",
        "test.bpf.c:3: read of 8 bytes at 0x20000001c, which is in no region: array has 32 bytes, but this is at byte \
         28, in main()\n    r0 = *(u64 *)(r1 + 4)",
    );
    expect(
        "fn main\nr1 = &array\nr0 = *(u8 *)(r1 - 3)\nexit",
        "test.bpf.c:3: read of 1 byte at 0x1fffffffd, which is in no region: 3 bytes before array, in main()\n    r0 \
         = *(u8 *)(r1 - 3)",
    );
    expect(
        "fn main\nr1 = 0x123456789a ll\nr0 = *(u32 *)(r1 + 0)\nexit",
        "test.bpf.c:3: read of 4 bytes at 0x123456789a, which is in no region: it is not an address, in main()\n    \
         r0 = *(u32 *)(r1 + 0)",
    );
}

#[test]
fn a_write_outside_of_the_stack_is_a_fault() {
    expect(
        "fn main\n*(u64 *)(r10 + 0) = 1\nexit",
        "test.bpf.c:2: write of 8 bytes at 0x300000200, which is in no region: the stack frame has 512 bytes, but this \
         is at byte 512, in main()\n    *(u64 *)(r10 + 0) = 1",
    );
    let below = fault(assemble("fn main\n*(u8 *)(r10 - 513) = 1\nexit", Vec::new()));
    assert!(matches!(below.kind, FaultKind::BadWrite(_)), "{below}");
}

#[test]
fn null_reads_as_zero_and_cannot_be_written() {
    let mut machine = machine(assemble("fn main\nr1 = 0\nr0 = *(u64 *)(r1 + 4088)\nr0 += 5\nexit", Vec::new()));
    assert_eq!(machine.call(&mut TestKernel::default(), 0, &[]), Ok(5));
    assert_eq!(machine.take_counts().null_reads, 1);
    expect(
        "fn main\nr1 = 0\n*(u64 *)(r1 + 16) = 1\nexit",
        "test.bpf.c:3: write of 8 bytes at 0x10, which is in no region: this is NULL, or a member of a struct at \
         NULL, in main()\n    *(u64 *)(r1 + 16) = 1",
    );
}

#[test]
fn what_may_only_be_read_is_not_written() {
    let mut rodata = map(".rodata", MapKind::Array, 4, 8, 1);
    rodata.data = vec![7; 8];
    rodata.read_only = true;
    let image = assemble("fn main\nr1 = &.rodata\nr2 = *(u8 *)(r1 + 0)\n*(u8 *)(r1 + 1) = r2\nexit", vec![rodata]);
    assert_eq!(
        fault(image).to_string(),
        "test.bpf.c:4: write of 1 byte at 0x200000001, which may only be read: it is byte 1 of .rodata, in main()\n    \
         *(u8 *)(r1 + 1) = r2"
    );
}

#[test]
fn an_endless_loop_ends_at_the_limit() {
    let limits = Limits { insns: 1000, ..Limits::default() };
    for text in [
        "fn main\nagain:\ngoto again",
        "fn main\nr1 = 0x100000; r2 = fn body; r3 = 0; r4 = 0; call 181; exit\nfn body\nr0 = 0; exit",
    ] {
        let mut machine = limited(assemble(text, Vec::new()), limits.clone());
        let fault = machine.call(&mut TestKernel::default(), 0, &[]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Endless { insns: 1000 });
        let insns = machine.take_counts().insns;
        assert!((1000..1010).contains(&insns), "{insns}");
        assert!(
            fault.to_string().contains("the call has executed 1000 instructions, the limit for one call"),
            "{fault}"
        );
    }
}

#[test]
fn the_callers_of_a_fault_are_named() {
    let text = "fn main\ncall middle\nexit\nfn middle\nr1 = 0\n\ncall inner\nexit\nfn inner\n*(u8 *)(r1 + 0) = 1\nexit";
    expect(
        text,
        "test.bpf.c:10: write of 1 byte at 0x0, which is in no region: this is NULL, or a member of a struct at NULL, \
         in inner(), called by middle() at test.bpf.c:7, called by main() at test.bpf.c:2\n    *(u8 *)(r1 + 0) = 1",
    );
}

#[test]
fn functions_may_call_each_other_8_deep() {
    let chain = |depth: u32| {
        let mut text = String::new();
        for at in 0..depth {
            text += &format!("fn f{at}\n");
            if at + 1 < depth {
                text += &format!("call f{}\n", at + 1);
            }
            text += "r0 = 1; exit\n";
        }
        assemble(&text, Vec::new())
    };
    assert_eq!(machine(chain(8)).call(&mut TestKernel::default(), 0, &[]), Ok(1));
    let fault = fault(chain(9));
    assert_eq!(fault.kind, FaultKind::StackOverflow { frames: 8 });
    assert_eq!((fault.program.as_str(), fault.calls.len()), ("f7", 7));
}

#[test]
fn locks_are_taken_and_given_back_once() {
    expect(
        "fn main\nr1 = &array\ncall 94\nexit",
        "test.bpf.c:3: the lock at 0x200000000 is unlocked, but it is not held, in main()\n    call 94",
    );
    expect(
        "fn main\nr6 = &array\nr1 = r6; call 93\nr1 = r6; call 93\nexit",
        "test.bpf.c:4: the lock at 0x200000000 is locked while it is already held, in main()\n    call 93",
    );
    let held = "fn main\nr1 = &array\ncall 93\nr0 = 0; exit";
    expect(held, "test.bpf.c:2: the program ended with the lock at 0x200000000 held, in main()\n    r1 = &array");
    let text = "fn main\nr6 = &array\nr1 = r6; kcall bpf_res_spin_lock\nr1 = r6; kcall bpf_res_spin_lock; r7 = r0\n\
                r1 = r6; kcall bpf_res_spin_unlock; r0 = r7; exit";
    let result = machine(assemble(text, vec![array()])).call(&mut TestKernel::default(), 0, &[]);
    assert_eq!(result, Ok(-35i64 as u64));
}

#[test]
fn what_is_released_twice_or_never_is_a_fault() {
    let twice = "fn main\nkcall bpf_cpumask_create\nr6 = r0\nr1 = r6\nkcall bpf_cpumask_release\nr1 = r6\n\
                 kcall bpf_cpumask_release\nexit";
    let fault = fault(assemble(twice, Vec::new()));
    assert!(matches!(fault.kind, FaultKind::Object(_)), "{fault}");
    assert!(fault.to_string().contains("expected a reference that the program holds"), "{fault}");
    let after =
        "fn main\nkcall bpf_cpumask_create\nr6 = r0\nr1 = r6\nkcall bpf_cpumask_release\nr0 = *(u64 *)(r6 + 0)\nexit";
    let fault = self::fault(assemble(after, Vec::new()));
    assert!(fault.to_string().contains("a cpumask has been freed"), "{fault}");
    let leak = "fn main\nagain:\nkcall bpf_cpumask_create\ngoto again";
    let mut machine = limited(assemble(leak, Vec::new()), Limits { objects: 100, ..Limits::default() });
    let fault = machine.call(&mut TestKernel::default(), 0, &[]).unwrap_err();
    assert!(fault.to_string().contains("programs hold 100 objects, which is the limit"), "{fault}");
    assert_eq!(machine.objects(), 100);
}

#[test]
fn memory_has_a_limit() {
    let text = "fn main\nagain:\nr1 = map arena; r2 = 0; r3 = 100; r4 = -1; r5 = 0; kcall bpf_arena_alloc_pages\n\
                if r0 != 0 goto again; exit";
    let image = assemble(text, vec![map("arena", MapKind::Arena, 0, 0, 1 << 20)]);
    let mut machine = limited(image, Limits { memory: 8 << 20, ..Limits::default() });
    let fault = machine.call(&mut TestKernel::default(), 0, &[]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::NoMemory(_)), "{fault}");
    assert!(fault.to_string().contains("more than 8388608 bytes of memory"), "{fault}");
}

#[test]
fn poison_names_its_relocation() {
    let mut image = assemble("fn main\nr0 = 0\nr0 = 1\nexit", Vec::new());
    image.insns[1] = Insn { code: 0x85, imm: POISON, ..Insn::default() };
    image.poisoned = vec![(1, "byte offset of task_struct.gone".to_string())];
    assert_eq!(
        fault(image).to_string(),
        "test.bpf.c:3: instruction whose relocation does not fit this kernel's types: byte offset of \
         task_struct.gone, in main()\n    r0 = 1"
    );
}

#[test]
fn what_is_no_instruction_is_a_fault_only_when_it_is_executed() {
    let odd = [
        Insn { code: 0x87, src: 11, ..Insn::default() },
        Insn { code: 0xbf, dst: 10, src: 1, ..Insn::default() },
        Insn { code: 0xbf, dst: 0, src: 1, off: 1, imm: 1 },
        Insn { code: 0x8d, ..Insn::default() },
        Insn { code: 0x20, ..Insn::default() },
        Insn { code: 0xbf, dst: 0, src: 1, off: 5, imm: 0 },
    ];
    for insn in odd {
        let mut image = assemble("fn main\nif r1 == 0 goto out; r0 = 1; out:; exit", Vec::new());
        image.insns[1] = insn;
        let mut machine = machine(image);
        assert_eq!(machine.call(&mut TestKernel::default(), 0, &[0]), Ok(0));
        let fault = machine.call(&mut TestKernel::default(), 0, &[1]).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::UnknownInstruction { code, .. } if code == insn.code), "{fault}");
    }
}

#[test]
fn errors_of_kernel_functions_are_faults_of_the_call() {
    let text = "fn main\nr1 = 0\nkcall read_first\nexit";
    expect(
        text,
        "test.bpf.c:3: read of 8 bytes at 0x0, which is in no region: this is NULL, or a member of a struct at NULL, \
         in main()\n    kcall read_first",
    );
    expect("fn main\nkcall refuse\nexit", "test.bpf.c:2: refuse() says no, in main()\n    kcall refuse");
    expect("fn main\ncall 118\nexit", "test.bpf.c:2: the kernel does not say what jiffies is, in main()\n    call 118");
    expect(
        "fn main\nr1 = 5\ncall 1\nexit",
        "test.bpf.c:3: bpf_map_lookup_elem() expected a map, but 0x5 is not one, in main()\n    call 1",
    );
}

#[test]
fn local_storage_is_asked_for_in_its_own_maps() {
    expect(
        "fn main\nr1 = map array; r2 = 5; r3 = 0; r4 = 1\ncall 156\nexit",
        "test.bpf.c:3: bpf_task_storage_get() expected a map of local storage of its kind, in main()\n    call 156",
    );
}

#[test]
fn a_machine_goes_on_after_a_fault() {
    let text = "fn main\nif r1 != 0 goto ok; call bad\nok:; call good; exit\nfn bad\n*(u8 *)(r1 + 0) = 1; exit\n\
                fn good\nr0 = *(u64 *)(r10 - 8); r0 += 3; exit";
    let mut machine = machine(assemble(text, Vec::new()));
    for _ in 0..20 {
        assert!(machine.call(&mut TestKernel::default(), 0, &[0]).is_err());
        assert_eq!(machine.call(&mut TestKernel::default(), 0, &[1]), Ok(3));
    }
}
