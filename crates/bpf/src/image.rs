//! A linked object: what the machine runs.
//!
//! Instructions are as in the kernel's `struct bpf_insn`, with references resolved in the kernel's own encodings
//! (`include/uapi/linux/bpf.h`), but for what they number:
//!
//! | instruction | `src_reg` | `imm` |
//! |---|---|---|
//! | call | 0 | the helper (`enum bpf_func_id`) |
//! | call | `BPF_PSEUDO_CALL` (1) | the first instruction of the function, relative to the next instruction |
//! | call | `BPF_PSEUDO_KFUNC_CALL` (2) | the function in [`Image::kfuncs`]; [`ABSENT`] if the kernel lacks it |
//! | load of 64 bits | `BPF_PSEUDO_MAP_FD` (1) | the map in [`Image::maps`] |
//! | load of 64 bits | `BPF_PSEUDO_MAP_VALUE` (2) | the map; the second `imm` is the offset in its value |
//! | load of 64 bits | `BPF_PSEUDO_BTF_ID` (3) | the variable in [`Image::ksyms`]; a plain 0 if the kernel lacks it |
//! | load of 64 bits | 0 | plain; a kernel function's address is 1, or 0 if the kernel lacks it |
//! | load of 64 bits | `BPF_PSEUDO_FUNC` (4) | the first instruction of the function, absolute |

/// The `imm` of a call to a weak kernel function that the kernel does not have.
pub const ABSENT: i32 = -1;

/// The `imm` of a call of a helper that stands for an instruction whose relocation the kernel's types do not satisfy,
/// as libbpf puts it (`bpf_core_poison_insn()`). [`Image::poisoned`] says what the relocation was.
pub const POISON: i32 = 0x0bad_2310;

/// `struct bpf_insn`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Insn {
    /// `code`: class, size or operation, mode or source.
    pub code: u8,
    /// `dst_reg`, 0 to 10.
    pub dst: u8,
    /// `src_reg`, 0 to 10.
    pub src: u8,
    /// `off`.
    pub off: i16,
    /// `imm`.
    pub imm: i32,
}

/// An object whose references are resolved.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// The instructions of all functions, one function after the other.
    pub insns: Vec<Insn>,
    /// All functions, in the order of their instructions. Those that are called by others are among them.
    pub functions: Vec<Function>,
    /// The maps. Sections of global data are maps of the kind [`MapKind::Array`] with one value.
    pub maps: Vec<Map>,
    /// The kernel functions that are called.
    pub kfuncs: Vec<Kfunc>,
    /// The kernel variables that are read (`__ksym`).
    pub ksyms: Vec<String>,
    /// The instances of kernel structs of functions (`SEC(".struct_ops")`, `SEC(".struct_ops.link")`).
    pub struct_ops: Vec<StructOps>,
    /// Where instructions come from, in ascending order of [`Line::insn`]: each counts up to the next.
    pub lines: Vec<Line>,
    /// The fields of kernel types that programs access, each once, in the order of their names.
    pub accesses: Vec<Access>,
    /// The instructions that are [`POISON`], in ascending order, and the relocations that they had. A load of 64 bits
    /// is two of them.
    pub poisoned: Vec<(u32, String)>,
    /// The types of the object whose numbers programs use (`bpf_core_type_id_local()`, as `bpf_obj_new()` does), in
    /// ascending order of numbers.
    pub local_types: Vec<LocalType>,
    /// The programs that were not linked, as their kernel structs or sections were not asked for: their sections and
    /// names.
    pub left_out: Vec<(String, String)>,
}

/// A type of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalType {
    /// Its number in the object's BTF.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its size, bytes.
    pub size: u32,
}

/// A function of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its ELF section: `struct_ops/simple_enqueue`, `syscall`, `.text`.
    pub section: String,
    /// The number of its first instruction.
    pub start: u32,
    /// How many instructions it has.
    pub len: u32,
    /// How many arguments it takes by its prototype, 0 to 5 (a program of struct_ops can have more: it reads them from
    /// its context).
    pub args: u32,
}

