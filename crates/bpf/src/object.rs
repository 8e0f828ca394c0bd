//! A compiled object: its ELF sections, symbols and types, as clang writes them (`-target bpf -g -O2`) or libbpf's
//! linker (`bpftool gen object`). [`Object::link`] makes an [`Image`](crate::image::Image) of it.

use crate::btf::{Btf, Kind, SectionInfo, parse_ext};
use crate::budget::Budget;
use crate::error::LoadError;
use crate::image::Insn;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, SectionKind, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

/// A compiled object.
#[derive(Clone, Debug, Default)]
pub struct Object {
    pub(crate) btf: Btf,
    /// By the names of sections.
    pub(crate) infos: BTreeMap<String, SectionInfo>,
    /// By their numbers in the file.
    pub(crate) sections: BTreeMap<usize, Section>,
    /// By their numbers in the file.
    pub(crate) symbols: BTreeMap<usize, Symbol>,
    /// The values of the symbols of data, by section and name.
    values: BTreeMap<usize, BTreeMap<String, Vec<u64>>>,
    /// In the order of their sections, then of their offsets.
    pub(crate) functions: Vec<Code>,
}

/// The contents of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Code,
    /// Global data; whether programs may not write it.
    Data {
        read_only: bool,
    },
    /// `.maps`.
    Maps,
    /// `.struct_ops`, `.struct_ops.link`, and those that need not be loaded (`?`).
    StructOps,
    /// `.addr_space.1`.
    Arena,
    /// Contents that programs do not reach.
    Other,
}

/// A section.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) holds: Holds,
    /// Its bytes; of a section of zeros none.
    pub(crate) data: Vec<u8>,
    /// How many bytes of data it has.
    pub(crate) size: usize,
    pub(crate) insns: Vec<Insn>,
    /// Offset, bytes, and symbol; in ascending order.
    pub(crate) relocations: Vec<(u64, usize)>,
}

/// A symbol.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// The section's number; `None` if another has to define it.
    pub(crate) section: Option<usize>,
    pub(crate) value: u64,
    pub(crate) weak: bool,
    pub(crate) is_section: bool,
    pub(crate) is_data: bool,
}

/// A function's instructions.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) section: usize,
    /// The first instruction, and how many there are.
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// A symbol that the kernel must have for an object (`extern … __ksym`, `__kconfig`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extern {
    /// Its name in the object, with a flavour.
    pub name: String,
    /// Its kind.
    pub kind: ExternKind,
    /// The object can do without it (`__weak`).
    pub weak: bool,
    /// Its type; 0 if the object does not say.
    pub type_id: u32,
}

/// The kinds of an [`Extern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternKind {
    /// A kernel function.
    Function,
    /// A variable of the kernel.
    Variable,
    /// An option of the kernel's configuration, or its version.
    Kconfig,
}

