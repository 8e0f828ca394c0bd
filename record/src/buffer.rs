//! How large the ring buffer is.

use crate::args::Args;
use crate::wire::{CpuState, Decision};

const MIB: u64 = 1 << 20;
/// A busy CPU makes so many choices a second; the buffer holds those of a quarter of a second of all CPUs.
const CHOICES_A_CPU: u64 = 2000;
const QUARTERS: u64 = 4;
const LEAST: u64 = 64 * MIB;
const MOST: u64 = 256 * MIB;
/// Of the machine's memory at most this part, unless asked for.
const PART_OF_MEMORY: u64 = 16;

/// Its size in bytes, a power of two.
pub fn bytes(args: &Args, nr_cpus: usize) -> u32 {
    if let Some(mib) = args.buffer {
        return (mib << 20).next_power_of_two();
    }
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    default(nr_cpus as u64, args.sample.into(), args.max_rate.map(u64::from), memory)
}

fn default(nr_cpus: u64, sample: u64, max_rate: Option<u64>, memory: Option<u64>) -> u32 {
    let record = (size_of::<Decision>() + nr_cpus as usize * size_of::<CpuState>()) as u64;
    let rate = (nr_cpus * CHOICES_A_CPU / sample).min(max_rate.unwrap_or(u64::MAX));
    let most = memory.map_or(MOST, |memory| (memory / PART_OF_MEMORY).clamp(MIB, MOST));
    let wanted = (rate.saturating_mul(record) / QUARTERS).clamp(LEAST.min(most), most);
    // Below the limit, not above it.
    1 << (63 - wanted.leading_zeros())
}

/// `MemTotal` in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_grows_with_the_cpus_up_to_a_limit() {
        let of = |cpus| u64::from(default(cpus, 1, None, None)) / MIB;
        assert_eq!([of(1), of(8), of(72), of(128), of(225), of(1024)], [64, 64, 128, 256, 256, 256]);
        assert_eq!(default(225, 1, Some(100), None), 64 << 20);
        assert_eq!(default(225, 100, None, None), 64 << 20);
    }

    #[test]
    fn a_small_machine_gives_a_sixteenth_of_its_memory() {
        assert_eq!(default(225, 1, None, Some(1024 * MIB)), 64 << 20);
        assert_eq!(default(8, 1, None, Some(500 * MIB)), 16 << 20);
        assert_eq!(total("MemTotal:        1024 kB\nMemFree: 1 kB\n"), Some(1 << 20));
        assert_eq!(total("Nothing"), None);
    }
}
