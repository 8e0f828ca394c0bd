//! A kernel's types, reduced to those that schedulers' programs ask for: small enough to bring one along for each
//! version.
//!
//! What is kept is as the kernel has it: structs with all their members and what they hold by value, enumerations,
//! variables and functions. Structs that are only pointed to become declarations, which have no members: a program that
//! asks for one of those finds that the kernel does not have it, so that [`missing`] is worth a look.

use crate::btf::{Btf, Kind, essential};
use std::collections::{BTreeMap, BTreeSet};

/// The tag of the functions that programs may call, which pahole writes from 6.10 on.
const KFUNC: &str = "bpf_kfunc";

/// The types that schedulers' programs ask for: those of `tools/sched_ext` and of the crates of
/// <https://github.com/sched-ext/scx>, and what sched_ext hands them.
pub const ROOTS: [&str; 33] = [
    "SCX_*",
    "atomic_t",
    "bpf_cpumask",
    "bpf_iter_*",
    "bpf_perf_event_value",
    "cgroup",
    "cgroup_subsys_state",
    "class_rcu_t",
    "cpufreq_cpu_data",
    "cpufreq_policy",
    "cpumask",
    "cred",
    "css_set",
    "hw_pressure",
    "kernfs_node",
    "mempolicy",
    "pcpu_hot",
    "pid",
    "pid_namespace",
    "rq",
    "runqueues",
    "sched_core_priority",
    "sched_ext_entity",
    "sched_ext_ops",
    "sched_ext_ops_cid",
    "scx_*",
    "sd_llc_id",
    "signal_struct",
    "task_group",
    "task_struct",
    "thread_info",
    "upid",
    "__preempt_count",
];

/// Raw BTF of the types of `kernel` whose names are among `roots`, of functions that programs may call, and of what
/// those hold. A root is a name, or a beginning and a `*`; of an enumeration the name of a constant, too.
pub fn reduce(kernel: &Btf, roots: &[&str]) -> Vec<u8> {
    let is_root = |name: &str| {
        let matches = |root: &&str| match root.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => *root == name,
        };
        !name.is_empty() && roots.iter().any(matches)
    };
    let mut kept = BTreeSet::new();
    let mut first = Vec::new();
    for id in 1..kernel.len() {
        let is_root = match &kernel.get(id).kind {
            Kind::Enum { values, .. } => {
                is_root(kernel.name_of(id)) || values.iter().any(|(name, _)| is_root(kernel.string(*name)))
            }
            Kind::Struct(_) | Kind::Union(_) | Kind::Typedef(_) | Kind::Var(..) | Kind::Func(..) => {
                is_root(kernel.name_of(id))
            }
            Kind::DeclTag(function, _) if kernel.name_of(id) == KFUNC => {
                first.push(*function);
                continue;
            }
            _ => false,
        };
        if is_root {
            first.push(id);
        }
    }
    first.sort_unstable();
    first.dedup();
    let mut to_do = first.clone();
    while let Some(id) = to_do.pop() {
        match &kernel.get(id).kind {
            Kind::Struct(composite) | Kind::Union(composite) if kept.insert(id) => {
                to_do.extend(composite.members.iter().map(|member| member.kind));
            }
            Kind::Array { element: to, .. } | Kind::Typedef(to) | Kind::Modifier(_, to) | Kind::TypeTag(to)
                if kept.insert(id) =>
            {
                to_do.push(*to);
            }
            // Of one that is of its own type, too.
            Kind::Var(to, _) if kept.insert(id) => to_do.push(*to),
            _ => {}
        }
    }
    let mut writer = Writer { kernel, kept, numbers: BTreeMap::new(), order: Vec::new(), strings: Strings::default() };
    for id in first {
        writer.number(id);
    }
    writer.write()
}

/// The structs, unions and enumerations that an object has types of (`local`), that `kernel` has, and that `reduced`
/// does not have but as a declaration.
pub fn missing(local: &Btf, kernel: &Btf, reduced: &Btf) -> Vec<String> {
    let has = |btf: &Btf, name: &str| {
        let mut ids = btf.candidates(name).iter();
        ids.any(|id| matches!(btf.get(*id).kind, Kind::Struct(_) | Kind::Union(_) | Kind::Enum { .. }))
    };
    let mut names = BTreeSet::new();
    for id in 1..local.len() {
        let name = essential(local.name_of(id));
        let is_type = matches!(local.get(id).kind, Kind::Struct(_) | Kind::Union(_) | Kind::Enum { .. });
        if is_type && !name.is_empty() && has(kernel, name) && !has(reduced, name) {
            names.insert(name.to_string());
        }
    }
    names.into_iter().collect()
}

