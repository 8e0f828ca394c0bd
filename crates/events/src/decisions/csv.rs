//! A CSV file, plain or gzip, as records, in bounded memory and with exact line numbers.
//!
//! `csv-core` splits the lines. The `csv` crate around it would read a record of any length into memory, accepts a file
//! that ends inside a quoted field, and numbers a record after empty lines by the first of those.

use csv_core::{ReadRecordResult, Reader};
use flate2::read::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The longest record that is read, with the empty lines before it, bytes. A row of a machine with 8192 CPUs has about
/// 1 MiB.
pub(super) const MAX_RECORD: usize = 16 << 20;
/// The most fields of a record that are kept. Further fields are only counted.
const MAX_FIELDS: usize = 1 << 12;

/// An error below the level of columns.
#[derive(Debug)]
pub(super) enum RecordError {
    /// The bytes cannot be read.
    Source(SourceError),
    /// A record is longer than [`MAX_RECORD`].
    TooLong,
    /// The file ends inside a quoted field.
    OpenQuote,
}

/// A file that is split into records.
pub(super) struct Records {
    source: Source,
    splitter: Reader,
    /// The number of the next line, from 1.
    next_line: u64,
}

/// A record. Reading the next one reuses its memory.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The line at which it begins, from 1.
    pub(super) line: u64,
    /// The number of its fields.
    pub(super) count: usize,
    /// The bytes of the fields, and spare room.
    bytes: Vec<u8>,
    /// How many of these bytes belong to the record.
    filled: usize,
    /// The end of each field in the bytes. Fields that are not kept share the last entry.
    ends: Vec<usize>,
}

impl Record {
    /// The bytes of a field, without its quotes; `None` if it is not kept.
    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        let ends = &self.ends[..self.count.min(MAX_FIELDS)];
        let end = *ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| ends[before]);
        Some(&self.bytes[start..end])
    }

    /// The fields that are kept.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count).map_while(|at| self.get(at))
    }

    fn clear(&mut self) {
        (self.count, self.filled) = (0, 0);
        self.ends.resize(MAX_FIELDS + 1, 0);
    }

    /// Splits fields off the input. Also returns how many bytes were consumed.
    fn add(&mut self, splitter: &mut Reader, input: &[u8]) -> (ReadRecordResult, usize) {
        // The output is at most as long as the input.
        let room = self.filled + input.len();
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let ends = &mut self.ends[self.count.min(MAX_FIELDS)..];
        let (result, taken, bytes, fields) = splitter.read_record(input, &mut self.bytes[self.filled..], ends);
        self.filled += bytes;
        self.count += fields;
        (result, taken)
    }
}

impl Records {
    pub(super) fn new(source: Source) -> Self {
        let mut splitter = Reader::new();
        // Its first call drops a byte order mark, but only if it gets all of it. `places` strips it from the header
        // instead.
        let _ = splitter.read_record(&[], &mut [], &mut []);
        Records { source, splitter, next_line: 1 }
    }

    /// The current line, from 1.
    pub(super) fn line(&self) -> u64 {
        self.next_line
    }

    /// Reads the next record. Returns false at the end of the file.
    pub(super) fn read(&mut self, record: &mut Record) -> Result<bool, RecordError> {
        record.clear();
        let (mut left, mut begun) = (MAX_RECORD, false);
        loop {
            if !begun {
                record.line = self.next_line;
            }
            let bytes = self.source.fill_buf().map_err(RecordError::Source)?;
            if bytes.is_empty() {
                // The end of a line ends any record, except within quotes.
                return match begun.then(|| record.add(&mut self.splitter, b"\n").0) {
                    None => Ok(false),
                    Some(ReadRecordResult::Record) => Ok(true),
                    Some(_) => Err(RecordError::OpenQuote),
                };
            }
            let bytes = &bytes[..bytes.len().min(left)];
            if bytes.is_empty() {
                return Err(RecordError::TooLong);
            }
            // Empty lines, and the LF of a CRLF before, do not belong to the record.
            let blank = if begun { 0 } else { bytes.iter().take_while(|byte| b"\r\n".contains(byte)).count() };
            let (result, taken) = match blank {
                0 => record.add(&mut self.splitter, bytes),
                _ => (ReadRecordResult::InputEmpty, blank),
            };
            begun |= blank == 0;
            left -= taken;
            self.next_line += memchr::memchr_iter(b'\n', &bytes[..taken]).count() as u64;
            self.source.consume(taken);
            if result == ReadRecordResult::Record {
                return Ok(true);
            }
        }
    }
}

const BUFFER: usize = 1 << 16;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A source of bytes, plain or gzip.
pub(super) struct Source {
    bytes: Box<dyn BufRead + Send>,
    gzip: bool,
}

/// An error of a source.
#[derive(Debug)]
pub(super) enum SourceError {
    /// The gzip stream ends early.
    CutOff,
    /// The gzip stream is damaged.
    Damaged(io::Error),
    /// The file cannot be read.
    Io(io::Error),
}

