//! Relocations of CO-RE, "compile once, run everywhere": what an object assumed of the kernel's types is made what this
//! kernel's are, as libbpf does (`tools/lib/bpf/relo_core.c` of 7.2, whose functions the comments name).

use crate::btf::{Btf, CoreRelocation, Kind, essential};
use crate::budget::Budget;
use crate::image::{Insn, POISON};

/// `BPF_CORE_SPEC_MAX_LEN`.
const SPEC_MAX: usize = 64;
/// The longest access, bytes: 64 numbers of 32 bits with `:` between them.
const ACCESS_MAX: usize = 64 * 11;
/// How deep prototypes, structs and unnamed members may be in each other.
const LEVELS: u32 = 32;

/// `enum bpf_core_relo_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RelocationKind {
    /// Where the field begins, bytes.
    FieldByteOffset,
    /// How long it is, bytes.
    FieldByteSize,
    /// Whether the kernel has it.
    FieldExists,
    /// Whether it is signed.
    FieldSigned,
    /// How far its 64 bits have to be shifted left, so that those above it are lost.
    FieldLshiftU64,
    /// And then right.
    FieldRshiftU64,
    /// The number of the object's type.
    TypeIdLocal,
    /// The number of the kernel's type.
    TypeIdTarget,
    /// Whether the kernel has the type.
    TypeExists,
    /// How long it is, bytes.
    TypeSize,
    /// Whether the kernel has an enumeration's constant.
    EnumvalExists,
    /// Its value.
    EnumvalValue,
    /// Whether the kernel has the type, with all the members that the object's has.
    TypeMatches,
}

use RelocationKind::*;

impl RelocationKind {
    const ALL: [RelocationKind; 13] = [
        FieldByteOffset,
        FieldByteSize,
        FieldExists,
        FieldSigned,
        FieldLshiftU64,
        FieldRshiftU64,
        TypeIdLocal,
        TypeIdTarget,
        TypeExists,
        TypeSize,
        EnumvalExists,
        EnumvalValue,
        TypeMatches,
    ];

    /// The kind of a number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Its name, as `core_relo_kind_str()` has it.
    pub fn name(self) -> &'static str {
        match self {
            FieldByteOffset => "byte_off",
            FieldByteSize => "byte_sz",
            FieldExists => "field_exists",
            FieldSigned => "signed",
            FieldLshiftU64 => "lshift_u64",
            FieldRshiftU64 => "rshift_u64",
            TypeIdLocal => "local_type_id",
            TypeIdTarget => "target_type_id",
            TypeExists => "type_exists",
            TypeSize => "type_size",
            EnumvalExists => "enumval_exists",
            EnumvalValue => "enumval_value",
            TypeMatches => "type_matches",
        }
    }

    fn is_field(self) -> bool {
        self <= FieldRshiftU64
    }

    fn is_enumval(self) -> bool {
        matches!(self, EnumvalExists | EnumvalValue)
    }

    /// Whether it asks if something is there, so that it is answered where that is not so.
    pub fn asks(self) -> bool {
        matches!(self, FieldExists | TypeExists | EnumvalExists | TypeMatches)
    }
}

/// The path of an access: the steps from a type to a field of it (`struct bpf_core_spec`).
#[derive(Clone, Debug, Default)]
struct Spec {
    root: u32,
    steps: Vec<Step>,
    bit_offset: u64,
    /// Of constants: their place in the enumeration.
    value: usize,
}

/// A named member, or an element of an array (`struct bpf_core_accessor`).
#[derive(Clone, Copy, Debug)]
struct Step {
    type_id: u32,
    index: u32,
    named: bool,
}

/// A relocation's request.
#[derive(Clone, Debug)]
pub struct Relocation {
    kind: RelocationKind,
    spec: Spec,
    /// The type: `task_struct`, without a flavour.
    pub type_name: String,
    /// The field with dots, or the constant; empty for types.
    pub path: String,
}

/// The result of a relocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The value that the object's compiler put into the instruction.
    old: u64,
    /// The value that the instruction gets; `None` if it is poisoned.
    new: Option<u64>,
    /// `old` has to be in the instruction.
    validate: bool,
    /// The size of the field, bytes, in the object and in the kernel.
    sizes: (u64, u64),
    /// Loads and stores of another size would not be right.
    fail_size: bool,
    /// The kernel has the field, type or constant.
    pub exists: bool,
}

