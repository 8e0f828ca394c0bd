//! Reads `trace.dat` of trace-cmd, version 6: the layouts of events, then for each CPU the pages of its ring buffer as
//! the kernel wrote them. Version 7, which may be compressed, is refused with a hint.

use crate::ImportError;
use crate::byte_reader::ByteReader;
use crate::event::{Event, Losses};
use crate::event_format::TracingData;
use crate::trace_info::TraceInfo;
use std::cell::RefCell;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use wakelab_events::limits::MAX_CPUS;

/// How much is read for the part before the pages, bytes. The next size is tried if one is not enough; the last is more
/// than any kernel needs.
const HEADER_SIZES: [u64; 3] = [4 << 20, 32 << 20, 256 << 20];
/// The largest page size of any architecture, bytes.
const LARGEST_PAGE: usize = 1 << 16;

/// Calls `each` with every event; the buffers of the CPUs are merged by time.
pub(crate) fn read(
    path: &Path,
    mut file: impl Read + Seek,
    info: &RefCell<TraceInfo>,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let io = |e: std::io::Error| ImportError::new(path, e.to_string());
    let length = file.seek(SeekFrom::End(0)).map_err(io)?;
    file.rewind().map_err(io)?;
    let mut header = Vec::new();
    let mut found = None;
    for size in HEADER_SIZES {
        file.by_ref().take(size - header.len() as u64).read_to_end(&mut header).map_err(io)?;
        let last = (header.len() as u64) < size || size == HEADER_SIZES[HEADER_SIZES.len() - 1];
        match read_header(path, &header, &mut info.borrow_mut()) {
            Err(_) if !last => {}
            result => {
                found = Some(result?);
                break;
            }
        }
    }
    drop(header);
    let Some((tracing, buffers)) = found else { return Ok(Losses::default()) };
    // Each CPU has its own pages, so their sum is at most the length of the file.
    let mut all = 0_u64;
    for (cpu, &(at, size)) in buffers.iter().enumerate() {
        all = all.saturating_add(size);
        if at.checked_add(size).is_none_or(|end| end > length) || all > length {
            let what = format!("expected the pages of CPU {cpu} within the file's {length} bytes, found {size} bytes");
            return Err(ImportError::damaged(path, at, what));
        }
    }
    let mut cpus: Vec<CpuBuffer> = (0..).zip(buffers).map(|(cpu, (at, size))| CpuBuffer::new(cpu, at, size)).collect();
    loop {
        for cpu in &mut cpus {
            while cpu.events.is_empty() && cpu.size > 0 {
                cpu.read_page(path, &mut file, &tracing)?;
            }
        }
        let next =
            cpus.iter_mut().filter(|cpu| !cpu.events.is_empty()).min_by_key(|cpu| cpu.events.last().map(|e| e.t_ns));
        let Some(event) = next.and_then(|cpu| cpu.events.pop()) else {
            let lost = cpus.iter().fold(0, |sum: u64, cpu| sum.saturating_add(cpu.lost));
            return Ok(Losses { lost, ..Losses::default() });
        };
        each(event)?;
    }
}

/// Parses the layouts, and the offset and size of each CPU's pages.
fn read_header(
    path: &Path,
    header: &[u8],
    info: &mut TraceInfo,
) -> Result<(TracingData, Vec<(u64, u64)>), ImportError> {
    let mut bytes = ByteReader::new(header, false);
    let tracing = TracingData::parse(&mut bytes).map_err(|(at, what)| ImportError::damaged(path, at, what))?;
    if tracing.version != "6" {
        return Err(ImportError::new(path, format!("expected a trace.dat of version 6, found {:?}", tracing.version))
            .with_hint("`trace-cmd convert --file-version 6 -i trace.dat -o v6.dat` writes one that is read"));
    }
    let buffers = buffers(&mut bytes, info)
        .ok_or_else(|| ImportError::damaged(path, bytes.offset(), "expected the places of the CPUs' buffers"))?;
    if !(512..=LARGEST_PAGE).contains(&tracing.page_size) || !matches!(tracing.long_size, 4 | 8) {
        return Err(ImportError::damaged(path, 12, "expected pages of 512 bytes to 64 KiB, and longs of 4 or 8"));
    }
    Ok((tracing, buffers))
}

/// Parses what stands between the layouts and the pages. Returns the offset and the size of each CPU's pages, bytes.
fn buffers(bytes: &mut ByteReader<'_>, info: &mut TraceInfo) -> Option<Vec<(u64, u64)>> {
    // Kernel symbols, printk formats, then the names of tasks; each with its length.
    let mut names: &[u8] = &[];
    for size in [4, 4, 8] {
        let length = bytes.number(size)?;
        names = bytes.take(usize::try_from(length).ok()?)?;
    }
    // `saved_cmdlines` of tracefs: `PID NAME`.
    for line in String::from_utf8_lossy(names).lines() {
        if let Some((pid, name)) = line.trim_start().split_once(' ')
            && let Ok(pid) = pid.parse()
            && name != "<...>"
        {
            info.name(pid, name);
        }
    }
    let cpus = bytes.number(4).filter(|&cpus| cpus <= MAX_CPUS.into())?;
    info.cpus = u32::try_from(cpus).ok().filter(|&cpus| cpus > 0);
    let mut kind = bytes.take(10)?;
    if kind == b"options  \0" {
        loop {
            let option = bytes.number(2)?;
            if option == 0 {
                break;
            }
            let length = bytes.number(4)?;
            let value = bytes.take(usize::try_from(length).ok()?)?;
            if option == OPTION_UNAME {
                uname(&String::from_utf8_lossy(value), info);
            }
        }
        kind = bytes.take(10)?;
    }
    if kind != b"flyrecord\0" {
        return None;
    }
    (0..cpus).map(|_| Some((bytes.number(8)?, bytes.number(8)?))).collect()
}

