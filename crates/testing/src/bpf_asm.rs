//! Programs of BPF as text, in the words of LLVM's assembler: `r0 = *(u32 *)(r1 + 4)`, `if r1 s> 3 goto out`.
//!
//! What that has no words for: `fn name` begins a function, `r1 = map NAME` and `r1 = &NAME + 8` are references to a
//! map, `r1 = fn NAME` to a function, `call NAME` calls a function of the program, `call 5` a helper, `kcall NAME` a
//! kernel function. `;` ends an instruction as a line does, `#` begins a comment. Each instruction has the number of
//! its line.

use std::collections::BTreeMap;
use wakelab_bpf::image::{Function, Image, Insn, Kfunc, Line, Map, MapKind};

/// A map without data.
pub fn map(name: &str, kind: MapKind, key_size: u32, value_size: u32, max_entries: u32) -> Map {
    Map::new(name, kind, key_size, value_size, max_entries)
}

/// Assembles a program with these maps.
pub fn assemble(text: &str, maps: Vec<Map>) -> Image {
    let mut asm = Asm { image: Image { maps, ..Image::default() }, labels: BTreeMap::new(), jumps: Vec::new() };
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        for part in line.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let insn = asm.image.insns.len() as u32;
            asm.part(part).unwrap_or_else(|| panic!("line {}: {part}", at + 1));
            if asm.image.insns.len() as u32 > insn {
                asm.image.lines.push(Line {
                    insn,
                    file: "some/folder/test.bpf.c".into(),
                    line: at as u32 + 1,
                    column: 0,
                    text: part.into(),
                });
            }
        }
    }
    asm.finish()
}

struct Asm {
    image: Image,
    labels: BTreeMap<String, u32>,
    /// Instructions with the labels that they go to.
    jumps: Vec<(u32, String)>,
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

/// `r3` or `w3`: its number, and whether it is the 64 bits.
fn register(text: &str) -> Option<(u8, bool)> {
    let wide = text.starts_with('r');
    let number = text.strip_prefix(['r', 'w'])?.parse().ok().filter(|number| *number < 16)?;
    Some((number, wide))
}

/// `*(u32 *)(r1 + 4)`: the size, whether it is signed, the register and the offset.
fn place(text: &str) -> Option<(u8, bool, u8, i16)> {
    let inside = text.strip_prefix("*(").or_else(|| text.strip_prefix('('))?;
    let (kind, place) = inside.split_once(" *)(")?;
    let size = match &kind[1..] {
        "8" => 0x10,
        "16" => 0x08,
        "32" => 0x00,
        "64" => 0x18,
        _ => return None,
    };
    let place = place.strip_suffix(')')?;
    let (base, sign, offset) = match (place.split_once(" + "), place.split_once(" - ")) {
        (Some((base, offset)), _) => (base, 1, offset),
        (_, Some((base, offset))) => (base, -1, offset),
        _ => (place, 1, "0"),
    };
    Some((size, kind.starts_with('s'), register(base)?.0, (number(offset)? * sign) as i16))
}

impl Asm {
    fn put(&mut self, code: u8, dst: u8, src: u8, off: i16, imm: i64) -> Option<()> {
        self.image.insns.push(Insn { code, dst, src, off, imm: imm as i32 });
        Some(())
    }

    fn put_wide(&mut self, dst: u8, src: u8, low: i64, high: i64) -> Option<()> {
        self.put(0x18, dst, src, 0, low)?;
        self.put(0, 0, 0, 0, high)
    }

    fn map(&self, name: &str) -> Option<i64> {
        self.image.maps.iter().position(|map| map.name == name).map(|at| at as i64)
    }

    fn jump(&mut self, code: u8, dst: u8, src: u8, imm: i64, to: &str) -> Option<()> {
        self.jumps.push((self.image.insns.len() as u32, to.to_string()));
        self.put(code, dst, src, 0, imm)
    }

