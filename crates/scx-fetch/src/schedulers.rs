//! The objects of schedulers by name, compiled once.

use crate::SchedulerName;
use crate::build_script::{BuildScript, SCRIPT_MAX};
use crate::cargo::{Cargo, Graph};
use crate::clang::{Clang, Failure};
use crate::compile::{Compilation, With, builder_flags, include, tree_flags};
use crate::files::{self, Budget, Checkout};
use crate::headers::Headers;
use crate::kept::{self, Kept};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use wakelab_input::{read_file, read_text_file};

/// The largest object that is read, bytes. Those of public schedulers have up to 13 MB.
const OBJECT_MAX: u64 = 64 << 20;

/// The object of a scheduler.
#[derive(Clone, PartialEq, Eq)]
pub struct Built {
    /// Its name: `scx_bpfland 1.1.4`, `scx_simple`.
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

/// Returns the tools that compile schedulers here: `cargo and clang-19 (19)`.
///
/// # Errors
/// Fails with what is missing and what to install.
pub fn compiler() -> Result<String, String> {
    let clang = Clang::find(&AtomicBool::new(false))?;
    let cargo = crate::cargo::installed()?;
    Ok(format!("{} and {} ({})", cargo.display(), clang.program.display(), clang.major))
}

/// Whether clang is confined when it compiles schedulers: by which bubblewrap, or why not and what to do.
///
/// # Errors
/// Fails if bubblewrap is missing, may not make namespaces here, or does not run the clang that is taken.
pub fn confinement() -> Result<PathBuf, String> {
    let bwrap = crate::confine::confinement()?;
    match Clang::find(&AtomicBool::new(false)) {
        Ok(Clang { program, bwrap: None, .. }) => Err(format!(
            "{} does not run {}; set BPF_CLANG to a clang that is not a script",
            bwrap.display(),
            program.display()
        )),
        _ => Ok(bwrap),
    }
}

/// Finds the objects of schedulers. The default reads objects, and neither fetches nor compiles anything.
#[derive(Clone, Debug, Default)]
pub struct Schedulers(Option<Arc<Builder>>);

/// Gives the flag that ends what is fetched or compiled, when the first is about to be.
pub type Stop = Box<dyn Fn() -> &'static AtomicBool + Send + Sync>;

/// Fetches and compiles schedulers, and keeps what it has made since the program began.
struct Builder {
    /// The folder of what is kept; `None` to keep nothing.
    folder: Option<PathBuf>,
    /// Where things are made if nothing is kept; it goes with this.
    temporary: Mutex<Option<tempfile::TempDir>>,
    /// Where that folder is made.
    scratch: fn() -> PathBuf,
    /// Whether objects that are kept are made again.
    fresh: bool,
    stop: Stop,
    say: fn(&str),
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

impl Schedulers {
    /// Schedulers that are fetched and compiled, and kept in a folder; without one, what is made lies in a folder of
    /// `scratch`, and goes with this. Nobody else may write there. With `fresh`, objects are made again. What is done
    /// is said to `say`, a line for each crate and object. It ends early with an error when the flag of `stop` is set.
    pub fn new(folder: Option<PathBuf>, scratch: fn() -> PathBuf, fresh: bool, say: fn(&str), stop: Stop) -> Self {
        // Clang and cargo run elsewhere.
        let absolute = |folder: PathBuf| std::path::absolute(&folder).unwrap_or(folder);
        let folder = folder.map(absolute);
        let (temporary, made) = (Mutex::default(), Mutex::default());
        Schedulers(Some(Arc::new(Builder { folder, temporary, scratch, fresh, stop, say, made })))
    }

    /// The flag that ends programs of its schedulers, if there is one.
    pub fn stop(&self) -> Option<&'static AtomicBool> {
        Some((self.0.as_ref()?.stop)())
    }

    /// The object of a scheduler: as it is, or compiled. A program gets the same one each time it asks.
    ///
    /// # Errors
    /// Fails if there is no such file, crate or version, if cargo or clang is missing, with what to install, if a build
    /// script asks for more than to compile, if there is too much to read, or with what clang says.
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
    let object = read_file(Path::new(path), OBJECT_MAX).map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let expected = if missing { "; expected the object of a scheduler, as clang compiles it for BPF" } else { "" };
        format!("{error}{expected}")
    })?;
    Ok(Built { title: title(Path::new(path)), name: SchedulerName::Path(path.to_owned()), object: object.into() })
}

