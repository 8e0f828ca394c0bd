//! Reads traces that are text: of ftrace (`trace` and `trace_pipe` of tracefs, `trace-cmd report`, atrace, also with
//! -z), pages of systrace with that text in them, of `perf script`, and of babeltrace2.
//!
//! Each line is recognized by itself, so that what stands around the events need not be known.

pub(crate) mod atrace;
pub(crate) mod babeltrace;
mod fields;
mod header;
mod line;

use crate::event::{Event, Losses, WhyBad};
use crate::trace_info::TraceInfo;
use crate::{HOW_TO_RECORD, ImportError, Kind};
use fields::{Fields, Seen};
use header::Header;
use line::Printer;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The longest line that may have an event, bytes. The scripts of pages have longer ones, which are passed over.
const LONGEST_LINE: usize = 1 << 16;
/// A file without an event in its first part is refused, bytes. The scripts before the trace of a page are shorter.
const MOST_BEFORE_THE_TRACE: u64 = 64 << 20;

/// Calls `each` with every event in the order of the file. `info` has what is known of the machine.
pub(crate) fn read(
    path: &Path,
    mut file: impl BufRead,
    info: &RefCell<TraceInfo>,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let start = file.fill_buf().map_err(|e| ImportError::new(path, e.to_string()))?;
    match atrace::compressed_from(start) {
        Some(from) => {
            file.consume(from);
            read_lines(path, BufReader::with_capacity(1 << 16, atrace::Inflated::new(file)), info, each)
        }
        None => read_lines(path, file, info, each),
    }
}

fn read_lines(
    path: &Path,
    file: impl BufRead,
    info: &RefCell<TraceInfo>,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let mut lines = Lines { file, number: 0, bytes: Vec::new(), read: 0 };
    let mut text = TextReader {
        info,
        header: Header::default(),
        losses: Losses::default(),
        page: None,
        printer: None,
        seen: Seen::default(),
        each,
    };
    while let Some(end) = lines.next().map_err(|e| ImportError::new(path, e.to_string()))? {
        if text.printer.is_none() && lines.read > MOST_BEFORE_THE_TRACE {
            break;
        }
        if end != End::TooLong {
            text.line(&String::from_utf8_lossy(&lines.bytes), lines.number, end == End::Cut)?;
        }
    }
    match text.printer {
        None => Err(ImportError::new(
            path,
            "expected trace.dat, perf.data, a Perfetto trace, or the text of ftrace, perf script or babeltrace2, found \
             something else",
        )
        .with_hint(HOW_TO_RECORD)),
        Some(_) => Ok(text.losses),
    }
}

/// The lines of a file, one at a time.
struct Lines<R> {
    file: R,
    /// The number of the last line, from 1.
    number: u64,
    /// The last line without its end.
    bytes: Vec<u8>,
    /// How many bytes have been read.
    read: u64,
}

/// How a line ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Newline,
    /// The file ends in it.
    Cut,
    /// It is longer than [`LONGEST_LINE`]; its bytes are not kept.
    TooLong,
}

impl<R: BufRead> Lines<R> {
    /// Reads the next line. Returns `None` at the end of the file.
    fn next(&mut self) -> io::Result<Option<End>> {
        self.bytes.clear();
        let mut n = self.file.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut self.bytes)?;
        if n == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut end = if self.bytes.last() == Some(&b'\n') { End::Newline } else { End::Cut };
        if end == End::Cut && n == LONGEST_LINE {
            self.bytes.clear();
            n += self.file.skip_until(b'\n')?;
            end = End::TooLong;
        }
        self.read += n as u64;
        while matches!(self.bytes.last(), Some(b'\n' | b'\r')) {
            self.bytes.pop();
        }
        Ok(Some(end))
    }
}

/// Where a line of a page of systrace is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    OutsideTheTrace,
    InTheTrace,
}

struct TextReader<'a> {
    info: &'a RefCell<TraceInfo>,
    header: Header,
    losses: Losses,
    /// `None` if the file is no page.
    page: Option<Page>,
    /// The program that printed the first event; `None` before it. Text before it is skipped.
    printer: Option<Printer>,
    /// The fields of the events so far.
    seen: Seen,
    each: &'a mut dyn FnMut(Event) -> Result<(), ImportError>,
}

