//! The memory of a machine: regions, each with a number, so that an address says what it belongs to.
//!
//! The upper half of an address is the number of its region, never 0, the lower half the offset in it. Addresses do not
//! depend on the host: the same calls give the same addresses. Whatever has an end in the kernel has one here: a stack
//! frame, a map's values, a cpumask. What is just outside of a region is in no region.
//!
//! Whatever a program makes the host keep is charged to its memory, be it bytes that it can reach or what the machine
//! notes about them: [`Memory::charge`] before it is made, [`Memory::discharge`] once it has gone.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many numbers of freed regions are kept back before the first of them names another region: until then, an access
/// to freed memory is found.
const QUARANTINE: usize = 1024;

/// The kinds of access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// To read.
    Read,
    /// To write.
    Write,
}

/// An access to memory that is in no region, or that may not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAccess {
    /// The kind of access.
    pub kind: AccessKind,
    /// The address.
    pub addr: u64,
    /// How many bytes.
    pub len: u64,
    /// The region may only be read.
    pub read_only: bool,
    /// The region that is there or nearby, and how the access misses it.
    pub near: String,
}

impl fmt::Display for BadAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
        };
        let BadAccess { addr, len, near, .. } = self;
        let bytes = if *len == 1 { "byte" } else { "bytes" };
        if self.read_only {
            write!(f, "{what} of {len} {bytes} at {addr:#x}, which may only be read: {near}")
        } else {
            write!(f, "{what} of {len} {bytes} at {addr:#x}, which is in no region: {near}")
        }
    }
}

impl std::error::Error for BadAccess {}

/// The memory of all machines of a process together, bytes. Runs that go on at the same time share it.
pub const PROCESS_MEMORY: u64 = 4 << 30;

/// The memory that is charged to all machines of the process.
static CHARGED_IN_PROCESS: AtomicU64 = AtomicU64::new(0);

/// The size of the machine's notes about a region besides its name, bytes.
const REGION_COST: u64 = 160;

/// The longest name of a region, bytes: as long as the kernel's names (`KSYM_NAME_LEN`). The rest is cut.
const NAME_MAX: usize = 512;

/// More memory than the limit would be in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    /// The limit, bytes.
    pub limit: u64,
    /// The limit is [`PROCESS_MEMORY`], which other machines use, too.
    pub shared: bool,
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit;
        if self.shared {
            let what = "bytes of memory would be used by all runs together, which is the limit";
            write!(f, "more than {limit} {what}; run fewer simulations at the same time")
        } else {
            write!(f, "more than {limit} bytes of memory would be used, which is the limit")
        }
    }
}

/// Bytes that are charged to a machine, and to the process as long as it lives.
#[derive(Debug, Default)]
struct Charged(u64);

impl Charged {
    fn add(&mut self, bytes: u64) {
        self.0 += bytes;
        CHARGED_IN_PROCESS.fetch_add(bytes, Ordering::Relaxed);
    }

