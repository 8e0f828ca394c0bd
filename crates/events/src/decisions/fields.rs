//! The columns of a recording, what rows have in them, and the fields of a row with errors that name the column.

use crate::error::{ReadError, shown};
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::{self, FromStr};
use wakelab_sched::CpuMask;

/// What a row has in a column.
#[derive(Debug)]
pub(super) enum Value<'a> {
    /// A text; of CSV any value. A value that is missing is an empty text.
    Text(&'a [u8]),
    /// A number, or 0 or 1 for a flag.
    Number(i64),
    /// A set of CPUs: CPU c is bit c % 64 of word c / 64.
    Cpus(&'a [u64]),
    /// A list of numbers.
    List(Cow<'a, [i64]>),
}

/// The rows of a file, of which one at a time is asked for its columns.
pub(super) trait Rows: Send {
    /// Goes to the next row. Rows for whose time (ns) and wakee `wanted` returns false may be skipped. Returns false at
    /// the end.
    fn advance(&mut self, wanted: &dyn Fn(u64, i64) -> bool) -> Result<bool, ReadError>;

    /// The line or number of the current row, from 1.
    fn line(&self) -> u64;

    /// What the current row has in a column.
    fn value(&self, column: Column) -> Result<Value<'_>, ReadError>;

    /// Of a simulated run, whether the current row has the run queues of two CPUs only, as wake-ups other than forks
    /// and execs have there; of a recording `None`.
    fn simulated(&self) -> Option<bool> {
        None
    }
}

/// The fields of the current row, by column.
pub(super) struct Fields {
    pub(super) file: PathBuf,
    pub(super) rows: Box<dyn Rows>,
}

/// A decimal number with bounds.
pub(super) trait Number: FromStr + TryFrom<i64> + PartialOrd + Display + Copy {}
impl<T: FromStr + TryFrom<i64> + PartialOrd + Display + Copy> Number for T {}

impl Fields {
    /// A value as the text that a CSV file would have.
    pub(super) fn bytes(&self, column: Column) -> Result<Cow<'_, [u8]>, ReadError> {
        let text = match self.rows.value(column)? {
            Value::Text(text) => return Ok(text.into()),
            Value::Number(number) if column.is_hex() => format!("{number:x}"),
            Value::Number(number) => number.to_string(),
            Value::Cpus(words) => {
                let cpus = CpuMask::from_words(u64::BITS * words.len() as u32, words);
                cpus.map(|cpus| cpus.to_hex()).unwrap_or_default()
            }
            Value::List(items) => items.iter().map(i64::to_string).collect::<Vec<_>>().join(" "),
        };
        Ok(text.into_bytes().into())
    }

    /// A text of at most so many bytes.
    pub(super) fn short_text(&self, column: Column, longest: usize) -> Result<Cow<'_, [u8]>, ReadError> {
        let text = self.bytes(column)?;
        if text.len() > longest {
            let what = format!("expected at most {longest} bytes, found {}: {}", text.len(), shown(&text));
            return Err(self.error(column, what).with_hint(DAMAGED));
        }
        Ok(text)
    }

    pub(super) fn text_into(&self, column: Column, longest: usize, to: &mut String) -> Result<(), ReadError> {
        to.clear();
        to.push_str(&String::from_utf8_lossy(&self.short_text(column, longest)?));
        Ok(())
    }

    pub(super) fn error(&self, column: Column, what: String) -> ReadError {
        ReadError::of_file(&self.file, what).at_line(self.rows.line()).in_column(column.name())
    }

    pub(super) fn expected(&self, column: Column, what: &str) -> ReadError {
        let found = self.bytes(column).unwrap_or_default();
        self.error(column, format!("expected {what}, found {}", shown(&found)))
    }

    /// A name that can be part of a file name.
    pub(super) fn name(&self, column: Column) -> Result<String, ReadError> {
        let name = self.bytes(column)?;
        if !is_name(&name) {
            return Err(self.expected(column, NAME).with_hint(NAMES));
        }
        Ok(String::from_utf8_lossy(&name).into_owned())
    }

    fn any_number<T: Number>(&self, column: Column) -> Result<Option<T>, ReadError> {
        Ok(match self.rows.value(column)? {
            Value::Number(number) => T::try_from(number).ok(),
            Value::Text(text) => parse(text),
            _ => None,
        })
    }

    /// A number within bounds.
    pub(super) fn number<T: Number>(&self, column: Column, range: RangeInclusive<T>) -> Result<T, ReadError> {
        self.any_number(column)?.filter(|number| range.contains(number)).ok_or_else(|| {
            self.expected(column, &format!("a number from {} to {}", range.start(), range.end())).with_hint(DAMAGED)
        })
    }

    pub(super) fn flag(&self, column: Column) -> Result<bool, ReadError> {
        match self.rows.value(column)? {
            Value::Number(0) | Value::Text(b"0") => Ok(false),
            Value::Number(1) | Value::Text(b"1") => Ok(true),
            _ => Err(self.expected(column, "0 or 1").with_hint(DAMAGED)),
        }
    }

    pub(super) fn hex(&self, column: Column) -> Result<u32, ReadError> {
        let number = match self.rows.value(column)? {
            Value::Number(number) => u32::try_from(number).ok(),
            // from_str_radix() would accept a sign.
            Value::Text(text) if text.iter().all(u8::is_ascii_hexdigit) => {
                str::from_utf8(text).ok().and_then(|text| u32::from_str_radix(text, 16).ok())
            }
            _ => None,
        };
        number.ok_or_else(|| {
            self.expected(column, "a hexadecimal number of 32 bits").with_hint("it is written without 0x")
        })
    }

    pub(super) fn cpu(&self, column: Column, nr_cpus: u32) -> Result<u32, ReadError> {
        self.any_number(column)?
            .filter(|&cpu| cpu < nr_cpus)
            .ok_or_else(|| self.expected(column, &format!("a CPU from 0 to {}", nr_cpus - 1)).with_hint(BELONGS))
    }

    pub(super) fn mask(&self, column: Column, nr_cpus: u32) -> Result<CpuMask, ReadError> {
        let mask = match self.rows.value(column)? {
            Value::Cpus(words) => CpuMask::from_words(nr_cpus, words),
            Value::Text(text) => str::from_utf8(text).ok().and_then(|text| CpuMask::from_hex(nr_cpus, text)),
            _ => None,
        };
        mask.ok_or_else(|| {
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
        let sound = |number: &T| range.contains(number);
        let found = match self.rows.value(column)? {
            Value::List(items) => take(items.iter().map(|&item| T::try_from(item).ok().filter(sound)), n, to),
            _ => take(items(&self.bytes(column)?).map(|item| parse(item).filter(sound)), n, to),
        };
        if to.len() < found.min(n) {
            let (from, till, text) = (range.start(), range.end(), self.bytes(column)?);
            let item = shown(items(&text).nth(to.len()).unwrap_or_default());
            let what = format!("expected numbers from {from} to {till}, found {item} at {what} {}", to.len());
            return Err(self.error(column, what).with_hint(DAMAGED));
        }
        if found != n {
            let what = format!("expected one number for each {what}, {n} in all, found {found}");
            return Err(self.error(column, what).with_hint(BELONGS));
        }
        Ok(())
    }
}

/// Takes the first `n` numbers, up to the first that is none. Returns how many items there are.
fn take<T: Number>(items: impl Iterator<Item = Option<T>>, n: usize, to: &mut Vec<T>) -> usize {
    let mut items = items.peekable();
    while to.len() < n
        && let Some(&Some(number)) = items.peek()
    {
        to.push(number);
        items.next();
    }
    to.len() + items.count()
}

/// The items of a list as a text.
fn items(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b' ').filter(|item| !item.is_empty())
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
fn parse<T: FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
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

    /// Whether a CSV file has the column in hexadecimal.
    fn is_hex(self) -> bool {
        matches!(self, Column::waker_flags | Column::wake_flags)
    }
}
