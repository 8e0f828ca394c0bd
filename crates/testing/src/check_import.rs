//! What must hold for whatever bytes another recorder's file has: no panic, errors that say what and where, and no more
//! events than bytes.

use wakelab_import::{Kind, read_events};

/// Reads the bytes as a trace.dat; how many events there were.
pub fn trace_dat(bytes: &[u8]) -> usize {
    let events = events(Kind::TraceDat, bytes);
    assert!(events <= bytes.len(), "{events} events in {} bytes", bytes.len());
    events
}

/// Reads the bytes as a perf.data; how many events there were.
pub fn perf_data(bytes: &[u8]) -> usize {
    let events = events(Kind::PerfData, bytes);
    assert!(events <= bytes.len(), "{events} events in {} bytes", bytes.len());
    events
}

/// Reads the bytes as a Perfetto trace, which may be compressed; how many events there were.
pub fn perfetto(bytes: &[u8]) -> usize {
    events(Kind::Perfetto, bytes)
}

/// Reads the bytes as a text trace or a page of systrace; how many events there were.
pub fn text(bytes: &[u8]) -> usize {
    let events = events(Kind::Text, bytes);
    // What atrace -z compressed is longer than the file.
    let may_be_compressed = bytes.windows(6).any(|window| window == b"TRACE:");
    // The shortest line of an event is `[0] 1: sched_waking: :1 [`.
    assert!(may_be_compressed || events * 24 <= bytes.len(), "{events} events in {} bytes", bytes.len());
    events
}

fn events(kind: Kind, bytes: &[u8]) -> usize {
    let mut events = 0;
    let result = read_events(kind, bytes, &mut |_| {
        events += 1;
        Ok(())
    });
    if let Err(error) = result {
        assert!(error.file.as_os_str() == kind.name() && !error.what.is_empty(), "{error}");
        assert!(!error.to_string().contains('\0'), "{error}");
    }
    events
}