impl TextReader<'_> {
    fn line(&mut self, line: &str, number: u64, cut: bool) -> Result<(), ImportError> {
        let line = match self.in_page(line, number) {
            None => return Ok(()),
            Some(line) => line,
        };
        let Some(columns) = line::columns(&line) else {
            let (header, losses) = (&mut self.header, &mut self.losses);
            let known = header.line(&line, &mut self.info.borrow_mut(), losses);
            // perf prints no lines of other tracers.
            let by_pager = line.ends_with('>') && self.printer == Some(Printer::Perf);
            if !known && self.printer.is_some() && (by_pager || !line::is_of_another_tracer(&line)) {
                let why = if line.ends_with('>') { WhyBad::CutByPager } else { WhyBad::NoEvent };
                self.losses.bad_line(None, why, number);
            }
            return Ok(());
        };
        if self.printer.is_none() {
            self.begins(columns.printer);
        }
        let of_babeltrace = columns.printer == Printer::Babeltrace;
        let found = fields::fields(columns.event, columns.fields, of_babeltrace, &mut self.seen);
        let bad = match found {
            Fields::NotRead => return Ok(()),
            // The last number may have lost its last digits.
            Fields::Event(_) if cut && !(of_babeltrace && line.ends_with('}')) => WhyBad::EndOfFile,
            Fields::Event(kind) => {
                return match columns.cpu {
                    Some(cpu) => {
                        let comm = columns.comm.map(crate::event::comm).unwrap_or_default();
                        (self.each)(Event { t_ns: columns.t_ns, cpu, pid: columns.pid, comm, kind })
                    }
                    None => {
                        self.losses.unread += 1;
                        Ok(())
                    }
                };
            }
            Fields::Bad(_) if cut => WhyBad::EndOfFile,
            Fields::Bad(why) => why,
        };
        self.losses.bad_line(fields::tracepoint(columns.event), bad, number);
        Ok(())
    }

    /// Finds the trace in a page. Returns `None` for a line outside of it, and the line as the kernel wrote it
    /// otherwise.
    fn in_page<'l>(&mut self, line: &'l str, number: u64) -> Option<Cow<'l, str>> {
        let begins_page = |line: &str| {
            let start = line.trim_start().get(..5).unwrap_or_default().to_ascii_lowercase();
            start.starts_with("<!doc") || start.starts_with("<html")
        };
        if number <= 2 && self.page.is_none() && begins_page(line) {
            self.page = Some(Page::OutsideTheTrace);
        }
        let Some(page) = &mut self.page else { return Some(Cow::Borrowed(line)) };
        // The string of JavaScript, see below, ends in `";`.
        if line.contains("</script>") || line.trim() == "\";" {
            *page = Page::OutsideTheTrace;
        } else if line.contains("# tracer:") {
            *page = Page::InTheTrace;
            return Some(Cow::Borrowed("#"));
        }
        if *page == Page::OutsideTheTrace {
            return None;
        }
        // Before 2014 the text was a string of JavaScript, whose lines end in `\n\`.
        match line.strip_suffix("\\n\\").or_else(|| line.strip_suffix("\\n\";")) {
            None => Some(Cow::Borrowed(line)),
            Some(line) if line.contains('\\') => Some(Cow::Owned(line.replace("\\\"", "\"").replace("\\\\", "\\"))),
            Some(line) => Some(Cow::Borrowed(line)),
        }
    }

    fn begins(&mut self, printer: Printer) {
        self.printer = Some(printer);
        let mut info = self.info.borrow_mut();
        info.format = Some(match printer {
            Printer::Ftrace if self.page.is_some() => "systrace page",
            Printer::Ftrace => "ftrace text",
            Printer::Perf => "perf script",
            Printer::Babeltrace if info.format == Some(Kind::Ctf.name()) => Kind::Ctf.name(),
            Printer::Babeltrace => "babeltrace2 text",
        });
        info.cpu_llc = self.header.cpu_llc();
    }
}
