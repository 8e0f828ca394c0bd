//! Requests to cargo: to fetch a crate, and to list the packages that it resolves to.

use crate::child;
use crate::files::{self, Budget, Checkout};
use crate::manifests::Manifests;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use wakelab_input::files::INTERRUPTED;
use wakelab_input::printable;

/// A package that cargo resolved, with its sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The folder of its sources.
    pub folder: PathBuf,
}

/// The package of a manifest, and those that it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The package of the manifest; `None` for that of a workspace alone.
    pub root: Option<Package>,
    /// The packages that it needs, itself among them; of a workspace all.
    pub packages: Vec<Package>,
}

impl Graph {
    /// The package of a name that has a folder or a file.
    pub fn with(&self, name: &str, holds: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name && package.folder.join(holds).exists())
    }
}

/// Cargo, and what it is asked with.
#[derive(Clone, Copy, Debug)]
pub struct Cargo<'a> {
    /// Ends it early.
    pub stop: &'a AtomicBool,
    /// The limit on what may be read of packages.
    pub budget: &'a Budget,
}

/// Cargo, as the environment names it: a test or `cargo run` sets `CARGO`.
fn program() -> PathBuf {
    match std::env::var_os("CARGO") {
        Some(named) => child::named(&named).unwrap_or_else(|| named.into()),
        None => child::in_path("cargo", std::env::var_os("PATH").as_deref()).unwrap_or_else(|| "cargo".into()),
    }
}

/// Where cargo is.
///
/// # Errors
/// Fails with what to install.
pub fn installed() -> Result<PathBuf, String> {
    let program = program();
    let missing = || format!("{} is not in PATH; {INSTALL}", program.display());
    program.is_file().then_some(()).ok_or_else(missing)?;
    Ok(program)
}

/// The hint if there is no cargo.
const INSTALL: &str = "install it (apt-get install cargo, or https://rustup.rs), or name a compiled object (.o)";

