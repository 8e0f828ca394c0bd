//! The columns of a recording, their places in the header, and the fields of a row with errors that name the column.

use super::csv::Record;
use crate::error::{ReadError, shown};
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::{self, FromStr};
use wakelab_sched::CpuMask;

/// The fields of a row, by column.
pub(super) struct Fields {
    pub(super) file: PathBuf,
    /// By [`Column`]: the index of its field in a record.
    places: Vec<usize>,
    /// The number of columns in the header.
    pub(super) columns: usize,
    pub(super) record: Record,
}

/// A decimal number with bounds.
pub(super) trait Number: FromStr + PartialOrd + Display + Copy {}
impl<T: FromStr + PartialOrd + Display + Copy> Number for T {}

impl Fields {
    /// Begins to read fields with these indexes.
    pub(super) fn new(file: &Path, places: Vec<usize>, columns: usize) -> Self {
        Fields { file: file.to_owned(), places, columns, record: Record::default() }
    }

    /// The line of the current row, from 1.
    pub(super) fn line(&self) -> u64 {
        self.record.line
    }

    pub(super) fn bytes(&self, column: Column) -> &[u8] {
        self.record.get(self.places[column as usize]).unwrap_or_default()
    }

    pub(super) fn text(&self, column: Column) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes(column))
    }

    /// A text of at most so many bytes.
    pub(super) fn short_text(&self, column: Column, longest: usize) -> Result<Cow<'_, str>, ReadError> {
        let found = self.bytes(column).len();
        if found > longest {
            let what = format!("expected at most {longest} bytes, found {found}: {}", shown(self.bytes(column)));
            return Err(self.error(column, what).with_hint(DAMAGED));
        }
        Ok(self.text(column))
    }

    pub(super) fn text_into(&self, column: Column, longest: usize, to: &mut String) -> Result<(), ReadError> {
        to.clear();
        to.push_str(&self.short_text(column, longest)?);
        Ok(())
    }

    pub(super) fn error(&self, column: Column, what: String) -> ReadError {
        ReadError::of_file(&self.file, what).at_line(self.line()).in_column(column.name())
    }

    pub(super) fn expected(&self, column: Column, what: &str) -> ReadError {
        self.error(column, format!("expected {what}, found {}", shown(self.bytes(column))))
    }

    /// A name that can be part of a file name.
    pub(super) fn name(&self, column: Column) -> Result<String, ReadError> {
        if !is_name(self.bytes(column)) {
            return Err(self.expected(column, NAME).with_hint(NAMES));
        }
        Ok(self.text(column).into_owned())
    }

    /// A number within bounds.
    pub(super) fn number<T: Number>(&self, column: Column, range: RangeInclusive<T>) -> Result<T, ReadError> {
        match parse(self.bytes(column)) {
            Some(number) if range.contains(&number) => Ok(number),
            _ => Err(self
                .expected(column, &format!("a number from {} to {}", range.start(), range.end()))
                .with_hint(DAMAGED)),
        }
    }

    pub(super) fn flag(&self, column: Column) -> Result<bool, ReadError> {
        match self.bytes(column) {
            b"0" => Ok(false),
            b"1" => Ok(true),
            _ => Err(self.expected(column, "0 or 1").with_hint(DAMAGED)),
        }
    }

    pub(super) fn hex(&self, column: Column) -> Result<u32, ReadError> {
        let bytes = self.bytes(column);
        // from_str_radix() would accept a sign.
        let text = str::from_utf8(bytes).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        text.and_then(|text| u32::from_str_radix(text, 16).ok()).ok_or_else(|| {
            self.expected(column, "a hexadecimal number of 32 bits").with_hint("it is written without 0x")
        })
    }

    pub(super) fn cpu(&self, column: Column, nr_cpus: u32) -> Result<u32, ReadError> {
        match parse::<u32>(self.bytes(column)) {
            Some(cpu) if cpu < nr_cpus => Ok(cpu),
            _ => Err(self.expected(column, &format!("a CPU from 0 to {}", nr_cpus - 1)).with_hint(BELONGS)),
        }
    }

    pub(super) fn mask(&self, column: Column, nr_cpus: u32) -> Result<CpuMask, ReadError> {
        str::from_utf8(self.bytes(column)).ok().and_then(|text| CpuMask::from_hex(nr_cpus, text)).ok_or_else(|| {
            self.expected(column, &format!("a hexadecimal mask of CPUs 0 to {}", nr_cpus - 1)).with_hint(BELONGS)
        })
    }

    /// A list with one number for each of `n` CPUs or LLCs; `what` is `CPU` or `LLC`.
    pub(super) fn list<T: Number>(
        &self,
        column: Column,
        (n, what): (usize, &str),
        range: RangeInclusive<T>,
        to: &mut Vec<T>,
    ) -> Result<(), ReadError> {
        to.clear();
        // What is no text becomes a character that is no number.
        let text = String::from_utf8_lossy(self.bytes(column));
        let mut items = text.split(' ').filter(|item| !item.is_empty());
        for item in items.by_ref().take(n) {
            match parse_text(item) {
                Some(number) if range.contains(&number) => to.push(number),
                _ => {
                    let (from, till) = (range.start(), range.end());
                    let what = format!(
                        "expected numbers from {from} to {till}, found {} at {what} {}",
                        shown(item.as_bytes()),
                        to.len()
                    );
                    return Err(self.error(column, what).with_hint(DAMAGED));
                }
            }
        }
        match to.len() + items.count() {
            count if count == n => Ok(()),
            count => {
                let what = format!("expected one number for each {what}, {n} in all, found {count}");
                Err(self.error(column, what).with_hint(BELONGS))
            }
        }
    }
}

