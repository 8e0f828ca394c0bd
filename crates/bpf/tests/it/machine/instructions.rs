//! Each instruction, against a second definition that is as simple as can be: over 128 bits, by what RFC 9669 says.

use proptest::prelude::*;
use wakelab_bpf::image::{Function, Insn};
use wakelab_testing::bpf_asm::assemble;
use wakelab_testing::bpf_kernel::{TestKernel, machine};

/// Runs one instruction on r1 and r2: r1, r2 and whether it jumped.
fn run(insn: Insn, one: u64, two: u64) -> (u64, u64, bool) {
    let mut text = String::from("fn main\nr6 = r3; r7 = 0; r0 = 0\n*(u64 *)(r6 + 8) = 1\n");
    text += "*(u64 *)(r6 + 16) = r1; *(u64 *)(r6 + 24) = r2; exit\n";
    let mut image = assemble(&text, Vec::new());
    // The instruction goes before the first store, which it jumps over.
    image.insns.insert(3, insn);
    image.lines.clear();
    image.functions = vec![Function { len: image.insns.len() as u32, ..image.functions[0].clone() }];
    let mut machine = machine(image);
    let out = machine.memory_mut().region("out", 32);
    machine.call(&mut TestKernel::default(), 0, &[one, two, out]).unwrap();
    let read = |at| machine.memory().read_u64(out + at).unwrap();
    (read(16), read(24), read(8) == 0)
}

/// The value of the lower `bits` bits, as a number with a sign.
fn signed(value: u64, bits: u32) -> i128 {
    let value = i128::from(value) & ((1 << bits) - 1);
    if value >> (bits - 1) & 1 == 1 { value - (1 << bits) } else { value }
}

fn unsigned(value: u64, bits: u32) -> i128 {
    i128::from(value) & ((1 << bits) - 1)
}

/// What an arithmetic operation of `bits` bits gives.
fn define(op: u8, off: i16, bits: u32, dst: u64, src: u64) -> u64 {
    let (a, b) = (unsigned(dst, bits), unsigned(src, bits));
    let (sa, sb) = (signed(dst, bits), signed(src, bits));
    let shift = b as u32 % bits;
    let result = match (op, off) {
        (0x00, _) => a + b,
        (0x10, _) => a - b,
        (0x20, _) => a.wrapping_mul(b),
        (0x30, 0) => {
            if b == 0 {
                0
            } else {
                a / b
            }
        }
        (0x30, _) => {
            if b == 0 {
                0
            } else {
                sa / sb
            }
        }
        (0x40, _) => a | b,
        (0x50, _) => a & b,
        (0x60, _) => a << shift,
        (0x70, _) => a >> shift,
        (0x90, 0) => {
            if b == 0 {
                a
            } else {
                a % b
            }
        }
        (0x90, _) => {
            if b == 0 {
                a
            } else {
                sa % sb
            }
        }
        (0xa0, _) => a ^ b,
        (0xb0, 0) => b,
        (0xb0, from) => signed(src, from as u32),
        (0xc0, _) => sa >> shift,
        _ => unreachable!("operation {op:#x}"),
    };
    (result & ((1 << bits) - 1)) as u64
}

fn holds(op: u8, bits: u32, dst: u64, src: u64) -> bool {
    let (a, b) = (unsigned(dst, bits), unsigned(src, bits));
    let (sa, sb) = (signed(dst, bits), signed(src, bits));
    match op {
        0x10 => a == b,
        0x20 => a > b,
        0x30 => a >= b,
        0x40 => a & b != 0,
        0x50 => a != b,
        0x60 => sa > sb,
        0x70 => sa >= sb,
        0xa0 => a < b,
        0xb0 => a <= b,
        0xc0 => sa < sb,
        0xd0 => sa <= sb,
        _ => unreachable!("condition {op:#x}"),
    }
}

