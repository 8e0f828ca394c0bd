//! The headers that schedulers are compiled with: those of `scx_cargo`, earlier of `scx_utils`, and libbpf's.

use crate::cargo::{Graph, Package};
use crate::files;
use std::path::{Path, PathBuf};

/// The headers of a resolved graph, in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The folder: `bpf_h` has the builder's headers and `vmlinux.h`, `libbpf/bpf` those of libbpf.
    pub folder: PathBuf,
    /// The crates that they come from: `scx_cargo 1.1.4, libbpf-sys 1.7.0+v1.7.0`.
    pub origin: String,
    /// The flags for the processor that the builder of that release passes.
    pub cpu: CpuFlags,
}

/// The flags by which releases of the builder differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuFlags {
    /// `-mcpu`: v3 up to 1.0, v4 in 1.1.
    pub mcpu: String,
    /// `-mllvm -disable-ldsx`.
    pub disable_ldsx: bool,
    /// `-mllvm -disable-gotox`, with clang 22 and newer.
    pub disable_gotox: bool,
}

impl CpuFlags {
    /// Reads the flags in the source of a builder.
    fn of(source: &str) -> Option<Self> {
        // What follows stands in comments, too.
        let has = |flag: &str| source.contains(&format!("\"{flag}\""));
        let (_, rest) = source.split_once("\"-mcpu=")?;
        let (mcpu, _) = rest.split_once('"')?;
        Some(CpuFlags {
            mcpu: format!("-mcpu={mcpu}"),
            disable_ldsx: has("-disable-ldsx"),
            disable_gotox: has("-disable-gotox"),
        })
    }
}

impl Headers {
    /// Puts the headers of a graph into a folder of `into`, unless they are there; `None` if the graph has no builder.
    ///
    /// # Errors
    /// Fails if a part of them is missing, or files cannot be read or written.
    pub fn of(graph: &Graph, into: &Path) -> Result<Option<Self>, String> {
        // Up to 1.0, scx_cargo was another name of scx_utils.
        let Some(builder) = graph.with("scx_cargo", "bpf_h").or_else(|| graph.with("scx_utils", "bpf_h")) else {
            return Ok(None);
        };
        let libbpf = graph.with("libbpf-sys", "libbpf/src").ok_or_else(|| {
            format!("{} needs no libbpf-sys with libbpf's headers; expected one", builder.folder.display())
        })?;
        let text = |name: &str| files::read_text(&builder.folder.join("src").join(name)).unwrap_or_default();
        let source = text("clang_info.rs") + &text("bpf_builder.rs");
        let cpu = CpuFlags::of(&source).ok_or_else(|| {
            files::failed(&builder.folder.join("src/clang_info.rs"), "has no -mcpu; expected the builder of schedulers")
        })?;
        let bpf_h = builder.folder.join("bpf_h");
        let of_builder = files::all_files(&bpf_h)?;
        let libbpf_src = libbpf.folder.join("libbpf/src");
        let mut of_libbpf = files::all_files(&libbpf_src)?;
        of_libbpf.retain(|file| file.components().count() == 1 && file.extension().is_some_and(|end| end == "h"));
        let types = builder.folder.join("vmlinux.tar.zst");
        let mut hash = blake3::Hasher::new();
        for (folder, files) in [(&bpf_h, &of_builder), (&libbpf_src, &of_libbpf)] {
            for file in files {
                hash.update(file.as_os_str().as_encoded_bytes()).update(&[0]).update(&files::read(&folder.join(file))?);
            }
        }
        let packed = if types.is_file() { Some(files::read(&types)?) } else { None };
        packed.iter().for_each(|packed| _ = hash.update(packed));
        let folder = into.join(&hash.finalize().to_hex()[..16]);
        files::make_whole(&folder, |new| {
            files::copy(&bpf_h, &of_builder, &new.join("bpf_h"))?;
            files::copy(&libbpf_src, &of_libbpf, &new.join("libbpf/bpf"))?;
            packed.as_ref().map_or(Ok(()), |packed| {
                unpack_types(packed, &new.join("bpf_h")).map_err(|error| files::failed(&types, error))
            })
        })?;
        let title = |package: &Package| format!("{} {}", package.name, package.version);
        Ok(Some(Headers { folder, origin: format!("{}, {}", title(builder), title(libbpf)), cpu }))
    }

    /// The folder with `vmlinux.h`. Types are relocated to those of the simulated kernel, x86's, so that any will do
    /// that has the fields.
    pub fn types(&self) -> PathBuf {
        let bpf_h = self.folder.join("bpf_h");
        // Up to 1.0.5 there was one processor.
        let places = [bpf_h.join("arch/x86"), bpf_h.join("vmlinux")];
        places.into_iter().find(|place| place.join("vmlinux.h").exists()).unwrap_or(bpf_h)
    }

    /// The folders of the builder's headers, as it passes them.
    pub fn include(&self) -> Vec<PathBuf> {
        let bpf_h = self.folder.join("bpf_h");
        let (types, compat) = (self.types(), bpf_h.join("bpf-compat"));
        if types.ends_with("vmlinux") { vec![bpf_h, types, compat] } else { vec![types, bpf_h, compat] }
    }

    /// The folder in which libbpf's headers are a folder `bpf`.
    pub fn libbpf(&self) -> PathBuf {
        self.folder.join("libbpf")
    }
}

/// Unpacks the types of x86 from `vmlinux.tar.zst`.
fn unpack_types(packed: &[u8], into: &Path) -> std::io::Result<()> {
    let unpacked = ruzstd::decoding::StreamingDecoder::new(packed).map_err(std::io::Error::other)?;
    let mut archive = tar::Archive::new(unpacked);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Ok(inner) = path.strip_prefix("vmlinux") else { continue };
        if inner.starts_with("arch/x86") && !entry.header().entry_type().is_dir() {
            let target = into.join(inner);
            std::fs::create_dir_all(target.parent().expect("it lies in a folder"))?;
            // A place outside of the folder is refused.
            entry.set_preserve_mtime(false);
            if entry.link_name()?.is_some_and(|link| link.components().count() != 1) {
                continue;
            }
            entry.unpack(&target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in scx_utils 1.0.15 and scx_cargo 1.1.4.
    #[test]
    fn flags_are_those_of_the_release() {
        let old = "cflags.push(\"-mcpu=v3\".into());\n// -disable-ldsx";
        let new = "cflags.push(\"-mcpu=v4\".into());\ncflags.extend([\"-mllvm\".into(), \"-disable-ldsx\".into()]);\n\
                   cflags.extend([\"-mllvm\".into(), \"-disable-gotox\".into()]);";
        assert_eq!(CpuFlags::of(old), Some(CpuFlags { mcpu: "-mcpu=v3".into(), ..CpuFlags::default() }));
        let all = CpuFlags { mcpu: "-mcpu=v4".into(), disable_ldsx: true, disable_gotox: true };
        assert_eq!(CpuFlags::of(new), Some(all));
        assert_eq!(CpuFlags::of("fn main() {}"), None);
    }

    #[test]
    fn a_graph_without_a_builder_has_no_headers() {
        assert_eq!(Headers::of(&Graph::default(), Path::new("/nowhere")), Ok(None));
    }
}