impl Relocation {
    /// Parses a relocation of an object (`bpf_core_parse_spec()`).
    pub fn parse(local: &Btf, relocation: &CoreRelocation) -> Result<Relocation, String> {
        let number = relocation.kind;
        let kind = RelocationKind::of(number)
            .ok_or_else(|| format!("unknown kind of relocation {number}; expected 0 to 12"))?;
        let access = local.string_within(relocation.access, ACCESS_MAX).unwrap_or_default();
        let name = local.name_of(relocation.type_id);
        let wrong = |what: &str| format!("relocation {} of {name}, `{access}`: {what}", kind.name());
        let indices: Option<Vec<u32>> = access.split(':').map(|index| index.parse().ok()).collect();
        let indices = indices.filter(|indices| indices.len() <= SPEC_MAX);
        let indices = indices.ok_or_else(|| wrong("expected up to 64 numbers with `:` between them"))?;
        if name.is_empty() {
            return Err(wrong("expected a type with a name"));
        }
        let type_name = essential(name).to_string();
        let mut spec = Spec { root: relocation.type_id, ..Spec::default() };
        let mut path = String::new();
        if kind.is_enumval() {
            let Kind::Enum { values, .. } = local.kind(relocation.type_id) else {
                return Err(wrong("expected an enumeration"));
            };
            spec.value = indices[0] as usize;
            let value = values.get(spec.value).filter(|_| indices.len() == 1);
            let (value, _) = value.ok_or_else(|| wrong("expected the index of a constant"))?;
            path = essential(local.string(*value)).to_string();
        } else if kind.is_field() {
            let names = field_spec(local, &mut spec, &indices).ok_or_else(|| wrong("expected a field of that type"))?;
            path = names.join(".");
        } else if indices != [0] {
            return Err(wrong("expected `0`"));
        }
        Ok(Relocation { kind, spec, type_name, path })
    }

    /// Returns the kind of request.
    pub fn kind(&self) -> RelocationKind {
        self.kind
    }

    /// Whether the field is read or written, or its address taken.
    pub fn uses_field(&self) -> bool {
        matches!(self.kind, FieldByteOffset | FieldLshiftU64 | FieldRshiftU64)
    }

