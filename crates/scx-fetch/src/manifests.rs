//! The manifests of somebody's packages, as cargo may see them.
//!
//! Cargo obeys more of a folder than its manifest: configuration that names compilers, toolchains, registries, and the
//! same of all folders above. So it never runs there. What says which packages are needed is copied into a folder of
//! our own, a package in each folder of it, with an empty library.

use crate::files::{self, Budget, Checkout, MANIFEST_MAX, failed};
use crate::kept;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The copies of manifests.
#[derive(Debug)]
pub struct Manifests {
    /// The texts, by their number. The first one is the package's own, unless the folder is a workspace alone.
    texts: Vec<String>,
    /// The folders of the packages, in that order.
    folders: Vec<PathBuf>,
    /// Whether the first is the package that was asked for.
    has_root: bool,
    /// `Cargo.lock`.
    lock: Option<String>,
}

/// The most packages that lie in folders.
const PACKAGES_MAX: usize = 500;

/// No file has a longer path (`PATH_MAX` of Linux), bytes.
const PATH_MAX: usize = 4096;

/// Tables of dependencies that have a say in what is resolved.
const DEPENDENCIES: [&str; 2] = ["dependencies", "build-dependencies"];

/// The keys of a dependency that are copied.
const KEYS: [&str; 9] =
    ["version", "package", "optional", "default-features", "features", "git", "branch", "tag", "rev"];

/// A manifest that was read.
#[derive(Clone, Debug)]
struct Read {
    checkout: Checkout,
    table: Table,
}

impl Read {
    fn of(checkout: Checkout, budget: &Budget) -> Result<Self, String> {
        let path = checkout.folder.join("Cargo.toml");
        let text = budget.read_text(&checkout.find(Path::new("Cargo.toml"))?)?;
        if text.len() as u64 > MANIFEST_MAX {
            return Err(failed(&path, format!("it has more than {} MiB", MANIFEST_MAX >> 20)));
        }
        let wrong = |error: toml::de::Error| {
            let line = 1 + error.span().map_or(0, |span| text[..span.start].matches('\n').count());
            format!("{}:{line}: {}", path.display(), wakelab_input::printable(error.message()))
        };
        Ok(Read { checkout, table: text.parse().map_err(wrong)? })
    }

    fn path(&self) -> PathBuf {
        self.checkout.folder.join("Cargo.toml")
    }

    /// The workspace that the package is in: its own, the one that it names, or the first one above it.
    fn workspace(&self, budget: &Budget) -> Result<Option<Read>, String> {
        if self.table.contains_key("workspace") {
            return Ok(Some(self.clone()));
        }
        let named = self.table.get("package").and_then(|package| package.get("workspace")?.as_str());
        if let Some(named) = named {
            return Read::of(self.checkout.at(Path::new(named))?, budget).map(Some);
        }
        let above = self.checkout.folder.ancestors().skip(1).take_while(|f| f.starts_with(&self.checkout.root));
        for folder in above.filter(|folder| folder.join("Cargo.toml").is_file()) {
            let read = Read::of(Checkout { folder: folder.to_owned(), ..self.checkout.clone() }, budget)?;
            if read.table.contains_key("workspace") {
                return Ok(Some(read));
            }
        }
        Ok(None)
    }

    /// The folders of a workspace's members, each once. A `*` in their names stands for anything.
    fn members(&self, budget: &Budget) -> Result<Vec<PathBuf>, String> {
        let list = |key: &str| {
            let list = self.table.get("workspace").and_then(|workspace| workspace.get(key)?.as_array());
            list.into_iter().flatten().filter_map(Value::as_str).map(PathBuf::from)
        };
        let excluded: BTreeSet<PathBuf> = list("exclude").collect();
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        for member in list("members").filter(|member| member.as_os_str().len() < PATH_MAX) {
            for place in self.places(&member, budget)? {
                let is_package = self.checkout.folder.join(&place).join("Cargo.toml").is_file();
                if is_package && !place.ancestors().any(|above| excluded.contains(above)) && seen.insert(place.clone())
                {
                    found.push(place);
                    self.few(found.len())?;
                }
            }
        }
        Ok(found)
    }

