//! BTF, the types of an object or of a kernel (`include/uapi/linux/btf.h`; Documentation/bpf/btf.rst): parsed and
//! looked up. Only the little-endian form is read.

use crate::budget::Budget;
use crate::error::LoadError;
use object::{Object as _, ObjectSection as _};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How many modifiers, typedefs and arrays may follow each other, as libbpf's `MAX_RESOLVE_DEPTH`.
const DEPTH_MAX: u32 = 32;
/// The longest name of a type, member, constant or parameter, bytes, as the kernel has it (`KSYM_NAME_LEN`).
const NAME_MAX: usize = 511;
/// `BTF_MAGIC`.
const MAGIC: u16 = 0xeb9f;

/// A set of types. Types are numbered from 1; 0 is `void`.
#[derive(Clone, Debug, Default)]
pub struct Btf {
    types: Vec<Type>,
    strings: String,
    /// The types that have a name, in ascending order of [`essential`] names, then of numbers.
    by_name: Vec<u32>,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The offset of its name in the strings; 0 for none.
    pub name: u32,
    /// Its kind.
    pub kind: Kind,
}

/// The kinds of types (`BTF_KIND_*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `void`.
    Void,
    /// An integer.
    Int {
        /// Bytes.
        size: u32,
        /// `BTF_INT_SIGNED` 1, `BTF_INT_CHAR` 2, `BTF_INT_BOOL` 4.
        encoding: u8,
        /// Where its bits begin; 0 but for bit-fields of old compilers.
        offset: u8,
        /// How many bits it has.
        bits: u8,
    },
    /// A pointer to a type.
    Ptr(u32),
    /// An array.
    Array {
        /// The type of its elements.
        element: u32,
        /// The type of its index.
        index: u32,
        /// How many elements it has.
        len: u32,
    },
    /// A struct.
    Struct(Composite),
    /// A union.
    Union(Composite),
    /// An enumeration, of 32 or of 64 bits.
    Enum {
        /// Bytes.
        size: u32,
        /// Its values are signed.
        signed: bool,
        /// It is a `BTF_KIND_ENUM64`.
        wide: bool,
        /// Its values: the offsets of their names, and the values, extended to 64 bits.
        values: Vec<(u32, u64)>,
    },
    /// A declaration of a struct, or of a union.
    Fwd {
        /// It is a union.
        union: bool,
    },
    /// Another name of a type.
    Typedef(u32),
    /// `volatile`, `const` and `restrict`, by their kinds (9, 10, 11), and the type.
    Modifier(u8, u32),
    /// A function, its prototype and its linkage (`enum btf_func_linkage`).
    Func(u32, u16),
    /// A prototype.
    FuncProto {
        /// The type that it returns.
        ret: u32,
        /// The offsets of its parameters' names, and their types.
        params: Vec<(u32, u32)>,
    },
    /// A variable, its type and its linkage.
    Var(u32, u32),
    /// The variables of a section.
    Datasec {
        /// Bytes; 0 before an object is linked.
        size: u32,
        /// Type, offset and size of its variables, bytes.
        vars: Vec<(u32, u32, u32)>,
    },
    /// A number with a point, of so many bytes.
    Float(u32),
    /// A tag of a declaration: the type, and the member or parameter, or -1.
    DeclTag(u32, i32),
    /// A tag of a type.
    TypeTag(u32),
}

/// A struct or a union.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composite {
    /// Bytes.
    pub size: u32,
    /// Its members.
    pub members: Vec<Member>,
}

/// A member of a struct or a union.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// The offset of its name in the strings; 0 for none.
    pub name: u32,
    /// Its type.
    pub kind: u32,
    /// Where it begins, bits.
    pub bit_offset: u32,
    /// How many bits a bit-field has; 0 for others.
    pub bit_size: u8,
}

impl Kind {
    /// The members of a struct or a union.
    pub fn composite(&self) -> Option<&Composite> {
        match self {
            Kind::Struct(composite) | Kind::Union(composite) => Some(composite),
            _ => None,
        }
    }
}

/// A name without its flavour, the last `___` and what follows it (`bpf_core_essential_name_len()`): `task_struct` of
/// `task_struct___old`.
pub fn essential(name: &str) -> &str {
    let bytes = name.as_bytes();
    let flavour = (0..bytes.len().saturating_sub(4))
        .rev()
        .find(|at| bytes[*at] != b'_' && &bytes[at + 1..at + 4] == b"___" && bytes[at + 4] != b'_');
    // Of a character of more than one byte this is the last byte: what follows it is a boundary.
    flavour.map_or(name, |at| &name[..at + 1])
}