    fn take(&mut self, bytes: u64) {
        let bytes = bytes.min(self.0);
        self.0 -= bytes;
        CHARGED_IN_PROCESS.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Clone for Charged {
    fn clone(&self) -> Self {
        let mut clone = Charged(0);
        clone.add(self.0);
        clone
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.take(self.0);
    }
}

impl std::error::Error for NoMemory {}

/// Bytes with a name.
#[derive(Clone, Debug)]
struct Region {
    data: Vec<u8>,
    /// Programs may only read it.
    read_only: bool,
    live: bool,
    name: Box<str>,
}

/// A name without what is too long of it.
fn cut(name: &str) -> &str {
    let end = (0..=name.len().min(NAME_MAX)).rev().find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

/// Returns the cost of a region of this name besides its bytes.
fn cost(name: &str) -> u64 {
    REGION_COST + name.len().min(NAME_MAX) as u64
}

/// All regions of a machine.
#[derive(Clone, Debug)]
pub struct Memory {
    regions: Vec<Region>,
    /// The numbers of freed regions, the one that was freed first in front.
    freed: VecDeque<u32>,
    charged: Charged,
    limit: u64,
}

impl Memory {
    /// Memory of at most `limit` bytes for what programs allocate.
    pub(crate) fn new(limit: u64) -> Self {
        // No address has the number 0: NULL is in no region.
        let null = Region { data: Vec::new(), read_only: true, live: false, name: "NULL".into() };
        Memory { regions: vec![null], freed: VecDeque::new(), charged: Charged::default(), limit }
    }

    /// A new region of `len` bytes that are zero: its address. Its name is for faults. It does not count against the
    /// limit, which is for what programs allocate.
    pub fn region(&mut self, name: &str, len: u32) -> u64 {
        self.region_of(name, vec![0; len as usize])
    }

    fn region_of(&mut self, name: &str, data: Vec<u8>) -> u64 {
        let name = cut(name);
        self.charged.add(data.len() as u64 + cost(name));
        let region = Region { data, read_only: false, live: true, name: name.into() };
        let number = if self.freed.len() > QUARANTINE {
            self.freed.pop_front().unwrap_or_default()
        } else {
            self.regions.push(Region { data: Vec::new(), read_only: false, live: false, name: "".into() });
            self.regions.len() as u32 - 1
        };
        self.regions[number as usize] = region;
        u64::from(number) << 32
    }

    /// As [`Memory::region`], for what a program allocates.
    pub(crate) fn allocate(&mut self, name: &str, len: u32) -> Result<u64, NoMemory> {
        self.check_limit(u64::from(len) + cost(name))?;
        Ok(self.region(name, len))
    }

    /// As [`Memory::allocate`], with what it begins with; the rest is zero. Nothing is made before the limit is asked.
    pub(crate) fn allocate_with(&mut self, name: &str, mut first: Vec<u8>, len: u32) -> Result<u64, NoMemory> {
        self.check_limit(u64::from(len) + cost(name))?;
        if first.is_empty() {
            return Ok(self.region(name, len));
        }
        first.resize(len as usize, 0);
        Ok(self.region_of(name, first))
    }

    /// Makes a region longer; the new bytes are zero. A region is never made shorter.
    pub(crate) fn grow(&mut self, addr: u64, len: u64) -> Result<(), NoMemory> {
        let now = self.region_len(addr);
        if len <= now {
            return Ok(());
        }
        self.check_limit(len - now)?;
        if len > u64::from(u32::MAX) {
            return Err(NoMemory { limit: u64::from(u32::MAX), shared: false });
        }
        self.charged.add(len - now);
        let data = &mut self.regions[(addr >> 32) as usize].data;
        data.reserve_exact((len - now) as usize);
        data.resize(len as usize, 0);
        Ok(())
    }

    fn check_limit(&self, more: u64) -> Result<(), NoMemory> {
        if self.charged.0.saturating_add(more) > self.limit {
            return Err(NoMemory { limit: self.limit, shared: false });
        }
        if CHARGED_IN_PROCESS.load(Ordering::Relaxed).saturating_add(more) > PROCESS_MEMORY {
            return Err(NoMemory { limit: PROCESS_MEMORY, shared: true });
        }
        Ok(())
    }

    /// Charges bytes that the machine or its caller keeps for a program outside of its regions. Ask before they are
    /// made.
    ///
    /// # Errors
    /// Fails if that would be more than the limit.
    pub fn charge(&mut self, bytes: u64) -> Result<(), NoMemory> {
        self.check_limit(bytes)?;
        self.charged.add(bytes);
        Ok(())
    }

    /// Bytes that were [charged](Memory::charge) are not kept any more.
    pub fn discharge(&mut self, bytes: u64) {
        self.charged.take(bytes);
    }

    /// Frees the region that begins at `addr`. Accesses to it are bad from now on. An address at which no region begins
    /// is left alone.
    pub fn free(&mut self, addr: u64) {
        let number = (addr >> 32) as usize;
        if let Some(region) = self.regions.get_mut(number).filter(|region| region.live && addr as u32 == 0) {
            self.charged.take(region.data.len() as u64 + cost(&region.name));
            region.data = Vec::new();
            region.live = false;
            self.freed.push_back(number as u32);
        }
    }

    /// Whether programs may only read the region of `addr`. Its caller may always write.
    pub fn set_read_only(&mut self, addr: u64, read_only: bool) {
        if let Some(region) = self.regions.get_mut((addr >> 32) as usize) {
            region.read_only = read_only;
        }
    }

    /// How long the region of `addr` is, bytes; 0 if there is none.
    pub fn region_len(&self, addr: u64) -> u64 {
        self.regions.get((addr >> 32) as usize).map_or(0, |region| region.data.len() as u64)
    }

    /// The name of the region of `addr`, if there is one.
    pub fn region_name(&self, addr: u64) -> Option<&str> {
        self.regions.get((addr >> 32) as usize).filter(|region| region.live).map(|region| &*region.name)
    }

    /// The bytes that are in use: of all regions, and what is kept about them and for programs besides.
    pub fn used(&self) -> u64 {
        self.charged.0
    }

    /// Describes the region at an address or near it, for a message.
    fn near(&self, addr: u64, len: u64) -> String {
        let (number, offset) = ((addr >> 32) as usize, addr & 0xffff_ffff);
        let next = number.checked_add(1).and_then(|next| self.regions.get(next)).filter(|region| region.live);
        if let Some(region) = next
            && offset >= 0xffff_f000
        {
            return format!("{} bytes before {}", (1u64 << 32) - offset, region.name);
        }
        match self.regions.get(number) {
            _ if number == 0 && addr < 4096 => "this is NULL, or a member of a struct at NULL".to_string(),
            None => "it is not an address".to_string(),
            Some(_) if number == 0 => "it is not an address".to_string(),
            Some(region) if !region.live => format!("{} has been freed", region.name),
            Some(region) if offset.saturating_add(len) > region.data.len() as u64 => {
                format!("{} has {} bytes, but this is at byte {offset}", region.name, region.data.len())
            }
            Some(region) => format!("it is byte {offset} of {}", region.name),
        }
    }

    #[cold]
    fn bad(&self, kind: AccessKind, addr: u64, len: u64, read_only: bool) -> BadAccess {
        BadAccess { kind, addr, len, read_only, near: self.near(addr, len) }
    }

    /// The bytes that a program reads; `None` for an address that is bad.
    #[inline(always)]
    pub(crate) fn load<const N: usize>(&self, addr: u64) -> Option<[u8; N]> {
        let data = &self.regions.get((addr >> 32) as usize)?.data;
        let offset = addr as u32 as usize;
        data.get(offset..offset + N)?.try_into().ok()
    }

    /// Writes what a program writes; false for an address that is bad.
    #[inline(always)]
    pub(crate) fn store<const N: usize>(&mut self, addr: u64, bytes: [u8; N]) -> bool {
        let offset = addr as u32 as usize;
        if let Some(region) = self.regions.get_mut((addr >> 32) as usize)
            && !region.read_only
            && let Some(place) = region.data.get_mut(offset..offset + N)
        {
            place.copy_from_slice(&bytes);
            return true;
        }
        false
    }

    /// Why a program cannot write at an address.
    #[cold]
    pub(crate) fn bad_store(&self, addr: u64, len: u64) -> BadAccess {
        let read_only = self.get(addr, len).is_some();
        self.bad(AccessKind::Write, addr, len, read_only)
    }

    #[inline]
    fn get(&self, addr: u64, len: u64) -> Option<&[u8]> {
        let offset = addr as u32 as usize;
        let end = offset.checked_add(usize::try_from(len).ok()?)?;
        self.regions.get((addr >> 32) as usize)?.data.get(offset..end)
    }

    /// `len` bytes.
    #[inline]
    pub fn bytes(&self, addr: u64, len: u64) -> Result<&[u8], BadAccess> {
        self.get(addr, len).ok_or_else(|| self.bad(AccessKind::Read, addr, len, false))
    }

    /// `len` bytes, to be written by the machine's caller, which may write what programs may only read.
    #[inline]
    pub fn bytes_mut(&mut self, addr: u64, len: u64) -> Result<&mut [u8], BadAccess> {
        if self.get(addr, len).is_none() {
            return Err(self.bad(AccessKind::Write, addr, len, false));
        }
        let offset = addr as u32 as usize;
        Ok(&mut self.regions[(addr >> 32) as usize].data[offset..offset + len as usize])
    }

    /// Makes bytes of a region zero, if it has them.
    #[inline]
    pub(crate) fn clear(&mut self, addr: u64, len: u32) {
        let offset = addr as u32 as usize;
        let region = self.regions.get_mut((addr >> 32) as usize);
        if let Some(bytes) = region.and_then(|region| region.data.get_mut(offset..offset + len as usize)) {
            bytes.fill(0);
        }
    }

    /// `len` bytes that a program has written by a helper: those it may not write are bad.
    pub(crate) fn program_bytes_mut(&mut self, addr: u64, len: u64) -> Result<&mut [u8], BadAccess> {
        match self.regions.get((addr >> 32) as usize) {
            Some(region) if region.read_only => Err(self.bad_store(addr, len)),
            _ => self.bytes_mut(addr, len),
        }
    }

    /// Copies `len` bytes, which may overlap, as the machine's caller.
    pub fn copy(&mut self, to: u64, from: u64, len: u64) -> Result<(), BadAccess> {
        self.bytes(from, len)?;
        self.bytes_mut(to, len)?;
        let (at, first) = (to as u32 as usize, from as u32 as usize);
        let (source, target) = ((from >> 32) as usize, (to >> 32) as usize);
        if source == target {
            self.regions[target].data.copy_within(first..first + len as usize, at);
            return Ok(());
        }
        let mut data = std::mem::take(&mut self.regions[target].data);
        data[at..at + len as usize].copy_from_slice(&self.regions[source].data[first..first + len as usize]);
        self.regions[target].data = data;
        Ok(())
    }

    /// As [`Memory::copy`], to where a program may write.
    pub(crate) fn program_copy(&mut self, to: u64, from: u64, len: u64) -> Result<(), BadAccess> {
        self.bytes(from, len)?;
        self.program_bytes_mut(to, len)?;
        self.copy(to, from, len)
    }

    /// Writes bytes where a program asked for it: where the program itself may not write is bad.
    pub fn program_write<const N: usize>(&mut self, addr: u64, bytes: [u8; N]) -> Result<(), BadAccess> {
        if self.store(addr, bytes) { Ok(()) } else { Err(self.bad_store(addr, N as u64)) }
    }

    /// A text that ends with a NUL, or after `max` bytes.
    pub fn read_str(&self, addr: u64, max: u32) -> Result<String, BadAccess> {
        Ok(String::from_utf8_lossy(self.c_str(addr, max)?).into_owned())
    }

    /// The bytes before the first NUL, or `max` of them.
    pub(crate) fn c_str(&self, addr: u64, max: u32) -> Result<&[u8], BadAccess> {
        let offset = addr as u32 as usize;
        let rest = self.regions.get((addr >> 32) as usize).and_then(|region| region.data.get(offset..));
        let rest = rest.unwrap_or_default();
        let most = &rest[..rest.len().min(max as usize)];
        match most.iter().position(|&byte| byte == 0) {
            Some(end) => Ok(&most[..end]),
            None if most.len() == max as usize => Ok(most),
            None => Err(self.bad(AccessKind::Read, addr.wrapping_add(rest.len() as u64), 1, false)),
        }
    }

    /// Reads a byte.
    #[inline]
    pub fn read_u8(&self, addr: u64) -> Result<u8, BadAccess> {
        self.load(addr).map(u8::from_le_bytes).ok_or_else(|| self.bad(AccessKind::Read, addr, 1, false))
    }

    /// Reads 2 bytes.
    #[inline]
    pub fn read_u16(&self, addr: u64) -> Result<u16, BadAccess> {
        self.load(addr).map(u16::from_le_bytes).ok_or_else(|| self.bad(AccessKind::Read, addr, 2, false))
    }

    /// Reads 4 bytes.
    #[inline]
    pub fn read_u32(&self, addr: u64) -> Result<u32, BadAccess> {
        self.load(addr).map(u32::from_le_bytes).ok_or_else(|| self.bad(AccessKind::Read, addr, 4, false))
    }

    /// Reads 8 bytes.
    #[inline]
    pub fn read_u64(&self, addr: u64) -> Result<u64, BadAccess> {
        self.load(addr).map(u64::from_le_bytes).ok_or_else(|| self.bad(AccessKind::Read, addr, 8, false))
    }

    /// Writes a byte, as the machine's caller.
    #[inline]
    pub fn write_u8(&mut self, addr: u64, value: u8) -> Result<(), BadAccess> {
        self.write(addr, [value])
    }

    /// Writes 2 bytes, as the machine's caller.
    #[inline]
    pub fn write_u16(&mut self, addr: u64, value: u16) -> Result<(), BadAccess> {
        self.write(addr, value.to_le_bytes())
    }

    /// Writes 4 bytes, as the machine's caller.
    #[inline]
    pub fn write_u32(&mut self, addr: u64, value: u32) -> Result<(), BadAccess> {
        self.write(addr, value.to_le_bytes())
    }

    /// Writes 8 bytes, as the machine's caller.
    #[inline]
    pub fn write_u64(&mut self, addr: u64, value: u64) -> Result<(), BadAccess> {
        self.write(addr, value.to_le_bytes())
    }

    #[inline]
    fn write<const N: usize>(&mut self, addr: u64, bytes: [u8; N]) -> Result<(), BadAccess> {
        let offset = addr as u32 as usize;
        let region = self.regions.get_mut((addr >> 32) as usize);
        match region.and_then(|region| region.data.get_mut(offset..offset + N)) {
            Some(place) => {
                place.copy_from_slice(&bytes);
                Ok(())
            }
            None => Err(self.bad(AccessKind::Write, addr, N as u64, false)),
        }
    }
}
