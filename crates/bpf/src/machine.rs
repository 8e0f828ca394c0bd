//! The machine: an image's instructions, memory and maps, and the calls of its functions.
//!
//! The kernel's verifier is not run. What it would prove, the machine checks while a program runs: each access, each
//! lock, each reference, the number of instructions. A program that the verifier refuses may well run here; one that
//! faults here has an error on the way that it took.
//!
//! A call runs at one moment on one CPU, and nothing else runs meanwhile: there is no contention, and a lock that is
//! held is one that the same call took. [`Machine::take_counts`] says what a call did, for its caller to turn into
//! time.
//!
//! Two budgets bound what programs make the host do. Instructions are the time of a program in what is simulated, and
//! [`Limits::insns`] bounds those of a call. What helpers and kernel functions do besides, a copy of a mebibyte or the
//! search of a tree, takes no such time, but the host's: [`Machine::work`] is told of it before it is done, and
//! [`Limits::work`] bounds it.

use crate::decode::{Decoded, decode, stack_used};
pub use crate::fault::{Caller, Fault, FaultKind};
use crate::helpers;
use crate::image::{Image, Map, MapKind, POISON};
use crate::kfuncs::{self, Graph, Objects};
use crate::maps::{self, Maps, Value};
use crate::memory::Memory;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The stack frames that functions which call each other may have (`MAX_CALL_FRAMES`).
pub const MAX_CALL_FRAMES: u32 = 8;

/// A stack frame, bytes (`MAX_BPF_STACK`). The kernel gives them to all frames of a program together, unless the stack
/// is private; here each frame has them.
pub const MAX_BPF_STACK: u32 = 512;

/// The iterations that a loop of `bpf_loop()`, `may_goto` or numbers may have (`BPF_MAX_LOOPS`).
pub const BPF_MAX_LOOPS: u64 = 8 << 20;

/// The most locks that a program may hold at a time (`RES_NR_HELD`; of the other kind of locks it is one).
pub const MAX_HELD_LOCKS: usize = 31;

/// How much work each call from outside adds to what a machine may do in all, for an operation that does little else.
const WORK_OF_CALL: u64 = 4096;

/// How much work each instruction adds.
const WORK_OF_INSN: u64 = 16;

/// The work of entering a function by its address.
pub(crate) const WORK_OF_CALLBACK: u64 = 4;

/// The size of a context, bytes: 12 arguments.
const CONTEXT_LEN: u32 = 12 * 8;

/// How deep calls may be in each other, by kernel functions that call programs.
const MAX_NESTED_CALLS: u32 = 16;

/// The limits on what programs may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The instructions of one call from outside, with all functions that it calls. The kernel's verifier follows up to
    /// a million and loops up to [`BPF_MAX_LOOPS`] times, so that this limit is for what no scheduler should do: 100
    /// million are a few tens of milliseconds.
    pub insns: u64,
    /// The work of helpers and kernel functions in one call from outside, with all calls that are made within it: about
    /// as many nanoseconds, 8 bytes that are copied or an element that is looked at. All calls of a machine together
    /// may do four times that, and beyond it 4,096 for each call and 16 for each instruction: what does much and takes
    /// no simulated time ends, too.
    pub work: u64,
    /// The memory of all regions and of what the machine keeps besides, bytes, beyond which programs and maps get none.
    /// All machines of a process share [`PROCESS_MEMORY`](crate::memory::PROCESS_MEMORY).
    pub memory: u64,
    /// The objects that programs may hold at a time: cpumasks, `bpf_obj_new()`. More is a leak.
    pub objects: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { insns: 100_000_000, work: 200_000_000, memory: 1 << 30, objects: 1 << 19 }
    }
}

/// Counts of the work of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions; a load of 64 bits is one.
    pub insns: u64,
    /// Calls from outside, and callbacks.
    pub calls: u64,
    /// Calls of helpers, those that follow among them.
    pub helpers: u64,
    /// Lookups in maps and in local storage.
    pub map_lookups: u64,
    /// Updates and deletions of elements of maps.
    pub map_updates: u64,
    /// Atomic operations.
    pub atomics: u64,
    /// Locks taken.
    pub locks: u64,
    /// Calls of the machine's own kernel functions.
    pub own_kfuncs: u64,
    /// Calls of the caller's kernel functions.
    pub kfuncs: u64,
    /// Reads through NULL, which gave 0.
    pub null_reads: u64,
}

