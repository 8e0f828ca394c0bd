//! Functions, callbacks, loops, nesting, counts and determinism.

use wakelab_bpf::image::{Image, MapKind};
use wakelab_bpf::machine::{Limits, Machine};
use wakelab_testing::bpf_asm::{assemble, map};
use wakelab_testing::bpf_kernel::{TestKernel, machine};

fn run(image: Image, args: &[u64]) -> (u64, Machine, TestKernel) {
    let (mut machine, mut kernel) = (machine(image), TestKernel::default());
    let result = machine.call(&mut kernel, 0, args).unwrap_or_else(|fault| panic!("{fault}"));
    (result, machine, kernel)
}

#[test]
fn functions_keep_the_registers_of_their_callers_and_have_stacks_of_their_own() {
    let text = "fn main\nr6 = 1; r7 = 2; r8 = 3; r9 = 4; *(u64 *)(r10 - 8) = 5\nr1 = 10; call other\n\
                r0 += r6; r0 += r7; r0 += r8; r0 += r9; r1 = *(u64 *)(r10 - 8); r0 += r1; exit\n\
                fn other\nr6 = 0; r7 = 0; r8 = 0; r9 = 0; r2 = *(u64 *)(r10 - 8); *(u64 *)(r10 - 8) = 100\n\
                r0 = r1; r0 += r2; exit";
    assert_eq!(run(assemble(text, Vec::new()), &[]).0, 10 + 1 + 2 + 3 + 4 + 5);
}

#[test]
fn a_function_finds_its_stack_cleared_each_time() {
    let text = "fn main\ncall other; call other; exit\n\
                fn other\nr0 = *(u64 *)(r10 - 16); r1 = r10; r1 += -16; *(u64 *)(r1 + 0) = 9; exit";
    assert_eq!(run(assemble(text, Vec::new()), &[]).0, 0);
}

/// Instructions that are decoded as one: a copy with an addition, two copies, a number with a jump.
#[test]
fn the_second_of_a_pair_can_be_jumped_to_and_counts() {
    let text = "fn main\nr2 = 100; r3 = 5; r4 = 9; r6 = 0\n\
                if r1 == 1 goto add; r2 = r3; add:; r2 += 7\n\
                if r1 == 2 goto copy; r4 = r2; copy:; r5 = r2\n\
                r0 = r4; r0 += r5\n\
                if r1 == 3 goto leave; r6 = 1; leave:; goto end; r0 = 77; end:; r0 += r6; exit";
    for (arg, result, insns) in [(0, 25, 17), (1, 215, 16), (2, 22, 16), (3, 24, 16)] {
        let (returned, mut machine, _) = run(assemble(text, Vec::new()), &[arg]);
        assert_eq!((returned, machine.take_counts().insns), (result, insns), "r1 = {arg}");
    }
}

#[test]
fn operations_get_a_pointer_to_their_arguments() {
    let image = assemble("fn main\nr0 = *(u64 *)(r1 + 0); r2 = *(u64 *)(r1 + 48); r0 -= r2; exit", Vec::new());
    let mut machine = machine(image);
    assert_eq!(machine.call_ops(&mut TestKernel::default(), 0, &[9, 0, 0, 0, 0, 0, 2]), Ok(7));
    // What is left out is 0.
    assert_eq!(machine.call_ops(&mut TestKernel::default(), 0, &[9]), Ok(9));
}

