//! The counts of a recorder, besides the rows that it wrote.

use super::source::Tables;
use crate::error::ReadError;
use crate::limits::MAX_TIME;
use crate::table::reader::Columns;

/// How complete a recording is, and what recording cost. The counts of several recordings can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounts {
    /// Decisions of the fair class. The next five counts add up to them.
    pub choices: u64,
    /// Decisions in the recording.
    pub recorded: u64,
    /// Decisions that found no room in the ring buffer.
    pub lost: u64,
    /// Decisions left out on purpose, by filters, sampling or a limited rate.
    pub left_out: u64,
    /// Decisions left out because the scheduling domains were being rebuilt.
    pub changed: u64,
    /// Decisions whose exit was not recorded.
    pub unfinished: i64,
    /// Rows of other tables that found no room in the ring buffer.
    pub events_lost: u64,
    /// The time of the BPF programs, ns; `None` if a kernel did not count it.
    pub programs_ns: Option<u64>,
    /// The CPU time of the recorder itself, ns.
    pub recorder_ns: u64,
    /// How long the recording is, ns.
    pub elapsed_ns: u64,
    /// How many recordings were cut off because their recorder was killed. Their counts are those of the last segment.
    pub cut_off: u64,
}

const COLUMNS: &[&str] = &[
    "choices",
    "recorded",
    "lost",
    "filtered",
    "sampled",
    "limited",
    "changed",
    "unfinished",
    "events_lost",
    "programs_ns",
    "recorder_ns",
    "elapsed_ns",
    "last",
];

impl RecorderCounts {
    /// The last counts of a recording. Returns `None` if its recorder wrote none, or if a file was given without its
    /// folder.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn of(tables: &Tables) -> Result<Option<Self>, ReadError> {
        let path = tables.folder.join("counts.parquet");
        // The counts of the folder are not those of one of its files.
        if tables.single_file || !path.exists() {
            return Ok(None);
        }
        let (mut rows, _) = Columns::open(&path, "counts", COLUMNS)?;
        let mut found = None;
        while rows.advance()? {
            let number = |column| rows.within(column, MAX_TIME);
            found = Some(RecorderCounts {
                choices: number(0)?,
                recorded: number(1)?,
                lost: number(2)?,
                left_out: number(3)?.saturating_add(number(4)?).saturating_add(number(5)?),
                changed: number(6)?,
                unfinished: rows.difference(7, MAX_TIME)?,
                events_lost: number(8)?,
                programs_ns: rows.within_or_null(9, MAX_TIME)?,
                recorder_ns: number(10)?,
                elapsed_ns: number(11)?,
                cut_off: u64::from(rows.long(12) != Some(1)),
            });
        }
        Ok(found)
    }

    /// The share of the decisions that the recording has, 0 to 1, if some were left out on purpose: it is a sample, and
    /// of a filter or a limited rate no fair one. `None` for a recording that was to have all.
    pub fn sample(&self) -> Option<f64> {
        (self.left_out > 0).then(|| self.recorded as f64 / self.choices.max(1) as f64)
    }

    /// Adds the counts of another recording. Sums saturate, because a damaged file may have any numbers.
    pub fn add(&mut self, other: &RecorderCounts) {
        self.choices = self.choices.saturating_add(other.choices);
        self.recorded = self.recorded.saturating_add(other.recorded);
        self.lost = self.lost.saturating_add(other.lost);
        self.left_out = self.left_out.saturating_add(other.left_out);
        self.changed = self.changed.saturating_add(other.changed);
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
        self.events_lost = self.events_lost.saturating_add(other.events_lost);
        self.programs_ns = self.programs_ns.zip(other.programs_ns).map(|(a, b)| a.saturating_add(b));
        self.recorder_ns = self.recorder_ns.saturating_add(other.recorder_ns);
        self.elapsed_ns = self.elapsed_ns.saturating_add(other.elapsed_ns);
        self.cut_off = self.cut_off.saturating_add(other.cut_off);
    }
}
