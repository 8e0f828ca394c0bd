//! A file that reports how much of it has been read.

use std::io::{self, Read, Seek, SeekFrom};
use wakelab_input::files::Input;

/// Calls `progress` after each read with the bytes read since the last seek to the start, and the length of the file.
pub(crate) struct ProgressReader<'a> {
    file: Input,
    read: u64,
    length: u64,
    progress: &'a dyn Fn(u64, u64),
}

impl<'a> ProgressReader<'a> {
    pub(crate) fn new(file: Input, progress: &'a dyn Fn(u64, u64)) -> Self {
        let length = file.length();
        ProgressReader { file, read: 0, length, progress }
    }
}

impl Read for ProgressReader<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(to)?;
        self.read += n as u64;
        (self.progress)(self.read.min(self.length), self.length);
        Ok(n)
    }
}

impl Seek for ProgressReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // perf.data is read twice, once to check it. Progress is reported for each pass.
        if to == SeekFrom::Start(0) {
            self.read = 0;
        }
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn each_pass_reports_progress() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let told = RefCell::new(Vec::new());
        let each = |done, all| told.borrow_mut().push((done, all));
        let mut file = ProgressReader::new(wakelab_input::files::open(&path).expect("a file"), &each);
        let all = file.length;
        let mut bytes = Vec::new();
        for _ in 0..2 {
            file.rewind().expect("sought");
            file.by_ref().take(10).read_to_end(&mut bytes).expect("read");
            file.read_to_end(&mut bytes).expect("read");
        }
        let told = told.borrow();
        let of = |done| told.iter().filter(|one| **one == (done, all)).count();
        assert!(of(10) == 2 && of(all) >= 2 && all > 10, "{told:?}");
        assert!(told.iter().all(|(done, _)| *done <= all));
    }
}
