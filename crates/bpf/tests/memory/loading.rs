//! Objects of up to 2 MB that would be much more: types that hold themselves, names and members that are repeated,
//! sections that lie on each other.

use wakelab_bpf::btf::Btf;
use wakelab_bpf::machine::{Limits, Machine};
use wakelab_bpf::{LinkOptions, LoadError, Object};
use wakelab_testing::most_memory;

/// An object with all kinds of sections, and the types that it is linked for.
const OBJECT: &[u8] = include_bytes!("../data/relocations.bpf.o");
const KERNEL: &[u8] = include_bytes!("../data/kernel.o");

/// What the host may take for an object, bytes.
const HOST: usize = 256 << 20;

const BTF_INT: u32 = 1;
const BTF_ARRAY: u32 = 3;
const BTF_STRUCT: u32 = 4;
const BTF_VAR: u32 = 14;
const BTF_DATASEC: u32 = 15;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// An ELF file whose sections can be replaced, and have others beside them.
struct Elf {
    bytes: Vec<u8>,
    /// Section headers, 64 bytes each.
    headers: Vec<[u8; 64]>,
}

impl Elf {
    fn new(bytes: &[u8]) -> Elf {
        let (at, count) = (u64_at(bytes, 40) as usize, usize::from(u16::from_le_bytes([bytes[60], bytes[61]])));
        let headers = (0..count).map(|n| bytes[at + 64 * n..at + 64 * (n + 1)].try_into().unwrap()).collect();
        Elf { bytes: bytes.to_vec(), headers }
    }

    /// The number of the section of a name's table, which has those of sections.
    fn names(&self) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[62], self.bytes[63]]))
    }

    fn data(&self, section: usize) -> Vec<u8> {
        let header = &self.headers[section];
        let (from, len) = (u64_at(header, 24) as usize, u64_at(header, 32) as usize);
        self.bytes[from..from + len].to_vec()
    }

    fn find(&self, name: &str) -> usize {
        let names = self.data(self.names());
        let is = |header: &[u8; 64]| names[u32_at(header, 0) as usize..].starts_with(format!("{name}\0").as_bytes());
        self.headers.iter().position(is).unwrap_or_else(|| panic!("no section {name}"))
    }

    fn put(&mut self, section: usize, data: &[u8]) {
        let at = self.bytes.len() as u64;
        self.bytes.extend(data);
        self.headers[section][24..32].copy_from_slice(&at.to_le_bytes());
        self.headers[section][32..40].copy_from_slice(&(data.len() as u64).to_le_bytes());
    }

    /// Adds sections of one name each, or of one name, which are at `at` and `len` bytes long.
    fn add(&mut self, names: &[String], kind: u32, at: u64, len: u64) {
        let mut table = self.data(self.names());
        for name in names {
            let mut header = [0; 64];
            header[..4].copy_from_slice(&(table.len() as u32).to_le_bytes());
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[8] = 3;
            header[24..32].copy_from_slice(&at.to_le_bytes());
            header[32..40].copy_from_slice(&len.to_le_bytes());
            header[48] = 1;
            table.extend(name.bytes().chain([0]));
            self.headers.push(header);
        }
        self.put(self.names(), &table);
    }

    fn write(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let (at, count) = (self.bytes.len() as u64, self.headers.len() as u16);
        self.bytes[40..48].copy_from_slice(&at.to_le_bytes());
        self.bytes[60..62].copy_from_slice(&count.to_le_bytes());
        self.bytes.extend(self.headers.iter().flatten());
        self.bytes
    }
}

/// Types as they lie in `.BTF`: the name's offset, the kind, `vlen`, size or type, and what follows.
struct Types {
    types: Vec<(u32, u32, u32, u32, Vec<u8>)>,
    strings: Vec<u8>,
}

