//! The parts of an object that only its user space sets, fills or calls: read-only variables, maps that programs read
//! and do not write, programs of `SEC("syscall")`. Of a scheduler whose loader is not known nobody does that here.

use std::collections::{BTreeMap, BTreeSet};
use wakelab_bpf::btf::{Btf, Kind};
use wakelab_bpf::image::{Function, Image, Insn, Map, MapKind, Variable};

/// The most names that a warning lists.
const NAMES_MAX: usize = 12;

/// The variables that programs refer to, by the number of the map and their place in it.
fn referred(image: &Image) -> BTreeSet<(usize, usize)> {
    let mut referred = BTreeSet::new();
    for pair in image.insns.windows(2) {
        if pair[0].code == LOAD_64 && pair[0].src == PSEUDO_MAP_VALUE {
            let (map, offset) = (pair[0].imm as usize, pair[1].imm as u32);
            let variables = image.maps.get(map).map_or(&[][..], |map| &map.variables);
            let at = variables.partition_point(|variable| variable.offset <= offset);
            referred.extend(at.checked_sub(1).map(|at| (map, at)));
        }
    }
    referred
}

/// The name of the variable of a setting: `cpu_capacity` of `cpu_capacity[3]`.
fn variable_of(setting: &str) -> &str {
    setting.split(['[', '.']).next().unwrap_or(setting)
}

/// Warns of variables that were set and that no program refers to.
pub fn set_but_unread(image: &Image, settings: &[(String, i128)]) -> Vec<String> {
    let referred = referred(image);
    let is_read = |name: &str| {
        let named = image.maps.iter().enumerate().flat_map(|(map, of)| {
            of.variables.iter().enumerate().filter(|(_, variable)| variable.name == name).map(move |(at, _)| (map, at))
        });
        let mut named = named.peekable();
        named.peek().is_none() || named.any(|id| referred.contains(&id))
    };
    let mut warnings: Vec<String> = Vec::new();
    for (setting, value) in settings {
        let name = variable_of(setting);
        if !is_read(name) {
            warnings.push(format!(
                "{setting} = {value} changes nothing: no program of the object reads {name} (clang folds variables \
                 that are const and not volatile)"
            ));
        }
    }
    warnings
}

/// Warns of what the loader of an object would do that is not known: `name` is the scheduler's `ops.name`.
pub fn of_unknown_loader(image: &Image, name: &str, settings: &[(String, i128)]) -> Vec<String> {
    let name = if name.is_empty() { "this scheduler".to_owned() } else { format!("'{name}'") };
    let unknown = format!("wakelab knows no loader of {name}");
    let mut warnings = Vec::new();
    let variables = own_values(image, settings);
    if !variables.is_empty() {
        let (are, each) = if variables.len() == 1 { ("is", "value") } else { ("are", "values") };
        let first = variables[0].split([' ', '[']).next().unwrap_or_default();
        warnings.push(format!(
            "{unknown}: {} {are} the object's own {each}, which a loader may set; set others as scx.{first}=VALUE",
            listed(&variables)
        ));
    }
    let uses = if is_followed(image) { uses(image) } else { Vec::new() };
    let maps: Vec<String> = image
        .maps
        .iter()
        .zip(uses)
        .filter(|(map, of)| needs_user_space(map, *of))
        .map(|(m, _)| m.name.clone())
        .collect();
    if !maps.is_empty() {
        let (what, stays) = if maps.len() == 1 { ("map", "it stays") } else { ("maps", "they stay") };
        warnings.push(format!(
            "{unknown} that would fill the {what} {}, which programs read but never write: {stays} empty here",
            listed(&maps)
        ));
    }
    let programs: Vec<String> = image
        .functions
        .iter()
        .filter(|function| function.section == "syscall")
        .map(|function| format!("{}()", function.name))
        .collect();
    if !programs.is_empty() {
        let (what, runs) =
            if programs.len() == 1 { ("program", "it does not run") } else { ("programs", "they do not run") };
        warnings.push(format!(
            "{unknown} that would call the {what} {} of SEC(\"syscall\"): {runs} here",
            listed(&programs)
        ));
    }
    warnings
}

/// `a`, `a and b`, `a, b and 3 more`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] if names.len() <= NAMES_MAX => format!("{} and {last}", most.join(", ")),
        _ => format!("{} and {} more", names[..NAMES_MAX - 1].join(", "), names.len() - NAMES_MAX + 1),
    }
}

