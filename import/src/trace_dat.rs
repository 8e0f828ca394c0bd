//! `trace.dat` of trace-cmd, version 6: the layouts of events, then for each CPU the pages of its ring buffer as the kernel had
//! them. Version 7, which may be compressed, is refused with what to do.

use crate::bytes::Bytes;
use crate::error::ImportError;
use crate::event::{Event, Losses};
use crate::formats::Formats;
pub(crate) use crate::formats::MAGIC;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// All before the pages is read whole: so much at first, and the whole of the last where that is not enough. No kernel has
/// more.
const HEADER: [u64; 3] = [4 << 20, 32 << 20, 256 << 20];
/// Pages of 64 KiB are the largest.
const LARGEST_PAGE: usize = 1 << 16;
/// The most CPUs of a file.
const MOST_CPUS: u64 = 8192;

/// Tells of each event; the CPUs' buffers are merged by time.
pub(crate) fn read(
    path: &Path,
    mut file: impl Read + Seek,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let io = |e: std::io::Error| ImportError::new(path, e.to_string());
    let length = file.seek(SeekFrom::End(0)).map_err(io)?;
    file.rewind().map_err(io)?;
    let mut header = Vec::new();
    let mut found = None;
    for most in HEADER {
        file.by_ref().take(most - header.len() as u64).read_to_end(&mut header).map_err(io)?;
        let last = (header.len() as u64) < most || most == HEADER[HEADER.len() - 1];
        match read_header(path, &header) {
            Err(_) if !last => {}
            result => {
                found = Some(result?);
                break;
            }
        }
    }
    drop(header);
    let Some((formats, buffers)) = found else { return Ok(Losses::default()) };
    // Each CPU has pages of its own: together they are no longer than the file.
    let mut all = 0_u64;
    for (cpu, &(at, size)) in buffers.iter().enumerate() {
        all = all.saturating_add(size);
        if at.checked_add(size).is_none_or(|end| end > length) || all > length {
            let what = format!("expected the pages of CPU {cpu} within the file's {length} bytes, found {size} bytes");
            return Err(ImportError::damaged(path, at, what));
        }
    }
    let mut cpus: Vec<Cpu> = (0..).zip(buffers).map(|(cpu, (at, size))| Cpu::new(cpu, at, size)).collect();
    loop {
        for cpu in &mut cpus {
            while cpu.events.is_empty() && cpu.left > 0 {
                cpu.page(path, &mut file, &formats)?;
            }
        }
        let next =
            cpus.iter_mut().filter(|cpu| !cpu.events.is_empty()).min_by_key(|cpu| cpu.events.last().map(|e| e.t_ns));
        let Some(event) = next.and_then(|cpu| cpu.events.pop()) else {
            let lost = cpus.iter().fold(0, |sum: u64, cpu| sum.saturating_add(cpu.lost));
            return Ok(Losses { lost, unread: 0 });
        };
        each(event)?;
    }
}

/// The layouts, and the places of the CPUs' pages.
fn read_header(path: &Path, header: &[u8]) -> Result<(Formats, Vec<(u64, u64)>), ImportError> {
    let mut bytes = Bytes::new(header, false);
    let formats = Formats::read(&mut bytes).map_err(|(at, what)| ImportError::damaged(path, at, what))?;
    if formats.version != "6" {
        return Err(ImportError::new(path, format!("expected a trace.dat of version 6, found {:?}", formats.version))
            .with_hint("`trace-cmd convert --file-version 6 -i trace.dat -o v6.dat` writes one that is read"));
    }
    let buffers = buffers(&mut bytes)
        .ok_or_else(|| ImportError::damaged(path, bytes.at(), "expected the places of the CPUs' buffers"))?;
    if !(512..=LARGEST_PAGE).contains(&formats.page_size) || !matches!(formats.long_size, 4 | 8) {
        return Err(ImportError::damaged(path, 12, "expected pages of 512 bytes to 64 KiB, and longs of 4 or 8"));
    }
    Ok((formats, buffers))
}

