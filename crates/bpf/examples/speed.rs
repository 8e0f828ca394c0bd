//! How long instructions take: `cargo run --release -p wakelab-bpf --example speed`.

use std::time::Instant;
use wakelab_bpf::image::MapKind;
use wakelab_bpf::machine::Limits;
use wakelab_testing::bpf_asm;
use wakelab_testing::bpf_kernel::{self, TestKernel};

const LOOPS: u64 = 2_000_000;

fn main() {
    let maps = || {
        vec![
            bpf_asm::map("array", MapKind::Array, 4, 64, 16),
            bpf_asm::map("percpu", MapKind::PercpuArray, 4, 64, 1),
            bpf_asm::map("hash", MapKind::Hash, 8, 64, 1024),
            bpf_asm::map("tasks", MapKind::TaskStorage, 4, 64, 0),
        ]
    };
    let arithmetic = "r1 += 3; r2 ^= r1; r2 <<= 1; r3 = r2; r3 >>= 5; r4 += r3; w5 = w4; r4 -= r5";
    let memory = "*(u64 *)(r10 - 8) = r6; r1 = *(u64 *)(r10 - 8); r2 = *(u32 *)(r7 + 8); r2 += r1; \
                  *(u32 *)(r7 + 8) = r2; r3 = *(u8 *)(r7 + 3)";
    let branches = "r1 = r6; r1 &= 7; if r1 == 3 goto a; r2 += 1; a:; if r1 s> 5 goto b; r3 += 1; b:; \
                    if w1 != 2 goto c; r4 += 1; c:";
    let lookup = "r2 = r10; r2 += -8; r1 = map array; call 1; if r0 == 0 goto out";
    let percpu = "r2 = r10; r2 += -8; r1 = map percpu; call 1; if r0 == 0 goto out";
    let hash = "r2 = r10; r2 += -8; r1 = map hash; call 1";
    let storage = "r1 = map tasks; r2 = 0x500000000 ll; r3 = 0; r4 = 1; call 156; if r0 == 0 goto out";
    let function = "r1 = r6; call leaf";
    let numbers = "r1 = r10; r1 += -16; kcall bpf_iter_num_next";
    let cpumask = "r1 = 3; r2 = r8; kcall bpf_cpumask_test_cpu";
    let calls = [
        ("arithmetic", arithmetic),
        ("memory", memory),
        ("branches", branches),
        ("lookup in an array", lookup),
        ("lookup in a per-CPU array", percpu),
        ("lookup in a hash map", hash),
        ("task storage", storage),
        ("a function of the program", function),
        ("next number", numbers),
        ("bit of a cpumask", cpumask),
    ];
    for (name, body) in calls {
        let text = format!(
            "fn main\nkcall bpf_cpumask_create; r8 = r0; r6 = {LOOPS}; r7 = &array; *(u64 *)(r10 - 8) = 0\n\
             *(u64 *)(r10 - 16) = 0\nr1 = 0; r2 = 0; r3 = 0; r4 = 0\nloop:\n{body}\nr6 += -1; if r6 != 0 goto loop\n\
             out:\nr1 = r8; kcall bpf_cpumask_release; r0 = 0; exit\nfn leaf\nr0 = r1; r0 += 1; exit\n"
        );
        let limits = Limits { insns: u64::MAX / 4, work: u64::MAX / 4, ..Limits::default() };
        let mut machine = bpf_kernel::limited(bpf_asm::assemble(&text, maps()), limits);
        let mut kernel = TestKernel::default();
        let began = Instant::now();
        machine.call(&mut kernel, 0, &[]).unwrap();
        let ns = began.elapsed().as_nanos() as u64;
        let insns = machine.take_counts().insns;
        println!(
            "{name}: {}.{:02} ns an instruction, {}.{} ns a turn",
            ns / insns,
            ns * 100 / insns % 100,
            ns / LOOPS,
            ns * 10 / LOOPS % 10
        );
    }
    // What a call from outside takes.
    let mut machine = bpf_kernel::machine(bpf_asm::assemble("fn main\nr1 = *(u64 *)(r1 + 0); r0 = 0; exit", maps()));
    let mut kernel = TestKernel::default();
    let began = Instant::now();
    for _ in 0..LOOPS {
        machine.call_ops(&mut kernel, 0, &[1, 2]).unwrap();
    }
    println!("a call from outside: {} ns", began.elapsed().as_nanos() as u64 / LOOPS);
}