/// Read-only variables that programs refer to and nobody set, with their values.
fn own_values(image: &Image, settings: &[(String, i128)]) -> Vec<String> {
    let referred = referred(image);
    let set = |name: &str| settings.iter().any(|(setting, _)| variable_of(setting) == name);
    // `__SCX_...` are the kernel's constants, `uei` what an error is recorded in, `___fmt` formats.
    let other = |name: &str| name.starts_with("__") || name.starts_with("uei") || name.starts_with('.');
    let mut own = Vec::new();
    for (number, map) in image.maps.iter().enumerate().filter(|(_, map)| map.read_only) {
        for (at, variable) in map.variables.iter().enumerate() {
            if referred.contains(&(number, at)) && !set(&variable.name) && !other(&variable.name) {
                own.extend(own_value(map, variable));
            }
        }
    }
    own
}

/// `nr_cpus = 1`. An array or struct counts only if it is empty: others are tables of the program's own.
fn own_value(map: &Map, variable: &Variable) -> Option<String> {
    let from = variable.offset as usize;
    let bytes = map.data.get(from..from.checked_add(variable.size as usize)?)?;
    let name = &variable.name;
    if variable.element < variable.size || !variable.members.is_empty() || variable.size > 8 {
        let what = if variable.element < variable.size { "[] = 0" } else { " = {0}" };
        return bytes.iter().all(|&byte| byte == 0).then(|| format!("{name}{what}"));
    }
    let mut value = [0; 8];
    value[..bytes.len()].copy_from_slice(bytes);
    let number = u64::from_le_bytes(value);
    let unused = 64 - 8 * bytes.len() as u32;
    Some(match variable.signed {
        true => format!("{name} = {}", (number << unused) as i64 >> unused),
        false => format!("{name} = {number}"),
    })
}

/// The uses of a map by programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Use {
    read: bool,
    written: bool,
    /// It is handed to where it is not followed.
    lost: bool,
}

fn needs_user_space(map: &Map, of: Use) -> bool {
    let kept = match map.kind {
        MapKind::Hash | MapKind::PercpuHash | MapKind::LruHash | MapKind::LpmTrie | MapKind::Queue | MapKind::Stack => {
            true
        }
        MapKind::UserRingbuf => true,
        MapKind::Array | MapKind::PercpuArray => map.variables.is_empty() && !map.name.starts_with('.'),
        MapKind::ArrayOfMaps | MapKind::HashOfMaps => map.slots.iter().all(Option::is_none),
        _ => false,
    };
    kept && of.read && !of.written && !of.lost
}

/// `BPF_LD | BPF_IMM | BPF_DW`.
const LOAD_64: u8 = 0x18;
const PSEUDO_MAP_FD: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;
/// `BPF_JMP | BPF_CALL`.
const CALL: u8 = 0x85;

/// Whether the programs are followed at all: each move may take along all maps, so that an object of a million
/// instructions and twenty thousand maps would take hours, for a warning. One of a hundred thousand and six hundred is
/// followed.
fn is_followed(image: &Image) -> bool {
    image.insns.len().saturating_mul(image.maps.len()) <= 1 << 26
}

/// Returns the uses of each map by programs. A map is followed from its load to the call that gets it; what is looked
/// up in it is taken to be in a register at all times once it can be there, so that no write is missed.
fn uses(image: &Image) -> Vec<Use> {
    let mut uses = vec![Use::default(); image.maps.len()];
    for function in &image.functions {
        of_function(image, function, &mut uses);
    }
    uses
}