impl Cargo<'_> {
    /// Resolves the packages of a manifest of ours and fetches them.
    ///
    /// Cargo looks for its configuration, and rustup for a toolchain, in the folder that they run in and in those above
    /// it: that is the root of the system, so that only the user's own configuration is obeyed.
    ///
    /// # Errors
    /// Fails if cargo cannot be run, or with what cargo says.
    fn metadata(self, manifest: &Path) -> Result<Graph, String> {
        let mut command = Command::new(program());
        // The programs are for one target, and what others need is not fetched.
        command.args(["metadata", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"]);
        command.args(["--color", "never"]).current_dir("/").arg("--manifest-path").arg(manifest);
        for variable in ["CARGO_HOME", "RUSTUP_HOME", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
            // What begins at the user's folder does so still.
            if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty())
                && (variable.ends_with("HOME") || Path::new(&path).components().count() > 1)
                && let Ok(absolute) = std::path::absolute(&path)
            {
                command.env(variable, absolute);
            }
        }
        if let Some(path) = child::absolute_list("PATH") {
            command.env("PATH", path);
        }
        let ended = child::run(command, self.stop, None).map_err(|error| {
            if error.kind() == std::io::ErrorKind::Interrupted {
                return INTERRUPTED.to_owned();
            }
            let cargo = program();
            let cargo = cargo.display();
            format!("{cargo} cannot be run ({error}), but it is needed to fetch crates and their headers; {INSTALL}")
        })?;
        if !ended.status.success() {
            return Err(said(&String::from_utf8_lossy(&ended.stderr)));
        }
        let all = serde_json::from_slice(&ended.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
        graph(&all).ok_or_else(|| "cargo metadata: the output has no packages; expected format version 1".to_owned())
    }

    /// The packages that the manifest of somebody's folder needs, by copies of it in a folder of `resolved`.
    ///
    /// # Errors
    /// As of [`Manifests::of`] and of [`Self::metadata`].
    pub fn resolve(self, checkout: &Checkout, resolved: &Path) -> Result<Graph, String> {
        let manifests = Manifests::of(checkout, self.budget)?;
        let manifest = manifests.write(resolved)?;
        let mut graph = self.metadata(&manifest)?;
        for package in graph.packages.iter_mut().chain(&mut graph.root) {
            if let Some(original) = manifests.original(&manifest, &package.folder) {
                package.folder = original.to_owned();
            }
        }
        Ok(graph)
    }
}

/// Returns cargo's error message, on one line.
fn said(stderr: &str) -> String {
    let lines = stderr.lines().map(str::trim).skip_while(|line| !line.starts_with("error"));
    let useful = |line: &&str| !line.is_empty() && !line.starts_with("required by package") && *line != "Caused by:";
    let lines: Vec<String> = lines.filter(useful).take(6).map(|line| printable(line).into_owned()).collect();
    format!("cargo: {}", lines.join("; "))
}

/// Reads what `cargo metadata` prints.
fn graph(all: &Value) -> Option<Graph> {
    let mut packages = BTreeMap::new();
    for package in all["packages"].as_array()? {
        let text = |key: &str| package[key].as_str();
        let folder = Path::new(text("manifest_path")?).parent()?.to_owned();
        let found = Package { name: text("name")?.to_owned(), version: text("version")?.to_owned(), folder };
        packages.insert(text("id")?, found);
    }
    let Some(root) = all["resolve"]["root"].as_str() else {
        return Some(Graph { root: None, packages: packages.into_values().collect() });
    };
    let mut needs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in all["resolve"]["nodes"].as_array()? {
        let of_it = node["dependencies"].as_array()?.iter().filter_map(Value::as_str).collect();
        needs.insert(node["id"].as_str()?, of_it);
    }
    let (mut seen, mut open) = (BTreeSet::from([root]), vec![root]);
    while let Some(id) = open.pop() {
        open.extend(needs.get(id).into_iter().flatten().filter(|id| seen.insert(**id)));
    }
    let root = packages.get(root)?.clone();
    Some(Graph { root: Some(root), packages: seen.iter().filter_map(|id| packages.get(id).cloned()).collect() })
}

/// The manifest of a project that needs these crates. Its edition has a resolver that does not care about the version
/// of the compiler, as nothing of a crate is compiled but its BPF sources.
fn project(dependencies: &[(&str, &str)]) -> String {
    let lines = dependencies.iter().map(|(name, version)| format!("{name} = \"{version}\"\n"));
    let package = "[package]\nname = \"wakelab-fetches\"\nversion = \"0.0.0\"\nedition = \"2021\"\npublish = false\n";
    let lines: String = lines.collect();
    format!("{package}\n[lib]\npath = \"lib.rs\"\n\n[dependencies]\n{lines}\n[workspace]\n")
}

/// Writes a project into a folder, and returns its manifest.
fn write_project(folder: &Path, dependencies: &[(&str, &str)]) -> Result<PathBuf, String> {
    files::write_whole(&folder.join("lib.rs"), b"")?;
    let manifest = folder.join("Cargo.toml");
    files::write_whole(&manifest, project(dependencies).as_bytes())?;
    Ok(manifest)
}

/// A crate that all schedulers in Rust need, and that has a library. Cargo leaves packages without one out of what it
/// prints, and unpacks all of a registry side by side.
const BESIDE: &str = "anyhow";

/// Where the sources of a crate are kept.
pub fn kept_at(crates: &Path, name: &str, version: &str) -> PathBuf {
    crates.join(format!("{name}-{version}"))
}

impl Cargo<'_> {
    /// Fetches a crate, and returns its sources in `crates` as the registry has them, but for what would configure
    /// programs. Without a version, it is the newest.
    ///
    /// # Errors
    /// Fails if there is no such crate or version, or cargo cannot fetch it.
    pub fn fetch(self, name: &str, version: Option<&str>, crates: &Path) -> Result<Package, String> {
        if let Some(version) = version
            && kept_at(crates, name, version).exists()
        {
            let folder = kept_at(crates, name, version);
            return Ok(Package { name: name.to_owned(), version: version.to_owned(), folder });
        }
        files::create(crates)?;
        let project = tempfile::Builder::new().prefix(files::UNFINISHED).tempdir_in(crates);
        let project = project.map_err(|error| files::failed(crates, error))?;
        let wanted = version.map_or_else(|| "*".to_owned(), |version| format!("={version}"));
        let manifest = write_project(project.path(), &[(name, &wanted), (BESIDE, "1")])?;
        let graph = self.metadata(&manifest).map_err(|error| not_fetched(name, version, error))?;
        let lock = self.budget.read_text(&project.path().join("Cargo.lock"))?;
        let version = locked_version(&lock, name).ok_or_else(|| format!("cargo resolved no crate {name}"))?;
        let beside = graph.packages.iter().find(|package| package.name == BESIDE);
        let of_registry = beside.and_then(|package| package.folder.parent()).map(Path::to_owned).unwrap_or_default();
        // A registry's folder has versions in its names, a vendored one may have none.
        let places = [of_registry.join(format!("{name}-{version}")), of_registry.join(name)];
        let from = places.iter().find(|place| place.join("Cargo.toml").is_file()).ok_or_else(|| {
            let place = of_registry.display();
            format!(
                "cargo has fetched {name} {version}, but it is not in {place}; name the folder of its sources instead"
            )
        })?;
        let folder = kept_at(crates, name, &version);
        files::make_whole(&folder, |new| {
            let from = Checkout::closed(from)?;
            from.copy(&from.all_files(self.budget)?, new, self.budget)
        })?;
        Ok(Package { name: name.to_owned(), version, folder })
    }

    /// Resolves the newest `scx_cargo`, and the packages that it needs. A folder that has done so keeps its answer.
    ///
    /// # Errors
    /// Fails as [`Self::metadata`] does.
    pub fn newest_headers(self, folder: &Path) -> Result<Graph, String> {
        files::create(folder)?;
        self.metadata(&write_project(folder, &[("scx_cargo", "1")])?)
    }
}