/// The needs of an image that a machine does not support.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Maps: their names and kinds, or what is wrong with them.
    pub maps: Vec<String>,
    /// Helpers, with the functions that call them.
    pub helpers: Vec<String>,
    /// Kernel functions.
    pub kfuncs: Vec<String>,
    /// Instructions.
    pub insns: Vec<String>,
}

impl Refused {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty() && self.helpers.is_empty() && self.kfuncs.is_empty() && self.insns.is_empty()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("maps", &self.maps),
            ("helpers", &self.helpers),
            ("kernel functions", &self.kfuncs),
            ("instructions", &self.insns),
        ];
        f.write_str("the object needs features that the machine does not have:")?;
        for (what, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
            write!(f, "\n{what}: {}", list.join("; "))?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

/// The parts of a kernel that are not BPF's own, which the caller of a machine provides.
///
/// Addresses of kernel objects are of regions that the caller has made ([`Memory::region`]) and keeps up to date.
pub trait Kernel {
    /// A kernel function that the machine does not do itself: its number in [`Image::kfuncs`]. It may call programs.
    fn kfunc(&mut self, machine: &mut Machine, kfunc: u32, args: [u64; 5]) -> Result<u64, Fault>;

    /// Now, ns: `bpf_ktime_get_ns()` and its kin.
    fn ktime_ns(&mut self) -> u64;

    /// The current CPU.
    fn smp_processor_id(&mut self) -> u32;

    /// The next random number.
    fn prandom_u32(&mut self) -> u32;

    /// The address of the current task's `task_struct`.
    fn current_task(&mut self) -> u64;

    /// `tgid << 32 | pid` of the current task; `None` if the caller does not say, which is a fault.
    fn current_pid_tgid(&mut self) -> Option<u64> {
        None
    }

    /// `jiffies_64`; `None` if the caller does not say, which is a fault.
    fn jiffies64(&mut self) -> Option<u64> {
        None
    }

    /// The address of a kernel variable, which the caller brings up to date: of a CPU's own one if there is a `cpu`. A
    /// per-CPU variable has none without.
    fn ksym(&mut self, machine: &mut Machine, name: &str, cpu: Option<u32>) -> Option<u64>;

    /// `bpf_timer_start()`: calls [`Machine::call_timer`] for `timer` in `nsecs` or, by `flags`
    /// (`BPF_F_TIMER_ABS` 1, `BPF_F_TIMER_CPU_PIN` 2), at that time or on this CPU. A timer that runs already is
    /// started anew. `done` is what was done up to here since the counts were last taken ([`Machine::take_counts`]);
    /// `function` is the timer's callback and its map.
    fn timer_start(&mut self, done: &Counts, timer: u64, function: (u32, u32), nsecs: u64, flags: u64);

    /// `bpf_timer_cancel()`: whether it ran.
    fn timer_cancel(&mut self, timer: u64) -> bool;

    /// A reference to an object of the kernel's is given back, because the map's value or the object that had it has
    /// gone (`bpf_obj_free_fields()`).
    fn kptr_release(&mut self, machine: &mut Machine, addr: u64) {
        let _ = (machine, addr);
    }

    /// `bpf_printk()`: a line for the kernel's trace.
    fn printk(&mut self, text: String);
}

/// The cost of a timer besides its place in a value, bytes, including what the caller keeps of it.
pub(crate) const TIMER_COST: u64 = 256;

/// A `struct bpf_timer`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub(crate) map: u32,
    pub(crate) callback: Option<u32>,
}

/// A function that called another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The instruction after the call.
    pub(crate) back: u32,
    pub(crate) saved: [u64; 4],
    pub(crate) may_goto: u32,
}

