//! Whether the numbers in a `perf.data` fit the file. The reader makes room for whatever they promise, so that they are held
//! against the file's length first.

use crate::bytes::{Bytes, number};
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// `struct perf_file_header`.
const HEADER: usize = 104;
/// `struct perf_event_attr` of the first version, and more than any has.
const ATTR: std::ops::RangeInclusive<u64> = 64..=4096;
/// The bit of a feature: descriptions of the events.
const EVENT_DESC: usize = 12;
/// `PERF_RECORD_AUXTRACE`, whose data come behind the record, and the two kinds of compressed records.
const AUXTRACE: u64 = 71;
const COMPRESSED: [u64; 2] = [81, 83];

/// What is wrong: at which byte, and what was expected.
pub(crate) type Wrong = (u64, &'static str);

/// Holds the header, the sections and the lengths of all records against the file.
pub(crate) fn check(file: &mut (impl Read + Seek)) -> io::Result<Result<(), Wrong>> {
    let length = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut checked = Checked { file: BufReader::with_capacity(1 << 16, &mut *file), length, big: false };
    let result = checked.all();
    file.rewind()?;
    // The end of the file is none of the system's errors: a number was wrong.
    match result {
        Ok(()) => Ok(Ok(())),
        Err(Stop::Wrong(wrong)) => Ok(Err(wrong)),
        Err(Stop::Io(e)) if e.kind() == io::ErrorKind::UnexpectedEof => {
            Ok(Err((length, "expected more, found the end")))
        }
        Err(Stop::Io(e)) => Err(e),
    }
}

enum Stop {
    Wrong(Wrong),
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Io(error)
    }
}

fn wrong<T>(at: u64, what: &'static str) -> Result<T, Stop> {
    Err(Stop::Wrong((at, what)))
}

struct Checked<F> {
    file: BufReader<F>,
    length: u64,
    big: bool,
}

/// A stretch of the file.
#[derive(Clone, Copy)]
struct Section {
    at: u64,
    size: u64,
}

impl<F: Read + Seek> Checked<F> {
    fn all(&mut self) -> Result<(), Stop> {
        let header = self.read(0, HEADER as u64)?;
        self.big = header.starts_with(b"2");
        let mut rest = Bytes::new(&header[8..], self.big);
        let mut next = || rest.number(8).unwrap_or_default();
        let (size, attr_size) = (next(), next());
        let (attrs, data, types) = (
            Section { at: next(), size: next() },
            Section { at: next(), size: next() },
            Section { at: next(), size: next() },
        );
        let features: Vec<usize> = (0..4).flat_map(|word| bits(next(), word)).collect();
        if size == 16 {
            return wrong(8, "expected a file, found what perf wrote to a pipe (perf record -o -)");
        }
        if !(HEADER as u64..=self.length).contains(&size) || !ATTR.contains(&attr_size) {
            return wrong(8, "expected the sizes of a header and of an event's attributes");
        }
        for (section, at) in [(attrs, 24), (data, 40), (types, 56)] {
            self.inside(section, at)?;
        }
        if data.size == 0 {
            return wrong(
                48,
                "expected events, found none: perf record was ended before it could say how many there are",
            );
        }
        let tables = data.at + data.size;
        let table = self.read(tables, 16 * features.len() as u64)?;
        let mut table = Bytes::new(&table, self.big);
        let mut described = false;
        let mut all = 0_u64;
        for feature in features {
            let at = tables + table.at();
            let section =
                Section { at: table.number(8).unwrap_or_default(), size: table.number(8).unwrap_or_default() };
            self.inside(section, at)?;
            // They do not overlap, so that together they are no longer than the file.
            all += section.size;
            if all > self.length {
                return wrong(at, "expected sections that do not overlap");
            }
            if feature == EVENT_DESC {
                described = true;
                self.descriptions(section)?;
            }
        }
        if !described {
            if types.size > 0 {
                return wrong(56, "expected descriptions of the events, found those of a perf before Linux 3.0");
            }
            self.ids(attrs, attr_size)?;
        }
        self.records(data)
    }