    /// It in words: `byte_off of task_struct.scx.dsq_vtime`.
    pub fn describe(&self) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{} of {}{dot}{}", self.kind.name(), self.type_name, self.path)
    }

    /// Whether the relocation is of a field of a kernel's type, or one that could be.
    pub fn is_field(&self) -> bool {
        self.kind.is_field()
    }

    /// Returns the result with a kernel's types (`bpf_core_calc_relo_insn()`).
    pub(crate) fn answer(&self, local: &Btf, kernel: &Btf, budget: &Budget) -> Result<Answer, String> {
        if self.kind == TypeIdLocal {
            let id = u64::from(self.spec.root);
            return Ok(Answer {
                old: id,
                new: Some(id),
                validate: false,
                sizes: (0, 0),
                fail_size: false,
                exists: true,
            });
        }
        let mut found: Option<(Spec, Answer)> = None;
        for candidate in kernel.candidates(&self.type_name) {
            if !kinds_compatible(&local.get(self.spec.root).kind, &kernel.get(*candidate).kind) {
                continue;
            }
            let Some(spec) = self.match_spec(local, kernel, *candidate, budget)? else { continue };
            let answer = self.calculate(local, kernel, Some(&spec))?;
            match &found {
                None => found = Some((spec, answer)),
                Some((first, known)) => {
                    if first.bit_offset != spec.bit_offset || known.new != answer.new {
                        return Err(format!("{}: the kernel has several such types, and they differ", self.describe()));
                    }
                }
            }
        }
        match found {
            Some((_, answer)) => Ok(answer),
            None => self.calculate(local, kernel, None),
        }
    }

    /// The same access of a type of the kernel (`bpf_core_spec_match()`); `None` if that has no such.
    fn match_spec(&self, local: &Btf, kernel: &Btf, candidate: u32, budget: &Budget) -> Result<Option<Spec>, String> {
        budget.charge(64, "relocations").map_err(|error| error.to_string())?;
        let mut target = Spec { root: candidate, ..Spec::default() };
        if !self.kind.is_field() && !self.kind.is_enumval() {
            let root = self.spec.root;
            let matches = match self.kind {
                TypeMatches => types_match(local, root, kernel, (candidate, false), LEVELS, budget),
                _ => types_compatible(local, root, kernel, candidate, LEVELS),
            };
            let too_deep = || format!("{}: the types are nested too deep, or have too many members", self.describe());
            let matches = matches.ok_or_else(too_deep)?;
            return Ok(matches.then_some(target));
        }
        if self.kind.is_enumval() {
            let Kind::Enum { values, .. } = kernel.kind(candidate) else { return Ok(None) };
            let value = values.iter().position(|(name, _)| essential(kernel.string(*name)) == self.path);
            target.value = value.unwrap_or_default();
            return Ok(value.map(|_| target));
        }
        let mut id = candidate;
        for (place, step) in self.spec.steps.iter().enumerate() {
            if step.named {
                match match_member(local, *step, kernel, id, &mut target, (LEVELS, budget)) {
                    Some(next) => id = next,
                    None => return Ok(None),
                }
                continue;
            }
            if place > 0 {
                let Kind::Array { element, len, .. } = *kernel.kind(id) else { return Ok(None) };
                if !is_flexible(kernel, target.steps.last(), len) && step.index >= len {
                    return Ok(None);
                }
                id = kernel.skip(element);
            } else {
                id = kernel.skip(id);
            }
            target.steps.push(Step { type_id: id, index: step.index, named: false });
            let Some(size) = kernel.size(id) else { return Ok(None) };
            let bits = size.checked_mul(8).and_then(|bits| bits.checked_mul(u64::from(step.index)));
            let bits = bits.and_then(|bits| target.bit_offset.checked_add(bits));
            target.bit_offset = bits.ok_or_else(|| format!("{}: an offset of 64 bits", self.describe()))?;
        }
        Ok(Some(target))
    }

    /// `bpf_core_calc_relo()`, of a candidate or, if there is none, of `None`.
    fn calculate(&self, local: &Btf, kernel: &Btf, target: Option<&Spec>) -> Result<Answer, String> {
        let mut answer =
            Answer { old: 0, new: None, validate: true, sizes: (0, 0), fail_size: false, exists: target.is_some() };
        let cannot = || format!("{} does not exist in this kernel", self.describe());
        if self.kind.is_field() {
            if self.kind == FieldExists {
                answer.old = 1;
                answer.new = Some(u64::from(target.is_some()));
                return Ok(answer);
            }
            let old = field(local, &self.spec, self.kind).ok_or_else(cannot)?;
            (answer.old, answer.validate, answer.sizes.0) = (old.value, old.validate, old.size);
            let Some(target) = target else { return Ok(answer) };
            let new = field(kernel, target, self.kind).ok_or_else(cannot)?;
            (answer.new, answer.sizes.1) = (Some(new.value), new.size);
            // It is safe to read pointers of 32 bits, and unsigned numbers, of another size.
            if old.size != new.size {
                let (a, b) = (local.kind(old.type_id), kernel.kind(new.type_id));
                let ints = |kind: &Kind| matches!(kind, Kind::Int { encoding, .. } if encoding & 1 == 0);
                let pointers = matches!((a, b), (Kind::Ptr(_), Kind::Ptr(_)));
                answer.fail_size = !(pointers || ints(a) && ints(b));
            }
            return Ok(answer);
        }
        let value = |btf: &Btf, spec: &Spec| match self.kind {
            TypeIdTarget => Some(u64::from(spec.root)),
            TypeExists | TypeMatches | EnumvalExists => Some(1),
            TypeSize => btf.size(spec.root),
            EnumvalValue => match btf.kind(spec.root) {
                Kind::Enum { values, .. } => values.get(spec.value).map(|(_, value)| *value),
                _ => None,
            },
            _ => None,
        };
        answer.old = value(local, &self.spec).ok_or_else(cannot)?;
        // The compiler does not know the kernel's numbers (`bpf_core_calc_type_relo()`).
        answer.validate = self.kind != TypeIdTarget;
        answer.new = match target {
            Some(target) => Some(value(kernel, target).ok_or_else(cannot)?),
            None => self.kind.asks().then_some(0),
        };
        Ok(answer)
    }
}

