//! Makes an [`Image`] of an object for a kernel: functions that are reached, one after the other, with what they refer
//! to resolved as libbpf does before it loads an object (`bpf_object__relocate()`, `bpf_object__resolve_externs()`).

use crate::btf::{Btf, Kind, SectionInfo, essential};
use crate::budget::Budget;
use crate::core_relo::{self, Answer, Relocation, RelocationKind};
use crate::error::LoadError;
use crate::image::{ABSENT, Access, Function, Image, Insn, Kfunc, Line, LocalType, Map, MapKind, Member, StructOps};
use crate::map_def::{self, MapDef, variable};
use crate::object::{Code, Extern, ExternKind, Holds, Object};
use crate::struct_ops;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// `BPF_JMP | BPF_CALL`.
const CALL: u8 = 0x85;
/// `BPF_LD | BPF_IMM | BPF_DW`.
const LD_IMM64: u8 = 0x18;
/// The section that externs of the kernel's configuration are in.
const KCONFIG: &str = ".kconfig";

/// The facts about a kernel besides its types, and the parts of an object to link.
pub struct LinkOptions<'a> {
    /// Whether the kernel has a function, for programs of sched_ext.
    pub kfuncs: &'a dyn Fn(&str) -> bool,
    /// Whether the kernel has a variable.
    pub ksyms: &'a dyn Fn(&str) -> bool,
    /// The values of the kernel's configuration, and `LINUX_KERNEL_VERSION`, by name.
    pub kconfig: BTreeMap<String, Kconfig>,
    /// The instance of a kernel struct of functions that is linked; all if `None`.
    pub struct_ops: Option<&'a str>,
    /// Which programs are linked besides those of `struct_ops` and of the section `syscall`, by section and name. What
    /// they refer to has to be there, too.
    pub programs: &'a dyn Fn(&str, &str) -> bool,
}

impl Default for LinkOptions<'_> {
    /// A kernel that has all functions and variables and no configuration; no other programs.
    fn default() -> Self {
        LinkOptions {
            kfuncs: &|_| true,
            ksyms: &|_| true,
            kconfig: BTreeMap::new(),
            struct_ops: None,
            programs: &|_, _| false,
        }
    }
}

/// The value of an option of the kernel's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kconfig {
    /// `n`, or not set.
    No,
    /// `y`.
    Yes,
    /// `m`.
    Module,
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// The target of an instruction.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// A function: its place in the object's.
    Function(usize),
    /// A map: its place in the definitions.
    Map(usize),
    /// Global data: the map, and where in it, bytes.
    Data(usize, i32),
    /// A symbol of the kernel.
    Extern(usize),
}

impl Object {
    /// Links the object for a kernel of the types `kernel`. An error has all that is wrong.
    pub fn link(&self, kernel: &Btf, options: &LinkOptions<'_>) -> Result<Image, LoadError> {
        let mut problems = Vec::new();
        let budget = Budget::new();
        let defs = map_def::maps(self, &budget).unwrap_or_else(|more| {
            problems.extend(more);
            Vec::new()
        });
        let all_ops = struct_ops::struct_ops(self, &budget).unwrap_or_else(|more| {
            problems.extend(more);
            Vec::new()
        });
        let names: Vec<String> = all_ops.iter().map(|ops| ops.name.clone()).collect();
        let chosen = |ops: &StructOps| options.struct_ops.is_none_or(|name| ops.name == name);
        let ops: Vec<StructOps> = all_ops.into_iter().filter(chosen).collect();
        if let Some(name) = options.struct_ops.filter(|_| ops.is_empty() && problems.is_empty()) {
            problems.push(format!("no struct_ops {name}; the object has {}", names.join(", ")));
        }
        if !problems.is_empty() {
            return Err(LoadError { problems });
        }
        let mut linker = Linker {
            object: self,
            kernel,
            options,
            externs: self.externs().into_iter().map(|of| (of.name.clone(), of)).collect(),
            image: Image::default(),
            places: BTreeMap::new(),
            arena: defs.iter().position(|def| def.map.kind == MapKind::Arena),
            defs,
            budget: &budget,
            told: false,
            problems,
            kfuncs: BTreeMap::new(),
            ksyms: BTreeMap::new(),
            kconfig: BTreeMap::new(),
            accesses: BTreeMap::new(),
            local_types: BTreeSet::new(),
            answers: BTreeMap::new(),
            strings: BTreeMap::new(),
        };
        linker.link(ops);
        linker.affords(0, "relocations");
        if linker.problems.is_empty() { Ok(linker.image) } else { Err(LoadError { problems: linker.problems }) }
    }
}