/// Reads numbers from bytes, in order.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'a str,
}

impl<'a> Reader<'a> {
    /// A reader of `bytes`, which `what` names in errors.
    pub(crate) fn new(bytes: &'a [u8], what: &'a str) -> Self {
        Reader { bytes, at: 0, what }
    }

    /// Whether all has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], LoadError> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let Some(end) = end else {
            let (what, at, size) = (self.what, self.at, self.bytes.len());
            return Err(LoadError::new(format!("{what}: expected {len} bytes at {at}, but it ends at {size}")));
        };
        let bytes = &self.bytes[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    /// The next number of 16 bits.
    pub(crate) fn u16(&mut self) -> Result<u16, LoadError> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// The next number of 32 bits.
    pub(crate) fn u32(&mut self) -> Result<u32, LoadError> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

/// `len` bytes at `offset`, which `what` names in errors.
pub(crate) fn part<'a>(bytes: &'a [u8], offset: u64, len: u64, what: &str) -> Result<&'a [u8], LoadError> {
    let range = || {
        let (from, to) = (usize::try_from(offset).ok()?, usize::try_from(offset.checked_add(len)?).ok()?);
        bytes.get(from..to)
    };
    let text = || LoadError::new(format!("{what}: {len} bytes at {offset} reach beyond its end at {}", bytes.len()));
    range().ok_or_else(text)
}

impl Btf {
    /// Parses raw BTF, as a section `.BTF` or `/sys/kernel/btf/vmlinux` has it.
    pub fn parse(bytes: &[u8]) -> Result<Btf, LoadError> {
        let mut header = Reader::new(bytes, ".BTF");
        let (magic, version_flags) = (header.u16()?, header.u16()?);
        if magic != MAGIC {
            return Err(LoadError::new(format!(".BTF: magic {magic:#06x}; expected {MAGIC:#06x}, little-endian BTF")));
        }
        if version_flags & 0xff != 1 {
            return Err(LoadError::new(format!(".BTF: version {}; expected 1", version_flags & 0xff)));
        }
        let header_len = u64::from(header.u32()?);
        let (type_off, type_len) = (u64::from(header.u32()?), u64::from(header.u32()?));
        let (str_off, str_len) = (u64::from(header.u32()?), u64::from(header.u32()?));
        let strings = part(bytes, header_len + str_off, str_len, ".BTF strings")?;
        if strings.first() != Some(&0) || strings.last() != Some(&0) {
            return Err(LoadError::new(".BTF: the strings do not begin and end with a zero"));
        }
        let no_text = |error: std::str::Utf8Error| {
            LoadError::new(format!(".BTF: the strings are not UTF-8 at {}", error.valid_up_to()))
        };
        let strings = std::str::from_utf8(strings).map_err(no_text)?;
        let mut types = vec![Type { name: 0, kind: Kind::Void }];
        let mut reader = Reader::new(part(bytes, header_len + type_off, type_len, ".BTF types")?, ".BTF types");
        while !reader.is_empty() {
            let id = types.len();
            types.push(parse_type(&mut reader, id)?);
        }
        let mut btf = Btf { types, strings: strings.to_owned(), by_name: Vec::new() };
        btf.check()?;
        let mut by_name: Vec<u32> = (1..btf.len()).filter(|id| !btf.name_of(*id).is_empty()).collect();
        by_name.sort_by_cached_key(|id| (essential(btf.name_of(*id)), *id));
        btf.by_name = by_name;
        Ok(btf)
    }

    /// Parses the section `.BTF` of an ELF file (`vmlinux`), or raw BTF.
    pub fn of_elf(bytes: &[u8]) -> Result<Btf, LoadError> {
        if bytes.starts_with(&MAGIC.to_le_bytes()) {
            return Btf::parse(bytes);
        }
        let file = object::File::parse(bytes).map_err(|error| LoadError::new(format!("not an ELF file: {error}")))?;
        let section =
            file.section_by_name(".BTF").ok_or_else(|| LoadError::new("an ELF file without a section .BTF"))?;
        let data = section.data().map_err(|error| LoadError::new(format!(".BTF: {error}")))?;
        Btf::parse(data)
    }

