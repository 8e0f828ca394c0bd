//! Instructions as the machine executes them: decoded once, 16 bytes each, one for each of the image's.
//!
//! The instruction set is RFC 9669's and what the kernel has added (`Documentation/bpf/standardization`, 7.2):
//! `may_goto`, casts between address spaces, load-acquire and store-release.

use crate::helpers;
use crate::image::{ABSENT, Image, Insn, POISON};
use crate::kfuncs;
use crate::maps::Maps;

/// The operation of an instruction. `K` takes the immediate, `X` the source register; the number is the operands'
/// width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[rustfmt::skip]
#[allow(missing_docs)]
pub(crate) enum Op {
    AddK64, AddX64, AddK32, AddX32, SubK64, SubX64, SubK32, SubX32,
    MulK64, MulX64, MulK32, MulX32, DivK64, DivX64, DivK32, DivX32,
    SdivK64, SdivX64, SdivK32, SdivX32, OrK64, OrX64, OrK32, OrX32,
    AndK64, AndX64, AndK32, AndX32, LshK64, LshX64, LshK32, LshX32,
    RshK64, RshX64, RshK32, RshX32, ModK64, ModX64, ModK32, ModX32,
    SmodK64, SmodX64, SmodK32, SmodX32, XorK64, XorX64, XorK32, XorX32,
    MovK64, MovX64, MovK32, MovX32, ArshK64, ArshX64, ArshK32, ArshX32,
    Neg64, Neg32,
    Movsx8To64, Movsx16To64, Movsx32To64, Movsx8To32, Movsx16To32,
    /// Keeps the lower bits: `le16`, `le32`; `le64` does nothing.
    Le16, Le32, Le64,
    /// Reverses the bytes: `be` on a machine of little endian, and `bswap`.
    Swap16, Swap32, Swap64,
    /// A pointer into the arena in the other address space.
    Cast,
    Load8, Load16, Load32, Load64, LoadS8, LoadS16, LoadS32,
    StoreX8, StoreX16, StoreX32, StoreX64, StoreK8, StoreK16, StoreK32, StoreK64,
    /// `imm` says which: atomic operations on 32 and 64 bits.
    Atomic32, Atomic64,
    Acquire8, Acquire16, Acquire32, Acquire64, Release8, Release16, Release32, Release64,
    /// A load of 64 bits: the next instruction is its second half.
    Imm64,
    /// It and a load from there into any register: `dst`, `src` is where the address is put.
    Imm64Load8, Imm64Load16, Imm64Load32, Imm64Load64,
    /// A copy and an addition to it.
    MovX64AddK64,
    /// Two copies, the second of which is read from its own place.
    MovX64MovX64,
    /// A number for a register, and a jump.
    MovK64Ja, MovK32Ja,
    /// A copy, and a call of a function of the object.
    MovX64Call,
    /// The address of a kernel variable.
    Ksym,
    Ja, MayGoto,
    JeqK64, JeqX64, JeqK32, JeqX32, JneK64, JneX64, JneK32, JneX32,
    JgtK64, JgtX64, JgtK32, JgtX32, JgeK64, JgeX64, JgeK32, JgeX32,
    JltK64, JltX64, JltK32, JltX32, JleK64, JleX64, JleK32, JleX32,
    JsgtK64, JsgtX64, JsgtK32, JsgtX32, JsgeK64, JsgeX64, JsgeK32, JsgeX32,
    JsltK64, JsltX64, JsltK32, JsltX32, JsleK64, JsleX64, JsleK32, JsleX32,
    JsetK64, JsetX64, JsetK32, JsetX32,
    /// A function of the object: `off` is its first instruction, `imm` what it has on the stack.
    Call,
    /// A helper, by its number.
    Helper,
    /// A kernel function of the machine's, by its [`kfuncs::Own`].
    Own,
    /// A kernel function of the caller's, by its number in the image.
    Kfunc,
    Exit,
    /// [`POISON`].
    Poison,
    /// A call of a weak kernel function that the kernel does not have.
    Absent,
    /// Not an instruction: `imm` is the number of its [`UNKNOWN`].
    Unknown,
}

