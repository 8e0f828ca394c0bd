//! `perf.data`: `perf record -e sched:sched_switch,sched:sched_waking … -a`, or `perf sched record`.

use crate::bytes::Bytes;
use crate::error::ImportError;
use crate::event::{Event, Losses};
use crate::formats::Formats;
use crate::perf_check::check;
use crate::perf_sample::Sample;
use linux_perf_data::linux_perf_event_reader::RecordType;
use linux_perf_data::{Endianness, Feature, PerfFileReader, PerfFileRecord};
use std::io::{Read, Seek};
use std::path::Path;

/// Tells of each event, in the order of their times as far as perf's rounds give it.
pub(crate) fn read(
    path: &Path,
    mut file: impl Read + Seek,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let damaged = |what: String| {
        ImportError::new(path, format!("perf.data cannot be read: {what}")).with_hint(
            "was perf record ended in good order, and the file copied whole? `perf report --header-only` tests it; files of \
             `perf record -z` and of pipes are not read",
        )
    };
    check(&mut file)
        .map_err(|e| ImportError::new(path, e.to_string()))?
        .map_err(|(at, what)| damaged(format!("at byte {at}: {what}")))?;
    let PerfFileReader { mut perf_file, mut record_iter } =
        PerfFileReader::parse_file(file).map_err(|e| damaged(e.to_string()))?;
    let big = perf_file.endian() == Endianness::BigEndian;
    let tracing = perf_file.feature_section_data(Feature::TRACING_DATA).ok_or_else(|| {
        ImportError::new(path, "expected tracepoints, found none: the file has no layouts of events")
            .with_hint("record with `perf sched record`, or -e 'sched:*' -e power:cpu_idle -e power:cpu_frequency")
    })?;
    let formats = Formats::read(&mut Bytes::new(tracing, big))
        .map_err(|(at, what)| damaged(format!("the layouts of events, at byte {at}: {what}")))?;
    let mut losses = Losses::default();
    while let Some(record) = record_iter.next_record(&mut perf_file).map_err(|e| damaged(e.to_string()))? {
        let PerfFileRecord::EventRecord { record, .. } = record else { continue };
        let body = record.data.as_slice();
        let mut bytes = Bytes::new(&body, big);
        match record.record_type {
            RecordType::SAMPLE => {}
            // `u64 id, lost`, and `u64 lost`.
            RecordType::LOST | RecordType::LOST_SAMPLES => {
                if record.record_type == RecordType::LOST {
                    bytes.take(8);
                }
                losses.lost = losses.lost.saturating_add(bytes.number(8).unwrap_or(1));
                continue;
            }
            _ => continue,
        }
        let Some(Sample { t_ns, cpu, raw }) = Sample::parse(&body, &record.parse_info, big) else {
            losses.unread += 1;
            continue;
        };
        // common_type, the first field of each event.
        let id = Bytes::new(raw, big).number(2);
        let format = id.and_then(|id| formats.by_id(id));
        if let Some(event) = format.and_then(|format| format.event(raw, big, t_ns, cpu)) {
            each(event)?;
        }
    }
    Ok(losses)
}