    /// Refuses names beyond the strings and types that refer to others that are not there.
    fn check(&self) -> Result<(), LoadError> {
        let refuse = |id: usize, what: &str| Err(LoadError::new(format!(".BTF: type {id} refers to a {what}")));
        for (id, ty) in self.types.iter().enumerate() {
            let mut names: Vec<u32> = vec![ty.name];
            let mut ids: Vec<u32> = Vec::new();
            match &ty.kind {
                Kind::Void | Kind::Int { .. } | Kind::Fwd { .. } | Kind::Float(_) => {}
                Kind::Ptr(to) | Kind::Typedef(to) | Kind::Modifier(_, to) | Kind::Func(to, _) => ids.push(*to),
                Kind::Var(to, _) | Kind::DeclTag(to, _) | Kind::TypeTag(to) => ids.push(*to),
                Kind::Array { element, index, .. } => ids.extend([*element, *index]),
                Kind::Struct(composite) | Kind::Union(composite) => {
                    names.extend(composite.members.iter().map(|member| member.name));
                    ids.extend(composite.members.iter().map(|member| member.kind));
                }
                Kind::Enum { values, .. } => names.extend(values.iter().map(|(name, _)| *name)),
                Kind::FuncProto { ret, params } => {
                    ids.push(*ret);
                    names.extend(params.iter().map(|(name, _)| *name));
                    ids.extend(params.iter().map(|(_, to)| *to));
                }
                Kind::Datasec { vars, .. } => ids.extend(vars.iter().map(|(to, _, _)| *to)),
            }
            if names.iter().any(|name| *name as usize >= self.strings.len()) {
                return refuse(id, "name beyond the end of the strings");
            }
            // A tag's name is any text.
            let is_tag = matches!(ty.kind, Kind::DeclTag(..) | Kind::TypeTag(_));
            if !is_tag && names.iter().any(|name| self.string_within(*name, NAME_MAX).is_none()) {
                return refuse(id, "name that is longer than 511 bytes, the kernel's limit, or not text");
            }
            if ids.iter().any(|to| *to >= self.len()) {
                return refuse(id, "type that does not exist");
            }
        }
        Ok(())
    }

    /// How many types there are, with `void`.
    pub fn len(&self) -> u32 {
        self.types.len() as u32
    }

    /// Whether there is no type.
    pub fn is_empty(&self) -> bool {
        self.types.len() <= 1
    }

    /// A type; `void` for a number that there is not.
    pub fn get(&self, id: u32) -> &Type {
        const VOID: &Type = &Type { name: 0, kind: Kind::Void };
        self.types.get(id as usize).unwrap_or(VOID)
    }

    /// The string at an offset; empty if there is none.
    pub fn string(&self, offset: u32) -> &str {
        let from = self.strings.get(offset as usize..).unwrap_or_default();
        from.split_once('\0').map_or("", |(text, _)| text)
    }

    /// The string at an offset if it has at most `max` bytes.
    pub(crate) fn string_within(&self, offset: u32, max: usize) -> Option<&str> {
        let from = self.strings.get(offset as usize..)?;
        let len = from.bytes().take(max + 1).position(|byte| byte == 0)?;
        from.get(..len)
    }

    /// The name of a type; empty if it has none.
    pub fn name_of(&self, id: u32) -> &str {
        self.string(self.get(id).name)
    }

    /// The types whose names are `name` but for a flavour, in ascending order.
    pub fn candidates(&self, name: &str) -> &[u32] {
        let from = self.by_name.partition_point(|id| essential(self.name_of(*id)) < name);
        let len = self.by_name[from..].partition_point(|id| essential(self.name_of(*id)) == name);
        &self.by_name[from..from + len]
    }

    /// The first type that has just this name and of which `of` holds.
    pub fn find(&self, name: &str, of: impl Fn(&Kind) -> bool) -> Option<u32> {
        let mut ids = self.candidates(essential(name)).iter().copied();
        ids.find(|id| self.name_of(*id) == name && of(&self.get(*id).kind))
    }

    /// The struct or union of this name.
    pub fn find_composite(&self, name: &str) -> Option<u32> {
        self.find(name, |kind| kind.composite().is_some())
    }

