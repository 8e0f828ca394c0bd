//! Lines of a CSV file as records, in bounded memory and with exact line numbers.
//!
//! Quotes are as in RFC 4180: a field may be quoted, and may then hold commas, line ends and doubled quotes. Lines end
//! in LF or CRLF; empty lines are passed over.

use super::source::{Source, SourceError};

/// The longest record that is read, in bytes. A row of a machine with 8192 CPUs is about 1 MiB.
pub(super) const MAX_RECORD: usize = 16 << 20;
/// So many fields of a record are kept; those after them are only counted.
const MAX_FIELDS: usize = 1 << 12;

/// What went wrong below the level of columns.
#[derive(Debug)]
pub(super) enum RecordError {
    /// The bytes could not be had.
    Source(SourceError),
    /// A record is longer than [`MAX_RECORD`].
    TooLong,
    /// The file ends in a quoted field.
    OpenQuote,
}

/// A file that is split into records.
pub(super) struct Records {
    source: Source,
    /// The line that is read next, from 1.
    next_line: u64,
    /// The line at hand.
    text: Vec<u8>,
}

/// One record. Reading the next one reuses its memory.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Where it begins, from 1.
    pub(super) line: u64,
    /// How many fields it has.
    pub(super) count: usize,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// Where in a field the splitting stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After a quote in a quoted field: its end, or the first half of a doubled one.
    Closing,
}

impl Record {
    /// A field's bytes, without the quotes around it.
    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// The fields that were kept.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).map_while(|at| self.get(at))
    }

    fn begin(&mut self, line: u64) {
        self.line = line;
        self.count = 0;
        self.bytes.clear();
        self.ends.clear();
    }

    fn end_field(&mut self) {
        self.count += 1;
        if self.ends.len() < MAX_FIELDS {
            self.ends.push(self.bytes.len());
        }
    }

    fn add(&mut self, text: &[u8], mut state: State) -> State {
        for &byte in text {
            state = match (state, byte) {
                (State::Start, b'"') => State::Quoted,
                (State::Quoted, b'"') => State::Closing,
                (State::Closing, b'"') => {
                    self.bytes.push(byte);
                    State::Quoted
                }
                (State::Start | State::Plain | State::Closing, b',') => {
                    self.end_field();
                    State::Start
                }
                (State::Quoted, _) => {
                    self.bytes.push(byte);
                    State::Quoted
                }
                // A quote within a plain field, or text after a closing quote, stands for itself.
                (State::Start | State::Plain | State::Closing, _) => {
                    self.bytes.push(byte);
                    State::Plain
                }
            };
        }
        state
    }
}

impl Records {
    pub(super) fn new(source: Source) -> Self {
        Records { source, next_line: 1, text: Vec::new() }
    }

    /// The line that reading has come to, from 1.
    pub(super) fn line(&self) -> u64 {
        self.next_line
    }

    /// Reads the next record; false at the end of the file.
    pub(super) fn read(&mut self, record: &mut Record) -> Result<bool, RecordError> {
        let mut left = MAX_RECORD;
        loop {
            record.begin(self.next_line);
            let Some(line_end) = self.read_line(&mut left)? else { return Ok(false) };
            if self.text.len() > line_end {
                break;
            }
        }
        let mut state = State::Start;
        loop {
            let end = content_end(&self.text);
            state = record.add(&self.text[..end], state);
            if state != State::Quoted {
                record.end_field();
                return Ok(true);
            }
            // The line end belongs to the quoted field.
            record.bytes.extend_from_slice(&self.text[end..]);
            if self.read_line(&mut left)?.is_none() {
                return Err(RecordError::OpenQuote);
            }
        }
    }

    /// Reads one line with its line end, whose length it returns; `None` at the end of the file.
    fn read_line(&mut self, left: &mut usize) -> Result<Option<usize>, RecordError> {
        self.text.clear();
        loop {
            let bytes = self.source.fill_buf().map_err(RecordError::Source)?;
            let newline = bytes.iter().position(|&byte| byte == b'\n');
            let take = newline.map_or(bytes.len(), |at| at + 1);
            *left = left.checked_sub(take).ok_or(RecordError::TooLong)?;
            self.text.extend_from_slice(&bytes[..take]);
            self.source.consume(take);
            if newline.is_some() {
                self.next_line += 1;
            } else if take > 0 {
                continue;
            } else if self.text.is_empty() {
                return Ok(None);
            }
            return Ok(Some(self.text.len() - content_end(&self.text)));
        }
    }
}

/// Where the line end begins.
fn content_end(line: &[u8]) -> usize {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Records with their lines, and how the text ended if not well.
    type Split = (Vec<(u64, Vec<Vec<u8>>)>, Option<RecordError>);

    fn split(text: &[u8]) -> Split {
        let source = Source::new(std::io::Cursor::new(text.to_vec())).expect("memory can be read");
        let (mut records, mut record, mut all) = (Records::new(source), Record::default(), Vec::new());
        loop {
            match records.read(&mut record) {
                Ok(true) => all.push((record.line, record.iter().map(<[u8]>::to_vec).collect())),
                Ok(false) => return (all, None),
                Err(error) => return (all, Some(error)),
            }
        }
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
        let (records, error) = split(b"a,b\n1,\"2\n3,4\n");
        assert_eq!(records.len(), 1);
        assert!(matches!(error, Some(RecordError::OpenQuote)));
    }

    proptest! {
        /// The csv crate splits in the same way. It takes a lone CR for a line end too, and a file that ends in a
        /// quoted field for whole, so that such texts are left out.
        #[test]
        fn splits_as_the_csv_crate(text in "([ab,]|\"[ab,\n]{0,2}(\"\"){0,2}\"|\r\n|\n){0,40}") {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let theirs: Vec<Vec<Vec<u8>>> =
                reader.byte_records().map(|r| r.expect("flexible").iter().map(<[u8]>::to_vec).collect()).collect();
            let (ours, error) = split(text.as_bytes());
            prop_assume!(error.is_none());
            prop_assert_eq!(ours.into_iter().map(|(_, fields)| fields).collect::<Vec<_>>(), theirs);
        }
    }
}