/// The kinds of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// `BPF_MAP_TYPE_HASH`.
    Hash,
    /// `BPF_MAP_TYPE_ARRAY`.
    Array,
    /// `BPF_MAP_TYPE_PERCPU_HASH`.
    PercpuHash,
    /// `BPF_MAP_TYPE_PERCPU_ARRAY`.
    PercpuArray,
    /// `BPF_MAP_TYPE_LRU_HASH`, and `BPF_MAP_TYPE_LRU_PERCPU_HASH`.
    LruHash,
    /// `BPF_MAP_TYPE_LPM_TRIE`.
    LpmTrie,
    /// `BPF_MAP_TYPE_ARRAY_OF_MAPS`.
    ArrayOfMaps,
    /// `BPF_MAP_TYPE_HASH_OF_MAPS`.
    HashOfMaps,
    /// `BPF_MAP_TYPE_QUEUE`.
    Queue,
    /// `BPF_MAP_TYPE_STACK`.
    Stack,
    /// `BPF_MAP_TYPE_RINGBUF`.
    Ringbuf,
    /// `BPF_MAP_TYPE_USER_RINGBUF`.
    UserRingbuf,
    /// `BPF_MAP_TYPE_TASK_STORAGE`.
    TaskStorage,
    /// `BPF_MAP_TYPE_CGRP_STORAGE`.
    CgrpStorage,
    /// `BPF_MAP_TYPE_ARENA`.
    Arena,
    /// `BPF_MAP_TYPE_PROG_ARRAY`.
    ProgArray,
    /// `BPF_MAP_TYPE_PERF_EVENT_ARRAY`.
    PerfEventArray,
    /// Another, by its number: the machine refuses it.
    Other(u32),
}

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Its name: of global data the section, as `.rodata`, `.bss.cpuctx`.
    pub name: String,
    /// Its kind.
    pub kind: MapKind,
    /// The size of a key, bytes; 0 for those without keys.
    pub key_size: u32,
    /// The size of a value, bytes.
    pub value_size: u32,
    /// How many entries it holds; of a ring buffer its bytes, of an arena its pages.
    pub max_entries: u32,
    /// `map_flags`.
    pub flags: u32,
    /// The bytes of global data, and of an arena's (`SEC(".addr_space.1")`, `__arena_global`), which are at the arena's
    /// beginning; empty for others.
    pub data: Vec<u8>,
    /// The variables of global data, in ascending order of offsets.
    pub variables: Vec<Variable>,
    /// The definition of the inner maps, for maps of maps.
    pub inner: Option<Box<Map>>,
    /// The map in each slot at the beginning, of maps of maps: numbers of [`Image::maps`]. Of a
    /// `BPF_MAP_TYPE_PROG_ARRAY` the program, a number of [`Image::functions`].
    pub slots: Vec<Option<u32>>,
    /// Programs may not write it (`.rodata`).
    pub read_only: bool,
}

impl Map {
    /// A map that programs may write, without flags, data or maps in it.
    pub fn new(name: impl Into<String>, kind: MapKind, key_size: u32, value_size: u32, max_entries: u32) -> Self {
        Map {
            name: name.into(),
            kind,
            key_size,
            value_size,
            max_entries,
            flags: 0,
            data: Vec::new(),
            variables: Vec::new(),
            inner: None,
            slots: Vec::new(),
            read_only: false,
        }
    }
}

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it begins in the section, bytes.
    pub offset: u32,
    /// How long it is, bytes.
    pub size: u32,
    /// The members of a struct, or of the elements of an array of structs, by name with dots: offset from the
    /// beginning of the struct and size, bytes. `name[]` is the first element of a member that is an array,
    /// `name[].other` a member of it.
    pub members: Vec<(String, u32, u32)>,
    /// The size of one element of an array, bytes; the size of the variable if it is none.
    pub element: u32,
    /// Its values are signed integers.
    pub signed: bool,
}

/// A kernel function that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kfunc {
    /// Its name as the kernel has it: without what follows `___`.
    pub name: String,
    /// The object can do without it (`__weak`).
    pub weak: bool,
    /// How many arguments it takes by its prototype.
    pub args: u32,
}

/// An instance of a kernel struct of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructOps {
    /// Its variable: `simple_ops`.
    pub name: String,
    /// Its type: `sched_ext_ops`.
    pub type_name: String,
    /// The members that are set, by their names without what follows `___`.
    pub members: Vec<(String, Member)>,
}

/// The value of a member of [`StructOps`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// A program: its number in [`Image::functions`].
    Program(u32),
    /// A number.
    Number(u64),
    /// An array of characters.
    Text(String),
}

/// Where instructions come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The first instruction.
    pub insn: u32,
    /// The file, as the compiler was given it.
    pub file: std::sync::Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if the compiler did not say.
    pub column: u32,
    /// The line's text, if the object has it.
    pub text: std::sync::Arc<str>,
}

/// A field of a kernel type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The type: `task_struct`.
    pub type_name: String,
    /// The field, with dots: `scx.dsq_vtime`.
    pub path: String,
    /// The kernel has it. Programs may ask first (`bpf_core_field_exists()`).
    pub exists: bool,
    /// Whether a program reads or writes it, and does not only ask for its existence, size or offset.
    pub used: bool,
}

impl Image {
    /// The line of an instruction's source, if the object has it.
    pub fn line(&self, insn: u32) -> Option<&Line> {
        let after = self.lines.partition_point(|line| line.insn <= insn);
        self.lines[..after].last()
    }

    /// The function in which an instruction is.
    pub fn function_of(&self, insn: u32) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.start <= insn);
        self.functions[..after].last()
    }
}
