//! The output of `atrace -z`: what it says, a line `TRACE:`, and behind it the text of ftrace compressed by zlib.

use flate2::{Decompress, FlushDecompress, Status};
use std::io::{self, BufRead, Read};

/// The line before the trace.
const TRACE: &[u8] = b"TRACE:";

/// Where the compressed text begins in a file that begins with these bytes; `None` if it is no output of `atrace -z`.
pub(crate) fn compressed_from(start: &[u8]) -> Option<usize> {
    let is_text = |bytes: &[u8]| bytes.iter().all(|&byte| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'));
    let at = start.windows(TRACE.len()).position(|window| window == TRACE)?;
    let begins_line = at == 0 || start[at - 1] == b'\n';
    let behind = start.get(at + TRACE.len()..)?;
    // A shell of Windows, and adb of old, make two bytes of the end of a line.
    let end = behind.iter().position(|&byte| byte == b'\n').filter(|&end| behind[..end].iter().all(|&c| c == b'\r'))?;
    let from = at + TRACE.len() + end + 1;
    // The header of zlib: deflate, and a checksum that makes it a multiple of 31.
    let &[method, flags] = start.get(from..from + 2)? else { return None };
    let is_zlib = method & 0x0f == 8 && (u16::from(method) << 8 | u16::from(flags)) % 31 == 0;
    (begins_line && is_zlib && is_text(&start[..at])).then_some(from)
}

/// The contents of a trace of `atrace -z`, a piece at a time; errors name it.
pub(super) struct Inflated<R> {
    file: R,
    stream: Decompress,
    ended: bool,
}

impl<R: BufRead> Inflated<R> {
    pub(super) fn new(file: R) -> Self {
        Inflated { file, stream: Decompress::new(true), ended: false }
    }
}

impl<R: BufRead> Read for Inflated<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let cannot = |what: &str| {
            let what =
                format!("the trace of atrace -z cannot be read: {what}; was the whole file copied, in binary mode?");
            io::Error::new(io::ErrorKind::InvalidData, what)
        };
        while !self.ended && !to.is_empty() {
            let input = self.file.fill_buf()?;
            if input.is_empty() {
                return Err(cannot("it ends too early"));
            }
            let (read, written) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress(input, to, FlushDecompress::None);
            let status = status.map_err(|e| cannot(&e.to_string()))?;
            self.file.consume((self.stream.total_in() - read) as usize);
            self.ended = status == Status::StreamEnd;
            let written = (self.stream.total_out() - written) as usize;
            if written > 0 {
                return Ok(written);
            }
            if status == Status::BufError {
                return Err(cannot("it contradicts itself"));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compressed_text_begins_behind_the_line() {
        assert_eq!(compressed_from(b"TRACE:\n\x78\x9c...."), Some(7));
        assert_eq!(compressed_from(b"capturing trace... done\nTRACE:\r\n\x78\xda...."), Some(32));
        for other in [
            &b"TRACE:\n# tracer: nop\n"[..],
            b"TRACE:",
            b"TRACE:\n\x78",
            b"TRACE:\n\x78\x9d..",
            b"\x01TRACE:\n\x78\x9c",
        ] {
            assert_eq!(compressed_from(other), None, "{other:?}");
        }
    }
}
