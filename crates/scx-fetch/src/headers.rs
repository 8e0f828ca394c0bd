//! The headers that schedulers are compiled with: those of `scx_cargo`, earlier of `scx_utils`, and libbpf's.

use crate::cargo::{Graph, Package};
use crate::files::{self, Budget, Checkout};
use crate::types;
use std::path::{Path, PathBuf};

/// The headers of a resolved graph, in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The folder: `bpf_h` has the builder's headers and `vmlinux.h`, `libbpf/bpf` those of libbpf.
    pub folder: PathBuf,
    /// The crate of the builder.
    pub builder: Package,
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
    /// Fails if a part of them is missing, if a link leaves its package, or files cannot be read or written.
    pub fn of(graph: &Graph, into: &Path, budget: &Budget) -> Result<Option<Self>, String> {
        // Up to 1.0, scx_cargo was another name of scx_utils.
        let Some(builder) = graph.with("scx_cargo", "bpf_h").or_else(|| graph.with("scx_utils", "bpf_h")) else {
            return Ok(None);
        };
        let libbpf = graph.with("libbpf-sys", "libbpf/src").ok_or_else(|| {
            format!(
                "{} does not depend on libbpf-sys with libbpf's headers; expected that dependency",
                builder.folder.display()
            )
        })?;
        let package = Checkout::of(&builder.folder)?;
        let text = |name: &str| {
            let bytes = package.read(&Path::new("src").join(name), budget).unwrap_or_default();
            String::from_utf8(bytes).unwrap_or_default()
        };
        let source = text("clang_info.rs") + &text("bpf_builder.rs");
        let cpu = CpuFlags::of(&source).ok_or_else(|| {
            files::failed(&builder.folder.join("src/clang_info.rs"), "has no -mcpu; expected the builder of schedulers")
        })?;
        let bpf_h = package.at(Path::new("bpf_h"))?;
        let of_builder = bpf_h.all_files(budget)?;
        let libbpf_src = Checkout::of(&libbpf.folder)?.at(Path::new("libbpf/src"))?;
        let mut of_libbpf = libbpf_src.all_files(budget)?;
        of_libbpf.retain(|file| file.components().count() == 1 && file.extension().is_some_and(|end| end == "h"));
        let types = Path::new("vmlinux.tar.zst");
        let mut hash = blake3::Hasher::new();
        // With lengths, so that no other files have this hash.
        let mut part = |bytes: &[u8]| _ = hash.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        for (folder, files) in [(&bpf_h, &of_builder), (&libbpf_src, &of_libbpf)] {
            part(&files.len().to_le_bytes());
            for file in files {
                part(file.as_os_str().as_encoded_bytes());
                part(&folder.read(file, budget)?);
            }
        }
        let packed = match builder.folder.join(types).exists() {
            true => Some(package.read(types, budget)?),
            false => None,
        };
        packed.iter().for_each(|packed| part(packed));
        let folder = into.join(&hash.finalize().to_hex()[..16]);
        files::make_whole(&folder, |new| {
            bpf_h.copy(&of_builder, &new.join("bpf_h"), budget)?;
            libbpf_src.copy(&of_libbpf, &new.join("libbpf/bpf"), budget)?;
            packed.as_ref().map_or(Ok(()), |packed| {
                let place = builder.folder.join(types);
                types::unpack(packed, &new.join("bpf_h")).map_err(|error| files::failed(&place, error))
            })
        })?;
        let title = |package: &Package| format!("{} {}", package.name, package.version);
        let origin = format!("{}, {}", title(builder), title(libbpf));
        Ok(Some(Headers { folder, builder: builder.clone(), origin, cpu }))
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
        assert_eq!(Headers::of(&Graph::default(), Path::new("/nowhere"), &Budget::default()), Ok(None));
    }
}
