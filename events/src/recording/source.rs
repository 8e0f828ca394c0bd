//! The bytes of a recording, plain or gzip.

use flate2::read::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};

const BUFFER: usize = 1 << 16;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A source of bytes that has been found to be gzip or plain.
pub(super) struct Source {
    bytes: Box<dyn BufRead + Send>,
    gzip: bool,
}

/// Why the bytes end.
#[derive(Debug)]
pub(super) enum SourceError {
    /// The gzip stream stops in the middle.
    CutOff,
    /// The gzip stream contradicts itself.
    Damaged(io::Error),
    /// The file could not be read.
    Io(io::Error),
}

impl Source {
    pub(super) fn new(mut source: impl Read + Send + 'static) -> Result<Self, SourceError> {
        // A pipe may give one byte at a time, so the magic number is not looked for in whatever comes first.
        let mut magic = Vec::with_capacity(GZIP_MAGIC.len());
        source.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut magic).map_err(SourceError::Io)?;
        let gzip = magic == GZIP_MAGIC;
        let whole = Cursor::new(magic).chain(source);
        let bytes: Box<dyn BufRead + Send> = if gzip {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole)))
        } else {
            Box::new(BufReader::with_capacity(BUFFER, whole))
        };
        Ok(Source { bytes, gzip })
    }

    /// Bytes that are at hand; none at the end.
    pub(super) fn fill_buf(&mut self) -> Result<&[u8], SourceError> {
        loop {
            match self.bytes.fill_buf() {
                Ok([]) => return Ok(&[]),
                Ok(_) => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(classify(self.gzip, e)),
            }
        }
        // What is at hand by now is given without another read.
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