/// Whether this is a valid name of a kernel or a machine.
pub(super) fn is_name(bytes: &[u8]) -> bool {
    let may = |b: &u8| b.is_ascii_alphanumeric() || b"._+~-".contains(b);
    (1..=64).contains(&bytes.len()) && bytes.iter().all(may)
}

/// A description of what [`is_name`] requires.
pub(super) const NAME: &str = "a name of at most 64 letters, digits and ._+~-";
/// A hint on valid names.
pub(super) const NAMES: &str =
    "a kernel is a release such as 6.12; a topology is the name of a machine such as A-8c-1s4x2";

/// The hint for values that no kernel has.
const DAMAGED: &str = "no kernel produces such a value; was the file edited or damaged?";

/// The hint for values that contradict the description of the machine.
pub(super) const BELONGS: &str = "does the topo file belong to this recording?";

/// Parses a decimal number. Unlike `str::parse()`, it refuses a plus sign.
fn parse<T: FromStr>(bytes: &[u8]) -> Option<T> {
    parse_text(str::from_utf8(bytes).ok()?)
}

fn parse_text<T: FromStr>(text: &str) -> Option<T> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

macro_rules! columns {
    ($($name:ident),* $(,)?) => {
        /// A column of a recording, named as in the header.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(super) enum Column { $($name),* }

        impl Column {
            /// All columns, in the order in which the recorder writes them.
            pub(super) const ALL: &[Column] = &[$(Column::$name),*];

            /// The name in the header.
            pub(super) fn name(self) -> &'static str {
                match self { $(Column::$name => stringify!($name)),* }
            }
        }
    };
}

columns! {
    kernel, topology, load, variant, features, seq, t_ns, dur_ns, stable,
    waker_cpu, waker_pid, waker_comm, waker_policy, waker_flags, waker_nr_cpus_allowed, waker_percpu_kthread,
    preempt_count, in_task,
    wakee_pid, wakee_comm, wakee_policy, wakee_static_prio, wakee_flags, on_rq, prev_cpu, wake_flags, wake_flags_text,
    chosen_cpu, recent_used_cpu, recent_used_cpu_after,
    waker_flips_before, waker_flips, wakee_flips_before, wakee_flips, last_wakee_is_p, flip_decay_due, sd_llc_size,
    affinity, nr_cpus_allowed, util_avg, runnable_avg, util_est, load_avg, load_weight, task_h_load,
    last_update_time_set, numa_preferred_nid, waker_load_avg, waker_load_weight, waker_h_load,
    idle_mask, idle_mask_exit, curr_idle_mask, ttwu_pending_mask,
    cpu_nr_running, cpu_h_nr_queued, cpu_h_nr_delayed, cpu_h_nr_idle,
    cpu_load_avg, cpu_runnable_avg, cpu_util_avg, cpu_util_est, cpu_capacity,
    llc_ids, llc_has_idle_cores, llc_nr_idle_scan,
    cpu_idle_stamp, cpu_idle_exit_latency, cpu_group_cap_l0, cpu_group_cap_l1, cpu_group_cap_l2, cpu_group_imbalance,
    jiffies, wake_stamp, wake_avg_idle, avg_idle, avg_scan_cost,
}

impl Column {
    /// Whether the column may be missing: only SIS_PROP reads these.
    pub(super) fn is_optional(self) -> bool {
        use Column::{avg_idle, avg_scan_cost, jiffies, wake_avg_idle, wake_stamp};
        matches!(self, jiffies | wake_stamp | wake_avg_idle | avg_idle | avg_scan_cost)
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// By [`Column`]: its index in the header. Columns with other names are ignored.
pub(super) fn places(path: &Path, header: &Record) -> Result<Vec<usize>, ReadError> {
    let error = |what: String| ReadError::of_file(path, what).at_line(header.line);
    let first = header.get(0).unwrap_or_default();
    if header.iter().any(|name| name.contains(&0) || str::from_utf8(name).is_err()) {
        return Err(error(format!(
            "expected a header line with the names of the columns, found bytes that are not text: {}",
            shown(first)
        ))
        .with_hint("a recording is a CSV file, plain or compressed with gzip; other compressions are not supported"));
    }
    let name_at = |(place, name)| if place == 0 { strip_bom(name) } else { name };
    let mut missing = Vec::new();
    let mut places = Vec::with_capacity(Column::ALL.len());
    for column in Column::ALL {
        let mut found = header
            .iter()
            .enumerate()
            .filter(|&field| name_at(field) == column.name().as_bytes())
            .map(|(place, _)| place);
        match (found.next(), found.next()) {
            (Some(place), None) => places.push(place),
            (None, _) if column.is_optional() => places.push(usize::MAX),
            (None, _) => missing.push(column.name()),
            (Some(_), Some(_)) => {
                return Err(error("the column appears twice; expected it once".into())
                    .in_column(column.name())
                    .with_hint("remove one of the two"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(places);
    }
    let few: Vec<_> = missing.iter().take(8).copied().collect();
    let more =
        if missing.len() > few.len() { format!(" and {} more", missing.len() - few.len()) } else { String::new() };
    let found = if places.iter().all(|&place| place == usize::MAX) {
        format!("; it begins with {}", shown(first))
    } else {
        String::new()
    };
    Err(error(format!("the header lacks {}{more}{found}", few.join(", ")))
        .with_hint("docs/formats.md lists the columns"))
}

fn strip_bom(name: &[u8]) -> &[u8] {
    name.strip_prefix(BOM).unwrap_or(name)
}