/// Numbers near the ends, and any.
fn operand() -> impl Strategy<Value = u64> {
    let ends = [0, 1, 2, 31, 32, 63, 64, 0x7f, 0x80, 0x7fff, 0x8000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    prop_oneof![
        prop::sample::select(ends.to_vec()),
        prop::sample::select(ends.to_vec()).prop_map(u64::wrapping_neg),
        Just(i64::MIN as u64),
        Just(i64::MAX as u64),
        any::<u64>(),
        any::<u32>().prop_map(u64::from),
    ]
}

const OPS: [(u8, i16); 19] = [
    (0x00, 0),
    (0x10, 0),
    (0x20, 0),
    (0x30, 0),
    (0x30, 1),
    (0x40, 0),
    (0x50, 0),
    (0x60, 0),
    (0x70, 0),
    (0x90, 0),
    (0x90, 1),
    (0xa0, 0),
    (0xb0, 0),
    (0xc0, 0),
    (0xb0, 8),
    (0xb0, 16),
    (0xb0, 32),
    (0x00, 0),
    (0x10, 0),
];

const CONDITIONS: [u8; 11] = [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arithmetic_is_as_defined(one in operand(), two in operand()) {
        for (op, off) in OPS {
            for (class, bits) in [(7, 64), (4, 32)] {
                if off == 32 && bits == 32 {
                    continue;
                }
                let insn = Insn { code: op | 8 | class, dst: 1, src: 2, off, imm: 0 };
                prop_assert_eq!(run(insn, one, two), (define(op, off, bits, one, two), two, false), "{:?}", insn);
                if op == 0xb0 && off != 0 {
                    continue;
                }
                let insn = Insn { code: op | class, dst: 1, src: 0, off, imm: two as i32 };
                let imm = i64::from(two as i32) as u64;
                prop_assert_eq!(run(insn, one, two), (define(op, off, bits, one, imm), two, false), "{:?}", insn);
            }
        }
    }

    #[test]
    fn conditions_are_as_defined(one in operand(), two in operand()) {
        for op in CONDITIONS {
            for (class, bits) in [(5, 64), (6, 32)] {
                let insn = Insn { code: op | 8 | class, dst: 1, src: 2, off: 1, imm: 0 };
                prop_assert_eq!(run(insn, one, two), (one, two, holds(op, bits, one, two)), "{:?}", insn);
                let insn = Insn { code: op | class, dst: 1, src: 0, off: 1, imm: two as i32 };
                let imm = i64::from(two as i32) as u64;
                prop_assert_eq!(run(insn, one, two), (one, two, holds(op, bits, one, imm)), "{:?}", insn);
            }
        }
    }

    #[test]
    fn atomics_are_as_defined(held in operand(), operand in operand(), expected in operand(), meet in any::<bool>()) {
        let immediates = [0, 1, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1];
        for (imm, wide) in immediates.into_iter().flat_map(|imm| [(imm, true), (imm, false)]) {
            let bits = if wide { 64 } else { 32 };
            let expected = if meet { held } else { expected };
            let text = "fn main\nr0 = r3\nr6 = r1\nexit\n";
            let mut image = assemble(text, Vec::new());
            let code = if wide { 0xdb } else { 0xc3 };
            image.insns.truncate(2);
            image.insns.push(Insn { code, dst: 6, src: 2, off: 8, imm });
            // r0 and r2 go behind what was changed.
            for (src, off) in [(0, 16), (2, 24)] {
                image.insns.push(Insn { code: 0x7b, dst: 6, src, off, imm: 0 });
            }
            image.insns.push(Insn { code: 0x95, ..Insn::default() });
            image.functions[0].len = 6;
            let mut machine = machine(image);
            let out = machine.memory_mut().region("out", 32);
            machine.memory_mut().write_u64(out + 8, held).unwrap();
            machine.call(&mut TestKernel::default(), 0, &[out, operand, expected]).unwrap();
            let read = |at| machine.memory().read_u64(out + at).unwrap();
            let old = unsigned(held, bits) as u64;
            let new = match imm & 0xf0 {
                0x00 => define(0x00, 0, bits, held, operand),
                0x40 => define(0x40, 0, bits, held, operand),
                0x50 => define(0x50, 0, bits, held, operand),
                0xa0 => define(0xa0, 0, bits, held, operand),
                0xe0 => unsigned(operand, bits) as u64,
                _ if old == unsigned(expected, bits) as u64 => unsigned(operand, bits) as u64,
                _ => old,
            };
            // What is not written of the word stays.
            let stays = if wide { 0 } else { held & !0xffff_ffff };
            prop_assert_eq!(read(8), new | stays, "{:#x} of {} bits", imm, bits);
            prop_assert_eq!(read(16), if imm == 0xf1 { old } else { expected });
            prop_assert_eq!(read(24), if imm & 1 == 1 && imm != 0xf1 { old } else { operand });
        }
    }

    #[test]
    fn loads_and_stores_have_their_size(value in any::<u64>(), before in any::<u64>()) {
        for (size, bits) in [(0x10u8, 8u32), (0x08, 16), (0x00, 32), (0x18, 64)] {
            let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            for (store, written) in [(0x63 | size, value), (0x62 | size, i64::from(value as i32) as u64)] {
                for signs in [false, true] {
                    if signs && bits == 64 {
                        continue;
                    }
                    let load = if signs { 0x81 } else { 0x61 } | size;
                    let mut image = assemble("fn main\nr0 = 0\nr0 = 0\nexit\n", Vec::new());
                    let src = if store & 7 == 3 { 2 } else { 0 };
                    image.insns[0] = Insn { code: store, dst: 1, src, off: 8, imm: value as i32 };
                    image.insns[1] = Insn { code: load, dst: 0, src: 1, off: 8, imm: 0 };
                    let mut machine = machine(image);
                    let out = machine.memory_mut().region("out", 32);
                    machine.memory_mut().write_u64(out + 8, before).unwrap();
                    let result = machine.call(&mut TestKernel::default(), 0, &[out, value]).unwrap();
                    let want = if signs { signed(written, bits) as u64 } else { written & mask };
                    prop_assert_eq!(result, want);
                    prop_assert_eq!(machine.memory().read_u64(out + 8).unwrap(), before & !mask | written & mask);
                }
            }
        }
    }
}

fn result(text: &str, args: &[u64]) -> u64 {
    machine(assemble(text, Vec::new())).call(&mut TestKernel::default(), 0, args).unwrap()
}

/// The examples of RFC 9669 and of the kernel's documentation.
#[test]
fn examples_of_the_specification() {
    let minus_13 = (-13i64) as u64;
    // "-13 % 3 == -1", by truncation (4.1).
    assert_eq!(result("fn main\nr0 = r1; r0 s%= 3; exit", &[minus_13]), u64::MAX);
    assert_eq!(result("fn main\nr0 = r1; r0 s/= 3; exit", &[minus_13]), (-4i64) as u64);
    // An unsigned 32-bit division reads the immediate as unsigned, one of 64 bits with its sign extended.
    assert_eq!(result("fn main\nw0 = w1; w0 /= -1; exit", &[0xffff_ffff]), 1);
    assert_eq!(result("fn main\nr0 = r1; r0 /= -1; exit", &[u64::MAX]), 1);
    // The least number by -1 is itself, with the remainder 0.
    let least = i64::MIN as u64;
    assert_eq!(result("fn main\nr0 = r1; r0 s/= -1; exit", &[least]), least);
    assert_eq!(result("fn main\nr0 = r1; r0 s%= -1; exit", &[least]), 0);
    assert_eq!(result("fn main\nw0 = w1; w0 s/= -1; exit", &[0x8000_0000]), 0x8000_0000);
    // A modulo by zero of 32 bits clears the upper half.
    assert_eq!(result("fn main\nr0 = r1; w0 %= w2; exit", &[0x1_2345_6789, 0]), 0x2345_6789);
    assert_eq!(result("fn main\nr0 = -r0; exit", &[]), 0);
    assert_eq!(result("fn main\nr0 = r1; r0 = -r0; exit", &[1]), u64::MAX);
    assert_eq!(result("fn main\nw0 = w1; w0 = -w0; exit", &[1]), 0xffff_ffff);
}

#[test]
fn bytes_are_swapped() {
    let word = 0x1122_3344_5566_7788;
    for (op, want) in [
        ("bswap16", 0x8877),
        ("bswap32", 0x8877_6655),
        ("bswap64", 0x8877_6655_4433_2211),
        ("be16", 0x8877),
        ("be32", 0x8877_6655),
        ("be64", 0x8877_6655_4433_2211),
        ("le16", 0x7788),
        ("le32", 0x5566_7788),
        ("le64", word),
    ] {
        assert_eq!(result(&format!("fn main\nr0 = r1; r0 = {op} r0; exit"), &[word]), want, "{op}");
    }
}

#[test]
fn acquire_and_release_are_atomic_loads_and_stores() {
    for (size, bits) in [(0x10u8, 8u32), (0x08, 16), (0x00, 32), (0x18, 64)] {
        let mut image = assemble("fn main\nr0 = 0\nr0 = 0\nexit\n", Vec::new());
        image.insns[0] = Insn { code: 0xc3 | size, dst: 1, src: 2, off: 8, imm: 0x110 };
        image.insns[1] = Insn { code: 0xc3 | size, dst: 0, src: 1, off: 8, imm: 0x100 };
        let mut machine = machine(image);
        let out = machine.memory_mut().region("out", 32);
        let value = 0x8182_8384_8586_8788u64;
        let result = machine.call(&mut TestKernel::default(), 0, &[out, value]).unwrap();
        assert_eq!(result, unsigned(value, bits) as u64);
        assert_eq!(machine.take_counts().atomics, 2);
    }
}

#[test]
fn jumps_of_32_bits_go_far() {
    assert_eq!(result("fn main\nr0 = 1; gotol end; r0 = 2; end:; r0 += 5; exit", &[]), 6);
}

#[test]
fn casts_keep_null_and_the_place_in_the_arena() {
    let arena = wakelab_testing::bpf_asm::map("arena", wakelab_bpf::image::MapKind::Arena, 0, 0, 100);
    // Page 1, and a pointer as programs keep it in 32 bits.
    let text = "fn main\nr1 = map arena; r2 = 0; r3 = 1; r4 = -1; r5 = 0; kcall bpf_arena_alloc_pages\nr6 = r0\n\
                w7 = w6\nr0 = 0\nr0 = 0\nr8 = r0\nr1 = 0\nr1 = 0\nr0 = r6; r0 -= r8; r0 |= r1; exit";
    let mut image = assemble(text, vec![arena]);
    let place = image.insns.iter().position(|insn| insn.code == 0xbc && insn.dst == 7).unwrap();
    image.insns[place + 1] = Insn { code: 0xbf, dst: 0, src: 7, off: 1, imm: 1 };
    image.insns[place + 2] = Insn { code: 0xbf, dst: 0, src: 0, off: 1, imm: 1 << 16 };
    // NULL in r1.
    image.insns[place + 5] = Insn { code: 0xbf, dst: 1, src: 1, off: 1, imm: 1 };
    assert_eq!(machine(image).call(&mut TestKernel::default(), 0, &[]).unwrap(), 0);
}
