//! What must hold for whatever bytes are read as the build script of a scheduler, or as the archive of types of its
//! builder: one clear error, or flags and paths that clang does not obey, and files that stay in their folder.

use std::fs;
use std::path::Path;
use wakelab_scx_fetch::{BuildScript, unpack_types};

/// Reads the bytes as a build script; whether it compiles a scheduler.
pub fn build_script(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match BuildScript::parse(text) {
        Ok(script) => {
            let paths = script.others.iter().chain([&script.main]).chain(&script.include);
            for path in paths {
                assert!(!path.is_empty() && !path.starts_with(['-', '@', '/']), "clang obeys {path:?}");
            }
            assert!(script.others.iter().chain([&script.main]).all(|source| source.ends_with(".c")), "{script:?}");
            for flag in &script.cflags {
                let loads = ["-fplugin", "-Xclang", "-load", "-o", "-M", "@", "-I", "-include", "--", "-B", "-Wp,"];
                assert!(!loads.iter().any(|begins| flag.starts_with(begins)), "clang obeys {flag:?}");
            }
            true
        }
        Err(wrong) => {
            let error = wrong.at(Path::new("fuzzed.rs"));
            assert!(error.starts_with("fuzzed.rs:"), "the error names no place: {error}");
            assert!(error.len() < 4096, "the error repeats the file: {} bytes", error.len());
            false
        }
    }
}

/// Packs the bytes, which are those of a tar archive, and unpacks what is x86's; whether there was nothing wrong.
pub fn vmlinux_tar(bytes: &[u8]) -> bool {
    let mut bytes = bytes.to_vec();
    let whole = bytes.len() / BLOCK * BLOCK;
    bytes[..whole].chunks_exact_mut(BLOCK).for_each(sum);
    let packed = ruzstd::encoding::compress_to_vec(&bytes[..], ruzstd::encoding::CompressionLevel::Fastest);
    let all = tempfile::tempdir().expect("a folder");
    let into = all.path().join("into");
    fs::create_dir(&into).expect("a folder");
    let unpacked = unpack_types(&packed, &into);
    assert_eq!(fs::read_dir(all.path()).expect("a folder").count(), 1, "something lies outside of the folder");
    let mut open = vec![into];
    let mut size = 0;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let data = fs::symlink_metadata(entry.path()).expect("it is there");
            assert!(data.is_dir() || data.is_file(), "{} is neither a file nor a folder", entry.path().display());
            size += data.len();
            if data.is_dir() {
                open.push(entry.path());
            }
        }
    }
    assert!(size < 80 << 20, "{size} bytes were unpacked");
    if let Err(error) = &unpacked {
        assert!(error.to_string().len() < 4096, "the error repeats the file");
    }
    unpacked.is_ok()
}

const BLOCK: usize = 512;

/// Puts the sum into a header, so that changes elsewhere are looked at.
fn sum(header: &mut [u8]) {
    if &header[257..262] == b"ustar" {
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
}
