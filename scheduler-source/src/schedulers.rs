//! The objects of schedulers by name, compiled once.

use crate::SchedulerName;
use crate::build_script::BuildScript;
use crate::cargo::{self, Graph};
use crate::clang::Clang;
use crate::compile::{Compilation, builder_flags, include, tree_flags};
use crate::files;
use crate::headers::Headers;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// The object of a scheduler.
#[derive(Clone, PartialEq, Eq)]
pub struct Built {
    /// What it is called: `scx_bpfland 1.1.4`, `scx_simple`.
    pub title: String,
    /// Its name as it was meant, the version with it: `scx_bpfland@1.1.4`.
    pub name: SchedulerName,
    /// The bytes of the object.
    pub object: Arc<[u8]>,
}

impl fmt::Debug for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Built").field("title", &self.title).field("bytes", &self.object.len()).finish()
    }
}

/// Finds the objects of schedulers. The default reads objects, and neither fetches nor compiles anything.
#[derive(Clone, Debug, Default)]
pub struct Schedulers(Option<Arc<Builder>>);

/// What fetches and compiles, and what it has made since the program began.
struct Builder {
    /// The folder of what is kept; `None` to keep nothing.
    folder: Option<PathBuf>,
    /// Where things are made if nothing is kept; it goes with this.
    temporary: Mutex<Option<tempfile::TempDir>>,
    /// Whether objects that are kept are made again.
    fresh: bool,
    say: fn(&str),
    /// Ends the programs of what is loaded once it is set.
    stop: Option<&'static AtomicBool>,
    made: Mutex<BTreeMap<SchedulerName, Built>>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Those that make the same things in the same place are equal.
impl PartialEq for Schedulers {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => (&one.folder, one.fresh) == (&other.folder, other.fresh),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

/// How many objects are kept; those that were made or used longest ago go.
const OBJECTS_MAX: usize = 64;

impl Schedulers {
    /// Schedulers that are fetched and compiled, and kept in a folder; without one, nothing is kept. With `fresh`,
    /// objects are made again. What is done is said to `say`, a line for each crate and object.
    pub fn new(folder: Option<PathBuf>, fresh: bool, say: fn(&str)) -> Self {
        // Clang runs elsewhere.
        let folder = folder.map(|folder| std::path::absolute(&folder).unwrap_or(folder));
        let builder = Builder { folder, temporary: Mutex::default(), fresh, say, stop: None, made: Mutex::default() };
        Schedulers(Some(Arc::new(builder)))
    }

    /// The same, and once `stop` is set, programs of its schedulers end.
    pub fn stopped_by(mut self, stop: &'static AtomicBool) -> Self {
        if let Some(builder) = self.0.as_mut().and_then(Arc::get_mut) {
            builder.stop = Some(stop);
        }
        self
    }

    /// The flag that ends programs of its schedulers, if there is one.
    pub fn stop(&self) -> Option<&'static AtomicBool> {
        self.0.as_ref()?.stop
    }

    /// The object of a scheduler: as it is, or compiled. A program gets the same one each time it asks.
    ///
    /// # Errors
    /// Fails if there is no such file, crate or version, if cargo or clang is missing, with what to install, or with
    /// clang's first error.
    pub fn object(&self, name: &SchedulerName) -> Result<Built, String> {
        let Some(builder) = &self.0 else {
            return match name {
                SchedulerName::Path(path) if path.ends_with(".o") => read_object(path),
                _ => Err("crates and sources are not compiled here; expected a compiled object (.o), as `wakelab \
                          compare` leaves them in ~/.cache/wakelab/schedulers/objects"
                    .to_owned()),
            };
        };
        // Held while it is made: another thread that asks for it waits.
        let mut made = builder.made.lock().map_err(|_| "making a scheduler panicked before".to_owned())?;
        if let Some(built) = made.get(name) {
            return Ok(built.clone());
        }
        let built = builder.build(name)?;
        made.insert(name.clone(), built.clone());
        Ok(built)
    }
}

/// Reads an object as it is.
fn read_object(path: &str) -> Result<Built, String> {
    let object = std::fs::read(path)
        .map_err(|error| format!("{error}; expected the object of a scheduler, as clang compiles it for BPF"))?;
    Ok(Built { title: title(Path::new(path)), name: SchedulerName::Path(path.to_owned()), object: object.into() })
}

/// The name of a file without its endings.
fn title(path: &Path) -> String {
    let name = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
    name.trim_end_matches(".o").trim_end_matches(".c").trim_end_matches(".bpf").to_owned()
}

impl Builder {
    fn build(&self, name: &SchedulerName) -> Result<Built, String> {
        let path = match name {
            SchedulerName::Crate { name, version } => return self.of_registry(name, version.as_deref()),
            SchedulerName::Path(path) => path,
        };
        if path.ends_with(".o") {
            return read_object(path);
        }
        let place = Path::new(path);
        let expected = "expected an object (.o), a source (.c), or the folder of a crate";
        let place = place.canonicalize().map_err(|error| format!("{error}; {expected}"))?;
        let found = match place.is_dir() {
            true if place.join("Cargo.toml").is_file() => self.of_crate(&place, None, false)?,
            true => return Err(format!("the folder has no Cargo.toml; {expected}")),
            false if path.ends_with(".c") => self.of_source(&place)?,
            false => return Err(format!("it is none of these; {expected}")),
        };
        Ok(Built { name: name.clone(), ..found })
    }