/// Fills the steps of an access of the object's own types; the names of fields.
fn field_spec<'a>(btf: &'a Btf, spec: &mut Spec, indices: &[u32]) -> Option<Vec<&'a str>> {
    let mut names = Vec::new();
    let mut id = btf.skip(spec.root);
    spec.steps.push(Step { type_id: id, index: indices[0], named: false });
    spec.bit_offset = btf.size(id)?.checked_mul(8)?.checked_mul(u64::from(indices[0]))?;
    for index in &indices[1..] {
        id = btf.skip(id);
        match &btf.get(id).kind {
            Kind::Struct(composite) | Kind::Union(composite) => {
                let member = composite.members.get(*index as usize)?;
                spec.bit_offset = spec.bit_offset.checked_add(u64::from(member.bit_offset))?;
                let name = btf.string(member.name);
                if !name.is_empty() {
                    spec.steps.push(Step { type_id: id, index: *index, named: true });
                    names.push(name);
                }
                id = member.kind;
            }
            Kind::Array { element, len, .. } => {
                let flexible = is_flexible(btf, spec.steps.last(), *len);
                if !flexible && index >= len {
                    return None;
                }
                id = btf.skip(*element);
                spec.steps.push(Step { type_id: id, index: *index, named: false });
                let bits = btf.size(id)?.checked_mul(8)?.checked_mul(u64::from(*index))?;
                spec.bit_offset = spec.bit_offset.checked_add(bits)?;
            }
            _ => return None,
        }
    }
    Some(names)
}

/// Whether an array is the last member of a struct, without a length (`is_flex_arr()`).
fn is_flexible(btf: &Btf, last: Option<&Step>, len: u32) -> bool {
    let Some(step) = last.filter(|step| step.named && len == 0) else { return false };
    let composite = btf.get(step.type_id).kind.composite();
    composite.is_some_and(|composite| step.index as usize + 1 == composite.members.len())
}

/// The member of a kernel's struct that has the name of `step`, also within members without one
/// (`bpf_core_match_member()`). Returns its type.
fn match_member(
    local: &Btf,
    step: Step,
    kernel: &Btf,
    id: u32,
    target: &mut Spec,
    (levels, budget): (u32, &Budget),
) -> Option<u32> {
    let levels = levels.checked_sub(1)?;
    let local_member = local.get(step.type_id).kind.composite()?.members.get(step.index as usize)?;
    let id = kernel.skip(id);
    for (index, member) in kernel.get(id).kind.composite()?.members.iter().enumerate() {
        if !budget.can(8) {
            return None;
        }
        let before = target.bit_offset;
        target.bit_offset = before.checked_add(u64::from(member.bit_offset))?;
        let name = kernel.string(member.name);
        if name.is_empty() {
            if let Some(next) = match_member(local, step, kernel, member.kind, target, (levels, budget)) {
                return Some(next);
            }
        } else if name == local.string(local_member.name) {
            target.steps.push(Step { type_id: id, index: index as u32, named: true });
            return fields_compatible(local, local_member.kind, kernel, member.kind).then_some(member.kind);
        }
        target.bit_offset = before;
    }
    None
}

/// `btf_kind_core_compat()`. A reduced BTF has declarations of structs where the kernel's has the structs.
fn kinds_compatible(local: &Kind, kernel: &Kind) -> bool {
    match (local, kernel) {
        (Kind::Enum { .. }, Kind::Enum { .. }) => true,
        (Kind::Modifier(a, _), Kind::Modifier(b, _)) => a == b,
        _ => std::mem::discriminant(local) == std::mem::discriminant(kernel),
    }
}

/// `bpf_core_fields_are_compat()`.
fn fields_compatible(local: &Btf, a: u32, kernel: &Btf, b: u32) -> bool {
    let (mut a, mut b) = (a, b);
    for _ in 0..LEVELS {
        (a, b) = (local.skip(a), kernel.skip(b));
        let (of_a, of_b) = (&local.get(a).kind, &kernel.get(b).kind);
        if of_a.composite().is_some() && of_b.composite().is_some() {
            return true;
        }
        if !kinds_compatible(of_a, of_b) {
            return false;
        }
        match (of_a, of_b) {
            (Kind::Array { element, .. }, Kind::Array { element: other, .. }) => (a, b) = (*element, *other),
            (Kind::Int { offset, .. }, Kind::Int { offset: other, .. }) => return *offset == 0 && *other == 0,
            (Kind::Ptr(_), _) | (Kind::Float(_), _) => return true,
            (Kind::Fwd { .. }, _) | (Kind::Enum { .. }, _) => {
                let (a, b) = (essential(local.name_of(a)), essential(kernel.name_of(b)));
                return a.is_empty() || b.is_empty() || a == b;
            }
            _ => return false,
        }
    }
    false
}