impl Types {
    fn new(btf: &[u8]) -> Types {
        let header = u32_at(btf, 4) as usize;
        let part = |at: usize| {
            let from = header + u32_at(btf, at) as usize;
            btf[from..from + u32_at(btf, at + 4) as usize].to_vec()
        };
        let (raw, strings) = (part(8), part(16));
        let (mut types, mut at) = (Vec::new(), 0);
        while at < raw.len() {
            let info = u32_at(&raw, at + 4);
            let vlen = (info & 0xffff) as usize;
            let more = match info >> 24 & 31 {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * vlen,
                6 | 13 => 8 * vlen,
                _ => 0,
            };
            let rest = raw[at + 12..at + 12 + more].to_vec();
            types.push((u32_at(&raw, at), info & !0xffff, vlen as u32, u32_at(&raw, at + 8), rest));
            at += 12 + more;
        }
        Types { types, strings }
    }

    fn name(&self, at: usize) -> &[u8] {
        self.strings[self.types[at].0 as usize..].split(|byte| *byte == 0).next().unwrap()
    }

    /// The place of the first type of a kind and, if it is not empty, of a name. Its number is one more.
    fn find(&self, kind: u32, name: &str) -> usize {
        let is =
            |at: &usize| self.types[*at].1 >> 24 & 31 == kind && (name.is_empty() || self.name(*at) == name.as_bytes());
        (0..self.types.len()).find(is).unwrap_or_else(|| panic!("no type {kind} {name}"))
    }

    /// Adds a type: its number.
    fn add(&mut self, name: u32, kind: u32, vlen: usize, size: u32, words: impl IntoIterator<Item = u32>) -> u32 {
        let rest = words.into_iter().flat_map(u32::to_le_bytes).collect();
        self.types.push((name, kind << 24, vlen as u32, size, rest));
        self.types.len() as u32
    }

    /// Gives all variables of a section this type, `count` times each of the first.
    fn give(&mut self, section: &str, kind: u32, count: usize) {
        let at = self.find(BTF_DATASEC, section);
        let var = u32_at(&self.types[at].4, 0);
        self.types[var as usize - 1].3 = kind;
        assert_eq!(self.types[var as usize - 1].1 >> 24 & 31, BTF_VAR);
        let (_, _, vlen, _, vars) = &mut self.types[at];
        *vlen = count as u32;
        *vars = [var, 0, 4].repeat(count).into_iter().flat_map(u32::to_le_bytes).collect();
    }

    /// Adds a string: its offset.
    fn string(&mut self, text: &[u8]) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.extend(text);
        self.strings.push(0);
        at
    }

    fn write(&self) -> Vec<u8> {
        let raw: Vec<u8> = self
            .types
            .iter()
            .flat_map(|(name, kind, vlen, size, rest)| {
                let words = [*name, kind | vlen, *size].into_iter().flat_map(u32::to_le_bytes);
                words.chain(rest.iter().copied()).collect::<Vec<u8>>()
            })
            .collect();
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, raw.len() as u32, raw.len() as u32, self.strings.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(raw);
        bytes.extend(&self.strings);
        bytes
    }
}

/// The object with other types.
fn with_types(change: impl FnOnce(&mut Types)) -> Vec<u8> {
    let mut elf = Elf::new(OBJECT);
    let section = elf.find(".BTF");
    let mut types = Types::new(&elf.data(section));
    change(&mut types);
    elf.put(section, &types.write());
    elf.write()
}

/// Loads an object as a scheduler's is, and holds the host's memory to the bound.
fn load(what: &str, bytes: &[u8]) -> Result<(), LoadError> {
    assert!(bytes.len() < 2 << 20, "{what}: {} bytes", bytes.len());
    let kernel = Btf::of_elf(KERNEL).unwrap();
    let all = LinkOptions { programs: &|_, _| true, ..LinkOptions::default() };
    let measured = most_memory::begin();
    let loaded = Object::parse(bytes).and_then(|object| {
        let image = object.link(&kernel, &all)?;
        drop(Machine::new(image.clone(), &Limits::default(), 8, &|_| true));
        Ok(())
    });
    assert!(measured.most() <= HOST, "{what}: {} bytes", measured.most());
    loaded
}