/// The version of a package in a lock file.
fn locked_version(lock: &str, name: &str) -> Option<String> {
    let lock: toml::Table = lock.parse().ok()?;
    let packages = lock.get("package")?.as_array()?;
    let of_name = packages.iter().find(|package| package.get("name").and_then(toml::Value::as_str) == Some(name))?;
    of_name.get("version")?.as_str().map(str::to_owned)
}

/// Describes why cargo does not fetch a crate.
fn not_fetched(name: &str, version: Option<&str>, error: String) -> String {
    if error.contains(&format!("no matching package named `{name}`")) {
        let expected = "expected one of the public schedulers, such as scx_bpfland, or a path with a /";
        return format!("there is no crate {name}; {expected} ({error})");
    }
    match version {
        Some(version) if error.contains(&format!("for the requirement `{name} =")) => {
            format!("crate {name} has no version {version} ({error})")
        }
        None if error.contains("network") || error.contains("offline") || error.contains("download") => {
            format!("{error}; a version that was fetched before needs no network: scx:{name}@VERSION")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_that_the_root_needs() {
        let package = |id: &str, name: &str| {
            let manifest = format!("/r/{name}/Cargo.toml");
            serde_json::json!({"id": id, "name": name, "version": "1.0.0", "manifest_path": manifest})
        };
        let names = [("a", "scx_a"), ("b", "scx_cargo"), ("c", "libbpf-sys"), ("d", "other")];
        let packages: Vec<Value> = names.iter().map(|(id, name)| package(id, name)).collect();
        let node = |id: &str, needs: &[&str]| serde_json::json!({"id": id, "dependencies": needs});
        let nodes = [node("a", &["b"]), node("b", &["c"]), node("c", &[]), node("d", &["c"])];
        let mut all = serde_json::json!({"packages": packages, "resolve": {"root": "a", "nodes": nodes}});
        let found = graph(&all).unwrap();
        assert_eq!(found.root.as_ref().unwrap().folder, Path::new("/r/scx_a"));
        let names = |graph: &Graph| graph.packages.iter().map(|package| package.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found), ["scx_a", "scx_cargo", "libbpf-sys"]);
        all["resolve"]["root"] = Value::Null;
        assert_eq!(names(&graph(&all).unwrap()), ["scx_a", "scx_cargo", "libbpf-sys", "other"]);
        assert_eq!(graph(&serde_json::json!({})), None);
    }

    /// Cargo's own texts, of 1.95.
    #[test]
    fn what_cargo_says_becomes_one_line() {
        let none = "    Updating crates.io index\nerror: no matching package named `scx_nope` found\n\
                    location searched: crates.io index\nrequired by package `wakelab-fetches v0.0.0 (/x)`\n";
        let error = not_fetched("scx_nope", None, said(none));
        assert!(error.starts_with("there is no crate scx_nope; expected one of the public schedulers"), "{error}");
        assert!(error.ends_with("`scx_nope` found; location searched: crates.io index)"), "{error}");
        let other = "error: failed to select a version for the requirement `scx_bpfland = \"=9.9.9\"`\n\
                     candidate versions found which didn't match: 1.1.4, 1.0.18, ...\n\
                     location searched: crates.io index\n";
        let error = not_fetched("scx_bpfland", Some("9.9.9"), said(other));
        assert!(error.starts_with("crate scx_bpfland has no version 9.9.9 (cargo: error: failed"), "{error}");
        assert!(error.contains("didn't match: 1.1.4, 1.0.18"), "{error}");
    }

    #[test]
    fn a_lock_file_names_the_version() {
        let package = |name: &str, version: &str| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
        let lock = &format!("version = 4\n{}{}", package("a", "1.0.0"), package("b", "2.0.1"));
        assert_eq!(locked_version(lock, "b").as_deref(), Some("2.0.1"));
        assert_eq!(locked_version(lock, "c"), None);
        assert_eq!(project(&[("a", "=1.0")]).matches("a = \"=1.0\"").count(), 1);
    }
}