/// `TRACECMD_OPTION_UNAME`: `sysname nodename release version machine`, the version of several words.
const OPTION_UNAME: u64 = 5;

fn uname(text: &str, info: &mut TraceInfo) {
    let mut words = text.trim_end_matches('\0').split_ascii_whitespace();
    let word = |word: Option<&str>| word.filter(|word| word.len() <= 256).map(str::to_owned);
    info.release = word(words.nth(2));
    info.arch = word(words.next_back());
}

/// The part of a CPU's buffer that has not been read yet.
struct CpuBuffer {
    cpu: u32,
    offset: u64,
    size: u64,
    /// Events that the kernel lost because the buffer was full.
    lost: u64,
    /// Events of the current page in reverse order, so that `pop()` takes the earliest.
    events: Vec<Event>,
}

impl CpuBuffer {
    fn new(cpu: u32, offset: u64, size: u64) -> Self {
        CpuBuffer { cpu, offset, size, lost: 0, events: Vec::new() }
    }

    /// Decodes the next page.
    fn read_page(
        &mut self,
        path: &Path,
        file: &mut (impl Read + Seek),
        tracing: &TracingData,
    ) -> Result<(), ImportError> {
        let size = (tracing.page_size as u64).min(self.size);
        let io = |e: std::io::Error| ImportError::new(path, e.to_string());
        let mut page = Vec::new();
        file.seek(SeekFrom::Start(self.offset)).map_err(io)?;
        file.take(size).read_to_end(&mut page).map_err(io)?;
        if (page.len() as u64) < size {
            return Err(ImportError::damaged(
                path,
                self.offset,
                format!("expected a page of CPU {}, found the end of the file", self.cpu),
            ));
        }
        events(&page, self.cpu, tracing, &mut self.events).ok_or_else(|| {
            ImportError::damaged(path, self.offset, format!("a page of CPU {} contradicts itself", self.cpu))
        })?;
        self.lost = self.lost.saturating_add(lost(&page, tracing));
        self.events.reverse();
        self.offset += size;
        self.size -= size;
        Ok(())
    }
}

/// Returns the number of events that were lost before a page. A gap of unknown length counts as one.
fn lost(page: &[u8], tracing: &TracingData) -> u64 {
    const MISSED: u64 = 1 << 31;
    const STORED: u64 = 1 << 30;
    let mut bytes = ByteReader::new(page, tracing.big_endian);
    let commit = bytes.take(8).and_then(|_| bytes.number(tracing.long_size)).unwrap_or(0);
    if commit & MISSED == 0 {
        return 0;
    }
    // The number follows the data.
    let length = usize::try_from(commit & LENGTH).ok();
    let stored = length.filter(|_| commit & STORED != 0).and_then(|length| bytes.take(length));
    stored.and_then(|_| bytes.number(tracing.long_size)).unwrap_or(1).max(1)
}

/// The bits of `commit` that hold the length. Higher bits are `RB_MISSED_EVENTS` and `RB_MISSED_STORED`.
const LENGTH: u64 = (1 << 27) - 1;

/// Decodes the events of a page (`struct buffer_data_page`, include/linux/ring_buffer.h has the event types). Returns
/// `None` if it contradicts itself.
fn events(page: &[u8], cpu: u32, tracing: &TracingData, to: &mut Vec<Event>) -> Option<()> {
    let mut bytes = ByteReader::new(page, tracing.big_endian);
    let mut time = bytes.number(8)?;
    let length = bytes.number(tracing.long_size)? & LENGTH;
    let data = bytes.take(usize::try_from(length).ok()?)?;
    let mut data = ByteReader::new(data, tracing.big_endian);
    while data.offset() + 4 <= length {
        let head = data.number(4)?;
        // Bit fields start at the high end on big-endian machines.
        let (kind, delta) = if tracing.big_endian { (head >> 27, head & 0x7ff_ffff) } else { (head & 0x1f, head >> 5) };
        match kind {
            // RINGBUF_TYPE_PADDING: a discarded event, or the rest of the page.
            29 if delta == 0 => return Some(()),
            29 => {
                let length = data.number(4)?;
                time = time.wrapping_add(delta);
                data.take(usize::try_from(length.checked_sub(4)?).ok()?)?;
            }
            30 => time = time.wrapping_add((data.number(4)? << 27) + delta),
            31 => time = (data.number(4)? << 27) + delta,
            _ => {
                time = time.wrapping_add(delta);
                let length = if kind == 0 { data.number(4)?.checked_sub(4)? } else { kind * 4 };
                let raw = data.take(usize::try_from(length).ok()?)?;
                let id = ByteReader::new(raw, tracing.big_endian).number(2);
                let format = id.and_then(|id| tracing.by_id(id));
                to.extend(format.and_then(|format| format.event(raw, tracing.big_endian, time, cpu)));
                // Events are padded to 4 bytes.
                data.take((length.next_multiple_of(4) - length) as usize)?;
            }
        }
    }
    Some(())
}