fn refused(what: &str, bytes: &[u8]) {
    let error = load(what, bytes).expect_err(what).to_string();
    let names = [" exceed the limit for an object", "longer than 511 bytes", "a second one with this name"];
    assert!(names.iter().any(|name| error.contains(name)), "{what}: {}", &error[..error.len().min(300)]);
}

/// What is changed here: a section of data with variables.
const DATA: &str = ".bss";

#[test]
fn types_that_hold_themselves_end() {
    for (what, members) in [("without names", 100), ("with many", 60_000)] {
        let bytes = with_types(|types| {
            let own = types.types.len() as u32 + 1;
            types.add(0, BTF_STRUCT, members, 4, [0, own, 0].repeat(members));
            types.give(DATA, own, 1);
        });
        refused(what, &bytes);
    }
    // A struct of arrays of itself has members as deep as they are told of.
    let bytes = with_types(|types| {
        let own = types.types.len() as u32 + 1;
        let name = types.string(b"member");
        let index = types.find(BTF_INT, "") as u32 + 1;
        types.add(name, BTF_STRUCT, 3, 4, [name, own + 1, 0].repeat(3));
        types.add(0, BTF_ARRAY, 0, 0, [own, index, 1]);
        types.give(DATA, own, 400);
    });
    refused("arrays of itself", &bytes);
}

#[test]
fn many_variables_of_many_members_end() {
    let bytes = with_types(|types| {
        let (name, int) = (types.string(b"m"), types.find(BTF_INT, "") as u32 + 1);
        let own = types.add(name, BTF_STRUCT, 4000, 4, [name, int, 0].repeat(4000));
        types.give(DATA, own, 60_000);
    });
    refused("variables times members", &bytes);
}

#[test]
fn long_names_are_refused_and_repeated_ones_end() {
    let named = |len: usize| {
        with_types(|types| {
            let own = types.types.len() as u32 + 1;
            let name = types.string(&vec![b'A'; len]);
            types.add(name, BTF_STRUCT, 3, 4, [name, own, 0].repeat(3));
            types.give(DATA, own, 2000);
        })
    };
    refused("a name of a megabyte", &named(1_000_000));
    refused("names of 511 bytes", &named(511));
}

#[test]
fn sections_that_lie_on_each_other_end() {
    let mut elf = Elf::new(OBJECT);
    let at = elf.bytes.len() as u64;
    elf.bytes.extend(vec![0; 1 << 20]);
    let names: Vec<String> = (0..8000).map(|n| format!(".data.{n}")).collect();
    elf.add(&names, 1, at, 1 << 20);
    refused("sections on one range", &elf.write());
    let mut elf = Elf::new(OBJECT);
    elf.add(&names[..60], 8, 0, 255 << 20);
    refused("zeros", &elf.write());
    let mut elf = Elf::new(OBJECT);
    elf.add(&vec![".data.same".to_string(); 2], 1, at - 8, 8);
    refused("sections of one name", &elf.write());
}

#[test]
fn an_object_of_many_small_things_is_read_in_one_pass() {
    // As many sections, symbols and types as 2 MB have: what is refused is refused, and what is not is linked.
    let mut elf = Elf::new(OBJECT);
    let names: Vec<String> = (0..15_000).map(|n| format!(".data.{n}")).collect();
    elf.add(&names, 1, 0, 8);
    let symbols = elf.headers.iter().position(|header| u32_at(header, 4) == 2).unwrap();
    let table = elf.data(symbols);
    let many: Vec<u8> = table.iter().chain(table[24..48].iter().cycle().take(24 * 20_000)).copied().collect();
    elf.put(symbols, &many);
    let _ = load("sections and symbols", &elf.write());
    let bytes = with_types(|types| {
        let (name, int) = (types.string(b"task_struct"), types.find(BTF_INT, "") as u32 + 1);
        for _ in 0..70_000 {
            types.add(name, BTF_STRUCT, 1, 4, [name, int, 0]);
        }
    });
    let _ = load("types of one name", &bytes);
}
