//! A file that tells how much of it was read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Tells after each read how many bytes were read since the file's begin was sought, and how many there are.
pub(crate) struct Watched<'a> {
    file: File,
    read: u64,
    all: u64,
    told: &'a dyn Fn(u64, u64),
}

impl<'a> Watched<'a> {
    pub(crate) fn new(file: File, told: &'a dyn Fn(u64, u64)) -> Self {
        let all = file.metadata().map_or(0, |metadata| metadata.len());
        Watched { file, read: 0, all, told }
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(to)?;
        self.read += n as u64;
        (self.told)(self.read.min(self.all), self.all);
        Ok(n)
    }
}

impl Seek for Watched<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // What is read twice, to be checked and to be taken over, is told twice.
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
    fn each_pass_tells_how_far_it_is() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let told = RefCell::new(Vec::new());
        let each = |done, all| told.borrow_mut().push((done, all));
        let mut file = Watched::new(File::open(&path).expect("a file"), &each);
        let all = file.all;
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