/// The files of a scheduler's source, which no output replaces.
const SOURCES: &[(&str, &str)] = &[("", ".c"), ("", ".h"), ("", ".rs"), ("Cargo.", "")];

/// The name of a file without its endings.
fn title(path: &Path) -> String {
    let name = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
    name.trim_end_matches(".o").trim_end_matches(".c").trim_end_matches(".bpf").to_owned()
}

/// The build of one scheduler.
struct Build<'a> {
    builder: &'a Builder,
    stop: &'static AtomicBool,
    /// The folder for what is made.
    work: PathBuf,
    budget: Budget,
}

/// A source and all that is compiled with it.
struct Sources {
    compilation: Compilation,
    title: String,
    /// The folder of a crate that has a build script, which is not run.
    script: Option<PathBuf>,
}

impl Builder {
    fn build(&self, name: &SchedulerName) -> Result<Built, String> {
        if let SchedulerName::Path(path) = name
            && path.ends_with(".o")
        {
            return read_object(path);
        }
        let build = Build { builder: self, stop: (self.stop)(), work: self.work()?, budget: Budget::default() };
        let found = match name {
            SchedulerName::Path(path) => Built { name: name.clone(), ..build.of_path(path)? },
            SchedulerName::Crate { name, version } => build.of_registry(name, version.as_deref())?,
        };
        kept::prune(&build.work);
        Ok(found)
    }

    /// The folder for what is made.
    fn work(&self) -> Result<PathBuf, String> {
        if let Some(folder) = &self.folder {
            files::create(folder)?;
            return kept::private(folder);
        }
        let mut temporary = self.temporary.lock().map_err(|_| "making a folder panicked before".to_owned())?;
        if let Some(folder) = &*temporary {
            return Ok(folder.path().to_owned());
        }
        let scratch = kept::private(&(self.scratch)())?;
        let made = tempfile::Builder::new().prefix(files::UNFINISHED).tempdir_in(&scratch);
        let made = made.map_err(|error| files::failed(&scratch, error))?;
        Ok(temporary.insert(made).path().to_owned())
    }
}

