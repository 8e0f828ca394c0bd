//! What a recorder counted besides the rows that it wrote.

use super::source::Tables;
use crate::error::ReadError;
use crate::table::reader::Columns;

/// How much of what happened is in a recording, and what recording cost. Several recordings are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounts {
    /// Choices of the fair class, which the next five add up to.
    pub choices: u64,
    /// Those in the recording.
    pub recorded: u64,
    /// Those that found no room in the buffer.
    pub lost: u64,
    /// Those left out on purpose: filters, sampling, a limited rate.
    pub left_out: u64,
    /// Those left out as the scheduling domains were being rebuilt.
    pub changed: u64,
    /// Those whose end was not seen.
    pub unfinished: i64,
    /// Rows of other tables that found no room.
    pub events_lost: u64,
    /// Time of the BPF programs, ns; `None` where a kernel did not count it.
    pub programs_ns: Option<u64>,
    /// CPU time of the recorder itself, ns.
    pub recorder_ns: u64,
    /// How long was recorded, ns.
    pub elapsed_ns: u64,
    /// Recordings that were not ended by their recorder: it was killed, and the counts are those of its last segment.
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
    /// The counts of a recording, as its recorder wrote them last; `None` where it wrote none, and for a
    /// file that was named by itself.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn of(tables: &Tables) -> Result<Option<Self>, ReadError> {
        let path = tables.folder.join("counts.parquet");
        // What was counted of the folder says nothing of one of its files.
        if tables.single_file || !path.exists() {
            return Ok(None);
        }
        let (mut rows, _) = Columns::open(&path, "counts", COLUMNS)?;
        let mut found = None;
        while rows.advance()? {
            let number = |column| rows.within(column, i64::MAX as u64);
            found = Some(RecorderCounts {
                choices: number(0)?,
                recorded: number(1)?,
                lost: number(2)?,
                left_out: number(3)?.saturating_add(number(4)?).saturating_add(number(5)?),
                changed: number(6)?,
                unfinished: rows.long(7).unwrap_or(0),
                events_lost: number(8)?,
                programs_ns: rows.long(9).and_then(|ns| u64::try_from(ns).ok()),
                recorder_ns: number(10)?,
                elapsed_ns: number(11)?,
                cut_off: u64::from(rows.long(12) != Some(1)),
            });
        }
        Ok(found)
    }

    /// Adds those of another recording. Numbers of a damaged file are no larger than they can be.
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
