//! How sources become one object.

use crate::clang::{Clang, Failure};
use crate::confine::View;
use crate::files::{self, Budget, Checkout, failed};
use crate::headers::Headers;
use crate::old_kfuncs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Sources, and the flags for them.
///
/// `scx_cargo` compiles each source and links the objects with libbpf, which resolves what one declares and another
/// defines, and takes one of the licences. Here clang links: all sources but one become bitcode before anything is
/// optimized, and clang adds them to the last one. Accesses that are relocated are found in the whole, as their names
/// would differ otherwise. Licences are made weak, so that one of them stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compilation {
    /// Where clang runs, and paths begin; and what it may read of the sources.
    pub checkout: Checkout,
    /// The source with the operations.
    pub main: PathBuf,
    /// The other sources.
    pub others: Vec<PathBuf>,
    /// The flags of the user and of the builder. What they name may be read.
    pub flags: Vec<String>,
    /// The flags of a build script, after the others.
    pub more: Vec<String>,
}

/// The compiler, and its limits.
#[derive(Clone, Copy, Debug)]
pub struct With<'a> {
    /// The compiler.
    pub clang: &'a Clang,
    /// Ends it early.
    pub stop: &'a AtomicBool,
}

/// Variables of the environment as `scx_cargo` reads them.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The flags of `BpfBuilder` (`scx_cargo` 1.1.4: `determine_base_cflags()`, `determine_cflags()`, `new()`), and those
/// that libbpf-cargo adds. Simulated kernels are of x86 on any host.
pub fn builder_flags(clang: &Clang, headers: &Headers, environment: Environment<'_>) -> Vec<String> {
    let given = |name: &str| environment(name).map(|flags| words(&flags));
    let mut flags = given("BPF_CFLAGS").unwrap_or_else(|| {
        let mut flags = given("BPF_BASE_CFLAGS").unwrap_or_else(|| base_flags(clang, headers));
        flags.extend(given("BPF_EXTRA_CFLAGS_PRE_INCL").unwrap_or_default());
        flags.extend(headers.include().iter().map(|folder| include(folder)));
        flags.extend(given("BPF_EXTRA_CFLAGS_POST_INCL").unwrap_or_default());
        flags
    });
    flags.push("-D__SCX_TARGET_ARCH_x86".to_owned());
    flags.push(include(&headers.libbpf()));
    flags.push("-fno-stack-protector".to_owned());
    flags
}

fn base_flags(clang: &Clang, headers: &Headers) -> Vec<String> {
    let mut flags = words("-g -O2 -Wall -Wno-compare-distinct-pointer-types -D__TARGET_ARCH_x86");
    flags.push(headers.cpu.mcpu.clone());
    if headers.cpu.disable_ldsx {
        flags.extend(words("-mllvm -disable-ldsx"));
    }
    if headers.cpu.disable_gotox && clang.major >= 22 {
        flags.extend(words("-mllvm -disable-gotox"));
    }
    flags.push("-mlittle-endian".to_owned());
    flags.extend(system_include(clang));
    flags
}

/// The flags of `tools/sched_ext/Makefile` (7.2). `tools` is that folder; its tree's headers of libbpf are taken as far
/// as they are not generated.
pub fn tree_flags(clang: &Clang, headers: &Headers, tools: &Path) -> Vec<String> {
    let mut flags = words("-g -D__TARGET_ARCH_x86 -mlittle-endian");
    let parent = tools.parent().unwrap_or(tools);
    let built = tools.join("build/include");
    let types = if built.join("vmlinux.h").is_file() { built } else { headers.types() };
    let mut folders = vec![tools.join("include"), tools.join("include/bpf-compat"), types];
    if parent.join("lib/bpf/bpf_helpers.h").is_file() {
        folders.push(parent.join("lib"));
    }
    let libbpf = headers.libbpf();
    // bpf_helper_defs.h is looked for without the folder.
    folders.extend([libbpf.clone(), libbpf.join("bpf")]);
    flags.extend(folders.iter().map(|folder| include(folder)));
    flags.extend(system_include(clang));
    flags.extend(words(
        "-Wall -Wno-compare-distinct-pointer-types -Wno-microsoft-anon-tag -fms-extensions -O2 -mcpu=v3",
    ));
    flags
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// `-I` with a folder.
pub fn include(folder: &Path) -> String {
    format!("-I{}", folder.display())
}

fn system_include(clang: &Clang) -> impl Iterator<Item = String> {
    clang.system_include.iter().flat_map(|folder| ["-idirafter".to_owned(), folder.clone()])
}

/// The names of the variables that hold licences, of which each source defines one.
fn licences(source: &str) -> Vec<&str> {
    let marked = |line: &&str| line.contains("(\"license\")") && !line.trim_start().starts_with("static");
    let name = |line: &'_ str| {
        let before = line[..line.find('[')?].trim_end();
        let start = before.bytes().rposition(|byte| !byte.is_ascii_alphanumeric() && byte != b'_')? + 1;
        Some((start, before.len()))
    };
    source.lines().filter(marked).filter_map(|line| name(line).map(|(start, end)| &line[start..end])).collect()
}