impl Build<'_> {
    fn cargo(&self) -> Cargo<'_> {
        Cargo { stop: self.stop, budget: &self.budget }
    }

    fn clang(&self) -> Result<Clang, String> {
        Clang::find(self.stop)
    }

    fn of_path(&self, path: &str) -> Result<Built, String> {
        let place = Path::new(path);
        let expected = "expected an object (.o), a source (.c), or the folder of a crate";
        let place = place.canonicalize().map_err(|error| format!("{error}; {expected}"))?;
        // Clang reads what these name, too.
        let folder = if place.is_dir() { &*place } else { place.parent().unwrap_or(&place) };
        wakelab_input::files::note_folder(folder, SOURCES);
        match place.is_dir() {
            true if place.join("Cargo.toml").is_file() => self.of_crate(&Checkout::of(&place)?, None),
            true => Err(format!("the folder has no Cargo.toml; {expected}")),
            false if path.ends_with(".c") && place.is_file() => self.of_source(&place),
            false => Err(format!("it is none of these; {expected}")),
        }
    }

    fn headers_of(&self, graph: &Graph) -> Result<Option<Headers>, String> {
        let headers = Headers::of(graph, &Kept::Headers.folder(&self.work), &self.budget)?;
        headers.iter().for_each(|headers| kept::touch(&headers.folder));
        Ok(headers)
    }

    /// The headers of the newest builder, for sources without a crate.
    fn newest_headers(&self) -> Result<Headers, String> {
        let graph = self.cargo().newest_headers(&self.work.join("newest"))?;
        self.headers_of(&graph)?.ok_or_else(|| "scx_cargo has no headers; expected a folder bpf_h".to_owned())
    }

    fn of_registry(&self, name: &str, version: Option<&str>) -> Result<Built, String> {
        let package = self.cargo().fetch(name, version, &Kept::Crates.folder(&self.work))?;
        kept::touch(&package.folder);
        if version != Some(package.version.as_str()) {
            (self.builder.say)(&format!("{name} is {name} {}", package.version));
        }
        let built = self.of_crate(&Checkout::closed(&package.folder)?, None)?;
        let exact = SchedulerName::Crate { name: name.to_owned(), version: Some(package.version.clone()) };
        Ok(Built { title: format!("{name} {}", package.version), name: exact, ..built })
    }

    /// A crate in a folder. With `only`, that source alone if the crate's build script does not name it.
    fn of_crate(&self, checkout: &Checkout, only: Option<&Path>) -> Result<Built, String> {
        let folder = checkout.folder.as_path();
        let graph = self.cargo().resolve(checkout, &Kept::Resolved.folder(&self.work))?;
        let of_graph = self.headers_of(&graph)?;
        let root = graph.root.as_ref();
        let named = root.map_or_else(|| title(folder), |root| format!("{} {}", root.name, root.version));
        let path = folder.join("build.rs");
        let text = match root.is_some() && path.exists() {
            true => Some(self.script(checkout)?),
            false => None,
        };
        let inner = only.and_then(|source| source.strip_prefix(folder).ok());
        let names = |script: &BuildScript| {
            let is = |source: &String| inner == Some(Path::new(source));
            is(&script.main) || script.others.iter().any(is)
        };
        let script = match (&text, only) {
            (Some(text), None) => Some(BuildScript::parse(text).map_err(|wrong| wrong.at(&path))?),
            // A source that the script does not name is compiled alone, whatever the script says.
            (Some(text), Some(_)) => BuildScript::parse(text).ok().filter(names),
            (None, None) => {
                return Err(format!("{} has no build.rs; expected the crate of a scheduler", folder.display()));
            }
            (None, Some(_)) => None,
        };
        script.iter().try_for_each(|script| inside(checkout, &path, script))?;
        let clang = self.clang()?;
        let headers = match of_graph {
            Some(headers) => headers,
            None if only.is_some() => self.newest_headers()?,
            None => {
                return Err(format!(
                    "{named} depends on neither scx_cargo nor scx_utils; expected the crate of a scheduler"
                ));
            }
        };
        let flags = builder_flags(&clang, &headers, &|name| std::env::var(name).ok());
        let (compilation, title) = match (script, only) {
            (Some(script), _) => (of_script(checkout, script, flags), named),
            (None, Some(source)) => (alone(source, checkout.root.clone(), flags), title(source)),
            (None, None) => unreachable!("a crate alone has a script"),
        };
        let script = text.is_some().then(|| folder.to_owned());
        self.compiled(&clang, &headers, Sources { compilation, title, script })
    }

    /// The text of a crate's build script.
    fn script(&self, checkout: &Checkout) -> Result<String, String> {
        let path = checkout.find(Path::new("build.rs"))?;
        read_text_file(&path, SCRIPT_MAX).map_err(|error| files::failed(&path, error))
    }

    /// A source: of a kernel's tree, of a crate, or alone.
    fn of_source(&self, source: &Path) -> Result<Built, String> {
        let folder = source.parent().expect("a file lies in a folder");
        let Checkout { root, .. } = Checkout::of(folder)?;
        let alone_by = |clang: &Clang, headers: &Headers, root: PathBuf, flags: Vec<String>| {
            let compilation = alone(source, root, flags);
            self.compiled(clang, headers, Sources { compilation, title: title(source), script: None })
        };
        if folder.join("include/scx/common.bpf.h").is_file() {
            let (clang, headers) = (self.clang()?, self.newest_headers()?);
            let flags = tree_flags(&clang, &headers, folder);
            return alone_by(&clang, &headers, root, flags);
        }
        let mut own = folder.ancestors().take_while(|folder| !files::written_by_all(folder));
        if let Some(folder) = own.find(|folder| folder.join("Cargo.toml").is_file()) {
            return self.of_crate(&Checkout::of(folder)?, Some(source));
        }
        let (clang, headers) = (self.clang()?, self.newest_headers()?);
        let flags = builder_flags(&clang, &headers, &|name| std::env::var(name).ok());
        alone_by(&clang, &headers, root, flags)
    }

    fn compiled(&self, clang: &Clang, headers: &Headers, sources: Sources) -> Result<Built, String> {
        let Sources { mut compilation, title, script } = sources;
        // Where headers are kept is no part of the object, nor of its errors.
        compilation.more.push(format!("-ffile-prefix-map={}/=", headers.folder.display()));
        let built = |object: Vec<u8>| {
            let name = SchedulerName::Path(String::new());
            Built { title: title.clone(), name, object: object.into() }
        };
        let with = With { clang, stop: self.stop };
        let refused = |failure: Failure| failure.text(&hints(&failure, headers, &compilation, script.as_deref()));
        let key = compilation.key(with, &self.budget).map_err(refused)?;
        let objects = Kept::Objects.folder(&self.work);
        let path = objects.join(format!("{key}.bpf.o"));
        if !self.builder.fresh
            && let Ok(object) = read_file(&path, OBJECT_MAX)
        {
            kept::touch(&path);
            return Ok(built(object));
        }
        let count = compilation.others.len() + 1;
        let text = if count == 1 { "1 source".to_owned() } else { format!("{count} sources") };
        let bare = if clang.bwrap.is_some() { "" } else { ", not confined (`wakelab doctor schedulers` says why)" };
        (self.builder.say)(&format!("compiling {title}: {text}, clang {}, {}{bare}", clang.major, headers.origin));
        let object = compilation.compile(with, &self.work, &self.budget).map_err(refused)?;
        // An object that cannot be kept is none the worse.
        let _ = files::create(&objects).and_then(|()| files::write_whole(&path, &object));
        Ok(built(object))
    }
}