    /// Where a field of a struct or a union is, bytes, and its type; `path` has dots, and goes through members without
    /// a name: `scx.dsq_vtime` of `task_struct`. `None` if there is no such field, or if it is a bit-field.
    pub fn field(&self, name: &str, path: &str) -> Option<(u32, u32)> {
        let (mut id, mut bits) = (self.find_composite(name)?, 0u32);
        for part in path.split('.') {
            let member = self.member(id, part, DEPTH_MAX)?;
            bits = bits.checked_add(member.bit_offset)?;
            if member.bit_size > 0 {
                return None;
            }
            id = member.kind;
        }
        Some((bits / 8, id))
    }

    fn member(&self, id: u32, name: &str, depth: u32) -> Option<Member> {
        let depth = depth.checked_sub(1)?;
        self.kind(id).composite()?.members.iter().find_map(|member| match self.string(member.name) {
            "" => {
                let inner = self.member(member.kind, name, depth)?;
                Some(Member { bit_offset: inner.bit_offset.checked_add(member.bit_offset)?, ..inner })
            }
            named => (named == name).then_some(*member),
        })
    }

    /// The prototype of the function of this name.
    pub fn function(&self, name: &str) -> Option<u32> {
        let id = self.find(name, |kind| matches!(kind, Kind::Func(..)))?;
        let Kind::Func(proto, _) = self.get(id).kind else { return None };
        Some(proto)
    }

    /// Whether there is a variable of this name.
    pub fn has_variable(&self, name: &str) -> bool {
        self.find(name, |kind| matches!(kind, Kind::Var(..))).is_some()
    }

    /// The value of an enumeration's constant, of `name` or of any if it is `None`.
    pub fn enum_value(&self, name: Option<&str>, value: &str) -> Option<u64> {
        let of = |id: u32| {
            let Kind::Enum { values, .. } = &self.get(id).kind else { return None };
            values.iter().find(|(name, _)| self.string(*name) == value).map(|(_, value)| *value)
        };
        match name {
            Some(name) => of(self.find(name, |kind| matches!(kind, Kind::Enum { .. }))?),
            None => (1..self.len()).find_map(of),
        }
    }

    /// Returns the type without `const`, `volatile`, `restrict`, tags and typedefs (`skip_mods_and_typedefs()`). Types
    /// that refer to themselves end in `void`.
    pub fn skip(&self, mut id: u32) -> u32 {
        for _ in 0..DEPTH_MAX {
            match self.get(id).kind {
                Kind::Typedef(to) | Kind::Modifier(_, to) | Kind::TypeTag(to) => id = to,
                _ => return id,
            }
        }
        0
    }

    /// The kind of a type without modifiers and typedefs.
    pub fn kind(&self, id: u32) -> &Kind {
        &self.get(self.skip(id)).kind
    }

    /// The size of a type, bytes (`btf__resolve_size()`). `None` for those without one: `void`, functions,
    /// declarations.
    pub fn size(&self, id: u32) -> Option<u64> {
        let (mut id, mut elements) = (id, 1u64);
        for _ in 0..DEPTH_MAX {
            let size = match &self.get(id).kind {
                Kind::Int { size, .. } | Kind::Enum { size, .. } | Kind::Float(size) => *size,
                Kind::Struct(composite) | Kind::Union(composite) => composite.size,
                Kind::Datasec { size, .. } => *size,
                Kind::Ptr(_) => 8,
                Kind::Typedef(to) | Kind::Modifier(_, to) | Kind::TypeTag(to) | Kind::Var(to, _) => {
                    id = *to;
                    continue;
                }
                Kind::Array { element, len, .. } => {
                    elements = elements.checked_mul(u64::from(*len))?;
                    id = *element;
                    continue;
                }
                Kind::Void | Kind::Fwd { .. } | Kind::Func(..) | Kind::FuncProto { .. } | Kind::DeclTag(..) => {
                    return None;
                }
            };
            return elements.checked_mul(u64::from(size));
        }
        None
    }

    /// Where a type has to begin, as a multiple of bytes (`btf__align_of()`); 1 if it cannot be told.
    pub fn align(&self, id: u32) -> u32 {
        self.align_within(id, DEPTH_MAX)
    }