/// The errors that an instruction can have.
pub(crate) const UNKNOWN: [&str; 6] = [
    "the second half of a load of 64 bits, or the end of the object",
    "the instruction set has no instruction with this code, offset and immediate",
    "a register other than r0 to r10",
    "a write to r10, which programs may only read",
    "a cast of a pointer into an arena, but the object has no arena",
    "a call of a function by its address, which the kernel does not support",
];

/// How many wrong instructions an error tells of at most.
const PROBLEMS_MAX: usize = 1000;

/// A register. Whoever has one needs not check its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[rustfmt::skip]
pub(crate) enum Reg { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 }

impl Reg {
    #[rustfmt::skip]
    pub(crate) const ALL: [Reg; 11] = [
        Reg::R0, Reg::R1, Reg::R2, Reg::R3, Reg::R4, Reg::R5, Reg::R6, Reg::R7, Reg::R8, Reg::R9, Reg::R10,
    ];
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Decoded {
    pub(crate) op: Op,
    pub(crate) dst: Reg,
    pub(crate) src: Reg,
    /// The offset of an access, or the instruction to go on with.
    pub(crate) off: i32,
    /// The immediate, its sign extended.
    pub(crate) imm: i64,
}

const _: () = assert!(size_of::<Decoded>() == 16);

/// The `K64`, `X64`, `K32` and `X32` of an operation, picked by class and source.
macro_rules! forms {
    ($k64:ident $x64:ident $k32:ident $x32:ident, $wide:expr, $x:expr) => {
        match ($wide, $x) {
            (true, false) => Op::$k64,
            (true, true) => Op::$x64,
            (false, false) => Op::$k32,
            (false, true) => Op::$x32,
        }
    };
}

/// Decodes all instructions. What cannot be a program is an error: the texts say what and where.
pub(crate) fn decode(image: &Image, maps: &Maps) -> Result<Vec<Decoded>, Vec<String>> {
    let mut code = Vec::with_capacity(image.insns.len() + 1);
    let mut problems = Vec::new();
    let stacks: Vec<u32> = image.functions.iter().map(|of| stack_used(image, of.start, of.len)).collect();
    let mut at = 0;
    while at < image.insns.len() {
        let two = image.insns[at].code == 0x18 && at + 1 < image.insns.len();
        match decode_one(image, maps, &stacks, at) {
            Ok(decoded) => code.push(decoded),
            Err(what) => {
                if problems.len() < PROBLEMS_MAX {
                    let place = image.function_of(at as u32).map_or("", |function| &function.name);
                    problems.push(format!("instruction {at}, in {place}(): {what}"));
                }
                code.push(unknown(0));
            }
        }
        if two {
            code.push(unknown(0));
        }
        at += 1 + usize::from(two);
    }
    // Whoever runs past the end stops here.
    code.push(unknown(0));
    if problems.is_empty() {
        fuse(&mut code);
        Ok(code)
    } else {
        Err(problems)
    }
}

/// Makes one instruction of two that often follow each other. The second one stays where it is, for those that jump to
/// it, and counts as before.
fn fuse(code: &mut [Decoded]) {
    for at in 0..code.len() {
        let first = code[at];
        let Some(&second) = code.get(at + if first.op == Op::Imm64 { 2 } else { 1 }) else { continue };
        code[at] = match (first.op, second.op) {
            (Op::Imm64, Op::Load8 | Op::Load16 | Op::Load32 | Op::Load64) if second.src == first.dst => {
                let op = match second.op {
                    Op::Load8 => Op::Imm64Load8,
                    Op::Load16 => Op::Imm64Load16,
                    Op::Load32 => Op::Imm64Load32,
                    _ => Op::Imm64Load64,
                };
                Decoded { op, imm: first.imm, ..second }
            }
            (Op::MovX64, Op::AddK64) if second.dst == first.dst => {
                Decoded { op: Op::MovX64AddK64, imm: second.imm, ..first }
            }
            (Op::MovK64, Op::Ja) => Decoded { op: Op::MovK64Ja, off: second.off, ..first },
            (Op::MovK32, Op::Ja) => Decoded { op: Op::MovK32Ja, off: second.off, ..first },
            (Op::MovX64, Op::Call) => Decoded { op: Op::MovX64Call, off: second.off, imm: second.imm, ..first },
            (Op::MovX64, Op::MovX64) => Decoded { op: Op::MovX64MovX64, ..first },
            _ => continue,
        };
    }
}

fn unknown(what: usize) -> Decoded {
    Decoded { op: Op::Unknown, dst: Reg::R0, src: Reg::R0, off: 0, imm: what as i64 }
}

fn decode_one(image: &Image, maps: &Maps, stacks: &[u32], at: usize) -> Result<Decoded, String> {
    let insn = image.insns[at];
    let (class, x) = (insn.code & 7, insn.code & 8 != 0);
    let reg = |number: u8| Reg::ALL.get(usize::from(number)).copied();
    let (Some(dst), Some(src)) = (reg(insn.dst), reg(insn.src)) else { return Ok(unknown(2)) };
    let mut decoded = Decoded { op: Op::Unknown, dst, src, off: i32::from(insn.off), imm: i64::from(insn.imm) };
    let target = |by: i64| {
        let to = at as i64 + 1 + by;
        let inside = image.function_of(at as u32).is_none_or(|function| {
            (i64::from(function.start)..i64::from(function.start) + i64::from(function.len)).contains(&to)
        });
        if inside && (0..image.insns.len() as i64).contains(&to) {
            Ok(to as i32)
        } else {
            Err(format!("jump to instruction {to}, which is outside of the function"))
        }
    };
    let writes = matches!(class, 0 | 1 | 4 | 7);
    if writes && insn.dst == 10 {
        return Ok(unknown(3));
    }
    let op = match class {
        4 | 7 => {
            // Also r0 to r9 only.
            if insn.code & 0xf0 == 0xb0 && class == 7 && x && insn.off == 1 {
                // BPF_ADDR_SPACE_CAST, whose immediate has the address spaces.
                let Some(arena) = maps.the_arena() else { return Ok(unknown(4)) };
                if insn.imm != 1 && insn.imm != 1 << 16 {
                    return Ok(unknown(1));
                }
                decoded.imm = arena as i64;
                Some(Op::Cast)
            } else {
                alu(insn)
            }
        }
        5 | 6 => match insn.code {
            0x85 => return call(image, stacks, at),
            0x8d => return Ok(unknown(5)),
            0x95 => Some(Op::Exit),
            0x05 | 0x06 => {
                decoded.off = target(if insn.code == 5 { i64::from(insn.off) } else { i64::from(insn.imm) })?;
                Some(Op::Ja)
            }
            0xe5 if insn.src == 0 => {
                decoded.off = target(i64::from(insn.off))?;
                Some(Op::MayGoto)
            }
            _ => {
                decoded.off = target(i64::from(insn.off))?;
                jump(insn)
            }
        },
        0 if insn.code == 0x18 => {
            let Some(second) = image.insns.get(at + 1) else {
                return Err("a load of 64 bits without its second half".to_string());
            };
            let low = u64::from(insn.imm as u32);
            decoded.imm = match insn.src {
                0 => (low | u64::from(second.imm as u32) << 32) as i64,
                1 => match maps.get(insn.imm as u32) {
                    Some(map) => map.handle as i64,
                    None => return Err(format!("map {}, which does not exist", insn.imm)),
                },
                2 => match maps.value_addr(insn.imm as u32, second.imm as u32) {
                    Some(addr) => addr as i64,
                    None => return Err(format!("the value of map {}, which has no value", insn.imm)),
                },
                3 => {
                    if insn.imm as usize >= image.ksyms.len() {
                        return Err(format!("kernel variable {}, which does not exist", insn.imm));
                    }
                    decoded.op = Op::Ksym;
                    decoded.imm = i64::from(insn.imm);
                    return Ok(decoded);
                }
                4 => i64::from(insn.imm),
                other => return Err(format!("load of 64 bits of unknown kind {other}")),
            };
            Some(Op::Imm64)
        }
        1 => match insn.code {
            0x61 => Some(Op::Load32),
            0x69 => Some(Op::Load16),
            0x71 => Some(Op::Load8),
            0x79 => Some(Op::Load64),
            0x81 => Some(Op::LoadS32),
            0x89 => Some(Op::LoadS16),
            0x91 => Some(Op::LoadS8),
            _ => None,
        },
        2 => match insn.code {
            0x62 => Some(Op::StoreK32),
            0x6a => Some(Op::StoreK16),
            0x72 => Some(Op::StoreK8),
            0x7a => Some(Op::StoreK64),
            _ => None,
        },
        3 => match insn.code {
            0x63 => Some(Op::StoreX32),
            0x6b => Some(Op::StoreX16),
            0x73 => Some(Op::StoreX8),
            0x7b => Some(Op::StoreX64),
            _ => atomic(insn),
        },
        _ => None,
    };
    if op.is_some_and(|op| matches!(op, Op::Acquire8 | Op::Acquire16 | Op::Acquire32 | Op::Acquire64)) && insn.dst == 10
        || insn.code == 0xdb && insn.src == 10 && insn.imm & 1 != 0
    {
        return Ok(unknown(3));
    }
    match op {
        Some(op) => {
            decoded.op = op;
            Ok(decoded)
        }
        None => Ok(unknown(1)),
    }
}

#[rustfmt::skip]
fn alu(insn: Insn) -> Option<Op> {
    let (wide, x) = (insn.code & 7 == 7, insn.code & 8 != 0);
    let op = match (insn.code & 0xf0, insn.off) {
        (0x00, 0) => forms!(AddK64 AddX64 AddK32 AddX32, wide, x),
        (0x10, 0) => forms!(SubK64 SubX64 SubK32 SubX32, wide, x),
        (0x20, 0) => forms!(MulK64 MulX64 MulK32 MulX32, wide, x),
        (0x30, 0) => forms!(DivK64 DivX64 DivK32 DivX32, wide, x),
        (0x30, 1) => forms!(SdivK64 SdivX64 SdivK32 SdivX32, wide, x),
        (0x40, 0) => forms!(OrK64 OrX64 OrK32 OrX32, wide, x),
        (0x50, 0) => forms!(AndK64 AndX64 AndK32 AndX32, wide, x),
        (0x60, 0) => forms!(LshK64 LshX64 LshK32 LshX32, wide, x),
        (0x70, 0) => forms!(RshK64 RshX64 RshK32 RshX32, wide, x),
        (0x80, 0) => if wide { Op::Neg64 } else { Op::Neg32 },
        (0x90, 0) => forms!(ModK64 ModX64 ModK32 ModX32, wide, x),
        (0x90, 1) => forms!(SmodK64 SmodX64 SmodK32 SmodX32, wide, x),
        (0xa0, 0) => forms!(XorK64 XorX64 XorK32 XorX32, wide, x),
        (0xb0, 0) => forms!(MovK64 MovX64 MovK32 MovX32, wide, x),
        (0xb0, 8) if x => if wide { Op::Movsx8To64 } else { Op::Movsx8To32 },
        (0xb0, 16) if x => if wide { Op::Movsx16To64 } else { Op::Movsx16To32 },
        (0xb0, 32) if x && wide => Op::Movsx32To64,
        (0xc0, 0) => forms!(ArshK64 ArshX64 ArshK32 ArshX32, wide, x),
        (0xd0, 0) => match (wide, x, insn.imm) {
            (false, false, 16) => Op::Le16,
            (false, false, 32) => Op::Le32,
            (false, false, 64) => Op::Le64,
            (false, true, 16) | (true, false, 16) => Op::Swap16,
            (false, true, 32) | (true, false, 32) => Op::Swap32,
            (false, true, 64) | (true, false, 64) => Op::Swap64,
            _ => return None,
        },
        _ => return None,
    };
    Some(op)
}

#[rustfmt::skip]
fn jump(insn: Insn) -> Option<Op> {
    let (wide, x) = (insn.code & 7 == 5, insn.code & 8 != 0);
    let op = match insn.code & 0xf0 {
        0x10 => forms!(JeqK64 JeqX64 JeqK32 JeqX32, wide, x),
        0x20 => forms!(JgtK64 JgtX64 JgtK32 JgtX32, wide, x),
        0x30 => forms!(JgeK64 JgeX64 JgeK32 JgeX32, wide, x),
        0x40 => forms!(JsetK64 JsetX64 JsetK32 JsetX32, wide, x),
        0x50 => forms!(JneK64 JneX64 JneK32 JneX32, wide, x),
        0x60 => forms!(JsgtK64 JsgtX64 JsgtK32 JsgtX32, wide, x),
        0x70 => forms!(JsgeK64 JsgeX64 JsgeK32 JsgeX32, wide, x),
        0xa0 => forms!(JltK64 JltX64 JltK32 JltX32, wide, x),
        0xb0 => forms!(JleK64 JleX64 JleK32 JleX32, wide, x),
        0xc0 => forms!(JsltK64 JsltX64 JsltK32 JsltX32, wide, x),
        0xd0 => forms!(JsleK64 JsleX64 JsleK32 JsleX32, wide, x),
        _ => return None,
    };
    Some(op)
}

fn atomic(insn: Insn) -> Option<Op> {
    let op = match (insn.code, insn.imm) {
        (0xc3, 0 | 1 | 0x40 | 0x41 | 0x50 | 0x51 | 0xa0 | 0xa1 | 0xe1 | 0xf1) => Op::Atomic32,
        (0xdb, 0 | 1 | 0x40 | 0x41 | 0x50 | 0x51 | 0xa0 | 0xa1 | 0xe1 | 0xf1) => Op::Atomic64,
        (0xd3, 0x100) => Op::Acquire8,
        (0xcb, 0x100) => Op::Acquire16,
        (0xc3, 0x100) => Op::Acquire32,
        (0xdb, 0x100) => Op::Acquire64,
        (0xd3, 0x110) => Op::Release8,
        (0xcb, 0x110) => Op::Release16,
        (0xc3, 0x110) => Op::Release32,
        (0xdb, 0x110) => Op::Release64,
        _ => return None,
    };
    Some(op)
}

fn call(image: &Image, stacks: &[u32], at: usize) -> Result<Decoded, String> {
    let insn = image.insns[at];
    let decoded = |op, off, imm| Ok(Decoded { op, dst: Reg::R0, src: Reg::R0, off, imm });
    match insn.src {
        0 if insn.imm == POISON => decoded(Op::Poison, 0, 0),
        0 if helpers::name(insn.imm).is_some() => decoded(Op::Helper, 0, i64::from(insn.imm)),
        // Machine::new() names it.
        0 => Ok(unknown(1)),
        1 => {
            let to = at as i64 + 1 + i64::from(insn.imm);
            match image.functions.binary_search_by_key(&to, |function| i64::from(function.start)) {
                Ok(function) => decoded(Op::Call, to as i32, i64::from(stacks[function])),
                Err(_) => Err(format!("call of instruction {to}, where no function begins")),
            }
        }
        2 if insn.imm == ABSENT => decoded(Op::Absent, 0, 0),
        2 => match image.kfuncs.get(insn.imm as usize) {
            Some(kfunc) => match kfuncs::Own::by_name(&kfunc.name) {
                Some(own) => decoded(Op::Own, insn.imm, own as i64),
                None => decoded(Op::Kfunc, 0, i64::from(insn.imm)),
            },
            None => Err(format!("kernel function {}, which does not exist", insn.imm)),
        },
        other => Err(format!("call of unknown kind {other}")),
    }
}

/// How many bytes of its stack frame a function can use at most: what the machine clears before it runs. What takes the
/// frame's address other than to add a constant may use all.
pub(crate) fn stack_used(image: &Image, start: u32, len: u32) -> u32 {
    let insns = image.insns.get(start as usize..(start + len) as usize).unwrap_or_default();
    let mut least = 0;
    for (at, insn) in insns.iter().enumerate() {
        let (class, reads_r10) = (insn.code & 7, insn.src == 10);
        let depth = match class {
            1 if reads_r10 => i32::from(insn.off),
            2 | 3 if insn.dst == 10 => i32::from(insn.off),
            // A copy of r10, which an addition follows.
            7 if reads_r10 && insn.code == 0xbf => match insns.get(at + 1) {
                Some(next) if next.code == 0x07 && next.dst == insn.dst => next.imm,
                _ => -512,
            },
            3..=7 if reads_r10 && insn.code & 8 != 0 => -512,
            _ => 0,
        };
        least = least.min(depth);
    }
    least.clamp(-512, 0).unsigned_abs().next_multiple_of(8)
}
