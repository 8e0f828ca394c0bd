//! Why a program ends before its end, and where.

use crate::image::Line;
use crate::memory::{AccessKind, BadAccess, NoMemory};
use std::fmt;

/// The kind of fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A read of what is in no region.
    BadRead(BadAccess),
    /// A write to what is in no region.
    BadWrite(BadAccess),
    /// A write to what may only be read.
    ReadOnly(BadAccess),
    /// The call executed as many instructions as it may.
    Endless {
        /// How many.
        insns: u64,
    },
    /// Helpers and kernel functions have done as much work as they may, in this call or in all that were made.
    Work {
        /// In this call.
        call: bool,
    },
    /// The machine's caller has asked for the end ([`Machine::set_stop`](crate::machine::Machine::set_stop)).
    Stopped,
    /// More functions called each other than the kernel has stack frames for.
    StackOverflow {
        /// How many may.
        frames: u32,
    },
    /// An instruction that the ISA does not have.
    UnknownInstruction {
        /// Its code.
        code: u8,
        /// The reason why it is wrong.
        what: &'static str,
    },
    /// An instruction whose relocation the kernel's types do not satisfy: the relocation.
    Poisoned(String),
    /// A call of a weak kernel function that the kernel does not have, or of a number that is no function.
    Absent(String),
    /// More memory than the limit.
    NoMemory(NoMemory),
    /// A lock that is not held is unlocked, one that is held is locked, or a program ends with one held.
    Lock(String),
    /// An object is released that has been, or that never was one.
    Object(String),
    /// A helper or kernel function got what the verifier would not let through.
    Argument {
        /// The function.
        function: String,
        /// The argument that it expected.
        expected: String,
    },
    /// A kernel function of the caller's cannot go on: its words.
    Kernel(String),
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::BadRead(bad) | FaultKind::BadWrite(bad) | FaultKind::ReadOnly(bad) => bad.fmt(f),
            FaultKind::Endless { insns } => {
                write!(f, "the call has executed {insns} instructions, the limit for one call")
            }
            FaultKind::Work { call } => {
                let whose = if *call { "this call" } else { "all calls so far" };
                let more = if *call { "as one call may" } else { "as this number of instructions allows" };
                write!(f, "the helpers and kernel functions of {whose} have done as much work {more}")
            }
            FaultKind::Stopped => f.write_str("the program was stopped"),
            FaultKind::StackOverflow { frames } => {
                write!(f, "call of a function from the last of {frames} stack frames")
            }
            FaultKind::UnknownInstruction { code, what } => write!(f, "instruction {code:#04x}: {what}"),
            FaultKind::Poisoned(relocation) => {
                write!(f, "instruction whose relocation does not fit this kernel's types: {relocation}")
            }
            FaultKind::Absent(name) => write!(f, "call of {name}(), which this kernel does not have"),
            FaultKind::NoMemory(no) => no.fmt(f),
            FaultKind::Lock(text) | FaultKind::Object(text) | FaultKind::Kernel(text) => f.write_str(text),
            FaultKind::Argument { function, expected } => write!(f, "{function}() expected {expected}"),
        }
    }
}

/// Where a call was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The function that called.
    pub function: String,
    /// The line of the call, if the object has it.
    pub place: Option<Line>,
}

/// Why a program ended before its end, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The function in which it did; empty until the machine has filled it in.
    pub program: String,
    /// The line, if the object has it.
    pub place: Option<Box<Line>>,
    /// The functions that called it, the innermost first.
    pub calls: Vec<Caller>,
}

impl Fault {
    /// A fault; the machine fills in where.
    pub fn new(kind: FaultKind) -> Self {
        Fault { kind, program: String::new(), place: None, calls: Vec::new() }
    }

    /// A fault of a kernel function: why it cannot go on.
    pub fn kernel(text: impl Into<String>) -> Self {
        Fault::new(FaultKind::Kernel(text.into()))
    }

    /// A fault of an argument: the function and what it expected.
    pub fn argument(function: impl Into<String>, expected: impl Into<String>) -> Self {
        Fault::new(FaultKind::Argument { function: function.into(), expected: expected.into() })
    }
}

impl From<BadAccess> for Fault {
    fn from(bad: BadAccess) -> Self {
        Fault::new(match bad {
            bad if bad.read_only => FaultKind::ReadOnly(bad),
            bad if bad.kind == AccessKind::Write => FaultKind::BadWrite(bad),
            bad => FaultKind::BadRead(bad),
        })
    }
}

impl From<NoMemory> for Fault {
    fn from(no: NoMemory) -> Self {
        Fault::new(FaultKind::NoMemory(no))
    }
}

/// A line's file without its folders, and its number.
fn short(line: &Line) -> String {
    let file = line.file.rsplit('/').next().unwrap_or_default();
    format!("{file}:{}", line.line)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = &self.place {
            write!(f, "{}: ", short(line))?;
        }
        write!(f, "{}", self.kind)?;
        if !self.program.is_empty() {
            write!(f, ", in {}()", self.program)?;
        }
        for caller in &self.calls {
            write!(f, ", called by {}()", caller.function)?;
            if let Some(line) = &caller.place {
                write!(f, " at {}", short(line))?;
            }
        }
        if let Some(line) = self.place.as_ref().filter(|line| !line.text.trim().is_empty()) {
            write!(f, "\n    {}", line.text.trim())?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