#[test]
fn a_syscall_program_writes_its_context() {
    let image = assemble("fn main\nr2 = *(u32 *)(r1 + 0); r2 += 1; *(u32 *)(r1 + 4) = r2; r0 = 0; exit", Vec::new());
    let (mut machine, mut context) = (machine(image), [5, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(machine.call_syscall(&mut TestKernel::default(), 0, &mut context), Ok(0));
    assert_eq!(context, [5, 0, 0, 0, 6, 0, 0, 0]);
}

#[test]
fn loops_of_callbacks_end_when_the_callback_says() {
    let text = |stop: u32| {
        format!(
            "fn main\n*(u64 *)(r10 - 8) = 0; r1 = 10; r2 = fn body; r3 = r10; r3 += -8; r4 = 0; call 181\n\
             r1 = *(u64 *)(r10 - 8); r1 *= 100; r0 += r1; exit\n\
             fn body\nr3 = *(u64 *)(r2 + 0); r3 += r1; *(u64 *)(r2 + 0) = r3; r0 = 0\n\
             if r1 != {stop} goto end; r0 = 1; end:; exit"
        )
    };
    // 0 + 1 + ... + 9.
    assert_eq!(run(assemble(&text(100), Vec::new()), &[]).0, 4510);
    assert_eq!(run(assemble(&text(3), Vec::new()), &[]).0, 604);
}

#[test]
fn may_goto_leaves_a_loop_after_8_million_turns() {
    let text = "fn main\nr0 = 0\nagain:; may_goto out; r0 += 1; goto again\nout:; exit";
    assert_eq!(run(assemble(text, Vec::new()), &[]).0, 8 << 20);
}

#[test]
fn kernel_functions_call_programs_again() {
    // Each call has a stack frame with its argument, and calls the next through the kernel.
    let text = "fn main\n*(u64 *)(r10 - 8) = r1; kcall nest; r1 = *(u64 *)(r10 - 8); r0 += r1; exit";
    let image = assemble(text, Vec::new());
    let mut machine = machine(image);
    let mut kernel = TestKernel { nest: Some(0), ..TestKernel::default() };
    assert_eq!(machine.call(&mut kernel, 0, &[4]), Ok(7 + 1 + 2 + 3 + 4));
    let counts = machine.take_counts();
    assert_eq!((counts.calls, counts.kfuncs, counts.insns), (5, 5, 25));
    assert_eq!(machine.take_counts(), Default::default());
    let fault = machine.call(&mut kernel, 0, &[100]).unwrap_err();
    assert!(fault.to_string().contains("programs called each other 16 levels deep"), "{fault}");
    assert_eq!(fault.calls.len(), 15);
    // It goes on as if nothing had been.
    assert_eq!(machine.call(&mut kernel, 0, &[4]), Ok(17));
}

#[test]
fn counts_say_what_a_call_did() {
    let text = "fn main\n*(u32 *)(r10 - 4) = 1; r2 = r10; r2 += -4; r1 = map array; call 1; r6 = r0\n\
                r1 = r6; call 93; r1 = r6; call 94; r1 = 1; lock *(u64 *)(r6 + 8) += r1; r1 = 0; \
                r1 = *(u64 *)(r1 + 8)\n\
                kcall bpf_rcu_read_lock; r0 = r1; exit";
    let (result, mut machine, _) = run(assemble(text, vec![map("array", MapKind::Array, 4, 16, 2)]), &[]);
    let counts = machine.take_counts();
    assert_eq!(result, 0);
    assert_eq!((counts.insns, counts.helpers, counts.map_lookups, counts.locks), (17, 3, 1, 1));
    assert_eq!((counts.atomics, counts.null_reads, counts.own_kfuncs, counts.kfuncs), (1, 1, 1, 0));
}

#[test]
fn timers_call_back_with_their_map_key_and_value() {
    let text = "fn start\n*(u32 *)(r10 - 4) = 1; r2 = r10; r2 += -4; r1 = map timers; call 1; if r0 == 0 goto end\n\
                r6 = r0; r1 = r6; r2 = map timers; r3 = 1; call 169; if r0 != 0 goto end\n\
                r1 = r6; r2 = fn expired; call 170; if r0 != 0 goto end; r1 = r6; r2 = 5000; r3 = 0; call 171\nend:; \
                exit\n\
                fn expired\nr0 = *(u32 *)(r2 + 0); r1 = 3; *(u64 *)(r3 + 16) = r1; exit\n\
                fn cancel\n*(u32 *)(r10 - 4) = 1; r2 = r10; r2 += -4; r1 = map timers; call 1; r1 = r0; call 172; exit";
    let mut machine = machine(assemble(text, vec![map("timers", MapKind::Array, 4, 24, 2)]));
    let mut kernel = TestKernel::default();
    assert_eq!(machine.call(&mut kernel, 0, &[]), Ok(0));
    let timer = machine.map_lookup(0, &[1, 0, 0, 0]).unwrap();
    assert_eq!(kernel.timers, [(timer, 5000)]);
    assert_eq!(machine.call_timer(&mut kernel, timer), Ok(1));
    assert_eq!(machine.memory().read_u64(timer + 16), Ok(3));
    // bpf_timer_init() of a timer that is one: -EBUSY.
    assert_eq!(machine.call(&mut kernel, 0, &[]), Ok(-16i64 as u64));
    assert_eq!(machine.call(&mut kernel, 2, &[]), Ok(1));
    assert_eq!(machine.call(&mut kernel, 2, &[]), Ok(0));
    // An update frees the value's timer.
    machine.map_update(&mut kernel, 0, &[1, 0, 0, 0], &[0; 24]).unwrap();
    assert_eq!(machine.call(&mut kernel, 2, &[]), Ok(-22i64 as u64));
}

#[test]
fn kernel_variables_have_an_address_on_each_cpu() {
    let text = "fn main\nr6 = ksym runqueues; if r6 == 0 goto none; r1 = r6; r2 = 3; call 153; r7 = r0\n\
                r1 = r6; r2 = 8; call 153; r7 |= r0; r0 = r7; exit\nnone:; r0 = 1; exit";
    let mut machine = machine(assemble(text, Vec::new()));
    let at = machine.memory_mut().region("run queues", 8 * 4096);
    let mut kernel = TestKernel { per_cpu: Some(at), ..TestKernel::default() };
    assert_eq!(machine.call(&mut kernel, 0, &[]), Ok(at + 3 * 4096));
}

#[test]
fn texts_are_formatted_as_the_kernel_does() {
    let mut machine = machine(assemble("fn main\nr1 = r1; call 177; exit", Vec::new()));
    let memory = machine.memory_mut();
    let mut put = |text: &str| {
        let at = memory.region("text", text.len() as u32 + 1);
        memory.bytes_mut(at, text.len() as u64).unwrap().copy_from_slice(text.as_bytes());
        at
    };
    let (format, name) = (put("%d|%u|%5x|%-4d|%04d|%lld|%s|%c|%%|%#llx|%.2s"), put("name"));
    let args = [-1i64 as u64, 0xffff_ffff, 0xab, 7, 7, -5i64 as u64, name, 65, 0x10, name];
    let data = memory.region("data", 80);
    for (at, arg) in args.iter().enumerate() {
        memory.write_u64(data + at as u64 * 8, *arg).unwrap();
    }
    let want = "-1|4294967295|   ab|7   |0007|-5|name|A|%|0x10|na";
    assert_eq!(machine.bprintf(format, data, 80).unwrap(), want);
    let mut kernel = TestKernel::default();
    machine.call(&mut kernel, 0, &[format, 48, data, 80]).unwrap();
    assert_eq!(kernel.printed, [want]);
}

#[test]
fn the_same_calls_leave_the_same_bytes() {
    let text = "fn main\nr6 = 300\nagain:\ncall 7; *(u64 *)(r10 - 8) = r0; call 5; *(u64 *)(r10 - 16) = r0\n\
                r1 = map hash; r2 = r10; r2 += -16; r3 = r10; r3 += -16; r4 = 0; call 2\n\
                kcall bpf_cpumask_create; r7 = r0; *(u64 *)(r10 - 24) = r7; r1 = r7; kcall bpf_cpumask_release\n\
                r1 = map hash; r2 = r10; r2 += -16; if r6 & 1 goto kept; call 3\nkept:; r6 += -1; \
                if r6 != 0 goto again\n\
                r0 = r7; exit";
    let once = || {
        let (result, machine, _) = run(assemble(text, vec![map("hash", MapKind::Hash, 8, 16, 400)]), &[]);
        let keys = machine.map_keys(0);
        let mut machine = machine;
        let addrs: Vec<u64> = keys.iter().map(|key| machine.map_lookup(0, key).unwrap()).collect();
        let values: Vec<Vec<u8>> = addrs.iter().map(|&at| machine.memory().bytes(at, 16).unwrap().to_vec()).collect();
        (result, keys, addrs, values, machine.take_counts(), machine.memory().used())
    };
    let (one, other) = (once(), once());
    assert_eq!(one, other);
    assert_eq!(one.1.len(), 150);
}

#[test]
fn all_that_is_missing_is_in_one_error() {
    let text = "fn main\ncall 80; kcall scx_bpf_kick_cpu; kcall bpf_rcu_read_lock; exit\nfn second\ncall 80; exit";
    let image = assemble(text, vec![map("odd", MapKind::Other(30), 4, 4, 4)]);
    let refused = Machine::new(image, &Limits::default(), 8, &|_| false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the object needs features that the machine does not have:\nmaps: map odd is Other(30)\nhelpers: \
         bpf_get_current_cgroup_id(), of main(), second()\nkernel functions: scx_bpf_kick_cpu"
    );
}