    fn part(&mut self, text: &str) -> Option<()> {
        if let Some(name) = text.strip_prefix("fn ") {
            let start = self.image.insns.len() as u32;
            let section = ".text".to_string();
            self.image.functions.push(Function { name: name.to_string(), section, start, len: 0, args: 5 });
            self.labels.insert(format!("fn {name}"), start);
            return Some(());
        }
        if let Some(label) = text.strip_suffix(':') {
            self.labels.insert(label.to_string(), self.image.insns.len() as u32);
            return Some(());
        }
        if text == "exit" {
            return self.put(0x95, 0, 0, 0, 0);
        }
        if let Some(name) = text.strip_prefix("call ") {
            return match number(name) {
                Some(helper) => self.put(0x85, 0, 0, 0, helper),
                None => self.jump(0x85, 0, 1, 0, &format!("fn {name}")),
            };
        }
        if let Some(name) = text.strip_prefix("kcall ") {
            let found = self.image.kfuncs.iter().position(|kfunc| kfunc.name == name);
            let at = found.unwrap_or_else(|| {
                self.image.kfuncs.push(Kfunc { name: name.to_string(), weak: false, args: 5 });
                self.image.kfuncs.len() - 1
            });
            return self.put(0x85, 0, 2, 0, at as i64);
        }
        if let Some(label) = text.strip_prefix("goto ") {
            return self.jump(0x05, 0, 0, 0, label);
        }
        if let Some(label) = text.strip_prefix("gotol ") {
            return self.jump(0x06, 0, 0, 0, label);
        }
        if let Some(label) = text.strip_prefix("may_goto ") {
            return self.jump(0xe5, 0, 0, 0, label);
        }
        if let Some(condition) = text.strip_prefix("if ") {
            return self.condition(condition);
        }
        if let Some(atomic) = text.strip_prefix("lock ") {
            let mut words = atomic.rsplitn(3, ' ');
            let (src, op, at) = (register(words.next()?)?.0, words.next()?, place(words.next()?)?);
            let op = match op {
                "+=" => 0,
                "|=" => 0x40,
                "&=" => 0x50,
                "^=" => 0xa0,
                _ => return None,
            };
            return self.put(0xc3 | at.0, at.2, src, at.3, op);
        }
        if text.starts_with('*') {
            let (to, value) = text.split_once(" = ")?;
            let (size, _, base, offset) = place(to)?;
            return match register(value) {
                Some((src, _)) => self.put(0x63 | size, base, src, offset, 0),
                None => self.put(0x62 | size, base, 0, offset, number(value)?),
            };
        }
        let (left, right) = text.split_once(' ')?;
        let (dst, wide) = register(left)?;
        let (op, right) = right.split_once(' ')?;
        self.assign(dst, wide, op, right)
    }

    fn condition(&mut self, text: &str) -> Option<()> {
        let (condition, to) = text.split_once(" goto ")?;
        let mut words = condition.split(' ');
        let ((dst, wide), op, right) = (register(words.next()?)?, words.next()?, words.next()?);
        let op = match op {
            "==" => 0x10,
            ">" => 0x20,
            ">=" => 0x30,
            "&" => 0x40,
            "!=" => 0x50,
            "s>" => 0x60,
            "s>=" => 0x70,
            "<" => 0xa0,
            "<=" => 0xb0,
            "s<" => 0xc0,
            "s<=" => 0xd0,
            _ => return None,
        };
        let class = if wide { 5 } else { 6 };
        match register(right) {
            Some((src, _)) => self.jump(op | 8 | class, dst, src, 0, to),
            None => self.jump(op | class, dst, 0, number(right)?, to),
        }
    }

