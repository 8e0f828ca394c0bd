//! The instructions, executed one after the other.

use crate::decode::{Decoded, Op, Reg, UNKNOWN};
use crate::fault::{Fault, FaultKind};
use crate::kfuncs::Own;
use crate::machine::{BPF_MAX_LOOPS, Frame, Kernel, MAX_CALL_FRAMES, Machine, WORK_OF_CALLBACK};

impl Machine {
    /// Runs a callback of a program that is being run: its result.
    pub(crate) fn callback<K: Kernel>(&mut self, kernel: &mut K, start: u64, args: [u64; 5]) -> Result<u64, Fault> {
        if self.image.functions.binary_search_by_key(&start, |function| u64::from(function.start)).is_err() {
            return Err(Fault::argument("callback", format!("a function, but {start:#x} is not one")));
        }
        // Its end is no jump: without this, loops of callbacks would pass the limit.
        if self.left < 0 {
            return Err(self.endless());
        }
        self.work(WORK_OF_CALLBACK)?;
        let code = self.code.clone();
        let start = start as u32;
        self.run(kernel, &code, start, self.stack_used_at(start), args)
    }

    /// Runs the function that begins at `start` to its end. It uses `used` bytes of its stack frame.
    #[inline(never)]
    pub(crate) fn run<K: Kernel>(
        &mut self,
        kernel: &mut K,
        code: &[Decoded],
        start: u32,
        used: u32,
        args: [u64; 5],
    ) -> Result<u64, Fault> {
        let callers = self.frames.len();
        if self.depth - self.base >= MAX_CALL_FRAMES {
            let mut fault = Fault::new(FaultKind::StackOverflow { frames: MAX_CALL_FRAMES });
            self.name_fault(&mut fault, start);
            return Err(fault);
        }
        self.counts.calls += 1;
        let mut r = [0u64; Reg::ALL.len()];
        r[1..6].copy_from_slice(&args);
        r[10] = self.frame(self.depth, used);
        self.depth += 1;
        // What follows: the next instruction is found without its number, which is `pc!()`.
        let mut rest = code.get(start as usize..).unwrap_or_default().iter();
        let mut left = self.left;
        let mut may_goto = BPF_MAX_LOOPS as u32;

        /// The number of the instruction after the present one.
        macro_rules! pc {
            () => {
                code.len() - rest.len()
            };
        }

        let mut fault = loop {
            let Some(insn) = rest.next() else {
                break Fault::new(FaultKind::UnknownInstruction { code: 0, what: UNKNOWN[0] });
            };
            left -= 1;
            let (d, s) = (insn.dst as usize, insn.src as usize);

            /// `dst = f(dst, operand)` of 64 bits.
            macro_rules! k64 {
                ($f:expr) => {
                    r[d] = apply64(r[d], insn.imm as u64, $f)
                };
            }
            macro_rules! x64 {
                ($f:expr) => {
                    r[d] = apply64(r[d], r[s], $f)
                };
            }
            /// Of 32 bits: the upper half becomes zero.
            macro_rules! k32 {
                ($f:expr) => {
                    r[d] = u64::from(apply32(r[d] as u32, insn.imm as u32, $f))
                };
            }
            macro_rules! x32 {
                ($f:expr) => {
                    r[d] = u64::from(apply32(r[d] as u32, r[s] as u32, $f))
                };
            }
            // A program that does not end jumps back, calls or both: the instructions are compared with the limit
            // there.
            macro_rules! jump {
                () => {{
                    let to = insn.off as usize;
                    if left < 0 && backwards(to, pc!()) {
                        break self.endless();
                    }
                    rest = code.get(to..).unwrap_or_default().iter();
                }};
            }
            macro_rules! jk64 {
                ($f:expr) => {
                    if test64(r[d], insn.imm as u64, $f) {
                        jump!()
                    }
                };
            }
            macro_rules! jx64 {
                ($f:expr) => {
                    if test64(r[d], r[s], $f) {
                        jump!()
                    }
                };
            }
            macro_rules! jk32 {
                ($f:expr) => {
                    if test32(r[d] as u32, insn.imm as u32, $f) {
                        jump!()
                    }
                };
            }
            macro_rules! jx32 {
                ($f:expr) => {
                    if test32(r[d] as u32, r[s] as u32, $f) {
                        jump!()
                    }
                };
            }
            macro_rules! load {
                ($from:ty) => {
                    load!($from, r[s])
                };
                ($from:ty, $base:expr) => {{
                    let addr = $base.wrapping_add(i64::from(insn.off) as u64);
                    r[d] = match self.memory.load(addr) {
                        Some(bytes) => <$from>::from_le_bytes(bytes) as i64 as u64,
                        None => match self.bad_load(addr, size_of::<$from>() as u64) {
                            Ok(value) => value,
                            Err(fault) => break fault,
                        },
                    };
                }};
            }
            /// `src = imm; dst = *(src + off)`, as programs read their global variables.
            macro_rules! load_imm {
                ($from:ty) => {{
                    left -= 1;
                    rest.nth(1);
                    r[s] = insn.imm as u64;
                    load!($from, insn.imm as u64);
                }};
            }
            macro_rules! store {
                ($value:expr, $to:ty) => {{
                    let addr = r[d].wrapping_add(i64::from(insn.off) as u64);
                    if !self.memory.store(addr, ($value as $to).to_le_bytes()) {
                        break self.memory.bad_store(addr, size_of::<$to>() as u64).into();
                    }
                }};
            }
            macro_rules! atomic {
                ($int:ty) => {{
                    let addr = r[d].wrapping_add(i64::from(insn.off) as u64);
                    let Some(bytes) = self.memory.load(addr) else {
                        break self.memory.bad_store(addr, size_of::<$int>() as u64).into();
                    };
                    let old = <$int>::from_le_bytes(bytes);
                    let operand = r[s] as $int;
                    let new = match insn.imm & 0xf0 {
                        0x00 => old.wrapping_add(operand),
                        0x40 => old | operand,
                        0x50 => old & operand,
                        0xa0 => old ^ operand,
                        0xe0 => operand,
                        _ if old == r[0] as $int => operand,
                        _ => old,
                    };
                    if !self.memory.store(addr, new.to_le_bytes()) {
                        break self.memory.bad_store(addr, size_of::<$int>() as u64).into();
                    }
                    self.counts.atomics += 1;
                    match insn.imm & 0xf1 {
                        0xf1 => r[0] = u64::from(old),
                        fetch if fetch & 1 != 0 => r[s] = u64::from(old),
                        _ => {}
                    }
                }};
            }
            macro_rules! call {
                () => {{
                    if left < 0 {
                        break self.endless();
                    }
                    if self.depth - self.base >= MAX_CALL_FRAMES {
                        break Fault::new(FaultKind::StackOverflow { frames: MAX_CALL_FRAMES });
                    }
                    self.frames.push(Frame { back: pc!() as u32, saved: [r[6], r[7], r[8], r[9]], may_goto });
                    r[10] = self.frame(self.depth, insn.imm as u32);
                    self.depth += 1;
                    may_goto = BPF_MAX_LOOPS as u32;
                    rest = code.get(insn.off as usize..).unwrap_or_default().iter();
                }};
            }
            /// A call out of the loop, which may come back into another.
            macro_rules! out {
                ($call:expr) => {{
                    self.left = left;
                    let result = $call;
                    left = self.left;
                    match result {
                        Ok(value) => r[0] = value,
                        Err(fault) => break fault,
                    }
                }};
            }

            match insn.op {
                Op::AddK64 => k64!(u64::wrapping_add),
                Op::AddX64 => x64!(u64::wrapping_add),
                Op::AddK32 => k32!(u32::wrapping_add),
                Op::AddX32 => x32!(u32::wrapping_add),
                Op::SubK64 => k64!(u64::wrapping_sub),
                Op::SubX64 => x64!(u64::wrapping_sub),
                Op::SubK32 => k32!(u32::wrapping_sub),
                Op::SubX32 => x32!(u32::wrapping_sub),
                Op::MulK64 => k64!(u64::wrapping_mul),
                Op::MulX64 => x64!(u64::wrapping_mul),
                Op::MulK32 => k32!(u32::wrapping_mul),
                Op::MulX32 => x32!(u32::wrapping_mul),
                // A division by zero gives 0, and its remainder is the dividend.
                Op::DivK64 => k64!(|a, b| a.checked_div(b).unwrap_or(0)),
                Op::DivX64 => x64!(|a, b| a.checked_div(b).unwrap_or(0)),
                Op::DivK32 => k32!(|a, b| a.checked_div(b).unwrap_or(0)),
                Op::DivX32 => x32!(|a, b| a.checked_div(b).unwrap_or(0)),
                Op::SdivK64 => k64!(sdiv64),
                Op::SdivX64 => x64!(sdiv64),
                Op::SdivK32 => k32!(sdiv32),
                Op::SdivX32 => x32!(sdiv32),
                Op::ModK64 => k64!(|a, b| a.checked_rem(b).unwrap_or(a)),
                Op::ModX64 => x64!(|a, b| a.checked_rem(b).unwrap_or(a)),
                Op::ModK32 => k32!(|a, b| a.checked_rem(b).unwrap_or(a)),
                Op::ModX32 => x32!(|a, b| a.checked_rem(b).unwrap_or(a)),
                Op::SmodK64 => k64!(smod64),
                Op::SmodX64 => x64!(smod64),
                Op::SmodK32 => k32!(smod32),
                Op::SmodX32 => x32!(smod32),
                Op::OrK64 => k64!(|a, b| a | b),
                Op::OrX64 => x64!(|a, b| a | b),
                Op::OrK32 => k32!(|a, b| a | b),
                Op::OrX32 => x32!(|a, b| a | b),
                Op::AndK64 => k64!(|a, b| a & b),
                Op::AndX64 => x64!(|a, b| a & b),
                Op::AndK32 => k32!(|a, b| a & b),
                Op::AndX32 => x32!(|a, b| a & b),
                Op::XorK64 => k64!(|a, b| a ^ b),
                Op::XorX64 => x64!(|a, b| a ^ b),
                Op::XorK32 => k32!(|a, b| a ^ b),
                Op::XorX32 => x32!(|a, b| a ^ b),
                Op::LshK64 => k64!(|a, b| a.wrapping_shl(b as u32)),
                Op::LshX64 => x64!(|a, b| a.wrapping_shl(b as u32)),
                Op::LshK32 => k32!(u32::wrapping_shl),
                Op::LshX32 => x32!(u32::wrapping_shl),
                Op::RshK64 => k64!(|a, b| a.wrapping_shr(b as u32)),
                Op::RshX64 => x64!(|a, b| a.wrapping_shr(b as u32)),
                Op::RshK32 => k32!(u32::wrapping_shr),
                Op::RshX32 => x32!(u32::wrapping_shr),
                Op::ArshK64 => k64!(|a, b| (a as i64).wrapping_shr(b as u32) as u64),
                Op::ArshX64 => x64!(|a, b| (a as i64).wrapping_shr(b as u32) as u64),
                Op::ArshK32 => k32!(|a, b| (a as i32).wrapping_shr(b) as u32),
                Op::ArshX32 => x32!(|a, b| (a as i32).wrapping_shr(b) as u32),
                Op::MovK64 => r[d] = insn.imm as u64,
                Op::MovX64 => r[d] = r[s],
                Op::MovK32 => r[d] = u64::from(insn.imm as u32),
                Op::MovX32 => r[d] = u64::from(r[s] as u32),
                Op::Movsx8To64 => r[d] = i64::from(r[s] as i8) as u64,
                Op::Movsx16To64 => r[d] = i64::from(r[s] as i16) as u64,
                Op::Movsx32To64 => r[d] = i64::from(r[s] as i32) as u64,
                Op::Movsx8To32 => r[d] = u64::from(i32::from(r[s] as i8) as u32),
                Op::Movsx16To32 => r[d] = u64::from(i32::from(r[s] as i16) as u32),
                Op::Neg64 => r[d] = r[d].wrapping_neg(),
                Op::Neg32 => r[d] = u64::from((r[d] as u32).wrapping_neg()),
                Op::Le16 => r[d] = u64::from(r[d] as u16),
                Op::Le32 => r[d] = u64::from(r[d] as u32),
                Op::Le64 => {}
                Op::Swap16 => r[d] = u64::from((r[d] as u16).swap_bytes()),
                Op::Swap32 => r[d] = u64::from((r[d] as u32).swap_bytes()),
                Op::Swap64 => r[d] = r[d].swap_bytes(),
                Op::Cast => {
                    // The lower half is the place in the arena. In the first page there is nothing: it stays near NULL.
                    let low = r[s] & 0xffff_ffff;
                    r[d] = if low < 4096 { low } else { insn.imm as u64 | low };
                }

                Op::Load8 => load!(u8),
                Op::Load16 => load!(u16),
                Op::Load32 => load!(u32),
                Op::Load64 => load!(u64),
                Op::LoadS8 => load!(i8),
                Op::LoadS16 => load!(i16),
                Op::LoadS32 => load!(i32),
                Op::StoreX8 => store!(r[s], u8),
                Op::StoreX16 => store!(r[s], u16),
                Op::StoreX32 => store!(r[s], u32),
                Op::StoreX64 => store!(r[s], u64),
                Op::StoreK8 => store!(insn.imm, u8),
                Op::StoreK16 => store!(insn.imm, u16),
                Op::StoreK32 => store!(insn.imm, u32),
                Op::StoreK64 => store!(insn.imm, u64),
                Op::Atomic32 => atomic!(u32),
                Op::Atomic64 => atomic!(u64),
                Op::Acquire8 => {
                    self.counts.atomics += 1;
                    load!(u8);
                }
                Op::Acquire16 => {
                    self.counts.atomics += 1;
                    load!(u16);
                }
                Op::Acquire32 => {
                    self.counts.atomics += 1;
                    load!(u32);
                }
                Op::Acquire64 => {
                    self.counts.atomics += 1;
                    load!(u64);
                }
                Op::Release8 => {
                    self.counts.atomics += 1;
                    store!(r[s], u8);
                }
                Op::Release16 => {
                    self.counts.atomics += 1;
                    store!(r[s], u16);
                }
                Op::Release32 => {
                    self.counts.atomics += 1;
                    store!(r[s], u32);
                }
                Op::Release64 => {
                    self.counts.atomics += 1;
                    store!(r[s], u64);
                }

                Op::Imm64 => {
                    r[d] = insn.imm as u64;
                    rest.next();
                }
                Op::Imm64Load8 => load_imm!(u8),
                Op::Imm64Load16 => load_imm!(u16),
                Op::Imm64Load32 => load_imm!(u32),
                Op::Imm64Load64 => load_imm!(u64),
                Op::MovX64AddK64 => {
                    left -= 1;
                    rest.next();
                    r[d] = r[s].wrapping_add(insn.imm as u64);
                }
                Op::MovX64MovX64 => {
                    left -= 1;
                    r[d] = r[s];
                    if let Some(next) = rest.next() {
                        r[next.dst as usize] = r[next.src as usize];
                    }
                }
                Op::MovK64Ja => {
                    left -= 1;
                    rest.next();
                    r[d] = insn.imm as u64;
                    jump!();
                }
                Op::MovK32Ja => {
                    left -= 1;
                    rest.next();
                    r[d] = u64::from(insn.imm as u32);
                    jump!();
                }
                Op::MovX64Call => {
                    left -= 1;
                    rest.next();
                    r[d] = r[s];
                    call!();
                }
                Op::Ksym => {
                    let number = insn.imm as usize;
                    let image = self.image.clone();
                    let of_one = kernel.ksym(self, &image.ksyms[number], None);
                    r[d] = of_one.unwrap_or(self.ksyms[number]);
                    rest.next();
                }

                Op::Ja => jump!(),
                Op::MayGoto => {
                    if may_goto == 0 {
                        jump!();
                    } else {
                        may_goto -= 1;
                    }
                }
                Op::JeqK64 => jk64!(|a, b| a == b),
                Op::JeqX64 => jx64!(|a, b| a == b),
                Op::JeqK32 => jk32!(|a, b| a == b),
                Op::JeqX32 => jx32!(|a, b| a == b),
                Op::JneK64 => jk64!(|a, b| a != b),
                Op::JneX64 => jx64!(|a, b| a != b),
                Op::JneK32 => jk32!(|a, b| a != b),
                Op::JneX32 => jx32!(|a, b| a != b),
                Op::JgtK64 => jk64!(|a, b| a > b),
                Op::JgtX64 => jx64!(|a, b| a > b),
                Op::JgtK32 => jk32!(|a, b| a > b),
                Op::JgtX32 => jx32!(|a, b| a > b),
                Op::JgeK64 => jk64!(|a, b| a >= b),
                Op::JgeX64 => jx64!(|a, b| a >= b),
                Op::JgeK32 => jk32!(|a, b| a >= b),
                Op::JgeX32 => jx32!(|a, b| a >= b),
                Op::JltK64 => jk64!(|a, b| a < b),
                Op::JltX64 => jx64!(|a, b| a < b),
                Op::JltK32 => jk32!(|a, b| a < b),
                Op::JltX32 => jx32!(|a, b| a < b),
                Op::JleK64 => jk64!(|a, b| a <= b),
                Op::JleX64 => jx64!(|a, b| a <= b),
                Op::JleK32 => jk32!(|a, b| a <= b),
                Op::JleX32 => jx32!(|a, b| a <= b),
                Op::JsgtK64 => jk64!(|a, b| a as i64 > b as i64),
                Op::JsgtX64 => jx64!(|a, b| a as i64 > b as i64),
                Op::JsgtK32 => jk32!(|a, b| a as i32 > b as i32),
                Op::JsgtX32 => jx32!(|a, b| a as i32 > b as i32),
                Op::JsgeK64 => jk64!(|a, b| a as i64 >= b as i64),
                Op::JsgeX64 => jx64!(|a, b| a as i64 >= b as i64),
                Op::JsgeK32 => jk32!(|a, b| a as i32 >= b as i32),
                Op::JsgeX32 => jx32!(|a, b| a as i32 >= b as i32),
                Op::JsltK64 => jk64!(|a, b| (a as i64) < b as i64),
                Op::JsltX64 => jx64!(|a, b| (a as i64) < b as i64),
                Op::JsltK32 => jk32!(|a, b| (a as i32) < b as i32),
                Op::JsltX32 => jx32!(|a, b| (a as i32) < b as i32),
                Op::JsleK64 => jk64!(|a, b| a as i64 <= b as i64),
                Op::JsleX64 => jx64!(|a, b| a as i64 <= b as i64),
                Op::JsleK32 => jk32!(|a, b| a as i32 <= b as i32),
                Op::JsleX32 => jx32!(|a, b| a as i32 <= b as i32),
                Op::JsetK64 => jk64!(|a, b| a & b != 0),
                Op::JsetX64 => jx64!(|a, b| a & b != 0),
                Op::JsetK32 => jk32!(|a, b| a & b != 0),
                Op::JsetX32 => jx32!(|a, b| a & b != 0),

                Op::Call => call!(),
                Op::Exit => {
                    self.depth -= 1;
                    if self.frames.len() == callers {
                        self.left = left;
                        return Ok(r[0]);
                    }
                    let Some(frame) = self.frames.pop() else { return Ok(r[0]) };
                    r[6..10].copy_from_slice(&frame.saved);
                    r[10] = self.frame_end(self.depth - 1);
                    may_goto = frame.may_goto;
                    rest = code.get(frame.back as usize..).unwrap_or_default().iter();
                }
                Op::Helper => {
                    self.counts.helpers += 1;
                    out!(self.helper(kernel, insn.imm as u32, [r[1], r[2], r[3], r[4], r[5]]));
                }
                Op::Own => {
                    self.counts.own_kfuncs += 1;
                    match Own::ALL.get(insn.imm as usize) {
                        Some(&own) => out!(self.own(kernel, own, [r[1], r[2], r[3], r[4], r[5]])),
                        None => break Fault::new(FaultKind::Absent(format!("kernel function {}", insn.imm))),
                    }
                }
                Op::Kfunc => {
                    self.counts.kfuncs += 1;
                    out!(kernel.kfunc(self, insn.imm as u32, [r[1], r[2], r[3], r[4], r[5]]));
                }
                Op::Poison => {
                    let at = pc!() as u32 - 1;
                    let poisoned = &self.image.poisoned;
                    let found = poisoned.binary_search_by_key(&at, |(insn, _)| *insn);
                    let what = found.map_or("an unknown one", |at| &poisoned[at].1);
                    break Fault::new(FaultKind::Poisoned(what.to_string()));
                }
                Op::Absent => {
                    break Fault::new(FaultKind::Absent("a weak function".to_string()));
                }
                Op::Unknown => {
                    let code = self.image.insns.get(pc!() - 1).map_or(0, |insn| insn.code);
                    let what = UNKNOWN.get(insn.imm as usize).copied().unwrap_or(UNKNOWN[1]);
                    break Fault::new(FaultKind::UnknownInstruction { code, what });
                }
            }
        };

        self.left = left;
        self.depth -= 1;
        self.name_fault(&mut fault, (pc!() as u32).saturating_sub(1));
        while self.frames.len() > callers
            && let Some(frame) = self.frames.pop()
        {
            self.depth -= 1;
            self.name_fault(&mut fault, frame.back - 1);
        }
        Err(fault)
    }