fn of_function(image: &Image, function: &Function, uses: &mut [Use]) {
    let (from, to) = (function.start as usize, (function.start + function.len) as usize);
    let Some(insns) = image.insns.get(from..to) else { return };
    let mut elements: BTreeMap<u8, BTreeSet<usize>> = BTreeMap::new();
    // Where an element of a map is to be found spreads along moves.
    loop {
        let before: usize = elements.values().map(BTreeSet::len).sum();
        pass(insns, &mut elements, uses);
        if elements.values().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
}

/// The register by which the whole stack is known in `elements`.
const STACK: u8 = 10;

fn pass(insns: &[Insn], elements: &mut BTreeMap<u8, BTreeSet<usize>>, uses: &mut [Use]) {
    let mut maps: [Option<usize>; 11] = [None; 11];
    let spread = |elements: &mut BTreeMap<u8, BTreeSet<usize>>, from: u8, to: u8| {
        let (Some(of), none) = (elements.get(&from), BTreeSet::new()) else { return };
        let new: Vec<usize> = of.difference(elements.get(&to).unwrap_or(&none)).copied().collect();
        elements.entry(to).or_default().extend(new);
    };
    let mut skip = false;
    for insn in insns {
        if std::mem::take(&mut skip) {
            continue;
        }
        let (dst, src) = (usize::from(insn.dst.min(10)), usize::from(insn.src.min(10)));
        match (insn.code, insn.code & 7) {
            (LOAD_64, _) => {
                maps[dst] = (insn.src == PSEUDO_MAP_FD).then_some(insn.imm as usize).filter(|&map| map < uses.len());
                skip = true;
            }
            (CALL, _) => call(insn, &mut maps, elements, uses),
            // BPF_LDX
            (_, 1) => {
                maps[dst] = None;
                if src == 10 {
                    spread(elements, STACK, insn.dst);
                }
            }
            // BPF_ST, BPF_STX
            (_, 2 | 3) => {
                for &map in elements.get(&insn.dst).into_iter().flatten().filter(|_| dst != 10) {
                    uses[map].written = true;
                }
                if insn.code & 7 == 3 {
                    if let Some(map) = maps[src] {
                        uses[map].lost = true;
                    }
                    match dst {
                        10 => spread(elements, insn.src, STACK),
                        _ => elements.get(&insn.src).into_iter().flatten().for_each(|&map| uses[map].lost = true),
                    }
                }
            }
            // BPF_ALU, BPF_ALU64: moves, and sums with registers.
            (code, 4 | 7) => {
                let from_register = code & 8 != 0;
                maps[dst] = (code == 0xbf).then_some(maps[src]).flatten();
                if from_register && matches!(code & 0xf0, 0x00 | 0xb0) {
                    spread(elements, insn.src, insn.dst);
                }
            }
            _ => {}
        }
    }
}

/// A call with what is in its argument registers.
fn call(insn: &Insn, maps: &mut [Option<usize>; 11], elements: &mut BTreeMap<u8, BTreeSet<usize>>, uses: &mut [Use]) {
    let helper = (insn.src == 0).then_some(insn.imm);
    let first = maps[1];
    let mut followed = false;
    if let (Some(helper), Some(map)) = (helper, first) {
        followed = true;
        match helper {
            // bpf_map_lookup_elem(), bpf_map_lookup_percpu_elem()
            1 | 195 => {
                uses[map].read = true;
                elements.entry(0).or_default().insert(map);
            }
            // bpf_map_update_elem(), bpf_map_push_elem()
            2 | 87 => uses[map].written = true,
            // bpf_map_delete_elem()
            3 => {}
            // bpf_map_pop_elem(), bpf_map_peek_elem(), bpf_user_ringbuf_drain()
            88 | 89 | 209 => uses[map].read = true,
            _ => followed = false,
        }
    }
    for register in 1..=5u8 {
        if let Some(map) = maps[usize::from(register)]
            && !(followed && register == 1)
        {
            uses[map].lost = true;
        }
        // A key or a value that is given to the maps' helpers is only read.
        let reads_only = matches!(helper, Some(1 | 2 | 3 | 195));
        if !reads_only && takes_arguments(insn) {
            elements.get(&register).into_iter().flatten().for_each(|&map| uses[map].lost = true);
        }
    }
    for register in maps.iter_mut().take(6) {
        *register = None;
    }
}

/// Whether a call takes arguments at all: helpers that do not are common.
fn takes_arguments(insn: &Insn) -> bool {
    // bpf_ktime_get_ns(), bpf_get_prandom_u32(), bpf_get_smp_processor_id(), bpf_get_current_pid_tgid(),
    // bpf_get_current_task_btf()
    !(insn.src == 0 && [5, 7, 8, 14, 158].contains(&insn.imm))
}

/// How many bytes a program of `SEC("syscall")` takes as its context: the size of the struct that its argument points
/// to. `None` if its prototype does not say.
pub fn context_size(btf: &Btf, program: &str) -> Option<u64> {
    let Kind::FuncProto { params, .. } = &btf.get(btf.function(program)?).kind else { return None };
    let Kind::Ptr(to) = *btf.kind(params.first()?.1) else { return None };
    matches!(btf.kind(to), Kind::Struct(_) | Kind::Union(_)).then(|| btf.size(to)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insn(code: u8, dst: u8, src: u8, imm: i32) -> Insn {
        Insn { code, dst, src, off: 0, imm }
    }

    fn load(dst: u8, kind: u8, map: i32, offset: i32) -> [Insn; 2] {
        [insn(LOAD_64, dst, kind, map), insn(0, 0, 0, offset)]
    }

    fn map(name: &str, kind: MapKind, variables: Vec<Variable>, data: Vec<u8>) -> Map {
        let read_only = name == ".rodata";
        Map {
            name: name.to_owned(),
            kind,
            key_size: 4,
            value_size: 4,
            max_entries: 1,
            flags: 0,
            data,
            variables,
            inner: None,
            slots: Vec::new(),
            read_only,
        }
    }

    fn variable(name: &str, offset: u32, size: u32) -> Variable {
        Variable { name: name.to_owned(), offset, size, members: Vec::new(), element: size, signed: true }
    }

    /// An object that reads `nr_cpus` of two variables, and does `insns` with the map `chosen`.
    fn image(kind: MapKind, insns: &[Insn]) -> Image {
        let variables = vec![variable("nr_cpus", 0, 4), variable("unread", 4, 4), variable("__SCX_X", 8, 8)];
        let mut data = (-1i32).to_le_bytes().to_vec();
        data.resize(16, 0);
        let maps = vec![map(".rodata", MapKind::Array, variables, data), map("chosen", kind, Vec::new(), Vec::new())];
        let insns = [&load(1, PSEUDO_MAP_VALUE, 0, 0)[..], &load(1, PSEUDO_MAP_VALUE, 0, 8), insns].concat();
        let len = insns.len() as u32;
        let of = |name: &str, section: &str, start, len| Function {
            name: name.to_owned(),
            section: section.to_owned(),
            start,
            len,
            args: 0,
        };
        let functions = vec![of("enqueue", "struct_ops/enqueue", 0, len), of("setup", "syscall", len, 0)];
        Image { insns, functions, maps, ..Image::default() }
    }

    const LOOKUP: i32 = 1;
    const UPDATE: i32 = 2;

    #[test]
    fn what_a_loader_that_is_not_known_would_do_is_said() {
        let lookup = [&load(1, PSEUDO_MAP_FD, 1, 0)[..], &[insn(CALL, 0, 0, LOOKUP)]].concat();
        let image = image(MapKind::Hash, &lookup);
        let warnings = of_unknown_loader(&image, "mine", &[]);
        assert_eq!(
            warnings,
            [
                "wakelab knows no loader of 'mine': nr_cpus = -1 is the object's own value, which a loader may set; \
                 set others as scx.nr_cpus=VALUE",
                "wakelab knows no loader of 'mine' that would fill the map chosen, which programs read but never \
                 write: it stays empty here",
                "wakelab knows no loader of 'mine' that would call the program setup() of SEC(\"syscall\"): it does \
                 not run here",
            ]
        );
        let set = [("nr_cpus".to_owned(), 2), ("unread[1]".to_owned(), 3)];
        assert_eq!(of_unknown_loader(&image, "mine", &set).len(), 2, "it was set");
        let [warning] = &set_but_unread(&image, &set)[..] else { panic!("one of them is read") };
        assert!(
            warning.starts_with("unread[1] = 3 changes nothing: no program of the object reads unread"),
            "{warning}"
        );
    }

    #[test]
    fn a_map_that_programs_write_needs_nobody() {
        let lookup = [&load(1, PSEUDO_MAP_FD, 1, 0)[..], &[insn(CALL, 0, 0, LOOKUP)]].concat();
        let update = [&load(1, PSEUDO_MAP_FD, 1, 0)[..], &[insn(CALL, 0, 0, UPDATE)]].concat();
        // r6 = r0; *(u32 *)(r6 + 0) = r2
        let writes = [insn(0xbf, 6, 0, 0), insn(0x63, 6, 2, 0)];
        // r1 = r0; call of a function of the object
        let hands_over = [insn(0xbf, 1, 0, 0), insn(CALL, 0, 1, 3)];
        let fills = |kind, insns: &[&[Insn]]| {
            of_unknown_loader(&image(kind, &insns.concat()), "", &[]).iter().any(|warning| warning.contains("chosen"))
        };
        for kind in [MapKind::Hash, MapKind::Array] {
            assert!(fills(kind, &[&lookup]));
            assert!(!fills(kind, &[&lookup, &update]));
            assert!(!fills(kind, &[&lookup, &writes]));
            assert!(!fills(kind, &[&lookup, &hands_over]));
            assert!(!fills(kind, &[]), "nobody reads it");
        }
        assert!(!fills(MapKind::TaskStorage, &[&lookup]), "programs make what is in it");
    }

    #[test]
    fn programs_are_followed_as_far_as_it_takes_no_hours() {
        let lookup = [&load(1, PSEUDO_MAP_FD, 1, 0)[..], &[insn(CALL, 0, 0, LOOKUP)]].concat();
        let mut image = image(MapKind::Hash, &lookup);
        let warns = |image: &Image| of_unknown_loader(image, "", &[]).iter().any(|warning| warning.contains("chosen"));
        assert!(warns(&image));
        image.maps.resize(20_000, map("other", MapKind::Hash, Vec::new(), Vec::new()));
        assert!(warns(&image));
        image.insns.resize(20_000, insn(0xbf, 6, 0, 0));
        assert!(!warns(&image));
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..20).map(|n| format!("v{n}")).collect();
        assert!(listed(&names).ends_with("v10 and 9 more"), "{}", listed(&names));
        assert_eq!(listed(&names[..2]), "v0 and v1");
    }
}