    /// The folders that the name of a member stands for. Each that is looked through is counted, and so is each file
    /// and folder in there, as links may make many of one.
    fn places(&self, member: &Path, budget: &Budget) -> Result<Vec<PathBuf>, String> {
        let mut places = vec![PathBuf::new()];
        for part in member.components() {
            let part = part.as_os_str().to_string_lossy().into_owned();
            let Some((before, after)) = part.split_once('*') else {
                places.iter_mut().for_each(|place| place.push(&part));
                continue;
            };
            let mut next = Vec::new();
            for place in places {
                let here = self.checkout.folder.join(&place);
                budget.one_more(&here)?;
                let mut names: Vec<String> = Vec::new();
                for entry in std::fs::read_dir(&here).map_err(|error| failed(&here, error))?.flatten() {
                    budget.one_more(&here)?;
                    let name = entry.file_name().to_string_lossy().into_owned();
                    if name.starts_with(before) && name.ends_with(after) && entry.path().is_dir() {
                        names.push(name);
                    }
                }
                self.few(next.len() + names.len())?;
                names.sort();
                next.extend(names.iter().map(|name| place.join(name)));
            }
            places = next;
        }
        Ok(places)
    }

    /// Refuses more folders of members than are taken.
    fn few(&self, folders: usize) -> Result<(), String> {
        match folders > PACKAGES_MAX {
            true => {
                Err(failed(&self.path(), format!("its members are more than {PACKAGES_MAX} folders; expected fewer")))
            }
            false => Ok(()),
        }
    }
}

/// Copies manifests one after the other.
struct Copier {
    /// The numbers of folders of packages.
    numbers: BTreeMap<PathBuf, usize>,
    /// Those that are to be copied.
    folders: Vec<Checkout>,
    /// How a path to another copy begins.
    up: &'static str,
}

impl Manifests {
    /// Copies the manifest of a folder, those of the packages that it names by their paths, and its lock file.
    ///
    /// # Errors
    /// Fails with the file if one cannot be read, has a registry of its own, or if there are too many.
    pub fn of(checkout: &Checkout, budget: &Budget) -> Result<Self, String> {
        let asked = Read::of(checkout.clone(), budget)?;
        let workspace = asked.workspace(budget)?;
        let mut copier = Copier { numbers: BTreeMap::new(), folders: Vec::new(), up: "../" };
        let has_root = asked.table.contains_key("package");
        if has_root {
            copier.number(checkout.clone())?;
        } else {
            for member in asked.members(budget)? {
                copier.number(checkout.at(&member)?)?;
            }
        }
        let mut texts = Vec::new();
        while let Some(next) = copier.folders.get(texts.len()).cloned() {
            let read = if next == *checkout { asked.clone() } else { Read::of(next, budget)? };
            let of_it = if texts.is_empty() { workspace.clone() } else { read.workspace(budget)? };
            let mut copy = copier.package(&read, of_it.as_ref())?;
            if has_root && texts.is_empty() {
                let patch = copier.patch(workspace.as_ref().unwrap_or(&asked))?;
                copy.insert("patch".to_owned(), Value::Table(patch));
            }
            if has_root {
                // What is above is not looked for.
                copy.insert("workspace".to_owned(), Value::Table(Table::new()));
            }
            texts.push(copy.to_string());
        }
        if !has_root {
            let members = (0..texts.len()).map(|number| Value::String(format!("p{number}"))).collect();
            copier.up = "";
            let patch = copier.patch(&asked)?;
            copier.up = "../";
            // Packages that are patches alone.
            while let Some(next) = copier.folders.get(texts.len()).cloned() {
                let read = Read::of(next, budget)?;
                let of_it = read.workspace(budget)?;
                texts.push(copier.package(&read, of_it.as_ref())?.to_string());
            }
            let workspace = Table::from_iter([
                ("members".to_owned(), Value::Array(members)),
                ("resolver".to_owned(), Value::String("2".to_owned())),
            ]);
            let all = [("workspace".to_owned(), Value::Table(workspace)), ("patch".to_owned(), Value::Table(patch))];
            texts.push(Table::from_iter(all).to_string());
        }
        let of_lock = workspace.as_ref().map_or(checkout, |workspace| &workspace.checkout);
        let lock = match of_lock.folder.join("Cargo.lock").exists() {
            true => Some(budget.read_text(&of_lock.find(Path::new("Cargo.lock"))?)?),
            false => None,
        };
        let folders = copier.folders.into_iter().map(|checkout| checkout.folder).collect();
        Ok(Manifests { texts, folders, has_root, lock })
    }

