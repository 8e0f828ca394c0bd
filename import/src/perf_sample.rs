//! A sample of `perf.data`, up to its raw data: what the kernel's `perf_output_sample()` writes, in its order.

use crate::bytes::Bytes;
use linux_perf_data::linux_perf_event_reader::{ReadFormat, RecordParseInfo, SampleFormat};

/// What is read of a sample.
pub(crate) struct Sample<'a> {
    pub(crate) t_ns: u64,
    pub(crate) cpu: u32,
    /// The event, as the kernel's ring buffer has it.
    pub(crate) raw: &'a [u8],
}

impl<'a> Sample<'a> {
    /// The sample in a record's body; `None` where it ends too early, or has no time, CPU or raw data.
    pub(crate) fn parse(body: &'a [u8], info: &RecordParseInfo, big: bool) -> Option<Self> {
        let mut bytes = Bytes::new(body, big);
        let has = |part| info.sample_format.contains(part);
        let word = |bytes: &mut Bytes<'a>, part| if has(part) { bytes.number(8).map(Some) } else { Some(None) };
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

/// How long `struct read_format` is, bytes.
fn read_size(bytes: &Bytes<'_>, format: ReadFormat) -> Option<usize> {
    let has = |part| usize::from(format.contains(part));
    let times = has(ReadFormat::TOTAL_TIME_ENABLED) + has(ReadFormat::TOTAL_TIME_RUNNING);
    let of_each = 1 + has(ReadFormat::ID);
    if !format.contains(ReadFormat::GROUP) {
        return Some(8 * (times + of_each));
    }
    let mut ahead = *bytes;
    let events = usize::try_from(ahead.number(8)?).ok()?;
    events.checked_mul(of_each)?.checked_add(1 + times)?.checked_mul(8)
}
