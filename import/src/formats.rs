//! The beginning of a `trace.dat`, which a `perf.data` has too: byte order, sizes, the layout of each event.

use crate::bytes::Bytes;
use crate::format::Format;

/// How both begin.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// What is said there.
pub(crate) struct Formats {
    pub(crate) version: String,
    pub(crate) big: bool,
    pub(crate) long_size: usize,
    pub(crate) page_size: usize,
    /// Of the events that are read here.
    pub(crate) formats: Vec<Format>,
}

impl Formats {
    /// Reads it, up to and with the events' layouts. `Err` says at which byte what was expected.
    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Formats, (u64, &'static str)> {
        fn need<T>(bytes: &Bytes<'_>, found: Option<T>, what: &'static str) -> Result<T, (u64, &'static str)> {
            found.ok_or((bytes.at(), what))
        }
        let magic = bytes.take(MAGIC.len());
        if magic != Some(MAGIC) {
            return Err((0, "expected the beginning of tracing data"));
        }
        let version = bytes.text();
        let version = String::from_utf8_lossy(need(bytes, version, "expected a version")?).into_owned();
        let (big, long) = (bytes.number(1), bytes.number(1));
        let big = need(bytes, big, "expected the byte order")? == 1;
        bytes.big_endian(big);
        let long_size = need(bytes, long, "expected the size of a long")? as usize;
        let page = bytes.number(4);
        let page_size = need(bytes, page, "expected the size of a page")? as usize;
        let mut found = Formats { version, big, long_size, page_size, formats: Vec::new() };
        if found.version.trim_start_matches("0.").parse::<u32>().map_or(true, |version| version > 6) {
            return Ok(found);
        }
        for name in ["header_page", "header_event"] {
            let text = bytes.text();
            if need(bytes, text, "expected the layout of a page")? != name.as_bytes() {
                return Err((bytes.at(), "expected the layout of a page"));
            }
            let size = bytes.number(8);
            let size = need(bytes, size, "expected a size")?;
            let skipped = usize::try_from(size).ok().and_then(|size| bytes.take(size));
            need(bytes, skipped, "expected the layout of a page, found the end")?;
        }
        // Events of ftrace itself, then those of each subsystem.
        let own = bytes.number(4);
        let own = need(bytes, own, "expected a number of events")?;
        found.events(bytes, own)?;
        let systems = bytes.number(4);
        for _ in 0..need(bytes, systems, "expected a number of subsystems")? {
            let name = bytes.text();
            need(bytes, name, "expected the name of a subsystem")?;
            let count = bytes.number(4);
            let count = need(bytes, count, "expected a number of events")?;
            found.events(bytes, count)?;
        }
        Ok(found)
    }

    fn events(&mut self, bytes: &mut Bytes<'_>, count: u64) -> Result<(), (u64, &'static str)> {
        for _ in 0..count {
            let size = bytes.number(8).and_then(|size| usize::try_from(size).ok());
            let text = size.and_then(|size| bytes.take(size));
            let text = text.ok_or((bytes.at(), "expected the layout of an event, found the end"))?;
            // Each event is laid out once; a file that says more is not to make each search long.
            let format = Format::parse(&String::from_utf8_lossy(text));
            self.formats.extend(format.filter(|new| self.formats.iter().all(|known| !known.same_event(new))));
        }
        Ok(())
    }

    /// The layout of an event by its number.
    pub(crate) fn by_id(&self, id: u64) -> Option<&Format> {
        self.formats.iter().find(|format| format.id == id)
    }
}
