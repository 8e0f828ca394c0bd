//! `perf.data`, as written by `perf record -e sched:sched_switch,sched:sched_waking … -a` or `perf sched record`.

use crate::ImportError;
use crate::byte_reader::ByteReader;
use crate::event::{Event, Losses};
use crate::event_format::TracingData;
use crate::perf_data_check::check;
use crate::trace_info::{Caches, TraceInfo};
use linux_perf_data::linux_perf_event_reader::{ReadFormat, RecordParseInfo, RecordType, SampleFormat};
use linux_perf_data::{Endianness, Feature, PerfFile, PerfFileReader, PerfFileRecord};
use std::cell::RefCell;
use std::io::{Read, Seek};
use std::path::Path;

/// Calls `each` with every event, in the order of their times as far as perf's rounds
/// (`PERF_RECORD_FINISHED_ROUND`) establish it.
pub(crate) fn read(
    path: &Path,
    mut file: impl Read + Seek,
    info: &RefCell<TraceInfo>,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let damaged = |what: String| {
        ImportError::new(path, format!("perf.data cannot be read: {what}")).with_hint(
            "did perf record end normally, and was the whole file copied? `perf report --header-only` checks it; \
             wakelab cannot read files of `perf record -z` or of pipes",
        )
    };
    check(&mut file)
        .map_err(|e| ImportError::new(path, e.to_string()))?
        .map_err(|(at, what)| damaged(format!("at byte {at}: {what}")))?;
    let PerfFileReader { mut perf_file, mut record_iter } =
        PerfFileReader::parse_file(file).map_err(|e| damaged(e.to_string()))?;
    let big_endian = perf_file.endian() == Endianness::BigEndian;
    let tracing_bytes = perf_file.feature_section_data(Feature::TRACING_DATA).ok_or_else(|| {
        ImportError::new(path, "expected tracepoints, found none: the file does not describe any event")
            .with_hint("record with `perf sched record`, or -e 'sched:*' -e power:cpu_idle -e power:cpu_frequency")
    })?;
    let tracing = TracingData::parse(&mut ByteReader::new(tracing_bytes, big_endian))
        .map_err(|(at, what)| damaged(format!("the descriptions of events, at byte {at}: {what}")))?;
    machine(&perf_file, big_endian, &mut info.borrow_mut());
    let mut losses = Losses::default();
    while let Some(record) = record_iter.next_record(&mut perf_file).map_err(|e| damaged(e.to_string()))? {
        let PerfFileRecord::EventRecord { record, .. } = record else { continue };
        let body = record.data.as_slice();
        let mut bytes = ByteReader::new(&body, big_endian);
        match record.record_type {
            RecordType::SAMPLE => {}
            // The body is `u32 pid, tid; char comm[]`.
            RecordType::COMM => {
                let task = bytes.take(4).and_then(|_| bytes.number(4)).and_then(|tid| i32::try_from(tid).ok());
                let name = body.get(8..).unwrap_or_default().split(|&byte| byte == 0).next().unwrap_or_default();
                if let Some(task) = task {
                    info.borrow_mut().name(task, &String::from_utf8_lossy(name));
                }
                continue;
            }
            // Their bodies are `u64 id, lost` and `u64 lost`.
            RecordType::LOST | RecordType::LOST_SAMPLES => {
                if record.record_type == RecordType::LOST {
                    bytes.take(8);
                }
                losses.lost = losses.lost.saturating_add(bytes.number(8).unwrap_or(1));
                continue;
            }
            _ => continue,
        }
        let Some(Sample { t_ns, cpu, raw }) = Sample::parse(&body, &record.parse_info, big_endian) else {
            losses.unread += 1;
            continue;
        };
        // The first field of each event is common_type.
        let id = ByteReader::new(raw, big_endian).number(2);
        let format = id.and_then(|id| tracing.by_id(id));
        if let Some(event) = format.and_then(|format| format.event(raw, big_endian, t_ns, cpu)) {
            each(event)?;
        }
    }
    Ok(losses)
}