    /// The folder for what is made.
    fn work(&self) -> Result<PathBuf, String> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let mut temporary = self.temporary.lock().expect("nobody panics while making a folder");
        if temporary.is_none() {
            *temporary = Some(tempfile::tempdir().map_err(|error| format!("no folder for temporary files: {error}"))?);
        }
        Ok(temporary.as_ref().expect("it was just made").path().to_owned())
    }

    fn headers_of(&self, graph: &Graph) -> Result<Option<Headers>, String> {
        Headers::of(graph, &self.work()?.join("headers"))
    }

    /// The headers of the newest builder, for sources without a crate.
    fn newest_headers(&self) -> Result<Headers, String> {
        let folder = self.work()?.join("newest");
        let graph = cargo::newest_headers(&folder)?;
        self.headers_of(&graph)?.ok_or_else(|| "scx_cargo has no headers; expected a folder bpf_h".to_owned())
    }

    fn of_registry(&self, name: &str, version: Option<&str>) -> Result<Built, String> {
        let package = cargo::fetch(name, version, &self.work()?.join("crates"))?;
        if version != Some(package.version.as_str()) {
            (self.say)(&format!("{name} is {name} {}", package.version));
        }
        let locked = package.folder.join("Cargo.lock").is_file();
        let built = self.of_crate(&package.folder, None, locked)?;
        let exact = SchedulerName::Crate { name: name.to_owned(), version: Some(package.version.clone()) };
        Ok(Built { title: format!("{name} {}", package.version), name: exact, ..built })
    }

    /// A crate in a folder. With `only`, that source alone if the crate's build script does not name it.
    fn of_crate(&self, folder: &Path, only: Option<&Path>, locked: bool) -> Result<Built, String> {
        let graph = cargo::metadata(&folder.join("Cargo.toml"), locked)?;
        let of_graph = self.headers_of(&graph)?;
        let root = graph.root.as_ref();
        let named = root.map_or_else(|| title(folder), |root| format!("{} {}", root.name, root.version));
        let script = folder.join("build.rs");
        let text = root.and_then(|_| std::fs::read_to_string(&script).ok());
        let script = match (&text, only) {
            (Some(text), None) => {
                Some(BuildScript::parse(text).map_err(|what| format!("{} {what}", script.display()))?)
            }
            // A source that the script does not name is compiled alone, whatever the script says.
            (Some(text), Some(_)) => BuildScript::parse(text).ok(),
            (None, None) => {
                return Err(format!("{} has no build.rs; expected the crate of a scheduler", folder.display()));
            }
            (None, Some(_)) => None,
        };
        let inner = only.and_then(|source| source.strip_prefix(folder).ok());
        let names = |script: &BuildScript| {
            let is = |source: &String| inner == Some(Path::new(source));
            is(&script.main) || script.others.iter().any(is)
        };
        let clang = Clang::find()?;
        let headers = match of_graph {
            Some(headers) => headers,
            None if only.is_some() => self.newest_headers()?,
            None => return Err(format!("{named} needs no scx_cargo or scx_utils; expected the crate of a scheduler")),
        };
        let mut flags = builder_flags(&clang, &headers, &|name| std::env::var(name).ok());
        let script = script.filter(|script| only.is_none() || names(script));
        let Some(script) = script else {
            let source = only.expect("a crate without a script was refused");
            return self.compiled(&clang, &headers, alone(source, flags), title(source));
        };
        let folders = script.include.iter().map(|inner| include(Path::new(inner)));
        flags.splice(0..0, folders.collect::<Vec<_>>());
        flags.extend(script.cflags);
        let compilation = Compilation {
            folder: folder.to_owned(),
            main: script.main.into(),
            others: script.others.into_iter().map(PathBuf::from).collect(),
            flags,
        };
        self.compiled(&clang, &headers, compilation, named)
    }