/// A relocation and what it comes to, or what is wrong with it.
type Answered = Result<(Relocation, Answer), String>;

struct Linker<'a> {
    object: &'a Object,
    kernel: &'a Btf,
    options: &'a LinkOptions<'a>,
    externs: BTreeMap<String, Extern>,
    image: Image,
    defs: Vec<MapDef>,
    /// By section and offset: the place in `defs`.
    places: BTreeMap<(usize, u64), usize>,
    /// The place of the arena.
    arena: Option<usize>,
    budget: &'a Budget,
    /// The problem is known that the budget has been spent.
    told: bool,
    problems: Vec<String>,
    /// By the name in the object: the place in the image, or [`ABSENT`].
    kfuncs: BTreeMap<String, i32>,
    ksyms: BTreeMap<String, i32>,
    /// The offsets in the map of the configuration.
    kconfig: BTreeMap<String, i32>,
    /// Type and path: whether it exists, and whether it is used.
    accesses: BTreeMap<(String, String), (bool, bool)>,
    local_types: BTreeSet<u32>,
    /// Relocations by type, access and kind.
    answers: BTreeMap<(u32, u32, u32), Answered>,
    strings: BTreeMap<u32, Arc<str>>,
}

impl Linker<'_> {
    fn link(&mut self, mut ops: Vec<StructOps>) {
        let object = self.object;
        for (at, def) in self.defs.iter().enumerate() {
            self.places.entry((def.section, u64::from(def.offset))).or_insert(at);
        }
        let slots: Vec<Vec<(usize, usize)>> = (0..self.defs.len()).map(|def| self.slots(def)).collect();
        let (reached, targets) = self.reach(&ops, &slots);
        // The functions' new numbers and first instructions.
        let mut numbers: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
        let mut start = 0u32;
        for function in &reached {
            let code = &object.functions[*function];
            numbers.insert(*function, (numbers.len() as u32, start));
            start += code.len as u32;
        }
        for (number, code) in object.functions.iter().enumerate() {
            let section = object.sections.get(&code.section).map_or("", |section| section.name.as_str());
            // Functions that others call are in `.text`.
            if section != ".text" && !numbers.contains_key(&number) {
                self.image.left_out.push((section.to_string(), code.name.clone()));
            }
        }
        for (function, targets) in reached.iter().zip(&targets) {
            if !self.affords(0, "programs") {
                return;
            }
            self.emit(&object.functions[*function], numbers[function].1, targets, &numbers);
        }
        for ops in &mut ops {
            for (_, member) in &mut ops.members {
                if let Member::Program(program) = member {
                    *program = numbers.get(&(*program as usize)).map_or(0, |(number, _)| *number);
                }
            }
        }
        self.image.struct_ops = ops;
        for (def, slots) in slots.iter().enumerate() {
            let Some((last, _)) = slots.last() else { continue };
            let is_programs = self.defs[def].map.kind == MapKind::ProgArray;
            if !self.affords(8 * (*last as u64 + 1), "maps of maps") {
                return;
            }
            let mut numbered = vec![None; last + 1];
            for (slot, to) in slots {
                numbered[*slot] =
                    if is_programs { numbers.get(to).map(|(number, _)| *number) } else { Some(*to as u32) };
            }
            self.defs[def].map.slots = numbered;
        }
        let kconfig = self.image.maps.pop();
        self.image.maps = std::mem::take(&mut self.defs).into_iter().map(|def| def.map).collect();
        self.image.maps.extend(kconfig);
        let accesses = std::mem::take(&mut self.accesses).into_iter();
        let access = |((type_name, path), (exists, used))| Access { type_name, path, exists, used };
        self.image.accesses = accesses.map(access).collect();
        for id in &self.local_types {
            let size = object.btf.size(*id).and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
            self.image.local_types.push(LocalType { id: *id, name: object.btf.name_of(*id).to_string(), size });
        }
        self.image.poisoned.sort();
        self.problems.dedup();
    }

    /// The slots of a map that have a map or a program from the beginning, and which (a place in the definitions or in
    /// the object's functions), in ascending order.
    fn slots(&mut self, def: usize) -> Vec<(usize, usize)> {
        if self.defs[def].values.is_none() {
            return Vec::new();
        }
        let relocations = self.object.sections.get(&self.defs[def].section).map_or(0, |of| of.relocations.len());
        if !self.affords(16 * (self.defs.len() + relocations) as u64, "maps of maps") {
            return Vec::new();
        }
        let MapDef { map, section, offset, values } = &self.defs[def];
        let Some(values) = values else { return Vec::new() };
        let begin = u64::from(*offset) + u64::from(*values);
        // The values are the last member: up to the next definition.
        let same = self.defs.iter().filter(|other| other.section == *section);
        let end = same.map(|other| other.offset).filter(|other| other > offset).min().map_or(u64::MAX, u64::from);
        let mut slots = Vec::new();
        let relocations = self.object.sections.get(section).map_or(&[][..], |section| &section.relocations);
        for (at, symbol) in relocations.iter().filter(|(at, _)| (begin..end).contains(at)) {
            let slot = ((at - begin) / 8) as usize;
            let symbol = self.object.symbols.get(symbol);
            let found = symbol.and_then(|symbol| match map.kind {
                MapKind::ProgArray => self.function_at(symbol.section?, symbol.value),
                _ => self.map_at(symbol.section?, symbol.value),
            });
            match found {
                Some(found) if slot < map.max_entries.max(1) as usize => slots.push((slot, found)),
                _ if self.problems.len() < PROBLEMS_MAX => {
                    let name = symbol.map_or("?", |symbol| symbol.name.as_str());
                    self.problems
                        .push(format!("map {}: its value {slot}, {name}, is neither a map nor a program", map.name));
                }
                _ => {}
            }
        }
        slots
    }

    /// Takes what something costs from the budget. If there is not as much left, that is a problem, and all ends.
    fn affords(&mut self, cost: u64, what: &str) -> bool {
        match self.budget.charge(cost, what) {
            Ok(()) => true,
            Err(error) => {
                if !std::mem::replace(&mut self.told, true) {
                    self.problems.extend(error.problems);
                }
                false
            }
        }
    }

    /// Notes what is wrong, up to a number.
    fn problem(&mut self, problem: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    fn map_at(&self, section: usize, value: u64) -> Option<usize> {
        self.places.get(&(section, value)).copied()
    }

    fn function_at(&self, section: usize, value: u64) -> Option<usize> {
        let at = (section, usize::try_from(value / 8).ok()?);
        let found = self.object.functions.binary_search_by_key(&at, |function| (function.section, function.start));
        found.ok().filter(|_| value.is_multiple_of(8))
    }

    /// The functions that the programs of `ops`, the programs of maps and those that were asked for reach, in the
    /// object's order, and what the instructions of each refer to.
    fn reach(
        &mut self,
        ops: &[StructOps],
        slots: &[Vec<(usize, usize)>],
    ) -> (Vec<usize>, Vec<BTreeMap<usize, Target>>) {
        let object = self.object;
        let mut to_do: Vec<usize> = Vec::new();
        for (_, member) in ops.iter().flat_map(|ops| &ops.members) {
            if let Member::Program(program) = member {
                to_do.push(*program as usize);
            }
        }
        for (number, (section, name)) in object.functions().enumerate() {
            let is_syscall = section == "syscall" || section.starts_with("syscall/");
            if is_syscall || (self.options.programs)(section, name) {
                to_do.push(number);
            }
        }
        let programs = self.defs.iter().zip(slots).filter(|(def, _)| def.map.kind == MapKind::ProgArray);
        to_do.extend(programs.flat_map(|(_, slots)| slots.iter().map(|(_, function)| *function)));
        let mut reached: BTreeMap<usize, BTreeMap<usize, Target>> = BTreeMap::new();
        while let Some(function) = to_do.pop() {
            if reached.contains_key(&function) {
                continue;
            }
            let targets = self.targets(&object.functions[function]);
            to_do.extend(targets.values().filter_map(|target| match target {
                Target::Function(function) => Some(*function),
                _ => None,
            }));
            reached.insert(function, targets);
        }
        reached.into_iter().unzip()
    }

    /// Returns the targets of a function's instructions, by their places in it (`bpf_program__record_reloc()`).
    fn targets(&mut self, code: &Code) -> BTreeMap<usize, Target> {
        let object = self.object;
        let mut targets = BTreeMap::new();
        let Some(section) = object.sections.get(&code.section) else { return targets };
        let insns = &section.insns[code.start..code.start + code.len];
        let (begin, end) = (8 * code.start as u64, 8 * (code.start + code.len) as u64);
        let from = section.relocations.partition_point(|(offset, _)| *offset < begin);
        let own = section.relocations[from..].iter().take_while(|(offset, _)| *offset < end);
        for (offset, symbol) in own {
            let at = ((offset - begin) / 8) as usize;
            let target = self.target(code, &insns[at], *symbol);
            match target {
                Ok(target) => {
                    targets.insert(at, target);
                }
                Err(problem) => self.problem(format!("{}: instruction {at}: {problem}", code.name)),
            }
        }
        let mut at = 0;
        while at < insns.len() {
            let insn = insns[at];
            if insn.code == CALL && insn.src == 1 && !targets.contains_key(&at) {
                let to = (code.start + at) as i64 + i64::from(insn.imm) + 1;
                let found = u64::try_from(to).ok().and_then(|to| self.function_at(code.section, 8 * to));
                match found {
                    Some(function) => {
                        targets.insert(at, Target::Function(function));
                    }
                    None => self.problem(format!("{}: instruction {at} does not call a function", code.name)),
                }
            }
            at += if insn.code == LD_IMM64 { 2 } else { 1 };
        }
        targets
    }

    fn target(&self, code: &Code, insn: &Insn, symbol: usize) -> Result<Target, String> {
        let object = self.object;
        let Some(symbol_of) = object.symbols.get(&symbol) else {
            return Err("a symbol that does not exist".to_string());
        };
        if insn.code != CALL && insn.code != LD_IMM64 {
            return Err(format!(
                "{:#04x} refers to {}; expected a call or a load of 64 bits",
                insn.code, symbol_of.name
            ));
        }
        let Some(number) = symbol_of.section else { return Ok(Target::Extern(symbol)) };
        let name = object.symbol_name(symbol_of);
        let Some(section) = object.sections.get(&number) else {
            return Err(format!("refers to {name}, in a section that is not loaded"));
        };
        let value = symbol_of.value as i64;
        if insn.code == CALL {
            if insn.src != 1 {
                return Err(format!("a call of {name} with the source {}; expected 1", insn.src));
            }
            let to = value.saturating_add(8 * (i64::from(insn.imm) + 1));
            let found = u64::try_from(to).ok().and_then(|to| self.function_at(number, to));
            return found
                .map(Target::Function)
                .ok_or_else(|| format!("calls {name}{:+}, which is not a function", to.saturating_sub(value)));
        }
        let at = value.saturating_add(i64::from(insn.imm));
        match section.holds {
            Holds::Code => {
                let found = u64::try_from(at).ok().and_then(|at| self.function_at(number, at));
                found.map(Target::Function).ok_or_else(|| format!("{name}+{} is not a function", insn.imm))
            }
            Holds::Maps => {
                let found = self.map_at(number, symbol_of.value);
                found.map(Target::Map).ok_or_else(|| format!("{name} is not a map"))
            }
            Holds::Data { .. } | Holds::Arena => {
                let map = match section.holds {
                    Holds::Arena => self.arena,
                    _ => self.map_at(number, 0),
                };
                let map = map.ok_or_else(|| format!("{name} is in {}, which is not a map", section.name))?;
                let offset =
                    i32::try_from(at).map_err(|_| format!("{name} is at {at}, which does not fit into 31 bits"))?;
                Ok(Target::Data(map, offset))
            }
            Holds::StructOps | Holds::Other => {
                let place = &section.name;
                Err(format!("{} refers to {name} in {place}; expected functions, maps or global data", code.name))
            }
        }
    }

    /// Adds a function's instructions to the image, at `base`.
    fn emit(
        &mut self,
        code: &Code,
        base: u32,
        targets: &BTreeMap<usize, Target>,
        numbers: &BTreeMap<usize, (u32, u32)>,
    ) {
        let object = self.object;
        let Some(section) = object.sections.get(&code.section) else { return };
        let mut insns = section.insns[code.start..code.start + code.len].to_vec();
        if !self.affords(128 + (code.name.len() + section.name.len()) as u64 + 32 * code.len as u64, "programs") {
            return;
        }
        let info = object.infos.get(&section.name);
        if let Some(info) = info {
            self.relocate(code, base, &mut insns, info);
            self.add_lines(code, base, info);
        }
        for (at, target) in targets {
            let is_call = insns[*at].code == CALL;
            if let Err(problem) = self.resolve(&mut insns, *at, base, *target, numbers) {
                let what = if is_call { "calls" } else { "needs" };
                let problem = format!("{}: {what} {problem}", code.name);
                if !self.problems.contains(&problem) {
                    self.problem(problem);
                }
            }
        }
        let type_id = info.and_then(|info| {
            let from = info.functions.partition_point(|(offset, _)| (*offset as usize) < 8 * code.start);
            info.functions.get(from).filter(|(offset, _)| *offset as usize == 8 * code.start)
        });
        // Types can have the same name.
        let namesakes = object.btf.candidates(essential(&code.name)).len() as u64;
        if type_id.is_none() && !self.affords(64 * namesakes, "functions without a type") {
            return;
        }
        let named = || object.btf.function(&code.name);
        let proto = type_id.map_or_else(named, |(_, id)| match object.btf.get(*id).kind {
            Kind::Func(proto, _) => Some(proto),
            _ => None,
        });
        let args = match proto.map(|proto| &object.btf.get(proto).kind) {
            Some(Kind::FuncProto { params, .. }) => params.len() as u32,
            _ => 5,
        };
        let (name, section) = (code.name.clone(), section.name.clone());
        self.image.functions.push(Function { name, section, start: base, len: code.len as u32, args });
        self.image.insns.extend(insns);
    }

    fn resolve(
        &mut self,
        insns: &mut [Insn],
        at: usize,
        base: u32,
        target: Target,
        numbers: &BTreeMap<usize, (u32, u32)>,
    ) -> Result<(), String> {
        let is_call = insns[at].code == CALL;
        let (src, low);
        let mut high = 0;
        match target {
            Target::Function(function) => {
                let start = numbers.get(&function).map_or(0, |(_, start)| *start);
                (src, low) = match is_call {
                    true => (1, start as i32 - (base as i32 + at as i32 + 1)),
                    false => (4, start as i32),
                };
            }
            Target::Map(map) => (src, low) = (1, map as i32),
            Target::Data(map, offset) => (src, low, high) = (2, map as i32, offset),
            Target::Extern(symbol) => {
                let symbol = self.object.symbols.get(&symbol).map_or("", |symbol| symbol.name.as_str());
                let Some(of) = self.externs.get(symbol).cloned() else { return Err(symbol.to_string()) };
                match of.kind {
                    ExternKind::Function => {
                        let number = self.kfunc(&of)?;
                        (src, low) = if is_call { (2, number) } else { (0, i32::from(number != ABSENT)) };
                    }
                    _ if is_call => return Err(format!("{symbol}, which is not a function")),
                    ExternKind::Variable => {
                        let number = self.ksym(&of)?;
                        (src, low) = if number == ABSENT { (0, 0) } else { (3, number) };
                    }
                    ExternKind::Kconfig => {
                        let added = insns[at].imm;
                        (src, low, high) = (2, self.defs.len() as i32, self.kconfig(&of)?.wrapping_add(added));
                    }
                }
            }
        }
        insns[at] = Insn { src, off: 0, imm: low, ..insns[at] };
        if !is_call {
            let second = insns.get_mut(at + 1).ok_or("the second half of a load of 64 bits")?;
            second.imm = high;
        }
        Ok(())
    }

    /// The place of a kernel function in the image; [`ABSENT`] for a weak one that the kernel lacks
    /// (`bpf_object__resolve_ksym_func_btf_id()`).
    fn kfunc(&mut self, of: &Extern) -> Result<i32, String> {
        if let Some(number) = self.kfuncs.get(&of.name) {
            return Ok(*number);
        }
        let (local, kernel) = (&self.object.btf, self.kernel);
        let name = essential(&of.name).to_string();
        let proto = match local.get(of.type_id).kind {
            Kind::Func(proto, _) => proto,
            _ => 0,
        };
        let compatible = kernel
            .function(&name)
            .is_none_or(|of_kernel| core_relo::arguments_compatible(local, proto, kernel, of_kernel));
        let has = (self.options.kfuncs)(&name);
        if !(of.weak || has && compatible) {
            let why = if has { "has with other arguments" } else { "does not have" };
            return Err(format!("{name}(), which this kernel {why}"));
        }
        let number = if has && compatible { self.image.kfuncs.len() as i32 } else { ABSENT };
        if number != ABSENT {
            let args = match &local.get(proto).kind {
                Kind::FuncProto { params, .. } => params.len() as u32,
                _ => 5,
            };
            self.image.kfuncs.push(Kfunc { name, weak: of.weak, args });
        }
        self.kfuncs.insert(of.name.clone(), number);
        Ok(number)
    }

    /// The place of a kernel variable in the image; [`ABSENT`] for a weak one that the kernel lacks.
    fn ksym(&mut self, of: &Extern) -> Result<i32, String> {
        if let Some(number) = self.ksyms.get(&of.name) {
            return Ok(*number);
        }
        let name = essential(&of.name).to_string();
        let number = match (self.options.ksyms)(&name) {
            true => self.image.ksyms.len() as i32,
            false if of.weak => ABSENT,
            false => return Err(format!("the variable {name}, which this kernel does not have")),
        };
        if number != ABSENT {
            self.image.ksyms.push(name);
        }
        self.ksyms.insert(of.name.clone(), number);
        Ok(number)
    }

    /// Where an option of the kernel's configuration is in the map of those (`bpf_object__resolve_externs()`).
    fn kconfig(&mut self, of: &Extern) -> Result<i32, String> {
        if let Some(offset) = self.kconfig.get(&of.name) {
            return Ok(*offset);
        }
        let btf = &self.object.btf;
        let Kind::Var(kind, _) = btf.get(of.type_id).kind else {
            return Err(format!("{}, which has no type", of.name));
        };
        let size =
            btf.size(kind).filter(|size| *size <= 4096).ok_or_else(|| format!("{}, which has no size", of.name))?;
        // The alignment of a struct is looked for in its members.
        let cost = if btf.kind(kind).composite().is_some() { 1 << 24 } else { 256 };
        self.budget.charge(cost + size, "options of the kernel's configuration").map_err(|error| error.to_string())?;
        let mut bytes = vec![0; size as usize];
        match self.options.kconfig.get(&of.name) {
            Some(value) => {
                kconfig_bytes(btf, kind, value, &mut bytes).map_err(|problem| format!("{}: {problem}", of.name))?
            }
            None if of.weak => {}
            None => return Err(format!("{} of the kernel's configuration, which is unknown", of.name)),
        }
        if self.image.maps.is_empty() {
            self.image.maps.push(Map { read_only: true, ..Map::new(KCONFIG, MapKind::Array, 4, 0, 1) });
        }
        let map = &mut self.image.maps[0];
        let offset = map.data.len().next_multiple_of(btf.align(kind).max(1) as usize);
        map.data.resize(offset, 0);
        map.data.extend(&bytes);
        map.value_size = map.data.len() as u32;
        let place = (offset as u32, bytes.len() as u32);
        let variable = variable(btf, &of.name, kind, place, self.budget).map_err(|error| error.to_string())?;
        map.variables.push(variable);
        self.kconfig.insert(of.name.clone(), offset as i32);
        Ok(offset as i32)
    }

    /// Applies the relocations of CO-RE to a function's instructions.
    fn relocate(&mut self, code: &Code, base: u32, insns: &mut [Insn], info: &SectionInfo) {
        let local = &self.object.btf;
        let (begin, end) = (8 * code.start, 8 * (code.start + code.len));
        let from = info.relocations.partition_point(|of| (of.offset as usize) < begin);
        for relocation in info.relocations[from..].iter().take_while(|of| (of.offset as usize) < end) {
            let at = (relocation.offset as usize - begin) / 8;
            if !self.affords(64, "relocations") {
                return;
            }
            let key = (relocation.type_id, relocation.access, relocation.kind);
            let (kernel, budget) = (self.kernel, self.budget);
            let known = self.answers.entry(key).or_insert_with(|| {
                let relocation = Relocation::parse(local, relocation)?;
                let cost = 512 + relocation.path.len() as u64;
                budget.charge(cost, "relocations").map_err(|error| error.to_string())?;
                let answer = relocation.answer(local, kernel, budget)?;
                Ok((relocation, answer))
            });
            let (relocation, answer) = match known {
                Ok((relocation, answer)) => (relocation, answer),
                Err(problem) => {
                    let problem = format!("{}: instruction {at}: {problem}", code.name);
                    self.problem(problem);
                    continue;
                }
            };
            // It is told of accesses and of instructions that are poisoned.
            let text = (relocation.path.len() + relocation.type_name.len()) as u64;
            if self.budget.charge(text, "relocations").is_err() {
                self.affords(1, "relocations");
                return;
            }
            if relocation.is_field() {
                let key = (relocation.type_name.clone(), relocation.path.clone());
                let access = self.accesses.entry(key).or_default();
                *access = (access.0 || answer.exists, access.1 || relocation.uses_field());
            }
            if relocation.kind() == RelocationKind::TypeIdLocal {
                self.local_types.insert(key.0);
            }
            match core_relo::patch(insns, at, answer) {
                Ok(false) => {}
                Ok(true) => {
                    let halves =
                        if self.object.sections[&code.section].insns[code.start + at].code == LD_IMM64 { 2 } else { 1 };
                    for half in 0..halves {
                        self.image.poisoned.push((base + at as u32 + half, relocation.describe()));
                    }
                }
                Err(problem) => {
                    let text = format!("{}: instruction {at}: {}: {problem}", code.name, relocation.describe());
                    self.problem(text);
                }
            }
        }
    }

    /// A string that lines have. Each is kept once, but one can be the end of another.
    fn line_string(&mut self, offset: u32) -> Option<Arc<str>> {
        if let Some(known) = self.strings.get(&offset) {
            return Some(known.clone());
        }
        let text: Arc<str> = Arc::from(self.object.btf.string(offset).trim());
        if !self.affords(64 + text.len() as u64, "lines") {
            return None;
        }
        self.strings.insert(offset, text.clone());
        Some(text)
    }

    fn add_lines(&mut self, code: &Code, base: u32, info: &SectionInfo) {
        let (begin, end) = (8 * code.start as u32, 8 * (code.start + code.len) as u32);
        let from = info.lines.partition_point(|line| line.offset < begin);
        for line in info.lines[from..].iter().take_while(|line| line.offset < end) {
            if !self.affords(64, "lines") {
                return;
            }
            let (Some(file), Some(text)) = (self.line_string(line.file), self.line_string(line.text)) else { return };
            let insn = base + (line.offset - begin) / 8;
            self.image.lines.push(Line { insn, file, line: line.line, column: line.column, text });
        }
    }
}