    fn inside(&self, section: Section, at: u64) -> Result<(), Stop> {
        match section.at.checked_add(section.size) {
            Some(end) if end <= self.length => Ok(()),
            _ => wrong(at, "expected a section within the file"),
        }
    }

    fn read(&mut self, at: u64, size: u64) -> Result<Vec<u8>, Stop> {
        self.inside(Section { at, size }, at)?;
        self.file.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        self.file.by_ref().take(size).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < size { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }.map_err(Stop::Io)
    }

    /// Counts of events, of their numbers and the lengths of their names.
    fn descriptions(&mut self, section: Section) -> Result<(), Stop> {
        let text = self.read(section.at, section.size)?;
        let mut bytes = Bytes::new(&text, self.big);
        let (events, attr_size) = (bytes.number(4).unwrap_or(0), bytes.number(4).unwrap_or(0));
        let fits = |attr_size: u64| ATTR.contains(&attr_size) && events.saturating_mul(attr_size) <= section.size;
        let mut skip = |size: u64| usize::try_from(size).ok().and_then(|size| bytes.take(size)).map(|_| bytes.at());
        let mut whole = || -> Option<()> {
            for _ in 0..events {
                skip(attr_size)?;
                let at = skip(8)? as usize;
                let number = |from: usize| Bytes::new(text.get(from..)?, self.big).number(4);
                let (ids, name) = (number(at - 8)?, number(at - 4)?);
                skip(name)?;
                skip(8 * ids)?;
            }
            Some(())
        };
        if !fits(attr_size) || whole().is_none() {
            return wrong(section.at, "expected descriptions of the events that fill their section");
        }
        Ok(())
    }

    /// Behind each event's attributes: where its numbers are.
    fn ids(&mut self, attrs: Section, attr_size: u64) -> Result<(), Stop> {
        let text = self.read(attrs.at, attrs.size)?;
        let mut all = 0_u64;
        for (entry, at) in text.chunks_exact(attr_size as usize).zip((attrs.at..).step_by(attr_size as usize)) {
            let mut place = Bytes::new(&entry[entry.len() - 16..], self.big);
            let section =
                Section { at: place.number(8).unwrap_or_default(), size: place.number(8).unwrap_or_default() };
            self.inside(section, at)?;
            all += section.size;
            if all > self.length {
                return wrong(at, "expected sections that do not overlap");
            }
        }
        Ok(())
    }

    /// The lengths of the records, which fill their section.
    fn records(&mut self, data: Section) -> Result<(), Stop> {
        let (mut at, end) = (data.at, data.at + data.size);
        self.file.seek(SeekFrom::Start(at))?;
        while at < end {
            let mut head = [0; 8];
            self.file.read_exact(&mut head)?;
            let mut bytes = Bytes::new(&head, self.big);
            let (kind, _, size) = (bytes.number(4).unwrap_or(0), bytes.number(2), bytes.number(2).unwrap_or(0));
            if COMPRESSED.contains(&kind) {
                return wrong(at, "expected plain records, found compressed ones");
            }
            let mut whole = size;
            let mut skip = size.checked_sub(8);
            if kind == AUXTRACE && size >= 16 {
                let mut data = [0; 8];
                self.file.read_exact(&mut data)?;
                whole = number(&data, self.big).unwrap_or(0).saturating_add(size);
                skip = whole.checked_sub(16);
            }
            match skip.and_then(|skip| i64::try_from(skip).ok()) {
                Some(skip) if whole <= end - at => self.file.seek_relative(skip)?,
                _ => return wrong(at, "expected a record that ends within the data"),
            }
            at += whole;
        }
        Ok(())
    }
}

/// The numbers of the bits that are set.
fn bits(word: u64, number: usize) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| 64 * number + bit)
}
