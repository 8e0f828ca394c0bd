//! Mends the types of a kernel whose build has lost some: functions that BPF programs call, with an argument that the
//! verifier gives them (`KF_IMPLICIT_ARGS`), have two entries in BTF. `scx_bpf_select_cpu_dfl` is as programs call it,
//! `scx_bpf_select_cpu_dfl_impl` as it is. pahole makes the first one of a tag, and loses some tags in some builds:
//! the function is then described as it is, under its plain name, and no program can call it.
//!
//! A kernel's BTF is as large as its linker made it, and sorted by name. The new entries go where their names belong,
//! so that the numbers of those behind them change: in BTF, and in `.BTF_ids`. Room comes from structs of
//! tracepoints.

use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSection};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const HEADER: usize = 24;
const KIND_STRUCT: u32 = 4;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;

/// An entry (`struct btf_type` and what follows it).
#[derive(Clone)]
struct Type(Vec<u8>);

impl Type {
    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("4 bytes"))
    }

    fn set(&mut self, at: usize, word: u32) {
        self.0[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn kind(&self) -> u32 {
        self.word(4) >> 24 & 31
    }

    fn vlen(&self) -> usize {
        (self.word(4) & 0xffff) as usize
    }

    fn set_vlen(&mut self, vlen: usize) {
        self.set(4, self.word(4) & !0xffff | vlen as u32);
    }

    /// How long an entry with this beginning is, bytes.
    fn len(&self) -> usize {
        // BTF_KIND_INT, _ARRAY, _VAR and _DECL_TAG have something of their own; the second are those with members.
        12 + match self.kind() {
            1 | 14 | 17 => 4,
            3 => 12,
            4 | 5 | 15 | 19 => 12 * self.vlen(),
            6 | 13 => 8 * self.vlen(),
            _ => 0,
        }
    }

    /// Where it has numbers of types.
    fn references(&self) -> Vec<usize> {
        let members = |first: usize, each: usize| (0..self.vlen()).map(move |at| 12 + first + at * each).collect();
        match self.kind() {
            // BTF_KIND_PTR, _TYPEDEF, _VOLATILE, _CONST, _RESTRICT, _FUNC, _VAR, _DECL_TAG, _TYPE_TAG
            2 | 8..=12 | 14 | 17 | 18 => vec![8],
            3 => vec![12, 16],
            4 | 5 => members(4, 12),
            13 => {
                let mut all: Vec<usize> = members(4, 8);
                all.push(8);
                all
            }
            15 => members(0, 12),
            _ => Vec::new(),
        }
    }
}

struct Btf {
    types: Vec<Type>,
    strings: Vec<u8>,
}

impl Btf {
    fn parse(bytes: &[u8]) -> Result<Self> {
        ensure!(bytes.len() > HEADER && bytes[..2] == [0x9f, 0xeb], ".BTF does not begin with BTF's magic number");
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize;
        ensure!(word(4) == HEADER && word(8) == 0, ".BTF has an unexpected header");
        let part = |at: usize, len: usize| bytes.get(HEADER + at..HEADER + at + len).context(".BTF is cut off");
        let (mut rest, strings) = (part(0, word(12))?, part(word(16), word(20))?.to_vec());
        let mut types = Vec::new();
        while !rest.is_empty() {
            let head = Type(rest.get(..12).context("a type is cut off")?.to_vec());
            let (own, after) = rest.split_at_checked(head.len()).context("a type is cut off")?;
            types.push(Type(own.to_vec()));
            rest = after;
        }
        Ok(Btf { types, strings })
    }

    fn name(&self, of: &Type) -> &[u8] {
        let from = self.strings.get(of.word(0) as usize..).unwrap_or_default();
        from.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    fn bytes(&self, size: usize) -> Result<Vec<u8>> {
        let types: Vec<u8> = self.types.iter().flat_map(|of| of.0.iter().copied()).collect();
        let strings = size.checked_sub(HEADER + types.len()).filter(|room| *room >= self.strings.len());
        let strings = strings.context("there is no room for the new types")?;
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [HEADER, 0, types.len(), types.len(), strings] {
            bytes.extend_from_slice(&(word as u32).to_le_bytes());
        }
        bytes.extend_from_slice(&types);
        bytes.extend_from_slice(&self.strings);
        bytes.resize(size, 0);
        Ok(bytes)
    }
}

/// Gives the functions of sched_ext back what programs call them by. Returns their names, and by how much the number of
/// a type has grown that had this number or a higher one.
fn mend(btf: &mut Btf) -> Result<(Vec<String>, BTreeMap<u32, u32>)> {
    let names: Vec<Vec<u8>> = btf.types.iter().map(|of| btf.name(of).to_vec()).collect();
    let first = names.iter().position(|name| !name.is_empty()).context("no type has a name")?;
    ensure!(names[first..].is_sorted(), "the types are not sorted by name; expected those of a kernel from 7.1 on");
    let func = |at: usize| btf.types[at].kind() == KIND_FUNC;
    let known: BTreeSet<&[u8]> = (0..names.len()).filter(|&at| func(at)).map(|at| names[at].as_slice()).collect();
    let mut users: BTreeMap<u32, u32> = BTreeMap::new();
    for of in &btf.types {
        of.references().iter().for_each(|&at| *users.entry(of.word(at)).or_default() += 1);
    }
    // Prototypes of one function that no program traces.
    let unneeded = |name: &[u8]| name.starts_with(b"acpi_") || name.starts_with(b"nvme_");
    let alone = |at: &usize| func(*at) && unneeded(&names[*at]) && users[&btf.types[*at].word(8)] == 1;
    let mut spare: Vec<u32> = (0..names.len()).filter(alone).map(|at| btf.types[at].word(8)).collect();
    let is_lost = |at: &usize| {
        let name = names[*at].as_slice();
        if !func(*at) || !name.starts_with(b"scx_bpf_") || name.ends_with(b"_impl") {
            return false;
        }
        let proto = &btf.types[btf.types[*at].word(8) as usize - 1];
        let last = proto.vlen().checked_sub(1).map(|last| Type(proto.0[12 + 8 * last..].to_vec()));
        last.is_some_and(|last| btf.name(&last) == b"aux") && !known.contains([name, b"_impl"].concat().as_slice())
    };
    let lost: Vec<usize> = (0..names.len()).filter(is_lost).collect();
    let mut new: Vec<(usize, Type)> = Vec::new();
    for &at in &lost {
        let name = [names[at].as_slice(), b"_impl"].concat();
        let mut implementation = btf.types[at].clone();
        let mut proto = btf.types[implementation.word(8) as usize - 1].clone();
        ensure!(proto.kind() == KIND_FUNC_PROTO, "a function has no prototype");
        proto.set_vlen(proto.vlen() - 1);
        proto.0.truncate(proto.len());
        implementation.set(0, btf.strings.len() as u32);
        btf.strings.extend_from_slice(&name);
        btf.strings.push(0);
        new.push((first + names[first..].partition_point(|other| *other <= name), implementation));
        let place = spare.pop().context("there is no prototype to reuse")?;
        btf.types[place as usize - 1] = proto;
        btf.types[at].set(8, place);
    }
    // Stable, and the names came in their order.
    new.sort_by_key(|(at, _)| *at);
    let mut growth = BTreeMap::new();
    for (nth, (at, _)) in new.iter().enumerate() {
        growth.insert(*at as u32 + 1, nth as u32 + 1);
    }
    for (at, implementation) in new.into_iter().rev() {
        btf.types.insert(at, implementation);
    }
    for of in &mut btf.types {
        for at in of.references() {
            of.set(at, grown(&growth, of.word(at)));
        }
    }
    // As many bytes as the new entries take, of structs that only programs at their tracepoints read.
    let mut room = lost.iter().map(|&at| 12 + names[at].len() + 6).sum::<usize>();
    for at in 0..btf.types.len() {
        let of = &btf.types[at];
        if room > 0 && of.kind() == KIND_STRUCT && btf.name(of).starts_with(b"trace_event_raw_") {
            room = room.saturating_sub(of.len() - 12);
            btf.types[at].set_vlen(0);
            btf.types[at].0.truncate(12);
        }
    }
    Ok((lost.iter().map(|&at| String::from_utf8_lossy(&names[at]).into_owned()).collect(), growth))
}

fn grown(growth: &BTreeMap<u32, u32>, id: u32) -> u32 {
    id + growth.range(..=id).next_back().map_or(0, |(_, by)| *by)
}

/// Mends the types of a kernel (`vmlinux`, uncompressed). Returns the functions that no program could call before.
///
/// # Errors
/// Fails if it is no such kernel, or has no room.
pub fn whole(vmlinux: &mut [u8]) -> Result<Vec<String>> {
    let section = |vmlinux: &[u8], name: &str| -> Result<Range<usize>> {
        let file = object::File::parse(vmlinux).context("expected an ELF file")?;
        let range = file.section_by_name(name).and_then(|section| section.file_range());
        let (at, size) = range.with_context(|| format!("it has no {name}"))?;
        Ok(at as usize..(at + size) as usize)
    };
    let (types, ids) = (section(vmlinux, ".BTF")?, section(vmlinux, ".BTF_ids")?);
    let mut btf = Btf::parse(&vmlinux[types.clone()])?;
    let last = btf.types.len() as u32;
    let (lost, growth) = mend(&mut btf)?;
    let Some(first) = growth.keys().next().copied() else { return Ok(lost) };
    // Words of .BTF_ids are numbers of types, how many there are, and flags; of the last the highest is
    // KF_IMPLICIT_ARGS with others.
    const HIGHEST_FLAGS: u32 = 0x18000;
    if first <= HIGHEST_FLAGS {
        bail!("the number of {} is as low as flags are", lost.first().map_or("a function", String::as_str));
    }
    let bytes = btf.bytes(types.len())?;
    vmlinux[types].copy_from_slice(&bytes);
    for word in vmlinux[ids].chunks_exact_mut(4) {
        let id = u32::from_le_bytes((&*word).try_into().expect("4 bytes"));
        if (first..=last).contains(&id) {
            word.copy_from_slice(&grown(&growth, id).to_le_bytes());
        }
    }
    Ok(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name, a kind, and the words after `info`.
    fn built(entries: &[(&str, u32, usize, &[u32])], strings: &mut Vec<u8>) -> Vec<Type> {
        let mut name = |text: &str| {
            if text.is_empty() {
                return 0;
            }
            strings.extend_from_slice(text.as_bytes());
            strings.push(0);
            (strings.len() - text.len() - 1) as u32
        };
        let mut types = Vec::new();
        for (text, kind, vlen, words) in entries {
            let mut bytes = name(text).to_le_bytes().to_vec();
            bytes.extend_from_slice(&(kind << 24 | *vlen as u32).to_le_bytes());
            words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            types.push(Type(bytes));
        }
        types
    }

    #[test]
    fn a_function_gets_its_second_entry_where_its_name_belongs() {
        let mut strings = vec![0];
        strings.extend_from_slice(b"aux\0");
        let types = built(
            &[
                // 1: (int, aux), of the lost function; 2: of a function that nobody needs.
                ("", KIND_FUNC_PROTO, 2, &[3, 0, 3, 1, 3]),
                ("", KIND_FUNC_PROTO, 0, &[0]),
                ("a", 1, 0, &[4, 0]),
                ("acpi_x", KIND_FUNC, 0, &[2]),
                ("scx_bpf_f", KIND_FUNC, 0, &[1]),
                ("trace_event_raw_x", KIND_STRUCT, 3, &[0; 10]),
                ("zeta", 8, 0, &[6]),
            ],
            &mut strings,
        );
        let mut btf = Btf { types, strings };
        let size = btf.types.iter().map(|of| of.0.len()).sum::<usize>() + btf.strings.len() + HEADER;
        let (lost, growth) = mend(&mut btf).unwrap();
        assert_eq!(lost, ["scx_bpf_f"]);
        let parsed = Btf::parse(&btf.bytes(size).unwrap()).unwrap();
        let of = |name: &str| parsed.types.iter().position(|of| parsed.name(of) == name.as_bytes()).unwrap();
        assert_eq!(of("scx_bpf_f_impl"), of("scx_bpf_f") + 1);
        let proto = |name: &str| &parsed.types[parsed.types[of(name)].word(8) as usize - 1];
        assert_eq!((proto("scx_bpf_f").vlen(), proto("scx_bpf_f_impl").vlen()), (1, 2));
        // What came behind it has the next number, also where it is named.
        assert_eq!(parsed.types[of("zeta")].word(8) as usize, of("trace_event_raw_x") + 1);
        assert_eq!((grown(&growth, 5), grown(&growth, 6)), (5, 7));
    }
}