    fn align_within(&self, id: u32, depth: u32) -> u32 {
        let Some(depth) = depth.checked_sub(1) else { return 1 };
        match self.kind(id) {
            Kind::Int { size, .. } | Kind::Enum { size, .. } | Kind::Float(size) => (*size).clamp(1, 8),
            Kind::Ptr(_) => 8,
            Kind::Array { element, .. } => self.align_within(*element, depth),
            Kind::Struct(composite) | Kind::Union(composite) => {
                // Few members tell the alignment; a malformed type could ask for a number beyond reason.
                let members = composite.members.iter().take(64);
                members.map(|member| self.align_within(member.kind, depth.min(4))).max().unwrap_or(1)
            }
            _ => 1,
        }
    }

    /// Whether a type's values are signed integers.
    pub fn is_signed(&self, id: u32) -> bool {
        match self.kind(id) {
            Kind::Int { encoding, .. } => encoding & 1 != 0,
            Kind::Enum { signed, .. } => *signed,
            _ => false,
        }
    }

    /// A type in the words of C, as far as errors and descriptions need them: `struct task_struct *`.
    pub fn describe(&self, id: u32) -> Cow<'_, str> {
        let mut stars = String::new();
        let mut id = id;
        for _ in 0..DEPTH_MAX {
            let ty = self.get(id);
            let name = self.string(ty.name);
            let word = match &ty.kind {
                Kind::Ptr(to) => {
                    stars.push('*');
                    id = *to;
                    continue;
                }
                Kind::Modifier(_, to) | Kind::TypeTag(to) => {
                    id = *to;
                    continue;
                }
                Kind::Struct(_) | Kind::Fwd { union: false } => "struct",
                Kind::Union(_) | Kind::Fwd { union: true } => "union",
                Kind::Enum { .. } => "enum",
                Kind::Void => "void",
                Kind::Array { .. } => "an array",
                Kind::FuncProto { .. } => "a function",
                _ => "",
            };
            let space = if word.is_empty() || name.is_empty() { "" } else { " " };
            let gap = if stars.is_empty() { "" } else { " " };
            return Cow::Owned(format!("{word}{space}{name}{gap}{stars}"));
        }
        Cow::Borrowed("?")
    }
}

/// The type at the reader's position, which will have the number `id`.
fn parse_type(reader: &mut Reader<'_>, id: usize) -> Result<Type, LoadError> {
    let (name, info, size_or_type) = (reader.u32()?, reader.u32()?, reader.u32()?);
    let (vlen, flag) = ((info & 0xffff) as usize, info >> 31 != 0);
    let kind = match (info >> 24) & 0x1f {
        1 => {
            let bits = reader.u32()?;
            let (encoding, offset) = ((bits >> 24) as u8 & 0xf, (bits >> 16) as u8);
            Kind::Int { size: size_or_type, encoding, offset, bits: bits as u8 }
        }
        2 => Kind::Ptr(size_or_type),
        3 => Kind::Array { element: reader.u32()?, index: reader.u32()?, len: reader.u32()? },
        kind @ (4 | 5) => {
            let mut members = Vec::with_capacity(vlen);
            for _ in 0..vlen {
                let (name, kind, offset) = (reader.u32()?, reader.u32()?, reader.u32()?);
                let (bit_offset, bit_size) =
                    if flag { (offset & 0xff_ffff, (offset >> 24) as u8) } else { (offset, 0) };
                members.push(Member { name, kind, bit_offset, bit_size });
            }
            let composite = Composite { size: size_or_type, members };
            if kind == 4 { Kind::Struct(composite) } else { Kind::Union(composite) }
        }
        6 => {
            let mut values = Vec::with_capacity(vlen);
            for _ in 0..vlen {
                let (name, value) = (reader.u32()?, reader.u32()?);
                values.push((name, if flag { i64::from(value as i32) as u64 } else { u64::from(value) }));
            }
            Kind::Enum { size: size_or_type, signed: flag, wide: false, values }
        }
        7 => Kind::Fwd { union: flag },
        8 => Kind::Typedef(size_or_type),
        kind @ 9..=11 => Kind::Modifier(kind as u8, size_or_type),
        12 => Kind::Func(size_or_type, vlen as u16),
        13 => {
            let mut params = Vec::with_capacity(vlen);
            for _ in 0..vlen {
                params.push((reader.u32()?, reader.u32()?));
            }
            Kind::FuncProto { ret: size_or_type, params }
        }
        14 => Kind::Var(size_or_type, reader.u32()?),
        15 => {
            let mut vars = Vec::with_capacity(vlen);
            for _ in 0..vlen {
                vars.push((reader.u32()?, reader.u32()?, reader.u32()?));
            }
            Kind::Datasec { size: size_or_type, vars }
        }
        16 => Kind::Float(size_or_type),
        17 => Kind::DeclTag(size_or_type, reader.u32()? as i32),
        18 => Kind::TypeTag(size_or_type),
        19 => {
            let mut values = Vec::with_capacity(vlen);
            for _ in 0..vlen {
                let (name, low, high) = (reader.u32()?, reader.u32()?, reader.u32()?);
                values.push((name, u64::from(high) << 32 | u64::from(low)));
            }
            Kind::Enum { size: size_or_type, signed: flag, wide: true, values }
        }
        other => return Err(LoadError::new(format!(".BTF: type {id} is of the kind {other}; expected 1 to 19"))),
    };
    Ok(Type { name, kind })
}