impl Object {
    /// Parses an object.
    pub fn parse(bytes: &[u8]) -> Result<Object, LoadError> {
        let file = object::File::parse(bytes).map_err(|error| LoadError::new(format!("not an ELF file: {error}")))?;
        if file.architecture() != object::Architecture::Bpf || !file.is_little_endian() {
            let text = format!("an ELF file of {:?}; expected a little-endian one of BPF", file.architecture());
            return Err(LoadError::new(text));
        }
        let mut raw_btf = None;
        let mut raw_ext = None;
        let mut object = Object::default();
        let budget = Budget::new();
        let mut names = BTreeSet::new();
        for section in file.sections() {
            let name = section.name().map_err(|error| LoadError::new(format!("a section's name: {error}")))?;
            let wrong = |text: String| LoadError::new(format!("section {name}: {text}"));
            match name {
                ".BTF" => raw_btf = Some(section.data().map_err(|error| wrong(error.to_string()))?),
                ".BTF.ext" => raw_ext = Some(section.data().map_err(|error| wrong(error.to_string()))?),
                _ => {}
            }
            let holds = holds(name, section.kind() == SectionKind::Text);
            if holds == Holds::Other {
                continue;
            }
            // Sections can lie on each other, and those of zeros are as long as they say.
            budget.charge(section.size().saturating_add(64 + name.len() as u64), "sections")?;
            if !names.insert(name.to_string()) && holds != Holds::Code {
                return Err(wrong("a second one with this name; expected only one".to_string()));
            }
            let data = section.data().map_err(|error| wrong(error.to_string()))?.to_vec();
            let is_zero = section.kind() == SectionKind::UninitializedData;
            let size = if is_zero { section.size() as usize } else { data.len() };
            let mut insns = Vec::new();
            if holds == Holds::Code {
                if data.len() % 8 != 0 {
                    return Err(wrong(format!("{} bytes; expected instructions of 8 bytes", data.len())));
                }
                insns = data.chunks_exact(8).map(insn).collect();
            }
            let mut relocations = Vec::new();
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else {
                    return Err(wrong(format!("a relocation at {offset} without a symbol")));
                };
                budget.charge(64, "relocations")?;
                relocations.push((offset, symbol.0));
            }
            relocations.sort_unstable();
            let data = if holds == Holds::Code { Vec::new() } else { data };
            let name = name.to_string();
            object.sections.insert(section.index().0, Section { name, holds, data, size, insns, relocations });
        }
        let raw_btf = raw_btf.ok_or_else(|| LoadError::new("no section .BTF; expected an object compiled with -g"))?;
        object.btf = Btf::parse(raw_btf)?;
        if let Some(raw) = raw_ext {
            object.infos = parse_ext(raw, &object.btf, &budget)?;
        }
        let mut functions = Vec::new();
        for symbol in file.symbols() {
            let name = symbol.name().map_err(|error| LoadError::new(format!("a symbol's name: {error}")))?;
            budget.charge(128 + 2 * name.len() as u64, "symbols")?;
            if symbol.is_common() {
                return Err(LoadError::new(format!(
                    "{name}: a common symbol; expected an object compiled with -fno-common"
                )));
            }
            let section = symbol.section_index().map(|index| index.0).filter(|_| !symbol.is_undefined());
            if symbol.kind() == SymbolKind::Text
                && let Some(number) = section
                && let Some(place) = object.sections.get(&number).filter(|place| place.holds == Holds::Code)
            {
                let (value, size) = (symbol.address(), symbol.size());
                let end = value.checked_add(size).filter(|end| *end <= 8 * place.insns.len() as u64);
                if value % 8 != 0 || size % 8 != 0 || size == 0 || end.is_none() {
                    let text = format!("function {name}: {size} bytes at {value} of section {}", place.name);
                    return Err(LoadError::new(format!("{text}; expected whole instructions in it")));
                }
                let (start, len) = (value as usize / 8, size as usize / 8);
                functions.push(Code { name: name.to_string(), section: number, start, len });
            }
            let symbol_of = Symbol {
                name: name.to_string(),
                section,
                value: symbol.address(),
                weak: symbol.is_weak(),
                is_section: symbol.kind() == SymbolKind::Section,
                is_data: symbol.kind() == SymbolKind::Data,
            };
            if let (true, Some(section)) = (symbol_of.is_data, section) {
                let of_section = object.values.entry(section).or_default();
                of_section.entry(name.to_string()).or_default().push(symbol_of.value);
            }
            object.symbols.insert(symbol.index().0, symbol_of);
        }
        functions.sort_by(|a, b| (a.section, a.start, &a.name).cmp(&(b.section, b.start, &b.name)));
        functions.dedup_by_key(|function| (function.section, function.start));
        for pair in functions.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            if a.section == b.section && a.start + a.len > b.start {
                return Err(LoadError::new(format!("functions {} and {} have instructions in common", a.name, b.name)));
            }
        }
        object.functions = functions;
        Ok(object)
    }

    /// The object's types.
    pub fn btf(&self) -> &Btf {
        &self.btf
    }

    /// The variables that are instances of kernel structs of functions, and their types' names: `simple_ops`,
    /// `sched_ext_ops`.
    pub fn struct_ops(&self) -> Vec<(String, String)> {
        let sections = self.sections.values().filter(|section| section.holds == Holds::StructOps);
        let vars = sections.flat_map(|section| self.variables(&section.name));
        vars.map(|(name, id, ..)| (name.to_string(), self.btf.name_of(self.btf.skip(id)).to_string())).collect()
    }

    /// The sections and names of all functions.
    pub fn functions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.functions.iter().map(|function| {
            let section = self.sections.get(&function.section).map_or("", |section| section.name.as_str());
            (section, function.name.as_str())
        })
    }

    /// Returns the symbols that the kernel must have for the object, in the order of the object's symbols.
    pub fn externs(&self) -> Vec<Extern> {
        let undefined = self.symbols.values().filter(|symbol| symbol.section.is_none() && !symbol.name.is_empty());
        let kconfig = self.btf.find(".kconfig", |kind| matches!(kind, Kind::Datasec { .. }));
        let ksyms = self.btf.find(".ksyms", |kind| matches!(kind, Kind::Datasec { .. }));
        let by_name = |section: Option<u32>| {
            let mut by_name = BTreeMap::new();
            if let Some(Kind::Datasec { vars, .. }) = section.map(|section| &self.btf.get(section).kind) {
                for (id, ..) in vars {
                    by_name.entry(self.btf.name_of(*id)).or_insert(*id);
                }
            }
            by_name
        };
        let (kconfig, ksyms) = (by_name(kconfig), by_name(ksyms));
        undefined
            .map(|symbol| {
                let name = symbol.name.as_str();
                let (kind, type_id) = match (kconfig.get(name).copied(), ksyms.get(name).copied()) {
                    (Some(id), _) => (ExternKind::Kconfig, id),
                    (None, Some(id)) if matches!(self.btf.get(id).kind, Kind::Func(..)) => (ExternKind::Function, id),
                    (None, id) => (ExternKind::Variable, id.unwrap_or(0)),
                };
                Extern { name: symbol.name.clone(), kind, weak: symbol.weak, type_id }
            })
            .collect()
    }

    /// The variables of a section by BTF: name, type, offset and size, bytes, in ascending order of offsets. Offsets
    /// are the ELF symbols', as clang leaves BTF's zero for libbpf to fill in (`btf_fixup_datasec()`).
    pub(crate) fn variables(&self, section: &str) -> Vec<(&str, u32, u32, u32)> {
        let id = self.btf.find(section, |kind| matches!(kind, Kind::Datasec { .. }));
        let Some(Kind::Datasec { vars, size }) = id.map(|id| &self.btf.get(id).kind) else { return Vec::new() };
        let number = self.sections.iter().find(|(_, of)| of.name == section).map(|(number, _)| *number);
        let by_name = number.and_then(|number| self.values.get(&number));
        let mut variables = Vec::new();
        for (id, offset, bytes) in vars {
            let Kind::Var(kind, _) = self.btf.get(*id).kind else { continue };
            let name = self.btf.name_of(*id);
            let offset = match by_name.and_then(|values| values.get(name)).map(Vec::as_slice) {
                Some([one]) => *one as u32,
                // Several static variables of one name have been told apart when the object was linked.
                _ if *size > 0 => *offset,
                _ => continue,
            };
            let bytes = if *bytes > 0 { *bytes } else { self.btf.size(kind).unwrap_or(0) as u32 };
            variables.push((name, kind, offset, bytes));
        }
        variables.sort_by_key(|(_, _, offset, _)| *offset);
        variables
    }

    /// The symbol at a relocation, for errors.
    pub(crate) fn symbol_name(&self, symbol: &Symbol) -> String {
        match symbol.section.and_then(|number| self.sections.get(&number)) {
            Some(section) if symbol.is_section => section.name.clone(),
            _ => symbol.name.clone(),
        }
    }
}

/// Returns the contents of the section `name`.
fn holds(name: &str, executable: bool) -> Holds {
    let is = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    match name {
        _ if executable => Holds::Code,
        ".maps" => Holds::Maps,
        ".addr_space.1" => Holds::Arena,
        _ if is(".struct_ops") || is("?.struct_ops") => Holds::StructOps,
        _ if is(".rodata") => Holds::Data { read_only: true },
        _ if is(".data") || is(".bss") => Holds::Data { read_only: false },
        _ => Holds::Other,
    }
}

/// `struct bpf_insn` of 8 bytes, little-endian.
fn insn(bytes: &[u8]) -> Insn {
    Insn {
        code: bytes[0],
        dst: bytes[1] & 15,
        src: bytes[1] >> 4,
        off: i16::from_le_bytes([bytes[2], bytes[3]]),
        imm: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
    }
}