/// Whether what a build script names lies in its checkout.
fn inside(checkout: &Checkout, path: &Path, script: &BuildScript) -> Result<(), String> {
    for named in script.others.iter().chain([&script.main]).chain(&script.include) {
        let found = checkout.find(Path::new(named));
        found.map_err(|error| format!("{}:{}: {error}", path.display(), script.line(named)))?;
    }
    Ok(())
}

/// Returns the compilation of a build script.
fn of_script(checkout: &Checkout, script: BuildScript, flags: Vec<String>) -> Compilation {
    let mut all: Vec<String> = script.include.iter().map(|inner| include(Path::new(inner))).collect();
    all.extend(flags);
    Compilation {
        checkout: checkout.clone(),
        main: script.main.into(),
        others: script.others.into_iter().map(PathBuf::from).collect(),
        flags: all,
        more: script.cflags,
    }
}

/// One source, compiled in its folder.
fn alone(source: &Path, root: PathBuf, flags: Vec<String>) -> Compilation {
    let folder = source.parent().expect("a file lies in a folder").to_owned();
    let name = source.file_name().expect("it is a file");
    // It may begin with what clang takes for a flag.
    let is_flag = name.to_string_lossy().starts_with(['-', '@']);
    let main = if is_flag { Path::new(".").join(name) } else { name.into() };
    Compilation { checkout: Checkout { folder, root }, main, others: Vec::new(), flags, more: Vec::new() }
}

/// Returns hints for clang's errors.
fn hints(failure: &Failure, headers: &Headers, compilation: &Compilation, script: Option<&Path>) -> Vec<String> {
    let mut hints = Vec::new();
    if matches!(failure, Failure::Other(_)) {
        return hints;
    }
    if let Some(missing) = failure.names("fatal error: '", "' file not found").next() {
        let missing = wakelab_input::printable(wakelab_input::shortened(missing).as_ref()).into_owned();
        let root = compilation.checkout.root.display();
        if missing.contains("..") || missing.starts_with('/') {
            hints.push(format!("clang sees only {root}, the headers of its builder and the system's"));
        } else if let Some(folder) = script {
            let folder = folder.display();
            hints.push(format!(
                "{folder}/build.rs is not run, and may generate {missing}: run `cargo build` there once, or write the \
                 file"
            ));
        }
    }
    let builder = &headers.builder;
    let origin = &headers.origin;
    hints.push(match script {
        Some(folder) => format!(
            "it was compiled with the headers of {origin}, according to {}/Cargo.toml or its Cargo.lock; {} = \
             \"=VERSION\" there selects others",
            folder.display(),
            builder.name
        ),
        None => format!(
            "it was compiled with the headers of {origin}; a Cargo.toml above the source selects others, with {} = \
             \"=1.0.27\" in its [build-dependencies] (`wakelab docs scheduler-authors`)",
            builder.name
        ),
    });
    hints
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
        static NEVER: AtomicBool = AtomicBool::new(false);
        let all = Schedulers::new(None, std::env::temp_dir, false, |_| (), Box::new(|| &NEVER));
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
}