/// An image that can be run.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) image: Arc<Image>,
    pub(crate) code: Arc<[Decoded]>,
    /// The part of its stack frame that each function uses, bytes.
    stacks_used: Arc<[u32]>,
    pub(crate) memory: Memory,
    pub(crate) maps: Maps,
    pub(crate) limits: Limits,
    pub(crate) nr_cpus: u32,
    pub(crate) counts: Counts,
    /// The instructions that the current call may still execute.
    pub(crate) left: i64,
    /// The work that the call from outside may still do.
    work_left: i64,
    /// The work that all calls may still do, in time earned by calls and instructions.
    work_in_all: i64,
    /// Set from outside to end what runs.
    stop: Option<&'static AtomicBool>,
    /// The callers, of all calls that are in each other.
    pub(crate) frames: Vec<Frame>,
    /// The regions of stack frames, by depth.
    stacks: Vec<u64>,
    /// The depth of the next stack frame.
    pub(crate) depth: u32,
    /// The depth at which the current call began: frames below are of the calls around it.
    pub(crate) base: u32,
    nested: u32,
    /// The regions of contexts, by nesting, and how many arguments are in them.
    contexts: Vec<(u64, usize)>,
    /// The names of per-CPU kernel variables before they are requested on a CPU: the first of a region for each.
    pub(crate) ksyms: Vec<u64>,
    pub(crate) objects: Objects,
    pub(crate) graph: Graph,
    pub(crate) timers: BTreeMap<u64, Timer>,
    pub(crate) running_timer: Option<u64>,
    /// The locks that are held, in the order in which they were taken.
    pub(crate) locks: Vec<u64>,
}

impl Machine {
    /// Decodes an image and makes its maps, for `nr_cpus` CPUs. `kernel_has` says which kernel functions the caller's
    /// [`Kernel`] has. All that the machine or the kernel lacks is in one error.
    pub fn new(
        mut image: Image,
        limits: &Limits,
        nr_cpus: u32,
        kernel_has: &dyn Fn(&str) -> bool,
    ) -> Result<Self, Refused> {
        let mut refused = Refused::default();
        let mut memory = Memory::new(limits.memory);
        let mut maps = Maps::new(nr_cpus);
        for map in &mut image.maps {
            let data = std::mem::take(&mut map.data);
            if let Err(text) = maps.create(Map { data, ..map.clone() }, &mut memory) {
                refused.maps.push(text);
            }
        }
        refused.helpers = unknown_helpers(&image);
        for kfunc in &image.kfuncs {
            if !kfuncs::is_own(&kfunc.name) && !kernel_has(&kfunc.name) {
                refused.kfuncs.push(kfunc.name.clone());
            }
        }
        let code = match decode(&image, &maps) {
            Ok(code) => code,
            // Without all of its maps it cannot be decoded.
            Err(_) if !refused.maps.is_empty() => Vec::new(),
            Err(problems) => {
                refused.insns = problems;
                Vec::new()
            }
        };
        if !refused.is_empty() {
            return Err(refused);
        }
        let ksyms =
            image.ksyms.iter().map(|name| memory.region(&format!("variable {name} without a CPU"), 0)).collect();
        let stacks_used: Vec<u32> =
            image.functions.iter().map(|function| stack_used(&image, function.start, function.len)).collect();
        Ok(Machine {
            image: Arc::new(image),
            code: code.into(),
            stacks_used: stacks_used.into(),
            memory,
            maps,
            limits: limits.clone(),
            nr_cpus,
            counts: Counts::default(),
            left: 0,
            work_left: signed(limits.work),
            work_in_all: signed(limits.work.saturating_mul(4)),
            stop: None,
            frames: Vec::new(),
            stacks: Vec::new(),
            depth: 0,
            base: 0,
            nested: 0,
            contexts: Vec::new(),
            ksyms,
            objects: Objects::default(),
            graph: Graph::default(),
            timers: BTreeMap::new(),
            running_timer: None,
            locks: Vec::new(),
        })
    }

    /// Returns the image that it runs. The maps' data is no longer in it: it is in the memory.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// A flag that ends what runs once it is set, by a [`FaultKind::Stopped`]. The machine looks at it whenever it does
    /// work, calls a program or a callback.
    pub fn set_stop(&mut self, stop: &'static AtomicBool) {
        self.stop = Some(stop);
    }