/// `__bpf_core_types_are_compat()`; `None` if they are too deep.
pub fn types_compatible(local: &Btf, a: u32, kernel: &Btf, b: u32, levels: u32) -> Option<bool> {
    let levels = levels.checked_sub(1)?;
    let (mut a, mut b) = (a, b);
    for _ in 0..LEVELS {
        (a, b) = (local.skip(a), kernel.skip(b));
        let (of_a, of_b) = (&local.get(a).kind, &kernel.get(b).kind);
        match (of_a, of_b) {
            // What a reduced BTF left out is a declaration in it.
            (Kind::Struct(_), Kind::Fwd { union: false }) | (Kind::Union(_), Kind::Fwd { union: true }) => {
                return Some(true);
            }
            (Kind::Int { offset, .. }, Kind::Int { offset: other, .. }) => return Some(*offset == 0 && *other == 0),
            (Kind::Ptr(to), Kind::Ptr(other)) => (a, b) = (*to, *other),
            (Kind::Array { element, .. }, Kind::Array { element: other, .. }) => (a, b) = (*element, *other),
            (Kind::FuncProto { ret, params }, Kind::FuncProto { ret: other_ret, params: others }) => {
                if params.len() != others.len() {
                    return Some(false);
                }
                for ((_, param), (_, other)) in params.iter().zip(others) {
                    let (param, other) = (local.skip(*param), kernel.skip(*other));
                    if !types_compatible(local, param, kernel, other, levels)? {
                        return Some(false);
                    }
                }
                (a, b) = (*ret, *other_ret);
            }
            (Kind::Void | Kind::Struct(_) | Kind::Union(_) | Kind::Enum { .. } | Kind::Fwd { .. }, _) => {
                return Some(kinds_compatible(of_a, of_b));
            }
            _ => return Some(false),
        }
    }
    None
}

/// Whether a program can call a kernel function of the prototype `kernel_proto` by its own `local_proto`.
///
/// The argument `aux` of a function with `KF_IMPLICIT_ARGS` is the verifier's. The prototype that programs see has
/// none, but in kernels whose tools did not know the flag.
pub fn arguments_compatible(local: &Btf, local_proto: u32, kernel: &Btf, kernel_proto: u32) -> bool {
    let compatible = |a: u32, b: u32| types_compatible(local, a, kernel, b, LEVELS) == Some(true);
    let (Kind::FuncProto { ret, params }, Kind::FuncProto { ret: other_ret, params: others }) =
        (&local.get(local_proto).kind, &kernel.get(kernel_proto).kind)
    else {
        return false;
    };
    let is_implicit = |(name, kind): &(u32, u32)| match kernel.kind(*kind) {
        Kind::Ptr(to) => kernel.string(*name) == "aux" && kernel.name_of(kernel.skip(*to)) == "bpf_prog_aux",
        _ => false,
    };
    let explicit = match others.split_last() {
        Some((last, rest)) if is_implicit(last) => rest,
        _ => others,
    };
    params.len() == explicit.len()
        && params.iter().zip(explicit).all(|((_, a), (_, b))| compatible(*a, *b))
        && compatible(*ret, *other_ret)
}

