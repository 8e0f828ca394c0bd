//! Text of a size that a person writes: files are read up to a limit, and messages repeat a part of what is long.

use std::borrow::Cow;
use std::io;
use std::path::Path;

/// The largest file that is read, bytes. A workload with 100,000 tasks, each a table of its own, has about 6 MB.
/// Parsed, a file takes up to some fifty times its size.
pub const FILE_MAX: u64 = 8 << 20;

/// Reads a file that somebody wrote. It may be a pipe.
///
/// # Errors
///
/// The file cannot be read, has more than [`FILE_MAX`] bytes, or is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    utf8(crate::files::read(path, FILE_MAX)?)
}

/// Reads a file of text of at most `most` bytes. It may be a link to one; a pipe or a device is not read.
///
/// # Errors
///
/// As of [`read_file`](crate::files::read_file), and if it is not UTF-8.
pub fn read_text_file(path: &Path, most: u64) -> io::Result<String> {
    utf8(crate::files::read_file(path, most)?)
}

fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|e| {
        let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not UTF-8"))
    })
}

/// The most characters of a name or key in a message.
const NAME_MAX: usize = 120;
/// The most characters of a message.
const MESSAGE_MAX: usize = 2000;

/// Returns a name, key or value as messages show it: at most 120 characters, and then how long it is.
pub fn shortened(text: &str) -> Cow<'_, str> {
    cut(text, NAME_MAX)
}

/// Returns a message that may repeat what somebody wrote: at most 2000 characters, and then how long it is.
pub fn shortened_message(text: &str) -> Cow<'_, str> {
    cut(text, MESSAGE_MAX)
}

fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}... ({} bytes)", &text[..end], text.len())),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(shortened("name"), "name");
        assert_eq!(shortened(&"ä".repeat(120)), "ä".repeat(120));
        assert_eq!(shortened(&"ä".repeat(121)), format!("{}... (242 bytes)", "ä".repeat(120)));
        assert!(shortened_message(&"x".repeat(100_000)).len() < 2100);
    }

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let folder = std::env::temp_dir().join(format!("wakelab-input-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.toml");
        let mut file = File::create(&path).unwrap();
        file.write_all(&vec![b' '; FILE_MAX as usize]).unwrap();
        assert_eq!(read_text(&path).unwrap().len() as u64, FILE_MAX);
        file.write_all(b" ").unwrap();
        assert_eq!(read_text(&path).unwrap_err().to_string(), "it has more than 8 MiB");
        std::fs::write(&path, b"a\nb\n\xff").unwrap();
        assert_eq!(read_text(&path).unwrap_err().to_string(), "line 3 is not UTF-8");
        assert_eq!(read_text_file(&path, 4).unwrap_err().to_string(), "it has more than 4 bytes");
        assert_eq!(read_text_file(&path, 5).unwrap_err().to_string(), "line 3 is not UTF-8");
        if cfg!(unix) {
            assert_eq!(read_text(Path::new("/dev/zero")).unwrap_err().to_string(), "it has more than 8 MiB");
            let refused = read_text_file(Path::new("/dev/zero"), 1).unwrap_err().to_string();
            assert_eq!(refused, "it is a pipe or a device; expected a file");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