/// The records of `.BTF.ext` about the instructions of one ELF section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionInfo {
    /// The function that begins at an offset, bytes: its type.
    pub functions: Vec<(u32, u32)>,
    /// The lines of instructions, by their offsets.
    pub lines: Vec<LineInfo>,
    /// The relocations of CO-RE, in ascending order of the offsets of their instructions.
    pub relocations: Vec<CoreRelocation>,
}

/// `struct bpf_line_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// The first instruction's offset in the section, bytes.
    pub offset: u32,
    /// The offset of the file's name in the strings.
    pub file: u32,
    /// The offset of the line's text in the strings.
    pub text: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    pub column: u32,
}

/// `struct bpf_core_relo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreRelocation {
    /// The instruction's offset in the section, bytes.
    pub offset: u32,
    /// The type, of the object.
    pub type_id: u32,
    /// The offset of the access (`0:1:2`) in the strings.
    pub access: u32,
    /// `enum bpf_core_relo_kind`.
    pub kind: u32,
}

/// Parses a section `.BTF.ext` of the object that has the types `btf`: what there is for each section, by its name.
pub(crate) fn parse_ext(bytes: &[u8], btf: &Btf, budget: &Budget) -> Result<BTreeMap<String, SectionInfo>, LoadError> {
    let mut header = Reader::new(bytes, ".BTF.ext");
    let (magic, _) = (header.u16()?, header.u16()?);
    if magic != MAGIC {
        return Err(LoadError::new(format!(".BTF.ext: magic {magic:#06x}; expected {MAGIC:#06x}")));
    }
    let header_len = header.u32()?;
    let mut sections: BTreeMap<String, SectionInfo> = BTreeMap::new();
    for (part_of, record_min) in [(0, 8), (1, 16), (2, 16)] {
        // The relocations of CO-RE came later than the others.
        if header_len < 16 + 8 * part_of {
            break;
        }
        let (offset, len) = (header.u32()?, header.u32()?);
        if len == 0 {
            continue;
        }
        let bytes = part(bytes, u64::from(header_len) + u64::from(offset), u64::from(len), ".BTF.ext")?;
        let mut reader = Reader::new(bytes, ".BTF.ext");
        let record_len = reader.u32()?;
        if record_len < record_min {
            let text = format!(".BTF.ext: records of {record_len} bytes; expected at least {record_min}");
            return Err(LoadError::new(text));
        }
        while !reader.is_empty() {
            let (name, count) = (reader.u32()?, reader.u32()?);
            let name = btf.string(name);
            budget.charge(64 + name.len() as u64, "lines, functions and relocations (.BTF.ext)")?;
            let section = sections.entry(name.to_string()).or_default();
            for _ in 0..count {
                let mut record = Reader::new(reader.take(record_len as usize)?, ".BTF.ext");
                let (offset, a) = (record.u32()?, record.u32()?);
                match part_of {
                    0 => section.functions.push((offset, a)),
                    1 => {
                        let (text, place) = (record.u32()?, record.u32()?);
                        let (line, column) = (place >> 10, place & 0x3ff);
                        section.lines.push(LineInfo { offset, file: a, text, line, column });
                    }
                    _ => {
                        let (access, kind) = (record.u32()?, record.u32()?);
                        section.relocations.push(CoreRelocation { offset, type_id: a, access, kind });
                    }
                }
            }
        }
    }
    for section in sections.values_mut() {
        section.functions.sort_by_key(|(offset, _)| *offset);
        section.lines.sort_by_key(|line| line.offset);
        section.relocations.sort_by_key(|relocation| relocation.offset);
    }
    Ok(sections)
}