/// `__bpf_core_types_match()`; `None` if they are too deep, or have too many members.
fn types_match(
    local: &Btf,
    a: u32,
    kernel: &Btf,
    (b, behind_pointer): (u32, bool),
    levels: u32,
    budget: &Budget,
) -> Option<bool> {
    let levels = levels.checked_sub(1)?;
    let pairs = |a: usize, b: usize| budget.can(64 + 16 * a as u64 * b as u64).then_some(());
    let (mut a, mut b, mut behind_pointer) = (a, b, behind_pointer);
    let names = |a: u32, b: u32| essential(local.string(a)) == essential(kernel.string(b));
    for _ in 0..LEVELS {
        (a, b) = (local.skip(a), kernel.skip(b));
        let (of_a, of_b) = (local.get(a), kernel.get(b));
        if !names(of_a.name, of_b.name) {
            return Some(false);
        }
        match (&of_a.kind, &of_b.kind) {
            (Kind::Void, Kind::Void) => return Some(true),
            (Kind::Fwd { union }, Kind::Fwd { union: other }) => return Some(union == other),
            (Kind::Fwd { union }, Kind::Struct(_)) => return Some(behind_pointer && !union),
            (Kind::Fwd { union }, Kind::Union(_)) => return Some(behind_pointer && *union),
            (Kind::Struct(_), Kind::Fwd { union: false }) | (Kind::Union(_), Kind::Fwd { union: true }) => {
                return Some(behind_pointer);
            }
            (Kind::Enum { size, values, .. }, Kind::Enum { size: other, values: others, .. }) => {
                pairs(values.len(), others.len())?;
                let all = || values.iter().all(|(a, _)| others.iter().any(|(b, _)| names(*a, *b)));
                return Some(size == other && values.len() <= others.len() && all());
            }
            (Kind::Struct(composite), Kind::Struct(other)) | (Kind::Union(composite), Kind::Union(other)) => {
                if behind_pointer {
                    return Some(true);
                }
                if composite.members.len() > other.members.len() {
                    return Some(false);
                }
                pairs(composite.members.len(), other.members.len())?;
                for member in &composite.members {
                    let mut matched = false;
                    for other in other.members.iter().filter(|other| names(member.name, other.name)) {
                        matched =
                            types_match(local, member.kind, kernel, (other.kind, behind_pointer), levels, budget)?;
                        if matched {
                            break;
                        }
                    }
                    if !matched {
                        return Some(false);
                    }
                }
                return Some(true);
            }
            (Kind::Int { size, encoding, .. }, Kind::Int { size: other, encoding: other_encoding, .. }) => {
                return Some(size == other && encoding & 1 == other_encoding & 1);
            }
            (Kind::Ptr(to), Kind::Ptr(other)) => (a, b, behind_pointer) = (*to, *other, true),
            (Kind::Array { element, len, .. }, Kind::Array { element: other, len: other_len, .. }) => {
                if len != other_len {
                    return Some(false);
                }
                (a, b) = (*element, *other);
            }
            (Kind::FuncProto { ret, params }, Kind::FuncProto { ret: other_ret, params: others }) => {
                if params.len() != others.len() {
                    return Some(false);
                }
                pairs(params.len(), 1)?;
                for ((_, param), (_, other)) in params.iter().zip(others) {
                    if !types_match(local, *param, kernel, (*other, behind_pointer), levels, budget)? {
                        return Some(false);
                    }
                }
                (a, b) = (*ret, *other_ret);
            }
            _ => return Some(false),
        }
    }
    None
}

/// The result of a relocation of a field on one side.
struct Field {
    value: u64,
    validate: bool,
    /// The size of a load or store of it, bytes; 0 for bit-fields.
    size: u64,
    type_id: u32,
}

/// `bpf_core_calc_field_relo()`, of what is there. `None` if it cannot be expressed.
fn field(btf: &Btf, spec: &Spec, kind: RelocationKind) -> Option<Field> {
    let step = spec.steps.last()?;
    // Of arrays a load or store takes one element.
    let element_size = |id: u32| {
        let mut id = btf.skip(id);
        for _ in 0..LEVELS {
            let Kind::Array { element, .. } = &btf.get(id).kind else { break };
            id = btf.skip(*element);
        }
        btf.size(id)
    };
    if !step.named {
        let id = step.type_id;
        return match kind {
            FieldByteOffset => {
                Some(Field { value: spec.bit_offset / 8, validate: true, size: element_size(id)?, type_id: id })
            }
            FieldByteSize => Some(Field { value: btf.size(id)?, validate: true, size: 0, type_id: 0 }),
            _ => None,
        };
    }
    let member = btf.get(step.type_id).kind.composite()?.members.get(step.index as usize)?;
    let (id, bit_offset) = (btf.skip(member.kind), spec.bit_offset);
    let mut bit_size = u64::from(member.bit_size);
    let is_bit_field = bit_size > 0;
    let mut byte_size = btf.size(id)?;
    let mut byte_offset = bit_offset / 8;
    if is_bit_field {
        if !byte_size.is_power_of_two() || byte_size > 8 {
            return None;
        }
        byte_offset = bit_offset / 8 / byte_size * byte_size;
        while bit_offset.checked_add(bit_size)? - byte_offset * 8 > byte_size * 8 {
            if byte_size >= 8 {
                return None;
            }
            byte_size *= 2;
            byte_offset = bit_offset / 8 / byte_size * byte_size;
        }
    } else {
        bit_size = byte_size.checked_mul(8)?;
    }
    let end = bit_offset.checked_add(bit_size)?;
    let mut result = Field { value: 0, validate: !is_bit_field, size: 0, type_id: 0 };
    match kind {
        FieldByteOffset => {
            result.value = byte_offset;
            if !is_bit_field {
                (result.size, result.type_id) = (element_size(id)?, id);
            }
        }
        FieldByteSize => result.value = byte_size,
        FieldSigned => (result.value, result.validate) = (u64::from(btf.is_signed(id)), true),
        // The kernel's arithmetic wraps around for fields that are longer than 64 bits.
        FieldLshiftU64 => result.value = 64u64.wrapping_sub(end - byte_offset * 8),
        FieldRshiftU64 => (result.value, result.validate) = (64u64.wrapping_sub(bit_size), true),
        _ => return None,
    }
    Some(result)
}