/// Takes what the header says of the machine. A section that cannot be read is left out.
fn machine(file: &PerfFile, big_endian: bool, info: &mut TraceInfo) {
    let text = |text: Option<&str>| text.map(str::to_owned).filter(|text| !text.is_empty() && text.len() <= 256);
    info.release = text(file.os_release().unwrap_or_default());
    info.arch = text(file.arch().unwrap_or_default());
    info.model = text(file.cpu_desc().unwrap_or_default());
    info.cpus = file.nr_cpus().unwrap_or_default().map(|cpus| cpus.nr_cpus_available).filter(|&cpus| cpus > 0);
    info.cpu_llc = file.feature_section_data(Feature::CACHE).and_then(|caches| cpu_llc(caches, big_endian));
}

/// `HEADER_CACHE` (tools/perf/Documentation/perf.data-file-format.txt): a version, the number of caches, and of each
/// its level, line size, sets and ways, then its type, size and CPUs as strings.
fn cpu_llc(section: &[u8], big_endian: bool) -> Option<Vec<u32>> {
    let mut bytes = ByteReader::new(section, big_endian);
    let (mut caches, _version) = (Caches::default(), bytes.number(4)?);
    for _ in 0..bytes.number(4)? {
        let level = bytes.number(4)?;
        bytes.take(12)?;
        let mut text = || {
            let length = usize::try_from(bytes.number(4)?).ok()?;
            let text = bytes.take(length)?;
            Some(String::from_utf8_lossy(text.split(|&c| c == 0).next()?).into_owned())
        };
        let (kind, _size, cpus) = (text()?, text()?, text()?);
        caches.add(u32::try_from(level).ok()?, &kind, &cpus);
    }
    caches.cpu_llc()
}

/// A sample up to its raw data: what the kernel's `perf_output_sample()` writes, in its order.
struct Sample<'a> {
    t_ns: u64,
    cpu: u32,
    /// The event as in the ftrace ring buffer.
    raw: &'a [u8],
}

impl<'a> Sample<'a> {
    /// Parses the body of a record. Returns `None` if it ends too early, or has no time, CPU or raw data.
    fn parse(body: &'a [u8], info: &RecordParseInfo, big_endian: bool) -> Option<Self> {
        let mut bytes = ByteReader::new(body, big_endian);
        let has = |part| info.sample_format.contains(part);
        let word = |bytes: &mut ByteReader<'a>, part| if has(part) { bytes.number(8).map(Some) } else { Some(None) };
        for part in [SampleFormat::IDENTIFIER, SampleFormat::IP, SampleFormat::TID] {
            word(&mut bytes, part)?;
        }
        let t_ns = word(&mut bytes, SampleFormat::TIME)?;
        for part in [SampleFormat::ADDR, SampleFormat::ID, SampleFormat::STREAM_ID] {
            word(&mut bytes, part)?;
        }
        let mut cpu = None;
        if has(SampleFormat::CPU) {
            cpu = Some(bytes.number(4)?);
            bytes.take(4)?;
        }
        word(&mut bytes, SampleFormat::PERIOD)?;
        if has(SampleFormat::READ) {
            bytes.take(read_size(&bytes, info.read_format)?)?;
        }
        if has(SampleFormat::CALLCHAIN) {
            let calls = bytes.number(8)?;
            bytes.take(usize::try_from(calls.checked_mul(8)?).ok()?)?;
        }
        if !has(SampleFormat::RAW) {
            return None;
        }
        let size = bytes.number(4)?;
        let raw = bytes.take(usize::try_from(size).ok()?)?;
        Some(Sample { t_ns: t_ns?, cpu: cpu? as u32, raw })
    }
}

/// The size of a sample's `struct read_format`, bytes. Of a group, the values begin with the number of its events.
fn read_size(bytes: &ByteReader<'_>, format: ReadFormat) -> Option<usize> {
    let has = |part| usize::from(format.contains(part));
    let times = has(ReadFormat::TOTAL_TIME_ENABLED) + has(ReadFormat::TOTAL_TIME_RUNNING);
    let of_each = 1 + has(ReadFormat::ID);
    if !format.contains(ReadFormat::GROUP) {
        return Some(8 * (times + of_each));
    }
    let mut values = *bytes;
    let events = usize::try_from(values.number(8)?).ok()?;
    events.checked_mul(of_each)?.checked_add(1 + times)?.checked_mul(8)
}