#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    offsets: BTreeMap<String, u32>,
}

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        if self.bytes.is_empty() {
            self.bytes.push(0);
        }
        if text.is_empty() {
            return 0;
        }
        if let Some(offset) = self.offsets.get(text) {
            return *offset;
        }
        let offset = self.bytes.len() as u32;
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        self.offsets.insert(text.to_string(), offset);
        offset
    }
}

struct Writer<'a> {
    kernel: &'a Btf,
    kept: BTreeSet<u32>,
    /// The new numbers of types.
    numbers: BTreeMap<u32, u32>,
    /// The types in the order of their new numbers.
    order: Vec<u32>,
    strings: Strings,
}

impl Writer<'_> {
    /// The new number of a type, which is written if it was not yet.
    fn number(&mut self, id: u32) -> u32 {
        if let Some(number) = self.numbers.get(&id) {
            return *number;
        }
        let ty = self.kernel.get(id);
        let is_left_out = ty.kind.composite().is_some() && !self.kept.contains(&id);
        // A declaration has a name.
        if ty.kind == Kind::Void || is_left_out && ty.name == 0 {
            return 0;
        }
        self.order.push(id);
        let number = self.order.len() as u32;
        self.numbers.insert(id, number);
        number
    }

    fn write(mut self) -> Vec<u8> {
        let mut types = Vec::new();
        let mut at = 0;
        while let Some(id) = self.order.get(at).copied() {
            self.write_type(id, &mut types);
            at += 1;
        }
        self.strings.add("");
        let mut bytes = Vec::new();
        bytes.extend(0xeb9fu16.to_le_bytes());
        bytes.extend([1, 0]);
        for number in [24, 0, types.len() as u32, types.len() as u32, self.strings.bytes.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(types);
        bytes.extend(self.strings.bytes);
        bytes
    }

    fn write_type(&mut self, id: u32, types: &mut Vec<u8>) {
        let kernel = self.kernel;
        let ty = kernel.get(id);
        let name = self.strings.add(kernel.string(ty.name));
        let info = |kind: u32, vlen: usize, flag: bool| u32::from(flag) << 31 | kind << 24 | vlen as u32;
        let mut words = vec![name];
        match &ty.kind {
            Kind::Void => {}
            Kind::Int { size, encoding, offset, bits } => {
                let word = u32::from(*encoding) << 24 | u32::from(*offset) << 16 | u32::from(*bits);
                words.extend([info(1, 0, false), *size, word]);
            }
            Kind::Ptr(to) => words.extend([info(2, 0, false), self.number(*to)]),
            Kind::Array { element, index, len } => {
                words.extend([info(3, 0, false), 0, self.number(*element), self.number(*index), *len]);
            }
            Kind::Struct(_) if !self.kept.contains(&id) => words.extend([info(7, 0, false), 0]),
            Kind::Union(_) if !self.kept.contains(&id) => words.extend([info(7, 0, true), 0]),
            Kind::Struct(composite) | Kind::Union(composite) => {
                let kind = if matches!(ty.kind, Kind::Struct(_)) { 4 } else { 5 };
                let has_bit_fields = composite.members.iter().any(|member| member.bit_size > 0);
                words.extend([info(kind, composite.members.len(), has_bit_fields), composite.size]);
                for member in &composite.members {
                    let name = self.strings.add(kernel.string(member.name));
                    let bits = u32::from(member.bit_size) << 24;
                    words.extend([name, self.number(member.kind), bits | member.bit_offset]);
                }
            }
            Kind::Enum { size, signed, wide, values } => {
                words.extend([info(if *wide { 19 } else { 6 }, values.len(), *signed), *size]);
                for (name, value) in values {
                    words.extend([self.strings.add(kernel.string(*name)), *value as u32]);
                    if *wide {
                        words.push((*value >> 32) as u32);
                    }
                }
            }
            Kind::Fwd { union } => words.extend([info(7, 0, *union), 0]),
            Kind::Typedef(to) => words.extend([info(8, 0, false), self.number(*to)]),
            Kind::Modifier(kind, to) => words.extend([info(u32::from(*kind), 0, false), self.number(*to)]),
            Kind::Func(to, linkage) => words.extend([info(12, usize::from(*linkage), false), self.number(*to)]),
            Kind::FuncProto { ret, params } => {
                words.extend([info(13, params.len(), false), self.number(*ret)]);
                for (name, kind) in params {
                    words.extend([self.strings.add(kernel.string(*name)), self.number(*kind)]);
                }
            }
            Kind::Var(to, linkage) => words.extend([info(14, 0, false), self.number(*to), *linkage]),
            // Roots are no sections and no tags, and nothing refers to one.
            Kind::Datasec { .. } | Kind::DeclTag(..) => words.extend([info(7, 0, false), 0]),
            Kind::Float(size) => words.extend([info(16, 0, false), *size]),
            Kind::TypeTag(to) => words.extend([info(18, 0, false), self.number(*to)]),
        }
        types.extend(words.into_iter().flat_map(u32::to_le_bytes));
    }
}