/// Puts an answer into the instruction at `at`, or poisons it (`bpf_core_patch_insn()`). Returns whether it is
/// poisoned.
pub fn patch(insns: &mut [Insn], at: usize, answer: &Answer) -> Result<bool, String> {
    const LD_IMM64: u8 = 0x18;
    let Some(insn) = insns.get(at).copied() else { return Err("an instruction that does not exist".to_string()) };
    let wide = insn.code == LD_IMM64;
    let class = insn.code & 7;
    let mut poison = answer.new.is_none();
    let new = answer.new.unwrap_or_default();
    let unexpected = |what: &str, there: i64| format!("{what} is {there}; expected {}", answer.old);
    if !poison {
        match class {
            // ALU, ALU64
            4 | 7 => {
                if insn.code & 8 != 0 {
                    return Err(format!(
                        "instruction {:#04x} takes a register; expected one that takes a number",
                        insn.code
                    ));
                }
                if answer.validate && insn.imm as u32 != answer.old as u32 {
                    return Err(unexpected("its number", i64::from(insn.imm)));
                }
                insns[at].imm = new as i32;
            }
            // LDX, ST, STX
            1..=3 => {
                if answer.validate && insn.off as i64 as u64 != answer.old {
                    return Err(unexpected("its offset", i64::from(insn.off)));
                }
                let off = i16::try_from(new).map_err(|_| format!("offset {new} does not fit into 16 bits"))?;
                if answer.fail_size {
                    poison = true;
                } else {
                    insns[at].off = off;
                    if answer.sizes.0 != answer.sizes.1 {
                        insns[at].code = resized(insn.code, answer.sizes)?;
                    }
                }
            }
            0 if wide => {
                let Some(high) = insns.get(at + 1).copied() else { return Err("half a load of 64 bits".to_string()) };
                let there = u64::from(high.imm as u32) << 32 | u64::from(insn.imm as u32);
                if answer.validate && there != answer.old {
                    return Err(unexpected("its number", there as i64));
                }
                insns[at].imm = new as i32;
                insns[at + 1].imm = (new >> 32) as i32;
            }
            _ => return Err(format!("instruction {:#04x}; expected one with a number or an offset", insn.code)),
        }
    }
    if poison {
        for at in at..=at + usize::from(wide) {
            let Some(insn) = insns.get_mut(at) else { break };
            *insn = Insn { code: 0x85, dst: 0, src: 0, off: 0, imm: POISON };
        }
    }
    Ok(poison)
}

/// The code of a load or store of the kernel's size.
fn resized(code: u8, (old, new): (u64, u64)) -> Result<u8, String> {
    const SIZES: [(u8, u64); 4] = [(0x00, 4), (0x08, 2), (0x10, 1), (0x18, 8)];
    let there = SIZES.iter().find(|(bits, _)| code & 0x18 == *bits).map_or(0, |(_, bytes)| *bytes);
    if there != old {
        return Err(format!("a load or store of {there} bytes; expected {old}, the size of the field"));
    }
    let bits = SIZES.iter().find(|(_, bytes)| *bytes == new).map(|(bits, _)| *bits);
    let bits = bits.ok_or_else(|| format!("a field of {new} bytes cannot be loaded or stored in one instruction"))?;
    Ok(code & !0x18 | bits)
}