/// What comes between the layouts and the pages: where each CPU's pages are, and how long they are.
fn buffers(bytes: &mut Bytes<'_>) -> Option<Vec<(u64, u64)>> {
    // Kernel symbols and formats of printk, then names of tasks.
    for size in [4, 4, 8] {
        let length = bytes.number(size)?;
        bytes.take(usize::try_from(length).ok()?)?;
    }
    let cpus = bytes.number(4).filter(|&cpus| cpus <= MOST_CPUS)?;
    let mut kind = bytes.take(10)?;
    if kind == b"options  \0" {
        while bytes.number(2)? != 0 {
            let length = bytes.number(4)?;
            bytes.take(usize::try_from(length).ok()?)?;
        }
        kind = bytes.take(10)?;
    }
    if kind != b"flyrecord\0" {
        return None;
    }
    (0..cpus).map(|_| Some((bytes.number(8)?, bytes.number(8)?))).collect()
}

/// One CPU's buffer.
struct Cpu {
    cpu: u32,
    at: u64,
    left: u64,
    /// Events that the kernel found no room for.
    lost: u64,
    /// Of the page at hand, the earliest last.
    events: Vec<Event>,
}

impl Cpu {
    fn new(cpu: u32, at: u64, size: u64) -> Self {
        Cpu { cpu, at, left: size, lost: 0, events: Vec::new() }
    }

    /// Takes the events out of the next page.
    fn page(&mut self, path: &Path, file: &mut (impl Read + Seek), formats: &Formats) -> Result<(), ImportError> {
        let size = (formats.page_size as u64).min(self.left);
        let io = |e: std::io::Error| ImportError::new(path, e.to_string());
        let mut page = Vec::new();
        file.seek(SeekFrom::Start(self.at)).map_err(io)?;
        file.take(size).read_to_end(&mut page).map_err(io)?;
        if (page.len() as u64) < size {
            return Err(ImportError::damaged(
                path,
                self.at,
                format!("expected a page of CPU {}, found the end", self.cpu),
            ));
        }
        events(&page, self.cpu, formats, &mut self.events).ok_or_else(|| {
            ImportError::damaged(path, self.at, format!("a page of CPU {} contradicts itself", self.cpu))
        })?;
        self.lost = self.lost.saturating_add(lost(&page, formats));
        self.events.reverse();
        self.at += size;
        self.left -= size;
        Ok(())
    }
}

/// How many events were lost before a page, as far as it says: a gap of unknown length is one.
fn lost(page: &[u8], formats: &Formats) -> u64 {
    const MISSED: u64 = 1 << 31;
    const STORED: u64 = 1 << 30;
    let mut bytes = Bytes::new(page, formats.big);
    let commit = bytes.take(8).and_then(|_| bytes.number(formats.long_size)).unwrap_or(0);
    if commit & MISSED == 0 {
        return 0;
    }
    // The number stands behind the data.
    let length = usize::try_from(commit & LENGTH).ok();
    let stored = length.filter(|_| commit & STORED != 0).and_then(|length| bytes.take(length));
    stored.and_then(|_| bytes.number(formats.long_size)).unwrap_or(1).max(1)
}

/// The lower bits of `commit` are the length; the others say that events were lost.
const LENGTH: u64 = (1 << 27) - 1;

/// The events of a page (`struct buffer_data_page`); `None` where it contradicts itself.
fn events(page: &[u8], cpu: u32, formats: &Formats, to: &mut Vec<Event>) -> Option<()> {
    let mut bytes = Bytes::new(page, formats.big);
    let mut time = bytes.number(8)?;
    let length = bytes.number(formats.long_size)? & LENGTH;
    let data = bytes.take(usize::try_from(length).ok()?)?;
    let mut data = Bytes::new(data, formats.big);
    while data.at() + 4 <= length {
        let head = data.number(4)?;
        // Bit fields begin at the other end on big-endian machines.
        let (kind, delta) = if formats.big { (head >> 27, head & 0x7ff_ffff) } else { (head & 0x1f, head >> 5) };
        match kind {
            // Padding: a discarded event, or the rest of the page.
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
                let id = Bytes::new(raw, formats.big).number(2);
                let format = id.and_then(|id| formats.by_id(id));
                to.extend(format.and_then(|format| format.event(raw, formats.big, time, cpu)));
                // Events are padded to 4 bytes.
                data.take((length.next_multiple_of(4) - length) as usize)?;
            }
        }
    }
    Some(())
}