    /// Writes the copies into a folder of `into`, unless they are there, and returns the manifest for cargo. Its answer
    /// is kept beside it, as a lock file.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn write(&self, into: &Path) -> Result<PathBuf, String> {
        let mut hash = blake3::Hasher::new();
        for text in self.texts.iter().chain(&self.lock) {
            hash.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        let folder = into.join(&hash.finalize().to_hex()[..16]);
        let place = |number: usize| match number == self.folders.len() {
            true => PathBuf::new(),
            false => PathBuf::from(format!("p{number}")),
        };
        files::make_whole(&folder, |new| {
            for (number, text) in self.texts.iter().enumerate() {
                let package = new.join(place(number));
                files::create(&package)?;
                files::write_whole(&package.join("Cargo.toml"), text.as_bytes())?;
                files::write_whole(&package.join("lib.rs"), b"")?;
            }
            let lock = new.join(if self.has_root { "p0/Cargo.lock" } else { "Cargo.lock" });
            self.lock.as_ref().map_or(Ok(()), |text| files::write_whole(&lock, text.as_bytes()))
        })?;
        kept::touch(&folder);
        Ok(folder.join(if self.has_root { "p0/Cargo.toml" } else { "Cargo.toml" }))
    }

    /// The folder of the package whose copy lies in this one; `None` if it is none of these.
    pub fn original(&self, manifest: &Path, copy: &Path) -> Option<&Path> {
        let all = manifest.parent()?;
        let all = if self.has_root { all.parent()? } else { all };
        let number: usize = copy.strip_prefix(all).ok()?.to_str()?.strip_prefix('p')?.parse().ok()?;
        self.folders.get(number).map(PathBuf::as_path)
    }
}

impl Copier {
    /// The number of a folder's package.
    fn number(&mut self, checkout: Checkout) -> Result<usize, String> {
        if let Some(&number) = self.numbers.get(&checkout.folder) {
            return Ok(number);
        }
        let number = self.folders.len();
        if number == PACKAGES_MAX {
            let what = format!("there are more than {PACKAGES_MAX} packages in folders; expected fewer");
            return Err(failed(&checkout.folder, what));
        }
        self.numbers.insert(checkout.folder.clone(), number);
        self.folders.push(checkout);
        Ok(number)
    }

