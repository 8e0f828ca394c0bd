//! The kernel's types for x86, as `scx_cargo` packs them: `vmlinux.tar.zst`.

use std::io::{self, Read};
use std::path::{Component, Path};
use tar::{Archive, EntryType};

/// The most bytes of all of the archive, unpacked: that of 1.1.4 has 30 MB, for seven processors.
const ARCHIVE_MAX: u64 = 256 << 20;
/// The most bytes of what is unpacked of it: 5 MB in 1.1.4.
const UNPACKED_MAX: u64 = 64 << 20;
/// The most entries.
const ENTRIES_MAX: usize = 1000;

/// Unpacks the types of x86 from an archive into a folder: regular files below `vmlinux/arch/x86`. A link to one beside
/// it, as `vmlinux.h` is one to the newest version, becomes a copy, so that nothing is written or read through a link.
///
/// # Errors
/// Fails if it is no such archive, if something of x86's has another kind or place, or if there is too much.
pub fn unpack(packed: &[u8], into: &Path) -> io::Result<()> {
    let unpacked = ruzstd::decoding::StreamingDecoder::new(packed).map_err(io::Error::other)?;
    let mut archive = Archive::new(unpacked.take(ARCHIVE_MAX));
    let (mut left, mut count, mut links) = (UNPACKED_MAX, 0, Vec::new());
    for entry in archive.entries()? {
        let mut entry = entry?;
        count += 1;
        if count > ENTRIES_MAX {
            return Err(io::Error::other(format!("it has more than {ENTRIES_MAX} entries; expected fewer")));
        }
        let path = entry.path()?.into_owned();
        let refused = |what: &str| {
            let path = path.to_string_lossy();
            let path = wakelab_input::shortened(&path);
            io::Error::other(format!("its entry {path:?} {what}; expected files below vmlinux/arch/x86"))
        };
        let Ok(inner) = path.strip_prefix("vmlinux") else { continue };
        if !inner.starts_with("arch/x86") {
            continue;
        }
        if !inner.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(refused("leaves its folder"));
        }
        let target = into.join(inner);
        let folder = target.parent().expect("it lies in a folder");
        match entry.header().entry_type() {
            EntryType::Directory => {}
            EntryType::Regular | EntryType::Continuous => {
                std::fs::create_dir_all(folder)?;
                let mut bytes = Vec::new();
                (&mut entry).take(left + 1).read_to_end(&mut bytes)?;
                let rest = left.checked_sub(bytes.len() as u64);
                left = rest.ok_or_else(|| refused(&format!("makes it more than {} MiB", UNPACKED_MAX >> 20)))?;
                new_file(&target, &bytes).map_err(|error| refused(&format!("cannot be written ({error})")))?;
            }
            EntryType::Symlink => {
                let link = entry.link_name()?.ok_or_else(|| refused("is a broken link"))?;
                let mut parts = link.components();
                let beside = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
                if !beside {
                    return Err(refused("is a link out of its folder"));
                }
                links.push((folder.join(link), target));
            }
            _ => return Err(refused("is neither a file, a folder nor a link")),
        }
    }
    for (from, target) in links {
        // A link to a link, or to nothing.
        let Ok(bytes) = wakelab_input::read_file(&from, left) else { continue };
        left -= bytes.len() as u64;
        new_file(&target, &bytes)?;
    }
    Ok(())
}

/// Writes a file where nothing is: an entry that was a link is not written through.
fn new_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    std::fs::File::options().write(true).create_new(true).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, Header};

    /// An archive of entries: a path as it stands, the kind, what a link names, and the content.
    fn packed(entries: &[(&str, EntryType, &str, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, kind, link, content) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            // Not `set_path()`, which refuses what is wrong.
            let old = header.as_old_mut();
            old.name[..path.len()].copy_from_slice(path.as_bytes());
            old.linkname[..link.len()].copy_from_slice(link.as_bytes());
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        let bytes = builder.into_inner().unwrap();
        ruzstd::encoding::compress_to_vec(&bytes[..], ruzstd::encoding::CompressionLevel::Fastest)
    }

    const TYPES: (&str, EntryType, &str, &[u8]) =
        ("vmlinux/arch/x86/vmlinux-v7.h", EntryType::Regular, "", b"struct x;\n");

    #[test]
    fn types_of_x86_are_unpacked() {
        let other = ("vmlinux/arch/arm64/vmlinux.h", EntryType::Regular, "", &b"other"[..]);
        let folder = ("vmlinux/arch/x86/", EntryType::Directory, "", &b""[..]);
        let link = ("vmlinux/arch/x86/vmlinux.h", EntryType::Symlink, "vmlinux-v7.h", &b""[..]);
        let into = tempfile::tempdir().unwrap();
        unpack(&packed(&[folder, link, other, TYPES]), into.path()).unwrap();
        assert_eq!(std::fs::read(into.path().join("arch/x86/vmlinux.h")).unwrap(), b"struct x;\n");
        assert!(std::fs::symlink_metadata(into.path().join("arch/x86/vmlinux.h")).unwrap().is_file());
        assert!(!into.path().join("arch/arm64").exists());
    }

    /// None of these leaves anything outside of the folder.
    #[test]
    fn what_would_be_written_elsewhere_is_refused() {
        let all = tempfile::tempdir().unwrap();
        let outside = all.path().join("outside");
        let through = format!("vmlinux/arch/x86/r{}", outside.display());
        let regular = |path| (path, EntryType::Regular, "", &b"payload"[..]);
        let link = |path, kind, to| (path, kind, to, &b""[..]);
        let [x, r] = ["vmlinux/arch/x86/x", "vmlinux/arch/x86/r"];
        for (number, (entries, error)) in [
            (vec![TYPES, regular("vmlinux/arch/x86/../../../outside")], "leaves its folder"),
            (vec![TYPES, link(r, EntryType::Symlink, "/"), regular(&through)], "is a link out of its folder"),
            (vec![TYPES, link(r, EntryType::Symlink, ".."), regular(&through)], "is a link out of its folder"),
            (vec![TYPES, link(r, EntryType::Symlink, "a/../../.."), regular(x)], "is a link out of its folder"),
            (vec![TYPES, link(r, EntryType::Link, "/etc/passwd")], "is neither a file, a folder nor a link"),
            (vec![TYPES, link(r, EntryType::Fifo, "")], "is neither a file, a folder nor a link"),
            (vec![TYPES, TYPES], "cannot be written (File exists"),
        ]
        .into_iter()
        .enumerate()
        {
            let into = all.path().join(format!("into{number}"));
            let found = unpack(&packed(&entries), &into).unwrap_err().to_string();
            assert!(found.contains(error), "{number}: {found}");
            assert!(!outside.exists() && !all.path().join("outside").exists(), "{number}");
        }
    }

    /// A few hundred bytes that would become more than may be kept.
    #[test]
    fn what_it_becomes_is_bounded() {
        let into = tempfile::tempdir().unwrap();
        let large = vec![0; UNPACKED_MAX as usize + 1];
        let big = ("vmlinux/arch/x86/big", EntryType::Regular, "", &large[..]);
        let error = unpack(&packed(&[TYPES, big]), into.path()).unwrap_err().to_string();
        assert!(error.contains("makes it more than 64 MiB"), "{error}");
        let into = tempfile::tempdir().unwrap();
        let many = vec![("vmlinux/other", EntryType::Regular, "", &b""[..]); ENTRIES_MAX + 1];
        let error = unpack(&packed(&many), into.path()).unwrap_err().to_string();
        assert!(error.contains("more than 1000 entries"), "{error}");
    }
}
