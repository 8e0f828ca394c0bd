//! Iterators over numbers and over bits, in the layout of the kernel's own structs (`kernel/bpf/bpf_iter.c`,
//! `kernel/bpf/helpers.c`).
//!
//! That struct is in the program's memory, where it can be anything. Nothing is believed of it: a copy of bits is read
//! and freed only if it is one that an iterator has made.

use crate::fault::Fault;
use crate::machine::{BPF_MAX_LOOPS, Machine};
use crate::maps::errno::{E2BIG, EINVAL};

/// `BITS_ITER_NR_WORDS_MAX`.
const BITS_ITER_NR_WORDS_MAX: u32 = 511;

impl Machine {
    /// `bpf_iter_num_new()`: the struct has the current number and the end, 4 bytes each.
    pub(super) fn iter_num_new(&mut self, it: u64, start: i32, end: i32) -> Result<u64, Fault> {
        let (result, cur, end) = if start > end {
            (EINVAL, 0, 0)
        } else if i64::from(end) - i64::from(start) > BPF_MAX_LOOPS as i64 {
            (E2BIG, 0, 0)
        } else {
            // Before the first, as next() goes on by one.
            (0, start.wrapping_sub(1), end)
        };
        let state = u64::from(cur as u32) | u64::from(end as u32) << 32;
        self.memory.program_bytes_mut(it, 8)?.copy_from_slice(&state.to_le_bytes());
        Ok(result as u64)
    }

    /// `bpf_iter_num_next()`: the address of the number, which is in the struct; 0 at the end.
    pub(super) fn iter_num_next(&mut self, it: u64) -> Result<u64, Fault> {
        let state = self.memory.read_u64(it)?;
        let (cur, end) = (state as i32, (state >> 32) as i32);
        if i64::from(cur) + 1 >= i64::from(end) {
            self.memory.program_write(it, [0; 8])?;
            return Ok(0);
        }
        self.memory.program_write(it, (cur + 1).to_le_bytes())?;
        Ok(it)
    }

    /// `bpf_iter_bits_new()`: the struct has the bits or their address, the number of bits and the current one.
    pub(super) fn iter_bits_new(&mut self, it: u64, bits: u64, nr_words: u32) -> Result<u64, Fault> {
        let mut state = [0u8; 16];
        let mut result = 0;
        if nr_words == 0 || bits == 0 {
            result = EINVAL;
        } else if nr_words > BITS_ITER_NR_WORDS_MAX {
            result = E2BIG;
        } else {
            let len = u64::from(nr_words) * 8;
            self.work_on(len)?;
            match self.memory.bytes(bits, len) {
                Ok(word) if nr_words == 1 => state[..8].copy_from_slice(word),
                Ok(_) => {
                    let copy = self.memory.allocate("bits of an iterator", nr_words * 8)?;
                    self.memory.copy(copy, bits, len)?;
                    self.objects.bits.insert(copy);
                    state[..8].copy_from_slice(&copy.to_le_bytes());
                }
                Err(_) => result = crate::maps::errno::EFAULT,
            }
            if result == 0 {
                state[8..12].copy_from_slice(&(nr_words * 64).to_le_bytes());
                state[12..].copy_from_slice(&(-1i32).to_le_bytes());
            }
        }
        self.memory.program_bytes_mut(it, 16)?.copy_from_slice(&state);
        Ok(result as u64)
    }

    /// The number of an iterator's bits, and them or the address of their copy.
    fn iter_bits(&self, function: &str, it: u64) -> Result<(u32, u64), Fault> {
        let (held, nr_bits) = (self.memory.read_u64(it)?, self.memory.read_u32(it.wrapping_add(8))?);
        let is_copy = || self.objects.bits.contains(&held) && self.memory.region_len(held) * 8 == u64::from(nr_bits);
        if nr_bits == 0 || nr_bits == 64 || is_copy() {
            Ok((nr_bits, held))
        } else {
            Err(Fault::argument(function, "an iterator that bpf_iter_bits_new() has made"))
        }
    }

    /// `bpf_iter_bits_next()`: the address of the bit's number, which is in the struct; 0 at the end.
    pub(super) fn iter_bits_next(&mut self, it: u64) -> Result<u64, Fault> {
        let (nr_bits, held) = self.iter_bits("bpf_iter_bits_next", it)?;
        let from = (self.memory.read_u32(it.wrapping_add(12))? as i32).wrapping_add(1) as u32;
        let mut bit = from;
        while bit < nr_bits {
            let word =
                if nr_bits == 64 { held } else { self.memory.read_u64(held.wrapping_add(u64::from(bit / 64 * 8)))? };
            let rest = word >> (bit % 64);
            if rest != 0 {
                bit += rest.trailing_zeros();
                self.memory.program_write(it.wrapping_add(12), bit.to_le_bytes())?;
                return Ok(it.wrapping_add(12));
            }
            bit = (bit / 64 + 1) * 64;
        }
        self.memory.program_write(it.wrapping_add(12), nr_bits.to_le_bytes())?;
        Ok(0)
    }

    /// `bpf_iter_bits_destroy()`.
    pub(super) fn iter_bits_destroy(&mut self, it: u64) -> Result<u64, Fault> {
        let (nr_bits, held) = self.iter_bits("bpf_iter_bits_destroy", it)?;
        if nr_bits > 64 {
            self.objects.bits.remove(&held);
            self.memory.free(held);
        }
        Ok(0)
    }
}