    #[cold]
    fn endless(&self) -> Fault {
        Fault::new(FaultKind::Endless { insns: self.limits.insns })
    }

    /// A load from a bad address. Through NULL, and in an arena from a page that is not allocated, it gives 0, as the
    /// kernel's do by their exception table (`BPF_PROBE_MEM`, `BPF_PROBE_MEM32`).
    #[cold]
    fn bad_load(&mut self, addr: u64, len: u64) -> Result<u64, Fault> {
        let arena = self.maps.the_arena();
        if addr < 4096 || arena.is_some_and(|arena| arena >> 32 == addr >> 32) {
            self.counts.null_reads += 1;
            return Ok(0);
        }
        self.memory.bytes(addr, len)?;
        Ok(0)
    }
}

/// Whether a jump goes back. It is asked where it matters alone.
#[cold]
fn backwards(to: usize, pc: usize) -> bool {
    to < pc
}

#[inline(always)]
fn apply64(a: u64, b: u64, f: impl Fn(u64, u64) -> u64) -> u64 {
    f(a, b)
}

#[inline(always)]
fn apply32(a: u32, b: u32, f: impl Fn(u32, u32) -> u32) -> u32 {
    f(a, b)
}

#[inline(always)]
fn test64(a: u64, b: u64, f: impl Fn(u64, u64) -> bool) -> bool {
    f(a, b)
}

#[inline(always)]
fn test32(a: u32, b: u32, f: impl Fn(u32, u32) -> bool) -> bool {
    f(a, b)
}

fn sdiv64(a: u64, b: u64) -> u64 {
    if b == 0 { 0 } else { (a as i64).wrapping_div(b as i64) as u64 }
}

fn sdiv32(a: u32, b: u32) -> u32 {
    if b == 0 { 0 } else { (a as i32).wrapping_div(b as i32) as u32 }
}

fn smod64(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { (a as i64).wrapping_rem(b as i64) as u64 }
}

fn smod32(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { (a as i32).wrapping_rem(b as i32) as u32 }
}
