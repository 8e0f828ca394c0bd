//! The memory of a machine: regions, each with a number, so that an address says what it belongs to.
//!
//! The upper half of an address is the number of its region, never 0, the lower half the offset in it. Addresses do not
//! depend on the host: the same calls give the same addresses. Whatever has an end in the kernel has one here: a stack
//! frame, a map's values, a cpumask. What is just outside of a region is in no region.

use std::collections::VecDeque;
use std::fmt;

/// So many numbers of freed regions are kept back before the first of them names another region: until then, an access
/// to freed memory is found.
const QUARANTINE: usize = 1024;

/// What an access to memory wanted.
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
    /// What it wanted.
    pub kind: AccessKind,
    /// The address.
    pub addr: u64,
    /// How many bytes.
    pub len: u64,
    /// The region may only be read.
    pub read_only: bool,
    /// What is there or nearby, and how the access misses it.
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
            write!(f, "{what} of {len} {bytes} at {addr:#x}, which no region has: {near}")
        }
    }
}

impl std::error::Error for BadAccess {}

/// More memory than the limit would be in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    /// The limit, bytes.
    pub limit: u64,
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} bytes of memory would be in use, which is the limit", self.limit)
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

/// All regions of a machine.
#[derive(Clone, Debug)]
pub struct Memory {
    regions: Vec<Region>,
    /// The numbers of freed regions, the one that was freed first in front.
    freed: VecDeque<u32>,
    used: u64,
    limit: u64,
}

impl Memory {
    /// Memory of at most `limit` bytes for what programs allocate.
    pub(crate) fn new(limit: u64) -> Self {
        // No address has the number 0: NULL is in no region.
        let null = Region { data: Vec::new(), read_only: true, live: false, name: "NULL".into() };
        Memory { regions: vec![null], freed: VecDeque::new(), used: 0, limit }
    }

    /// A new region of `len` bytes that are zero: its address. Its name is for faults. It does not count against the
    /// limit, which is for what programs allocate.
    pub fn region(&mut self, name: &str, len: u32) -> u64 {
        self.region_of(name, vec![0; len as usize])
    }

    fn region_of(&mut self, name: &str, data: Vec<u8>) -> u64 {
        self.used += data.len() as u64;
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
        self.check_limit(u64::from(len))?;
        Ok(self.region(name, len))
    }

    /// As [`Memory::allocate`], with bytes, less than 4 GiB.
    pub(crate) fn allocate_with(&mut self, name: &str, bytes: Vec<u8>) -> Result<u64, NoMemory> {
        self.check_limit(bytes.len() as u64)?;
        Ok(self.region_of(name, bytes))
    }

    /// Makes a region longer; the new bytes are zero. A region is never made shorter.
    pub(crate) fn grow(&mut self, addr: u64, len: u64) -> Result<(), NoMemory> {
        let now = self.region_len(addr);
        if len <= now {
            return Ok(());
        }
        self.check_limit(len - now)?;
        if len > u64::from(u32::MAX) {
            return Err(NoMemory { limit: u64::from(u32::MAX) });
        }
        self.used += len - now;
        self.regions[(addr >> 32) as usize].data.resize(len as usize, 0);
        Ok(())
    }

    fn check_limit(&self, more: u64) -> Result<(), NoMemory> {
        if self.used.saturating_add(more) > self.limit { Err(NoMemory { limit: self.limit }) } else { Ok(()) }
    }

    /// Frees the region that begins at `addr`. Accesses to it are bad from now on. An address at which no region begins
    /// is left alone.
    pub fn free(&mut self, addr: u64) {
        let number = (addr >> 32) as usize;
        if let Some(region) = self.regions.get_mut(number).filter(|region| region.live && addr as u32 == 0) {
            self.used -= region.data.len() as u64;
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

    /// The bytes that are in use, of all regions.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// What is at an address or near it, for a message.
    fn near(&self, addr: u64, len: u64) -> String {
        let (number, offset) = ((addr >> 32) as usize, addr & 0xffff_ffff);
        let next = number.checked_add(1).and_then(|next| self.regions.get(next)).filter(|region| region.live);
        if let Some(region) = next
            && offset >= 0xffff_f000
        {
            return format!("{} bytes before {}", (1u64 << 32) - offset, region.name);
        }
        match self.regions.get(number) {
            _ if number == 0 && addr < 4096 => "this is NULL, or a member of what NULL points to".to_string(),
            None => "it is not an address".to_string(),
            Some(_) if number == 0 => "it is not an address".to_string(),
            Some(region) if !region.live => format!("{} has been freed", region.name),
            Some(region) if offset.saturating_add(len) > region.data.len() as u64 => {
                format!("{} has {} bytes, and this is at byte {offset}", region.name, region.data.len())
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

    /// Copies `len` bytes, which may overlap.
    pub fn copy(&mut self, to: u64, from: u64, len: u64) -> Result<(), BadAccess> {
        let bytes = self.bytes(from, len)?.to_vec();
        self.bytes_mut(to, len)?.copy_from_slice(&bytes);
        Ok(())
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