    fn assign(&mut self, dst: u8, wide: bool, op: &str, right: &str) -> Option<()> {
        let class = if wide { 7 } else { 4 };
        if op == "=" {
            if let Some(name) = right.strip_prefix("map ") {
                let map = self.map(name)?;
                return self.put_wide(dst, 1, map, 0);
            }
            if let Some(value) = right.strip_prefix('&') {
                let (name, offset) = value.split_once(" + ").unwrap_or((value, "0"));
                let map = self.map(name)?;
                return self.put_wide(dst, 2, map, number(offset)?);
            }
            if let Some(name) = right.strip_prefix("ksym ") {
                self.image.ksyms.push(name.to_string());
                let at = self.image.ksyms.len() as i64 - 1;
                return self.put_wide(dst, 3, at, 0);
            }
            if right.starts_with("fn ") {
                self.jumps.push((self.image.insns.len() as u32, right.to_string()));
                return self.put_wide(dst, 4, 0, 0);
            }
            if let Some(value) = right.strip_suffix(" ll") {
                let value = number(value)?;
                return self.put_wide(dst, 0, value, value >> 32);
            }
            if right.starts_with('*') {
                let (size, signed, base, offset) = place(right)?;
                return self.put(if signed { 0x81 } else { 0x61 } | size, dst, base, offset, 0);
            }
            if right.strip_prefix('-').and_then(register) == Some((dst, wide)) {
                return self.put(0x80 | class, dst, 0, 0, 0);
            }
            if let Some(rest) = right.strip_prefix("(s") {
                let (bits, src) = rest.split_once(')')?;
                return self.put(0xb8 | class, dst, register(src)?.0, bits.parse().ok()?, 0);
            }
            if let Some((op, _)) = right.split_once(' ').filter(|(op, _)| op.ends_with(['2', '4', '6'])) {
                let (code, bits) = match (op.strip_prefix("bswap"), op.strip_prefix("be"), op.strip_prefix("le")) {
                    (Some(bits), ..) => (0xd7, bits),
                    (_, Some(bits), _) => (0xdc, bits),
                    (.., Some(bits)) => (0xd4, bits),
                    _ => return None,
                };
                return self.put(code, dst, 0, 0, number(bits)?);
            }
            if let Some(rest) = right.strip_prefix("atomic_fetch_add(") {
                let (at, src) = rest.strip_suffix(')')?.rsplit_once(", ")?;
                let at = place(at)?;
                return (register(src)?.0 == dst)
                    .then_some(())
                    .and_then(|()| self.put(0xc3 | at.0, at.2, dst, at.3, 0x01));
            }
        }
        let (code, off) = match op {
            "+=" => (0x00, 0),
            "-=" => (0x10, 0),
            "*=" => (0x20, 0),
            "/=" => (0x30, 0),
            "s/=" => (0x30, 1),
            "|=" => (0x40, 0),
            "&=" => (0x50, 0),
            "<<=" => (0x60, 0),
            ">>=" => (0x70, 0),
            "%=" => (0x90, 0),
            "s%=" => (0x90, 1),
            "^=" => (0xa0, 0),
            "=" => (0xb0, 0),
            "s>>=" => (0xc0, 0),
            _ => return None,
        };
        match register(right) {
            Some((src, _)) => self.put(code | 8 | class, dst, src, off, 0),
            None => self.put(code | class, dst, 0, off, number(right)?),
        }
    }

    fn finish(mut self) -> Image {
        for (at, label) in &self.jumps {
            let to = *self.labels.get(label).unwrap_or_else(|| panic!("no label {label}"));
            let by = i64::from(to) - i64::from(*at) - 1;
            let insn = &mut self.image.insns[*at as usize];
            match insn.code {
                0x18 => insn.imm = to as i32,
                0x85 | 0x06 => insn.imm = by as i32,
                _ => insn.off = by as i16,
            }
        }
        let end = self.image.insns.len() as u32;
        let ends: Vec<u32> = self.image.functions.iter().skip(1).map(|function| function.start).chain([end]).collect();
        for (function, end) in self.image.functions.iter_mut().zip(ends) {
            function.len = end - function.start;
        }
        self.image
    }
}