    /// Takes work from what may still be done, before it is done. It takes no simulated time. A unit is about a
    /// nanosecond of the host's: 8 bytes of a copy, an element of a list.
    ///
    /// # Errors
    /// Fails if there is not as much left, or if all is to stop.
    #[inline]
    pub fn work(&mut self, units: u64) -> Result<(), Fault> {
        let units = signed(units);
        self.work_left = self.work_left.saturating_sub(units);
        self.work_in_all = self.work_in_all.saturating_sub(units);
        if self.work_left < 0 || self.work_in_all < 0 || self.is_to_stop() {
            return Err(self.no_more_work());
        }
        Ok(())
    }

    /// As [`Machine::work`], of bytes that are copied or compared.
    #[inline]
    pub(crate) fn work_on(&mut self, bytes: u64) -> Result<(), Fault> {
        self.work(bytes / 8)
    }

    fn is_to_stop(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    #[cold]
    fn no_more_work(&self) -> Fault {
        Fault::new(match self.is_to_stop() {
            true => FaultKind::Stopped,
            false if self.work_left < 0 => FaultKind::Work { call: true },
            false => FaultKind::Work { call: false },
        })
    }

    /// How many CPUs there are.
    pub fn nr_cpus(&self) -> u32 {
        self.nr_cpus
    }

    /// The memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The memory, to be written.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The number of a function.
    pub fn function(&self, name: &str) -> Option<u32> {
        self.image.functions.iter().position(|function| function.name == name).map(|at| at as u32)
    }

    /// Returns the counts of the calls since this was last called.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// Calls a function with up to 5 arguments: its result.
    pub fn call<K: Kernel>(&mut self, kernel: &mut K, function: u32, args: &[u64]) -> Result<u64, Fault> {
        let Some(start) = self.image.functions.get(function as usize).map(|function| function.start) else {
            return Err(Fault::new(FaultKind::Absent(format!("function {function}"))));
        };
        let used = self.stacks_used[function as usize];
        let mut registers = [0; 5];
        match registers.get_mut(..args.len()) {
            Some(registers) => registers.copy_from_slice(args),
            None => return Err(Fault::argument("call", "up to 5 arguments")),
        }
        self.call_at(kernel, start, used, registers)
    }

    /// Calls a program of a kernel struct of functions (`SEC("struct_ops")`): it gets a pointer to its arguments.
    pub fn call_ops<K: Kernel>(&mut self, kernel: &mut K, function: u32, args: &[u64]) -> Result<u64, Fault> {
        let nested = self.nested as usize;
        while self.contexts.len() <= nested {
            let context = self.memory.region("arguments", CONTEXT_LEN);
            // Programs write their context nowhere.
            self.memory.set_read_only(context, true);
            self.contexts.push((context, 0));
        }
        let (context, before) = &mut self.contexts[nested];
        let (context, before) = (*context, std::mem::replace(before, args.len()));
        let bytes = self.memory.bytes_mut(context, u64::from(CONTEXT_LEN))?;
        for (place, arg) in bytes.chunks_exact_mut(8).zip(args) {
            place.copy_from_slice(&arg.to_le_bytes());
        }
        // The rest is zero.
        if before > args.len()
            && let Some(rest) = bytes.get_mut(8 * args.len()..)
        {
            rest.fill(0);
        }
        self.call(kernel, function, &[context])
    }

    /// Calls a program of `SEC("syscall")`, as `BPF_PROG_RUN` does: it may write its context.
    pub fn call_syscall<K: Kernel>(&mut self, kernel: &mut K, function: u32, context: &mut [u8]) -> Result<u64, Fault> {
        let len = context.len() as u64;
        let addr = self.memory.region("context", len as u32);
        self.memory.bytes_mut(addr, len)?.copy_from_slice(context);
        let result = self.call(kernel, function, &[addr]);
        context.copy_from_slice(self.memory.bytes(addr, len)?);
        self.memory.free(addr);
        result
    }

    /// Runs the callback of a timer that was started. One that has gone meanwhile, or has no callback, runs nothing.
    pub fn call_timer<K: Kernel>(&mut self, kernel: &mut K, timer: u64) -> Result<u64, Fault> {
        let Some(&Timer { map, callback: Some(callback) }) = self.timers.get(&timer) else { return Ok(0) };
        let Some((element, key, value)) = self.maps.element_of(map, timer) else { return Ok(0) };
        let handle = self.maps.get(map).map_or(0, |map| map.handle);
        let (key, own_key) = self.callback_key(key, element);
        let before = self.running_timer.replace(timer);
        let used = self.stack_used_at(callback);
        let result = self.call_at(kernel, callback, used, [handle, key, value, 0, 0]);
        self.running_timer = before;
        if own_key {
            self.memory.free(key);
        }
        result
    }

    /// The address of an element's key for a callback: an array's index is put somewhere, to be freed.
    pub(crate) fn callback_key(&mut self, key: u64, element: u32) -> (u64, bool) {
        if key != 0 {
            return (key, false);
        }
        let key = self.memory.region("key", 4);
        let _ = self.memory.write_u32(key, element);
        (key, true)
    }

    /// Calls the function that begins at an instruction, from outside. It uses so many bytes of its stack frame.
    fn call_at<K: Kernel>(&mut self, kernel: &mut K, start: u32, used: u32, args: [u64; 5]) -> Result<u64, Fault> {
        if self.nested >= MAX_NESTED_CALLS {
            return Err(Fault::kernel(format!("programs called each other {MAX_NESTED_CALLS} levels deep")));
        }
        if self.nested == 0 {
            self.work_left = signed(self.limits.work);
            let most = signed(self.limits.work.saturating_mul(4));
            self.work_in_all = self.work_in_all.saturating_add(signed(WORK_OF_CALL)).min(most);
        }
        self.work(WORK_OF_CALLBACK)?;
        // What calls within others execute is work of the outermost, too: they do not multiply.
        let insns = signed(self.limits.insns);
        let limit = if self.nested == 0 { insns } else { insns.min(self.work_left) };
        let before = std::mem::replace(&mut self.left, limit);
        let held = self.locks.len();
        let base = std::mem::replace(&mut self.base, self.depth);
        self.nested += 1;
        let code = self.code.clone();
        let result = self.run(kernel, &code, start, used, args);
        self.nested -= 1;
        let executed = limit - self.left;
        self.counts.insns += executed as u64;
        self.work_in_all = self.work_in_all.saturating_add(executed.saturating_mul(signed(WORK_OF_INSN)));
        // What the caller does itself, outside of calls, has a budget of its own.
        self.work_left = match self.nested {
            0 => signed(self.limits.work),
            _ => self.work_left.saturating_sub(executed),
        };
        self.left = before;
        self.depth = self.base;
        self.base = base;
        match result {
            Ok(_) if self.locks.len() > held => {
                let what = format!("the program ended with the lock at {:#x} held", self.locks[held]);
                self.locks.truncate(held);
                let mut fault = Fault::new(FaultKind::Lock(what));
                self.name_fault(&mut fault, start);
                Err(fault)
            }
            Err(fault) => {
                self.locks.truncate(held);
                Err(fault)
            }
            Ok(value) => Ok(value),
        }
    }

    /// Says which function and line a fault was in.
    pub(crate) fn name_fault(&self, fault: &mut Fault, at: u32) {
        let function = self.image.function_of(at).map(|function| function.name.clone()).unwrap_or_default();
        let place = self.image.line(at).cloned();
        if fault.program.is_empty() {
            fault.program = function;
            fault.place = place.map(Box::new);
        } else {
            fault.calls.push(Caller { function, place });
        }
    }

    /// The end of the stack frame at a depth, `used` bytes before it cleared.
    #[inline]
    pub(crate) fn frame(&mut self, depth: u32, used: u32) -> u64 {
        if depth as usize >= self.stacks.len() {
            self.more_stacks(depth);
        }
        let end = self.frame_end(depth);
        if used != 0 {
            self.memory.clear(end - u64::from(used), used);
        }
        end
    }

    #[cold]
    fn more_stacks(&mut self, depth: u32) {
        while self.stacks.len() <= depth as usize {
            let frame = self.memory.region("the stack frame", MAX_BPF_STACK);
            self.stacks.push(frame);
        }
    }

    /// The end of a stack frame that is in use.
    #[inline]
    pub(crate) fn frame_end(&self, depth: u32) -> u64 {
        self.stacks[depth as usize] + u64::from(MAX_BPF_STACK)
    }

    /// Returns the part of its stack frame that the function that begins at an instruction uses.
    pub(crate) fn stack_used_at(&self, start: u32) -> u32 {
        let at = self.image.functions.binary_search_by_key(&start, |function| function.start);
        at.map_or(MAX_BPF_STACK, |at| self.stacks_used[at])
    }

    /// The address of a place in the arena, by its lower half, as programs hand it to user space.
    pub fn arena_addr(&self, addr: u64) -> Option<u64> {
        self.maps.the_arena().map(|arena| arena | (addr & 0xffff_ffff))
    }

    /// Allocates pages of the arena for so many bytes, as a kernel that shares memory with programs does: where they
    /// begin, cleared. `None` without an arena, or if it is full.
    pub fn arena_alloc(&mut self, bytes: u64) -> Option<u64> {
        let pages = u32::try_from(bytes.div_ceil(crate::maps::PAGE_SIZE)).ok()?;
        let map = self.maps.arena_map()?;
        self.maps.arena_alloc(map, &mut self.memory, 0, pages).ok().filter(|&at| at != 0)
    }

    /// The number of the map with a name.
    pub fn map(&self, name: &str) -> Option<u32> {
        self.maps.by_name(name)
    }

    /// How a map is defined.
    pub fn map_def(&self, map: u32) -> Option<&Map> {
        self.maps.get(map).map(|map| &map.def)
    }

    /// Makes another map, as a loader does for maps of maps: its number.
    pub fn map_create(&mut self, def: Map) -> Result<u32, String> {
        self.maps.create(def, &mut self.memory)
    }

    /// The address of the value of a key: of CPU 0 in a per-CPU map. In a map of maps, what programs call the inner
    /// map.
    pub fn map_lookup(&mut self, map: u32, key: &[u8]) -> Option<u64> {
        self.map_lookup_percpu(map, key, 0)
    }

    /// The address of a CPU's value of a key.
    pub fn map_lookup_percpu(&mut self, map: u32, key: &[u8], cpu: u32) -> Option<u64> {
        let def = self.map_def(map)?;
        if key.len() != def.key_size as usize || cpu >= self.nr_cpus {
            return None;
        }
        let addr = match def.kind {
            MapKind::HashOfMaps => self.maps.lookup_inner(map, key, &self.memory),
            _ => self.maps.lookup(map, key, cpu),
        };
        (addr != 0).then_some(addr)
    }

    /// Writes the value of a key, on all CPUs of a per-CPU map. An error is the kernel's, negative.
    pub fn map_update<K: Kernel>(&mut self, kernel: &mut K, map: u32, key: &[u8], value: &[u8]) -> Result<(), i64> {
        let def = self.map_def(map).ok_or(maps::errno::EINVAL)?;
        if key.len() != def.key_size as usize || value.len() != def.value_size as usize {
            return Err(maps::errno::EINVAL);
        }
        let result = self.maps.update(map, &mut self.memory, key, Value::Bytes(value), 0, None);
        self.drop_gone(kernel);
        match result {
            Ok(0) => Ok(()),
            Ok(error) => Err(error),
            Err(_) => Err(maps::errno::ENOMEM),
        }
    }

    /// Puts a map in a map of maps, or takes it out. An error is the kernel's, negative.
    pub fn map_set_inner(&mut self, map: u32, key: &[u8], inner: Option<u32>) -> Result<(), i64> {
        if self.map_def(map).is_none_or(|def| def.key_size as usize != key.len()) {
            return Err(maps::errno::EINVAL);
        }
        match self.maps.set_inner(map, &mut self.memory, key, inner) {
            Ok(0) => Ok(()),
            Ok(error) => Err(error),
            Err(_) => Err(maps::errno::ENOMEM),
        }
    }

    /// The keys of a map, in its order; of local storage the owners' addresses.
    pub fn map_keys(&self, map: u32) -> Vec<Vec<u8>> {
        let key_size = u64::from(self.maps.key_size(map));
        let elements = self.maps.elements(map);
        let keys = elements.filter_map(|element| match self.maps.element(map, element, 0)? {
            (0, _) => Some(element.0.to_le_bytes().to_vec()),
            (key, _) => Some(self.memory.bytes(key, key_size).ok()?.to_vec()),
        });
        keys.collect()
    }

    /// How many elements a map has.
    pub fn map_len(&self, map: u32) -> u32 {
        self.maps.len(map)
    }

    /// The value that a program's task or cgroup storage has of an owner.
    pub fn storage(&mut self, map: u32, owner: u64) -> Option<u64> {
        let addr = self.maps.storage(map, &mut self.memory, owner, false).unwrap_or_default();
        (addr != 0).then_some(addr)
    }

    /// A task or cgroup goes: what local storage has of it goes, too (`bpf_task_storage_free()`).
    pub fn storage_free<K: Kernel>(&mut self, kernel: &mut K, owner: u64) {
        self.maps.storage_free(&self.memory, owner);
        self.drop_gone(kernel);
    }

    /// Returns the records that user space reads from a ring buffer, up to the first that is not submitted.
    pub fn ringbuf_take(&mut self, map: u32) -> Vec<Vec<u8>> {
        self.maps.ringbuf_take(map, &mut self.memory)
    }

    /// Writes to a user ring buffer as user space does. Returns whether there was room.
    pub fn user_ringbuf_push(&mut self, map: u32, sample: &[u8]) -> bool {
        self.maps.user_ringbuf_push(map, sample)
    }

    /// A global variable or a part of one, as `name`, `name[3]`, `name.member` or `name[3].member[1]`: its address and
    /// size, bytes.
    pub fn variable(&self, path: &str) -> Option<(u64, u32)> {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (name, rest) = path.split_at(end);
        for (number, map) in self.maps.list().iter().enumerate() {
            if let Some(variable) = map.def.variables.iter().find(|variable| variable.name == name) {
                let (offset, size) = variable.part(rest)?;
                return Some((self.maps.value_addr(number as u32, offset)?, size));
            }
        }
        None
    }

    /// Ends the timers in values that went, and drops what they owned.
    pub(crate) fn drop_gone<K: Kernel>(&mut self, kernel: &mut K) {
        // What is dropped can own something itself.
        while self.maps.has_gone() {
            for (addr, len) in self.maps.take_gone() {
                self.drop_range(kernel, addr, len);
            }
        }
    }

    /// Ends the timers in a range of memory, and drops what is owned there.
    pub(crate) fn drop_range<K: Kernel>(&mut self, kernel: &mut K, addr: u64, len: u64) {
        let timers: Vec<u64> = self.timers.range(addr..addr + len).map(|(&timer, _)| timer).collect();
        for timer in timers {
            self.timers.remove(&timer);
            self.memory.discharge(TIMER_COST);
            kernel.timer_cancel(timer);
        }
        self.drop_kptrs(addr, len);
        self.give_back(kernel);
    }
}

/// A number of a limit, to count down from.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The helpers that an image calls and the machine does not have, each once, with the functions that call them.
fn unknown_helpers(image: &Image) -> Vec<String> {
    let mut unknown: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
    let mut named: BTreeSet<(i32, &str)> = BTreeSet::new();
    let mut at = 0;
    while let Some(insn) = image.insns.get(at) {
        if insn.code == 0x85 && insn.src == 0 && insn.imm != POISON && helpers::name(insn.imm).is_none() {
            let function = image.function_of(at as u32).map_or("", |function| &function.name);
            if named.insert((insn.imm, function)) {
                unknown.entry(insn.imm).or_default().push(function);
            }
        }
        at += if insn.code == 0x18 { 2 } else { 1 };
    }
    let text = |(number, callers): (i32, Vec<&str>)| {
        let name =
            helpers::kernel_name(number).map_or_else(|| format!("helper {number}"), |name| format!("bpf_{name}()"));
        format!("{name}, of {}", callers.iter().map(|name| format!("{name}()")).collect::<Vec<_>>().join(", "))
    };
    unknown.into_iter().map(text).collect()
}
