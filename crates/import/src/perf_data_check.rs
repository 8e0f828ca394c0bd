//! Checks that the sizes and offsets in a `perf.data` fit the file. linux-perf-data allocates whatever they promise, so
//! they are compared with the length of the file first.

use crate::byte_reader::{ByteReader, number};
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// `struct perf_file_header`.
const HEADER: usize = 104;
/// The size of `struct perf_event_attr`: that of its first version, up to more than any version has.
const ATTR: std::ops::RangeInclusive<u64> = 64..=4096;
/// The feature bit `HEADER_EVENT_DESC`: descriptions of the events.
const EVENT_DESC: usize = 12;
/// `PERF_RECORD_AUXTRACE`, whose data follow the record.
const AUXTRACE: u64 = 71;
/// `PERF_RECORD_COMPRESSED` and `PERF_RECORD_COMPRESSED2`.
const COMPRESSED: [u64; 2] = [81, 83];

/// A fault in the file: its offset in bytes, and what was expected there.
pub(crate) type Fault = (u64, &'static str);

/// Checks the header, the sections and the lengths of all records against the length of the file.
pub(crate) fn check(file: &mut (impl Read + Seek)) -> io::Result<Result<(), Fault>> {
    let length = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut checker = Checker { file: BufReader::with_capacity(1 << 16, &mut *file), length, big_endian: false };
    let result = checker.check_file();
    file.rewind()?;
    // The end of the file is no I/O error: a size in the file is wrong.
    match result {
        Ok(()) => Ok(Ok(())),
        Err(CheckError::Fault(fault)) => Ok(Err(fault)),
        Err(CheckError::Io(e)) if e.kind() == io::ErrorKind::UnexpectedEof => {
            Ok(Err((length, "expected more data, found the end")))
        }
        Err(CheckError::Io(e)) => Err(e),
    }
}

enum CheckError {
    Fault(Fault),
    Io(io::Error),
}

impl From<io::Error> for CheckError {
    fn from(error: io::Error) -> Self {
        CheckError::Io(error)
    }
}

fn fault<T>(at: u64, what: &'static str) -> Result<T, CheckError> {
    Err(CheckError::Fault((at, what)))
}

struct Checker<F> {
    file: BufReader<F>,
    length: u64,
    big_endian: bool,
}

/// A section of the file, in bytes.
#[derive(Clone, Copy)]
struct Section {
    offset: u64,
    size: u64,
}

impl<F: Read + Seek> Checker<F> {
    fn check_file(&mut self) -> Result<(), CheckError> {
        let header = self.read(0, HEADER as u64)?;
        self.big_endian = header.starts_with(b"2");
        let mut rest = ByteReader::new(&header[8..], self.big_endian);
        let mut next = || rest.number(8).unwrap_or_default();
        let (size, attr_size) = (next(), next());
        let (attrs, data, types) = (
            Section { offset: next(), size: next() },
            Section { offset: next(), size: next() },
            Section { offset: next(), size: next() },
        );
        let features: Vec<usize> = (0..4).flat_map(|word| bits(next(), word)).collect();
        if size == 16 {
            return fault(8, "expected a file, found what perf wrote to a pipe (perf record -o -)");
        }
        if !(HEADER as u64..=self.length).contains(&size) || !ATTR.contains(&attr_size) {
            return fault(8, "expected the sizes of a header and of an event's attributes");
        }
        for (section, at) in [(attrs, 24), (data, 40), (types, 56)] {
            self.check_inside(section, at)?;
        }
        if data.size == 0 {
            return fault(48, "expected events, found none: perf record was killed before it wrote their number");
        }
        let tables = data.offset + data.size;
        let table = self.read(tables, 16 * features.len() as u64)?;
        let mut table = ByteReader::new(&table, self.big_endian);
        let mut described = false;
        let mut total = 0_u64;
        for feature in features {
            let at = tables + table.offset();
            let section =
                Section { offset: table.number(8).unwrap_or_default(), size: table.number(8).unwrap_or_default() };
            self.check_inside(section, at)?;
            // Sections do not overlap, so their sum is at most the length of the file.
            total += section.size;
            if total > self.length {
                return fault(at, "expected sections that do not overlap");
            }
            if feature == EVENT_DESC {
                described = true;
                self.check_event_desc(section)?;
            }
        }
        if !described {
            if types.size > 0 {
                return fault(56, "expected descriptions of the events, found those of a perf before Linux 3.0");
            }
            self.check_ids(attrs, attr_size)?;
        }
        self.check_records(data)
    }

    fn check_inside(&self, section: Section, at: u64) -> Result<(), CheckError> {
        match section.offset.checked_add(section.size) {
            Some(end) if end <= self.length => Ok(()),
            _ => fault(at, "expected a section within the file"),
        }
    }

    fn read(&mut self, at: u64, size: u64) -> Result<Vec<u8>, CheckError> {
        self.check_inside(Section { offset: at, size }, at)?;
        self.file.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        self.file.by_ref().take(size).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < size { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
            .map_err(CheckError::Io)
    }

    /// Checks the counts in `HEADER_EVENT_DESC`: of events, of their ids, and the lengths of their names.
    fn check_event_desc(&mut self, section: Section) -> Result<(), CheckError> {
        let text = self.read(section.offset, section.size)?;
        let mut bytes = ByteReader::new(&text, self.big_endian);
        let (events, attr_size) = (bytes.number(4).unwrap_or(0), bytes.number(4).unwrap_or(0));
        let fits = |attr_size: u64| ATTR.contains(&attr_size) && events.saturating_mul(attr_size) <= section.size;
        let mut skip = |size: u64| usize::try_from(size).ok().and_then(|size| bytes.take(size)).map(|_| bytes.offset());
        let mut read_all = || -> Option<()> {
            for _ in 0..events {
                skip(attr_size)?;
                let at = skip(8)? as usize;
                let number = |from: usize| ByteReader::new(text.get(from..)?, self.big_endian).number(4);
                let (ids, name) = (number(at - 8)?, number(at - 4)?);
                skip(name)?;
                skip(8 * ids)?;
            }
            Some(())
        };
        if !fits(attr_size) || read_all().is_none() {
            return fault(section.offset, "expected descriptions of the events that fill their section");
        }
        Ok(())
    }

    /// Checks the section of ids that follows the attributes of each event.
    fn check_ids(&mut self, attrs: Section, attr_size: u64) -> Result<(), CheckError> {
        let text = self.read(attrs.offset, attrs.size)?;
        let mut total = 0_u64;
        for (entry, at) in text.chunks_exact(attr_size as usize).zip((attrs.offset..).step_by(attr_size as usize)) {
            let mut place = ByteReader::new(&entry[entry.len() - 16..], self.big_endian);
            let section =
                Section { offset: place.number(8).unwrap_or_default(), size: place.number(8).unwrap_or_default() };
            self.check_inside(section, at)?;
            total += section.size;
            if total > self.length {
                return fault(at, "expected sections that do not overlap");
            }
        }
        Ok(())
    }

    /// Checks that the records fill their section.
    fn check_records(&mut self, data: Section) -> Result<(), CheckError> {
        let (mut at, end) = (data.offset, data.offset + data.size);
        self.file.seek(SeekFrom::Start(at))?;
        while at < end {
            let mut head = [0; 8];
            self.file.read_exact(&mut head)?;
            let mut bytes = ByteReader::new(&head, self.big_endian);
            let (kind, _, size) = (bytes.number(4).unwrap_or(0), bytes.number(2), bytes.number(2).unwrap_or(0));
            if COMPRESSED.contains(&kind) {
                return fault(at, "expected plain records, found compressed ones");
            }
            let mut length = size;
            let mut skip = size.checked_sub(8);
            if kind == AUXTRACE && size >= 16 {
                let mut data = [0; 8];
                self.file.read_exact(&mut data)?;
                length = number(&data, self.big_endian).unwrap_or(0).saturating_add(size);
                skip = length.checked_sub(16);
            }
            match skip.and_then(|skip| i64::try_from(skip).ok()) {
                Some(skip) if length <= end - at => self.file.seek_relative(skip)?,
                _ => return fault(at, "expected a record that ends within the data"),
            }
            at += length;
        }
        Ok(())
    }
}

/// The numbers of the bits that are set in the word with this index.
fn bits(word: u64, index: usize) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| 64 * index + bit)
}