/// How many problems an error tells of at most.
const PROBLEMS_MAX: usize = 1000;

/// The bytes of an option of the type `kind` (`find_kcfg_type()`, `set_kcfg_value_tri()`, `set_kcfg_value_num()`).
fn kconfig_bytes(btf: &Btf, kind: u32, value: &Kconfig, bytes: &mut [u8]) -> Result<(), String> {
    let number = match (btf.kind(kind), value) {
        (Kind::Int { encoding, .. }, Kconfig::No) if encoding & 4 != 0 => 0,
        (Kind::Int { encoding, .. }, Kconfig::Yes) if encoding & 4 != 0 => 1,
        (Kind::Enum { .. }, Kconfig::No) => 0,
        (Kind::Enum { .. }, Kconfig::Yes) => 1,
        (Kind::Enum { .. }, Kconfig::Module) => 2,
        (Kind::Int { size: 1, .. }, Kconfig::No) => u64::from(b'n'),
        (Kind::Int { size: 1, .. }, Kconfig::Yes) => u64::from(b'y'),
        (Kind::Int { size: 1, .. }, Kconfig::Module) => u64::from(b'm'),
        (Kind::Int { size, encoding, .. }, Kconfig::Number(number)) if encoding & 4 == 0 => {
            let fits = *size >= 8 || *number >> (8 * size) == 0;
            if !fits {
                return Err(format!("{number} does not fit into {size} bytes"));
            }
            *number
        }
        (Kind::Array { .. }, Kconfig::Text(text)) => {
            // A text that is too long is cut, with a warning of libbpf's.
            let len = text.len().min(bytes.len().saturating_sub(1));
            bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
            return Ok(());
        }
        _ => return Err(format!("{value:?} is not a valid value for {}", btf.describe(kind))),
    };
    for (byte, of) in bytes.iter_mut().zip(number.to_le_bytes()) {
        *byte = of;
    }
    Ok(())
}