impl Source {
    pub(super) fn new(mut source: impl Read + Send + 'static) -> Result<Self, SourceError> {
        // A pipe may return one byte at a time, so the magic number is read explicitly.
        let mut magic = Vec::with_capacity(GZIP_MAGIC.len());
        source.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut magic).map_err(SourceError::Io)?;
        let gzip = magic == GZIP_MAGIC;
        let all = Cursor::new(magic).chain(source);
        let bytes: Box<dyn BufRead + Send> = if gzip {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(all)))
        } else {
            Box::new(BufReader::with_capacity(BUFFER, all))
        };
        Ok(Source { bytes, gzip })
    }

    /// The bytes that are available; none at the end.
    pub(super) fn fill_buf(&mut self) -> Result<&[u8], SourceError> {
        loop {
            match self.bytes.fill_buf() {
                Ok([]) => return Ok(&[]),
                Ok(_) => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(classify(self.gzip, e)),
            }
        }
        // The buffer is not empty now, so this does not read again.
        let gzip = self.gzip;
        self.bytes.fill_buf().map_err(|e| classify(gzip, e))
    }

    pub(super) fn consume(&mut self, n: usize) {
        self.bytes.consume(n);
    }
}

fn classify(gzip: bool, error: io::Error) -> SourceError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof if gzip => SourceError::CutOff,
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if gzip => SourceError::Damaged(error),
        _ => SourceError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{self, Read};

    /// Records with their lines, and the error that ended the text, if any.
    type Split = (Vec<(u64, Vec<Vec<u8>>)>, Option<RecordError>);

    /// A source that returns its bytes in pieces of this size.
    struct Pieces(io::Cursor<Vec<u8>>, usize);

    impl Read for Pieces {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let len = buf.len().min(self.1);
            self.0.read(&mut buf[..len])
        }
    }

    fn split_pieces(text: &[u8], size: usize) -> Split {
        let source = Source::new(Pieces(io::Cursor::new(text.to_vec()), size)).expect("memory can be read");
        let (mut records, mut record, mut all) = (Records::new(source), Record::default(), Vec::new());
        loop {
            match records.read(&mut record) {
                Ok(true) => all.push((record.line, record.iter().map(<[u8]>::to_vec).collect())),
                Ok(false) => return (all, None),
                Err(error) => return (all, Some(error)),
            }
        }
    }

    fn split(text: &[u8]) -> Split {
        split_pieces(text, usize::MAX)
    }

    #[test]
    fn lines_are_counted_through_empty_ones_and_quotes() {
        let (records, error) = split(b"a,b\r\n\r\n\n1,\"x\r\n\"\"y\"\"\"\r\n3,4");
        assert!(error.is_none());
        let expected: [(u64, [&[u8]; 2]); 3] = [(1, [b"a", b"b"]), (4, [b"1", b"x\r\n\"y\""]), (6, [b"3", b"4"])];
        assert_eq!(records, expected.map(|(line, fields)| (line, fields.map(<[u8]>::to_vec).to_vec())));
    }

    #[test]
    fn an_open_quote_is_an_error() {
        for text in ["a,b\n1,\"2\n3,4\n", "a,b\n1,\"2", "a,b\n1,\"2\"\"", "a,b\n1,\""] {
            let (records, error) = split(text.as_bytes());
            assert_eq!(records.len(), 1, "{text:?}");
            assert!(matches!(error, Some(RecordError::OpenQuote)), "{text:?}");
        }
    }

    #[test]
    fn the_last_line_needs_no_end() {
        for (text, last) in [("1,\"2\"", "2"), ("1,", ""), ("1,2\r", "2"), ("1,2\n\n", "2")] {
            let (records, error) = split(text.as_bytes());
            assert!(error.is_none(), "{text:?}");
            assert_eq!(records, [(1, vec![b"1".to_vec(), last.as_bytes().to_vec()])], "{text:?}");
        }
    }

    #[test]
    fn a_record_that_is_too_long_is_refused() {
        let mut text = b"a,\"".to_vec();
        text.resize(MAX_RECORD, b'x');
        assert!(matches!(split(&text).1, Some(RecordError::OpenQuote)));
        text.push(b'\n');
        assert!(matches!(split(&text), (records, Some(RecordError::TooLong)) if records.is_empty()));
    }

    #[test]
    fn fields_beyond_those_kept_are_counted() {
        let text = [vec![b','; MAX_FIELDS + 10], b"\n1,2\n".to_vec()].concat();
        let source = Source::new(io::Cursor::new(text)).expect("memory can be read");
        let (mut records, mut record) = (Records::new(source), Record::default());
        assert!(matches!(records.read(&mut record), Ok(true)));
        assert_eq!((record.count, record.iter().count()), (MAX_FIELDS + 11, MAX_FIELDS));
        assert_eq!(record.get(MAX_FIELDS), None);
        assert!(matches!(records.read(&mut record), Ok(true)));
        assert_eq!(record.iter().collect::<Vec<_>>(), [b"1", b"2"]);
    }

    proptest! {
        /// The records, their lines and the error do not depend on how the bytes are split.
        #[test]
        fn pieces_make_no_difference(text in "\u{feff}?[ab,\"\r\n]{0,60}", size in 1_usize..8) {
            let (whole, pieces) = (split(text.as_bytes()), split_pieces(text.as_bytes(), size));
            prop_assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
        }
    }
}