/// The files that the rule of `clang -M` names.
fn dependencies(rule: &str) -> Vec<PathBuf> {
    let rule = rule.replace("\\\n", " ");
    let files = rule.split_once(": ").map_or("", |(_, files)| files);
    let (mut found, mut file) = (Vec::new(), String::new());
    let mut characters = files.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if matches!(characters.peek(), Some(' ' | '#')) => file.extend(characters.next()),
            '$' if characters.peek() == Some(&'$') => file.extend(characters.next()),
            c if c.is_whitespace() => found.push(std::mem::take(&mut file)),
            c => file.push(c),
        }
    }
    found.push(file);
    found.into_iter().filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

/// The folders and files that flags name.
fn shown(flags: &[String]) -> Vec<&Path> {
    const NAMING: [&str; 7] = ["-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "--sysroot="];
    let mut flags = flags.iter();
    let mut found = Vec::new();
    while let Some(flag) = flags.next() {
        match NAMING.iter().find_map(|naming| flag.strip_prefix(naming)) {
            Some("") => found.extend(flags.next().map(String::as_str)),
            Some(path) => found.push(path),
            None => {}
        }
    }
    found.into_iter().map(Path::new).collect()
}

impl Compilation {
    /// Returns the flags for each source, besides those for its output.
    fn common(&self) -> Vec<String> {
        let mut common = [self.flags.as_slice(), &self.more].concat();
        // Nobody reads the warnings of a scheduler that is only run. Where it lies is no part of what it does. Clang
        // writes what made it crash into the folder for temporary files, which a source can bring about.
        common.extend(words("-w -fno-crash-diagnostics -fdebug-compilation-dir=. -g -O2 -target bpf"));
        common
    }

    /// Returns the part of the file system that clang sees.
    fn view<'a>(&'a self, work: Option<&'a Path>) -> View<'a> {
        let mut read = shown(&self.flags);
        read.retain(|place| place.is_absolute() && place.exists());
        read.push(&self.checkout.root);
        View { read, write: work, folder: Some(&self.checkout.folder) }
    }

    /// The sources, the main one last.
    fn sources(&self) -> Vec<&Path> {
        self.others.iter().chain([&self.main]).map(PathBuf::as_path).collect()
    }

    /// The arguments of clang: for each source but the main one, and at last for that. `work` is a folder for what is
    /// in between, `weak` a header there, and `first` flags for all.
    pub fn steps(&self, work: &Path, weak: &Path, object: &Path, first: &[String]) -> Vec<Vec<String>> {
        let text = |path: &Path| path.display().to_string();
        let bitcode = |at: usize| text(&work.join(format!("{at}.bc")));
        let of = |source: &Path, options: Vec<String>, output: String| {
            [first.to_vec(), self.common(), options, vec!["-c".to_owned(), text(source), "-o".to_owned(), output]]
                .concat()
        };
        let mut steps: Vec<Vec<String>> = Vec::new();
        for (at, source) in self.others.iter().enumerate() {
            let mut options = vec!["-include".to_owned(), text(weak)];
            options.extend(words("-emit-llvm -Xclang -disable-llvm-passes"));
            steps.push(of(source, options, bitcode(at)));
        }
        let link = |at| ["-Xclang".to_owned(), "-mlink-bitcode-file".to_owned(), "-Xclang".to_owned(), bitcode(at)];
        steps.push(of(&self.main, (0..self.others.len()).flat_map(link).collect(), text(object)));
        steps
    }

    /// A key of all that the object depends on: clang's version, the flags, and the bytes of all files that are read.
    ///
    /// # Errors
    /// Fails if a source or a header is missing, or lies where a scheduler has no business.
    pub fn key(&self, with: With<'_>, budget: &Budget) -> Result<String, Failure> {
        let sources = self.sources();
        let arguments = |source: &Path| [self.common(), vec!["-M".to_owned(), source.display().to_string()]].concat();
        let view = self.view(None);
        let rules = at_once(&sources, |source| with.clang.run(&view, &arguments(source), with.stop))?;
        let mut read: Vec<PathBuf> = Vec::new();
        for rule in rules {
            read.extend(dependencies(&String::from_utf8_lossy(&rule)));
        }
        read.sort();
        read.dedup();
        let system = with.clang.system_include.iter().map(Path::new);
        let places: Vec<PathBuf> =
            view.read.iter().copied().chain(system).filter_map(|p| p.canonicalize().ok()).collect();
        let mut hash = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| _ = hash.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        part(with.clang.version.as_bytes());
        part(old_kfuncs::HEADER.as_bytes());
        self.common().iter().for_each(|flag| part(flag.as_bytes()));
        sources.iter().for_each(|source| part(source.as_os_str().as_encoded_bytes()));
        for file in read {
            let named = self.checkout.folder.join(&file);
            let place = named.canonicalize().map_err(|error| failed(&named, error))?;
            if !places.iter().any(|inside| place.starts_with(inside)) {
                let root = self.checkout.root.display();
                let what = format!(
                    "it is included, and lies outside of {root}; expected headers in that folder, or the system's"
                );
                return Err(failed(&named, what).into());
            }
            part(file.as_os_str().as_encoded_bytes());
            part(&budget.read(&place)?);
        }
        Ok(hash.finalize().to_hex().to_string())
    }

    /// Compiles in a folder of `into` that goes afterwards, and returns the object.
    ///
    /// # Errors
    /// Fails with what clang says, or if it was stopped.
    pub fn compile(&self, with: With<'_>, into: &Path, budget: &Budget) -> Result<Vec<u8>, Failure> {
        files::create(into)?;
        let work = tempfile::Builder::new().prefix(files::UNFINISHED).tempdir_in(into);
        let work = work.map_err(|error| failed(into, error))?;
        let weak = work.path().join("licences.h");
        let mut pragmas = String::new();
        for source in &self.others {
            let text = self.checkout.read(source, budget)?;
            for name in licences(&String::from_utf8_lossy(&text)) {
                pragmas.push_str(&format!("#pragma weak {name}\n"));
            }
        }
        files::write_whole(&weak, pragmas.as_bytes())?;
        let object = work.path().join("scheduler.bpf.o");
        let made = |first: &[String]| {
            let mut steps = self.steps(work.path(), &weak, &object, first);
            let last = steps.pop().expect("there is a main source");
            let view = self.view(Some(work.path()));
            at_once(&steps, |step| with.clang.run(&view, step, with.stop))?;
            with.clang.run(&view, &last, with.stop)
        };
        if let Err(failure) = made(&[]) {
            // A source for 6.12 that declares its kernel functions by a vmlinux.h of that kernel.
            let Some(declared) = old_kfuncs::declared(&failure) else { return Err(failure) };
            let header = work.path().join("old_kfuncs.h");
            files::write_whole(&header, declared.as_bytes())?;
            // Where it lies is no part of the object.
            let map = format!("-ffile-prefix-map={}/=", work.path().display());
            made(&[map, "-include".to_owned(), header.display().to_string()]).map_err(|_| failure)?;
        }
        Ok(budget.read(&object)?)
    }
}

/// Does something with each of a list, as many at once as there are processors, and returns the results in order, or
/// the first error in order. Not by rayon: the caller holds a lock, and a thread of its pool that waits may be given a
/// job that wants it.
fn at_once<T: Sync, R: Send, E: Send>(list: &[T], run: impl Fn(&T) -> Result<R, E> + Sync) -> Result<Vec<R>, E> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(list.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = list.get(at) else { break };
                    let result = run(one);
                    done.lock().expect("nobody panics while pushing").push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics while pushing");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::Package;
    use crate::headers::CpuFlags;

    fn clang(major: u32) -> Clang {
        let version = format!("clang version {major}.0.0");
        Clang { program: "clang".into(), version, major, system_include: vec!["/usr/include".into()], bwrap: None }
    }

    fn headers(folder: &Path) -> Headers {
        let cpu = CpuFlags { mcpu: "-mcpu=v4".into(), disable_ldsx: true, disable_gotox: true };
        let builder = Package { name: "scx_cargo".into(), version: "1.1.4".into(), folder: folder.to_owned() };
        Headers { folder: folder.to_owned(), builder, origin: "scx_cargo 1.1.4".into(), cpu }
    }

    /// As scx_cargo 1.1.4 and libbpf-cargo 0.27 pass them on x86, with their headers in one folder.
    #[test]
    fn flags_are_those_of_scx_cargo() {
        let folder = tempfile::tempdir().unwrap();
        let types = folder.path().join("bpf_h/arch/x86");
        std::fs::create_dir_all(&types).unwrap();
        std::fs::write(types.join("vmlinux.h"), "").unwrap();
        let h = folder.path().display();
        let flags = |major, environment: Environment<'_>| {
            builder_flags(&clang(major), &headers(folder.path()), environment).join(" ").replace(&h.to_string(), "H")
        };
        let rest = "-mlittle-endian -idirafter /usr/include -IH/bpf_h/arch/x86 -IH/bpf_h -IH/bpf_h/bpf-compat \
                    -D__SCX_TARGET_ARCH_x86 -IH/libbpf -fno-stack-protector";
        let base = "-g -O2 -Wall -Wno-compare-distinct-pointer-types -D__TARGET_ARCH_x86 -mcpu=v4 -mllvm -disable-ldsx";
        assert_eq!(flags(19, &|_| None), format!("{base} {rest}"));
        assert_eq!(flags(22, &|_| None), format!("{base} -mllvm -disable-gotox {rest}"));
        let extra = |name: &str| (name == "BPF_EXTRA_CFLAGS_PRE_INCL").then(|| "-Ia -Ib".to_owned());
        assert_eq!(flags(19, &extra), format!("{base} {}", rest.replacen("-IH", "-Ia -Ib -IH", 1)));
        let only = |name: &str| (name == "BPF_CFLAGS").then(|| "-g".to_owned());
        assert_eq!(flags(19, &only), "-g -D__SCX_TARGET_ARCH_x86 -IH/libbpf -fno-stack-protector");
    }

    #[test]
    fn all_sources_but_the_last_become_bitcode() {
        let compilation = Compilation {
            checkout: Checkout { folder: "/crate".into(), root: "/crate".into() },
            main: "src/main.bpf.c".into(),
            others: vec!["src/a.bpf.c".into(), "src/lib/b.bpf.c".into()],
            flags: Vec::new(),
            more: vec!["-DX".into()],
        };
        let steps = compilation.steps(Path::new("/w"), Path::new("/w/weak.h"), Path::new("/w/o.o"), &[]);
        let steps: Vec<String> = steps.iter().map(|step| step.join(" ")).collect();
        let common = "-DX -w -fno-crash-diagnostics -fdebug-compilation-dir=. -g -O2 -target bpf";
        let bitcode = "-include /w/weak.h -emit-llvm -Xclang -disable-llvm-passes";
        let link = "-Xclang -mlink-bitcode-file -Xclang /w/0.bc -Xclang -mlink-bitcode-file -Xclang /w/1.bc";
        assert_eq!(
            steps,
            [
                format!("{common} {bitcode} -c src/a.bpf.c -o /w/0.bc"),
                format!("{common} {bitcode} -c src/lib/b.bpf.c -o /w/1.bc"),
                format!("{common} {link} -c src/main.bpf.c -o /w/o.o"),
            ]
        );
    }

    #[test]
    fn licences_are_found_by_their_section() {
        let source = "char _license[] SEC(\"license\") = \"GPL\";\n\
                      char LICENSE[4] __attribute__((section(\"license\")));\n\
                      static char own[] SEC(\"license\") = \"GPL\";\nint x SEC(\"data\");\n\
                      //\u{a0}_after[] SEC(\"license\")";
        assert_eq!(licences(source), ["_license", "LICENSE", "_after"]);
    }

    #[test]
    fn rules_name_files_with_characters_of_make_too() {
        let rule = "main.bpf.o: src/main.bpf.c \\\n  /a\\ b/x.h \\\n  /c$$d.h /e\\#f.h\n";
        assert_eq!(dependencies(rule), ["src/main.bpf.c", "/a b/x.h", "/c$d.h", "/e#f.h"].map(PathBuf::from));
    }

    /// Whether what needs clang is run.
    fn runs_clang() -> bool {
        let runs = std::env::var_os("WAKELAB_SCHEDULERS").is_some_and(|set| set == "1");
        if !runs {
            eprintln!("not run: WAKELAB_SCHEDULERS=1 runs what needs clang");
        }
        runs
    }

    /// Two sources that each define their licence, read the same field of a kernel's struct, and call each other. An
    /// object that libbpf can relocate has fields as numbers with `:` between them.
    #[test]
    fn clang_links_two_sources() {
        if !runs_clang() {
            return;
        }
        let stop = AtomicBool::new(false);
        let clang = Clang::find(&stop).expect("a clang");
        let (with, budget) = (With { clang: &clang, stop: &stop }, Budget::default());
        let into = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let common = "#define SEC(name) __attribute__((section(name), used))\n\
                      struct task_struct { int on_cpu; int prio; } __attribute__((preserve_access_index));\n\
                      char _license[] SEC(\"license\") = \"GPL\";\n";
        let of = |more: &str| format!("{common}{more}");
        let other = "__attribute__((noinline)) int prio(struct task_struct *p) { return p->prio; }";
        let main = "int prio(struct task_struct *p);\n\
                    SEC(\"syscall\") int run(struct task_struct *p) { return p->prio + prio(p + 1); }";
        std::fs::write(folder.path().join("main.bpf.c"), of(main)).unwrap();
        std::fs::write(folder.path().join("other.bpf.c"), of(other)).unwrap();
        let compilation = Compilation {
            checkout: Checkout::of(folder.path()).unwrap(),
            main: "main.bpf.c".into(),
            others: vec!["other.bpf.c".into()],
            flags: words("-mcpu=v4"),
            more: Vec::new(),
        };
        let key = compilation.key(with, &budget).unwrap();
        let object = compilation.compile(with, into.path(), &budget).unwrap();
        let has = |text: &[u8]| object.windows(text.len()).any(|window| window == text);
        assert!(has(b"\x000:1\0") && !has(b"\x000:1."), "fields are numbers");
        assert!(has(b"other.bpf.c") && has(b"\0prio\0") && has(b"\0run\0"));
        // The same bytes again, and another key if a source differs.
        assert_eq!(compilation.compile(with, into.path(), &budget).unwrap(), object);
        assert_eq!(compilation.key(with, &budget).unwrap(), key);
        std::fs::write(folder.path().join("other.bpf.c"), of(&other.replace("p->prio", "p->nope"))).unwrap();
        assert_ne!(compilation.key(with, &budget).unwrap(), key);
        let error = compilation.compile(with, into.path(), &budget).unwrap_err().text(&[]);
        assert!(error.contains("other.bpf.c:4:") && error.contains("error: no member named 'nope'"), "{error}");
    }

    /// A source that makes clang crash, by which clang would write the source and a script beside temporary files.
    #[test]
    fn a_clang_that_crashes_leaves_nothing() {
        if !runs_clang() {
            return;
        }
        let stop = AtomicBool::new(false);
        let clang = Clang::find(&stop).expect("a clang");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("main.bpf.c"), "#pragma clang __debug crash\n").unwrap();
        let checkout = Checkout::closed(folder.path()).unwrap();
        let main = "main.bpf.c".into();
        let compilation = Compilation { checkout, main, others: Vec::new(), flags: Vec::new(), more: Vec::new() };
        let arguments = [compilation.common(), words("-M main.bpf.c")].concat();
        let work = tempfile::tempdir().unwrap();
        let bare = Clang { bwrap: None, ..clang };
        assert!(bare.run(&compilation.view(Some(work.path())), &arguments, &stop).is_err());
        assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_done_at_once_stays_in_order() {
        let list: Vec<u32> = (0..100).collect();
        assert_eq!(at_once(&list, |&n| Ok::<_, String>(n * 2)).unwrap()[99], 198);
        let odd = |&n: &u32| if n % 2 == 1 { Err(format!("{n}")) } else { Ok(n) };
        assert_eq!(at_once(&list, odd), Err("1".to_owned()));
        assert_eq!(at_once(&[], odd), Ok(vec![]));
    }
}