    /// Returns the parts of a manifest that decide which packages are needed.
    fn package(&mut self, read: &Read, workspace: Option<&Read>) -> Result<Table, String> {
        let of_workspace = |key: &str| workspace.and_then(|w| w.table.get("workspace")?.get("package")?.get(key));
        let package = read.table.get("package").and_then(Value::as_table);
        let text = |key: &str| match package.and_then(|package| package.get(key)) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Table(_)) => of_workspace(key).and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        let name = text("name").ok_or_else(|| failed(&read.path(), "it has no package.name; expected a package"))?;
        let version = text("version").unwrap_or_else(|| "0.0.0".to_owned());
        let values = [("name", name), ("version", version), ("edition", "2021".to_owned())];
        let package = values.map(|(key, value)| (key.to_owned(), Value::String(value)));
        let library = Table::from_iter([("path".to_owned(), Value::String("lib.rs".to_owned()))]);
        let mut copy = Table::new();
        copy.insert("package".to_owned(), Value::Table(Table::from_iter(package)));
        copy.insert("lib".to_owned(), Value::Table(library));
        if let Some(features @ Value::Table(_)) = read.table.get("features") {
            copy.insert("features".to_owned(), features.clone());
        }
        self.dependencies(read, workspace, &read.table, &mut copy)?;
        let mut targets = Table::new();
        for (target, table) in read.table.get("target").and_then(Value::as_table).into_iter().flatten() {
            let mut of_target = Table::new();
            if let Some(table) = table.as_table() {
                self.dependencies(read, workspace, table, &mut of_target)?;
            }
            targets.insert(target.clone(), Value::Table(of_target));
        }
        copy.insert("target".to_owned(), Value::Table(targets));
        Ok(copy)
    }

    /// Copies the dependencies of a table.
    fn dependencies(
        &mut self,
        read: &Read,
        workspace: Option<&Read>,
        from: &Table,
        to: &mut Table,
    ) -> Result<(), String> {
        for key in DEPENDENCIES {
            let old = key.replace('-', "_");
            let table = from.get(key).or_else(|| from.get(&old)).and_then(Value::as_table);
            let mut copies = Table::new();
            for (name, value) in table.into_iter().flatten() {
                copies.insert(name.clone(), Value::Table(self.inherited(read, workspace, name, value)?));
            }
            to.insert(key.to_owned(), Value::Table(copies));
        }
        Ok(())
    }

    /// A dependency, which may be that of the workspace with more features.
    fn inherited(&mut self, read: &Read, workspace: Option<&Read>, name: &str, value: &Value) -> Result<Table, String> {
        if value.get("workspace").and_then(Value::as_bool) != Some(true) {
            return self.dependency(read, name, value);
        }
        let found = workspace
            .and_then(|workspace| Some((workspace, workspace.table.get("workspace")?.get("dependencies")?.get(name)?)));
        let (workspace, of_workspace) = found.ok_or_else(|| {
            let name = wakelab_input::printable(name);
            failed(&read.path(), format!("{name} is inherited from a workspace, but no workspace above has it"))
        })?;
        let mut copy = self.dependency(workspace, name, of_workspace)?;
        let more = value.get("features").and_then(Value::as_array).into_iter().flatten().cloned();
        if let Value::Array(features) = copy.entry("features").or_insert_with(|| Value::Array(Vec::new())) {
            features.extend(more);
        }
        for key in ["optional", "default-features"] {
            if let Some(value) = value.get(key) {
                copy.insert(key.to_owned(), value.clone());
            }
        }
        Ok(copy)
    }

    /// Returns the deciding parts of a dependency, with its path as that of a copy.
    fn dependency(&mut self, read: &Read, name: &str, value: &Value) -> Result<Table, String> {
        let wrong =
            |what: String| failed(&read.path(), format!("dependency {}: {what}", wakelab_input::printable(name)));
        let table = match value {
            Value::String(version) => {
                return Ok(Table::from_iter([("version".to_owned(), Value::String(version.clone()))]));
            }
            Value::Table(table) => table,
            _ => return Err(wrong("expected a version, or a table".to_owned())),
        };
        let mut copy = Table::new();
        for key in KEYS {
            if let Some(value) = table.get(key).or_else(|| table.get(&key.replace('-', "_"))) {
                copy.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(key) = table.keys().find(|key| key.starts_with("registry")) {
            let what =
                format!("`{key}` names another registry; expected crates.io, or your cargo's replacement for it");
            return Err(wrong(what));
        }
        if let Some(git) = table.get("git").and_then(Value::as_str)
            && !git.starts_with("https://")
        {
            let git = wakelab_input::printable(git);
            return Err(wrong(format!("`git` is {git:?}; expected an address that begins with https://")));
        }
        if let Some(path) = table.get("path") {
            let path = path.as_str().ok_or_else(|| wrong("`path` is not text".to_owned()))?;
            let folder = read.checkout.folder.join(path);
            // A path may lead to another repository, whose links stay in there.
            let checkout = match read.checkout.at(Path::new(path)) {
                Ok(inside) => inside,
                Err(_) => Checkout::of(&folder).map_err(wrong)?,
            };
            let number = self.number(checkout)?;
            copy.insert("path".to_owned(), Value::String(format!("{}p{number}", self.up)));
        }
        Ok(copy)
    }

    /// The patches of a workspace.
    fn patch(&mut self, read: &Read) -> Result<Table, String> {
        let mut copies = Table::new();
        for (source, patches) in read.table.get("patch").and_then(Value::as_table).into_iter().flatten() {
            if source != "crates-io" && !source.starts_with("https://") {
                let source = wakelab_input::printable(source);
                let what =
                    format!("it patches {source:?}; expected crates-io, or an address that begins with https://");
                return Err(failed(&read.path(), what));
            }
            let mut of_source = Table::new();
            for (name, value) in patches.as_table().into_iter().flatten() {
                of_source.insert(name.clone(), Value::Table(self.dependency(read, name, value)?));
            }
            copies.insert(source.clone(), Value::Table(of_source));
        }
        Ok(copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::{Cargo, Graph};
    use std::fs;
    use std::sync::atomic::AtomicBool;

    /// Packages by their folder, and what their manifests have after a name and an edition.
    fn write(root: &Path, packages: &[(&str, &str)]) {
        for (folder, text) in packages {
            let folder = root.join(folder);
            fs::create_dir_all(folder.join("src")).unwrap();
            fs::write(folder.join("src/lib.rs"), "").unwrap();
            fs::write(folder.join("Cargo.toml"), text).unwrap();
        }
    }

    fn resolve(folder: &Path, work: &Path) -> Result<Graph, String> {
        let (stop, budget) = (AtomicBool::new(false), Budget::default());
        Cargo { stop: &stop, budget: &budget }.resolve(&Checkout::of(folder).unwrap(), work)
    }

    /// As the repository of the public schedulers is: a workspace, whose members take versions and paths from it.
    #[test]
    fn a_workspace_resolves_to_its_own_folders() {
        let (all, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = all.path().canonicalize().unwrap();
        let libbpf = "[package]\nname = \"libbpf-sys\"\nversion = \"1.7.0\"\nlinks = \"bpf\"\nbuild = \"build.rs\"\n";
        let workspace = "[workspace]\nmembers = [\"rust/*\", \"scheds/scx_*\"]\n\
                         exclude = [\"rust/out\"]\n[workspace.package]\nversion = \"1.1.4\"\n[workspace.dependencies]\n\
                         scx_cargo = { path = \"rust/scx_cargo\", version = \"1\", default-features = false }\n\
                         libbpf-sys = \"1\"\n[patch.crates-io]\nlibbpf-sys = { path = \"vendor/libbpf\" }\n\
                         [profile.release]\nlto = true\n";
        let builder = "[package]\nname = \"scx_cargo\"\nversion.workspace = true\nedition = \"2024\"\n\
                       rust-version = \"9.0\"\n[features]\nfull = []\n[dependencies]\nlibbpf-sys.workspace = true\n";
        let mine = "[package]\nname = \"scx_mine\"\nversion = { workspace = true }\nlicense = \"GPL-2.0-only\"\n\
                    [build-dependencies]\nscx_cargo = { workspace = true, features = [\"full\"] }\n\
                    [dev-dependencies]\nnever = \"1\"\n[[bin]]\nname = \"x\"\npath = \"nowhere.rs\"\n";
        let packages =
            [("vendor/libbpf", libbpf), ("rust/scx_cargo", builder), ("scheds/scx_mine", mine), ("rust/out", "no")];
        write(&root, &packages);
        fs::write(root.join("Cargo.toml"), workspace).unwrap();
        let graph = resolve(&root.join("scheds/scx_mine"), work.path()).unwrap();
        let package = |name: &str, version: &str, folder: &str| {
            let found = graph.packages.iter().find(|package| package.name == name).expect("the package");
            assert_eq!((&*found.version, &*found.folder), (version, &*root.join(folder)), "{name}");
        };
        assert_eq!(graph.root.as_ref().map(|root| &*root.name), Some("scx_mine"));
        package("scx_mine", "1.1.4", "scheds/scx_mine");
        package("scx_cargo", "1.1.4", "rust/scx_cargo");
        package("libbpf-sys", "1.7.0", "vendor/libbpf");
        // The workspace alone has all.
        let graph = resolve(&root, work.path()).unwrap();
        assert_eq!((graph.root, graph.packages.len()), (None, 3));
        assert!(!root.join("Cargo.lock").exists());
    }

    /// Links that lead back, so that each `*` stands for as many folders as there are links; a name that stands for the
    /// same folders again and again; and packages among more files than members that there may be.
    #[test]
    fn members_are_bounded_wherever_they_lie() {
        let all = tempfile::tempdir().unwrap();
        let members = |folder: &str, text: &str| {
            write(all.path(), &[(folder, text)]);
            let checkout = Checkout::closed(&all.path().join(folder)).unwrap();
            let budget = Budget::default();
            Read::of(checkout, &budget).unwrap().members(&budget)
        };
        let package = "[package]\nname = \"a\"\n";
        write(all.path(), &[("links/last", package), ("files/z/last", package)]);
        (0..30).for_each(|n| std::os::unix::fs::symlink(".", all.path().join(format!("links/l{n}"))).unwrap());
        (0..=PACKAGES_MAX).for_each(|n| fs::write(all.path().join(format!("files/z/f{n}")), "").unwrap());
        let last = Ok(vec![PathBuf::from("last")]);
        assert_eq!(members("links", "workspace = { members = [\"la*\", \"l*t\"] }"), last);
        let error = members("links", "workspace = { members = [\"*/*/*/*\"] }").unwrap_err();
        assert!(error.contains("links/Cargo.toml: its members are more than 500 folders"), "{error}");
        assert_eq!(members("files/z", "workspace = { members = [\"*\"], exclude = [\"src\"] }"), last);
        let error =
            members("files/z", &format!("workspace = {{ members = [{}] }}", "\"*\",".repeat(1000))).unwrap_err();
        assert!(error.contains("the scheduler has more than 20000 files"), "{error}");
    }

    #[test]
    fn manifests_that_are_wrong_are_named() {
        let (all, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let with = |more: &str| {
            let text = format!("[package]\nname = \"a\"\n[dependencies]\n{more}\n");
            write(all.path(), &[("a", &text)]);
            resolve(&all.path().join("a"), work.path()).unwrap_err()
        };
        for (more, error) in [
            ("b = { path = \"../nowhere\" }", "a/Cargo.toml: dependency b: "),
            (
                "b = { workspace = true }",
                "a/Cargo.toml: b is inherited from a workspace, but no workspace above has it",
            ),
            ("b = 1", "a/Cargo.toml: dependency b: expected a version, or a table"),
            ("b = ", "a/Cargo.toml:4: "),
            (
                "b = { git = \"ext::sh -c x\" }",
                "`git` is \"ext::sh -c x\"; expected an address that begins with https://",
            ),
            ("[patch.\"file:///x\"]", "it patches \"file:///x\"; expected crates-io, or an address"),
        ] {
            let found = with(more);
            assert!(found.contains(error), "{error}: {found}");
        }
    }
}
