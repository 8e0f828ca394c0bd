//! What was counted beside what was recorded: how much is missing, and what recording cost.

use crate::record::table::{Table, table};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use serde_json::{Map, Value};

table! {
    /// What was counted so far, again and again while recording.
    Counts, CountsRow, "counts" {
        t_ns: i64 = "When, ns of CLOCK_MONOTONIC. All that follows counts from the beginning of the recording.";
        last: bool = "Whether the recording had ended: nothing is under way any more.";
        wakings: i64 = "Wake-ups of whatever class.";
        woken: i64 = "Those of them that came to a choice; the others were still queued, pinned to one CPU, or of another class.";
        choices: i64 = "Choices of the fair class: those, and the ones of forks and execs. The next seven add up to them.";
        recorded: i64 = "In `decisions`.";
        lost: i64 = "Found no room in the buffer.";
        filtered: i64 = "Left out by --pid, --comm or --cgroup.";
        sampled: i64 = "Left out by --sample.";
        limited: i64 = "Left out by --max-rate.";
        changed: i64 = "Left out since the scheduling domains were being rebuilt, as when a CPU goes offline.";
        unfinished: i64 = "Under way, or in the buffer; at the end those whose end was not seen.";
        stable: i64 = "Of those recorded: can be compared exactly.";
        events_lost: i64 = "Rows of the other tables that found no room.";
        events_limited: i64 = "Rows of the other tables left out by --max-rate.";
        missed: i64 = "How often the kernel did not run a BPF program, as one was running on that CPU: what it would have seen is not counted above.";
        choice_ns: Option<i64> = "Time of the BPF programs at the beginning and the end of choices, ns; null where the kernel does not count it.";
        programs_ns: Option<i64> = "Time of all BPF programs, ns.";
        recorder_ns: i64 = "CPU time of wakelab-record itself, ns.";
        elapsed_ns: i64 = "Time since the beginning, ns; the two before over it are the shares of one CPU.";
    }
}

impl CountsRow<'_> {
    /// What was left out on purpose, or because the machine changed.
    pub fn not_taken(&self) -> i64 {
        self.filtered + self.sampled + self.limited + self.changed
    }

    /// As JSON, with the names of the columns.
    pub(super) fn json(&self) -> String {
        let mut table = Counts::default();
        table.push(*self);
        let value = |array: &dyn Array| {
            if array.is_null(0) {
                Value::Null
            } else if let Some(flags) = array.as_boolean_opt() {
                flags.value(0).into()
            } else {
                array.as_primitive::<Int64Type>().value(0).into()
            }
        };
        let names = Counts::COLUMNS.iter().map(|column| column.name.to_owned());
        Value::Object(names.zip(table.finish().iter().map(|array| value(array))).collect::<Map<_, _>>()).to_string()
    }
}