    /// A source: of a kernel's tree, of a crate, or alone.
    fn of_source(&self, source: &Path) -> Result<Built, String> {
        let folder = source.parent().expect("a file lies in a folder");
        if folder.join("include/scx/common.bpf.h").is_file() {
            let clang = Clang::find()?;
            let headers = self.newest_headers()?;
            let flags = tree_flags(&clang, &headers, folder);
            return self.compiled(&clang, &headers, alone(source, flags), title(source));
        }
        let crates = folder.ancestors().find(|folder| folder.join("Cargo.toml").is_file());
        if let Some(folder) = crates {
            return self.of_crate(folder, Some(source), false);
        }
        let clang = Clang::find()?;
        let headers = self.newest_headers()?;
        let flags = builder_flags(&clang, &headers, &|name| std::env::var(name).ok());
        self.compiled(&clang, &headers, alone(source, flags), title(source))
    }

    fn compiled(
        &self,
        clang: &Clang,
        headers: &Headers,
        mut compilation: Compilation,
        title: String,
    ) -> Result<Built, String> {
        // Where headers are kept is no part of the object, nor of its errors.
        compilation.flags.push(format!("-ffile-prefix-map={}/=", headers.folder.display()));
        let built = |object: Vec<u8>| {
            let name = SchedulerName::Path(String::new());
            Built { title: title.clone(), name, object: object.into() }
        };
        let objects = self.work()?.join("objects");
        let path = objects.join(format!("{}.bpf.o", compilation.key(clang)?));
        if !self.fresh
            && let Ok(object) = std::fs::read(&path)
        {
            touch(&path);
            return Ok(built(object));
        }
        let count = compilation.others.len() + 1;
        let sources = if count == 1 { "1 source".to_owned() } else { format!("{count} sources") };
        (self.say)(&format!("compiling {title}: {sources}, clang {}, {}", clang.major, headers.origin));
        let object = compilation.compile(clang)?;
        // An object that cannot be kept is none the worse.
        if files::create(&objects).and_then(|()| files::write_whole(&path, &object)).is_ok() {
            prune(&objects);
        }
        Ok(built(object))
    }
}

/// One source, compiled in its folder.
fn alone(source: &Path, flags: Vec<String>) -> Compilation {
    let folder = source.parent().expect("a file lies in a folder").to_owned();
    let main = source.file_name().expect("it is a file").into();
    Compilation { folder, main, others: Vec::new(), flags }
}

/// Marks a file as used.
fn touch(path: &Path) {
    let file = std::fs::File::options().append(true).open(path);
    let _ = file.and_then(|file| file.set_modified(std::time::SystemTime::now()));
}

/// Deletes the objects that were used longest ago.
fn prune(objects: &Path) {
    let files = std::fs::read_dir(objects).into_iter().flatten().flatten();
    let is_object = |path: &PathBuf| path.extension().is_some_and(|end| end == "o");
    let dated = |path: PathBuf| Some((std::fs::metadata(&path).ok()?.modified().ok()?, path));
    let mut all: Vec<_> = files.map(|file| file.path()).filter(is_object).filter_map(dated).collect();
    all.sort();
    let many = all.len().saturating_sub(OBJECTS_MAX);
    all.into_iter().take(many).for_each(|(_, path)| _ = std::fs::remove_file(path));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_compiles_nothing() {
        let none = Schedulers::default();
        for name in ["scx_bpfland", "a/scx_simple.bpf.c", "a/scx_bpfland"] {
            let error = none.object(&SchedulerName::parse(name).unwrap()).unwrap_err();
            assert!(error.contains("expected a compiled object (.o)"), "{name}: {error}");
        }
        let object = SchedulerName::Path(concat!(env!("CARGO_MANIFEST_DIR"), "/../bpf/tests/data/kernel.o").to_owned());
        assert_eq!(none.object(&object).unwrap().title, "kernel");
    }

    #[test]
    fn paths_that_are_nothing_are_refused() {
        let all = Schedulers::new(None, false, |_| ());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("notes"), "").unwrap();
        let path = |inner: &str| SchedulerName::Path(folder.path().join(inner).to_string_lossy().into_owned());
        for (inner, error) in [
            ("nowhere", "expected an object (.o), a source (.c), or the folder of a crate"),
            ("nowhere.bpf.c", "No such file"),
            ("nowhere.bpf.o", "expected the object of a scheduler"),
            ("", "the folder has no Cargo.toml"),
            ("notes", "it is none of these"),
        ] {
            assert!(all.object(&path(inner)).unwrap_err().contains(error), "{inner}");
        }
    }

    #[test]
    fn objects_that_were_used_longest_ago_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = |n: usize| folder.path().join(format!("{n}.bpf.o"));
        for n in 0..OBJECTS_MAX + 2 {
            std::fs::write(path(n), "").unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(n as u64);
            std::fs::File::options().append(true).open(path(n)).unwrap().set_modified(time).unwrap();
        }
        touch(&path(0));
        prune(folder.path());
        assert_eq!(
            (path(0).exists(), path(1).exists(), path(2).exists(), path(3).exists()),
            (true, false, false, true)
        );
    }
}
