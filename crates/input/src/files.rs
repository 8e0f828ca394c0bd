//! The files of a command. Every input is opened here, and every output is asked for here, so that no output ever
//! replaces an input, and no reader waits for a pipe that nobody ends.
//!
//! A command begins its [`Files`]; what is opened from then on is known by device and inode, so that another spelling
//! of a path, a link or a second name of a file makes no difference. Before an output is begun, and again when it takes
//! its place, the command asks whether it is an input. Several commands may run at a time in one process, each in a
//! thread: what other threads open counts for all of them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The commands that run.
static LIVE: Mutex<Vec<Arc<Opened>>> = Mutex::new(Vec::new());

thread_local! {
    /// The command of this thread.
    static OWN: RefCell<Option<Arc<Opened>>> = const { RefCell::new(None) };
}

/// The files that a command has opened.
#[derive(Debug)]
struct Opened {
    inputs: Mutex<HashMap<Inode, PathBuf>>,
    folders: Mutex<HashMap<Inode, (PathBuf, Holds)>>,
    outputs: Mutex<Vec<(String, Identity)>>,
    stop: &'static AtomicBool,
}

/// The beginnings and ends of the names of files that are read with a folder.
type Holds = &'static [(&'static str, &'static str)];

/// A file's device and inode.
type Inode = (u64, u64);

/// The identity of what a path stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// The device and inode of a file or folder that exists.
    Inode(Inode),
    /// The place of one that does not exist yet.
    Place(PathBuf),
}

/// The files of a command of this thread, for as long as this lives.
#[derive(Debug)]
pub struct Files {
    opened: Arc<Opened>,
    // It must end in the thread in which it began.
    _of_thread: std::marker::PhantomData<*const ()>,
}

impl Files {
    /// Begins the files of a command. Readers end once `stop` is set.
    pub fn begin(stop: &'static AtomicBool) -> Self {
        let (inputs, folders, outputs) = Default::default();
        let opened = Arc::new(Opened { inputs, folders, outputs, stop });
        lock(&LIVE).push(Arc::clone(&opened));
        OWN.set(Some(Arc::clone(&opened)));
        Files { opened, _of_thread: std::marker::PhantomData }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        OWN.set(None);
        lock(&LIVE).retain(|other| !Arc::ptr_eq(other, &self.opened));
    }
}

/// Locks a mutex even if a thread panicked while it held the lock: entries are only added, so they are whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command of this thread; of a thread that works for some command, all that run.
fn commands() -> Vec<Arc<Opened>> {
    match OWN.with_borrow(Clone::clone) {
        Some(own) => vec![own],
        None => lock(&LIVE).clone(),
    }
}

/// Returns whether the command is to end. In a thread that works for one of several commands this is not known, and it
/// returns `false`.
pub fn stopped() -> bool {
    matches!(&commands()[..], [command] if command.stop.load(Ordering::Relaxed))
}

/// The error of a reader whose command is to end.
pub const INTERRUPTED: &str = "interrupted";

/// Fails if the command is to end.
///
/// # Errors
/// Fails with [`INTERRUPTED`].
pub fn go_on() -> io::Result<()> {
    if stopped() { Err(io::Error::other(INTERRUPTED)) } else { Ok(()) }
}

/// An input that is open: a file, or a pipe, which is waited for no longer than the command runs.
#[derive(Debug)]
pub struct Input {
    file: File,
    is_file: bool,
}

impl Input {
    /// Its length, bytes; 0 if it is not known, as that of a pipe.
    pub fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |data| data.len())
    }

    /// The file, for readers that jump.
    ///
    /// # Errors
    /// Fails if it is no file.
    pub fn into_file(self) -> io::Result<File> {
        match self.is_file {
            true => Ok(self.file),
            false => Err(io::Error::other("it is a pipe or a device; expected a file")),
        }
    }
}

impl Read for Input {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        go_on()?;
        loop {
            if !self.is_file {
                wait(&self.file)?;
            }
            match self.file.read(to) {
                // Another process has read what was there.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        go_on()?;
        self.file.seek(to)
    }
}

/// How often a reader that waits for a pipe looks whether the command is to end, ms.
#[cfg(unix)]
const WAITS_MS: i64 = 50;

/// Waits until a pipe has bytes or has ended. One that nobody has opened for writing yet has not ended.
#[cfg(unix)]
fn wait(file: &File) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let time = Timespec { tv_sec: 0, tv_nsec: WAITS_MS * 1_000_000 };
    loop {
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&time)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => go_on()?,
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
fn wait(_: &File) -> io::Result<()> {
    Ok(())
}

/// Opens an input. It may be a pipe or a device.
///
/// # Errors
/// Fails if it cannot be opened, or if an output of the command would replace it.
pub fn open(path: &Path) -> io::Result<Input> {
    let input = open_unnoted(path)?;
    if let Some(inode) = inode(&input.file.metadata()?) {
        add_input(path, inode)?;
    }
    Ok(input)
}

/// Opens a file that the command has written before, and may replace.
///
/// # Errors
/// Fails if it cannot be opened, or is no file.
pub fn open_own(path: &Path) -> io::Result<File> {
    open_unnoted(path)?.into_file()
}

/// Reads a whole file that the command has written before, and may replace.
///
/// # Errors
/// Fails as [`open_own`] does, or if it has more than `most` bytes.
pub fn read_own(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    whole(open_own(path)?, most)
}

fn open_unnoted(path: &Path) -> io::Result<Input> {
    go_on()?;
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Else this would wait for whoever writes a pipe.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path)?;
    let data = file.metadata()?;
    Ok(Input { file, is_file: data.is_file() || data.is_dir() })
}

/// Opens an input that is a file, not a pipe or a device.
///
/// # Errors
/// Fails as [`open`] does, or if it is no file.
pub fn open_file(path: &Path) -> io::Result<File> {
    let input = open(path)?;
    if input.file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; expected a file"));
    }
    input.into_file()
}

/// Reads a whole input, which may be a pipe.
///
/// # Errors
/// Fails as [`open`] does, or if it has more than `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    whole(open(path)?, most)
}

/// Reads a whole file, which may not be a pipe or a device.
///
/// # Errors
/// Fails as [`open_file`] does, or if it has more than `most` bytes.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    whole(open_file(path)?, most)
}

fn whole(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let most = if most >> 20 == 0 { format!("{most} bytes") } else { format!("{} MiB", most >> 20) };
        return Err(io::Error::other(format!("it has more than {most}")));
    }
    Ok(bytes)
}

/// Records an input that is opened later, or by another program.
pub fn note(path: &Path) {
    let Ok(data) = fs::metadata(path) else { return };
    if let Some(inode) = inode(&data) {
        // That it is an output is said when it is opened, or when the output takes its place.
        let _ = add_input(path, inode);
    }
}

/// Records a folder that is read, with the files below it whose names begin and end as in `holds`.
pub fn note_folder(path: &Path, holds: Holds) {
    note(path);
    if let Ok(data) = fs::metadata(path)
        && let Some(inode) = inode(&data).filter(|_| data.is_dir())
    {
        for command in commands() {
            lock(&command.folders).insert(inode, (path.to_owned(), holds));
        }
    }
}

fn add_input(path: &Path, inode: Inode) -> io::Result<()> {
    for command in commands() {
        lock(&command.inputs).entry(inode).or_insert_with(|| path.to_owned());
        if let Some((flag, _)) = lock(&command.outputs).iter().find(|(_, is)| *is == Identity::Inode(inode)) {
            return Err(io::Error::other(format!("{flag} would overwrite it; name another file")));
        }
    }
    Ok(())
}

/// `None` for devices and pipes: nothing in them is replaced.
#[cfg(unix)]
fn inode(data: &fs::Metadata) -> Option<Inode> {
    use std::os::unix::fs::MetadataExt;
    (data.is_file() || data.is_dir()).then(|| (data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> Option<Inode> {
    None
}

/// The reason why a path cannot be an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clash {
    /// It is an input, which was opened by this path.
    Input(PathBuf),
    /// This flag names it too.
    Output(String),
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clash::Input(path) => write!(f, "an input ({}) and would be overwritten", path.display()),
            Clash::Output(flag) => write!(f, "also named by {flag}"),
        }
    }
}

impl std::error::Error for Clash {}

/// Claims an output, a file or a folder, for the flag that names it. Nothing in the file system changes.
///
/// # Errors
/// Fails if it is an input, or the output of another flag.
pub fn claim_output(flag: &str, path: &Path) -> Result<(), Clash> {
    check_output(path)?;
    let Some(identity) = Identity::of(path) else { return Ok(()) };
    for command in commands() {
        let mut outputs = lock(&command.outputs);
        match outputs.iter().find(|(_, other)| *other == identity) {
            Some((other, _)) if other != flag => return Err(Clash::Output(other.clone())),
            Some(_) => {}
            None => outputs.push((flag.to_owned(), identity.clone())),
        }
    }
    Ok(())
}

/// Checks that an output is no input. To be asked when it takes its place: the input may have been opened since the
/// output was claimed.
///
/// # Errors
/// Fails if it is.
pub fn check_output(path: &Path) -> Result<(), Clash> {
    let Some(identity) = Identity::of(path) else { return Ok(()) };
    for command in commands() {
        if let Identity::Inode(inode) = identity
            && let Some(input) = lock(&command.inputs).get(&inode)
            // A temporary file that is gone may have left its inode to another.
            && Identity::of(input) == Some(Identity::Inode(inode))
        {
            return Err(Clash::Input(input.clone()));
        }
        for (folder, holds) in lock(&command.folders).values() {
            if let Some(read) = is_file_below(folder, holds, path) {
                return Err(Clash::Input(read));
            }
        }
    }
    Ok(())
}

/// The file that `path` is, if it is there, below the folder, and read with it.
fn is_file_below(folder: &Path, holds: Holds, path: &Path) -> Option<PathBuf> {
    let (folder, file) = (fs::canonicalize(folder).ok()?, fs::canonicalize(path).ok()?);
    if is_read(holds, &file) && file.is_file() && file.starts_with(&folder) {
        return Some(file);
    }
    other_name_below(&folder, holds, &file)
}

fn is_read(holds: Holds, file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    holds.iter().any(|(begin, end)| name.starts_with(begin) && name.ends_with(end))
}

/// The name below the folder of a file that has another one elsewhere.
#[cfg(unix)]
fn other_name_below(folder: &Path, holds: Holds, file: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    /// A folder that is read has fewer.
    const ENTRIES: usize = 100_000;
    let data = fs::metadata(file).ok().filter(|data| data.is_file() && data.nlink() > 1)?;
    let mut open = vec![folder.to_owned()];
    let mut left = ENTRIES;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            let path = entry.path();
            let Ok(other) = fs::symlink_metadata(&path) else { continue };
            if other.is_dir() {
                open.push(path);
            } else if inode(&other) == inode(&data) && is_read(holds, &path) {
                return Some(path);
            }
        }
    }
    None
}

#[cfg(not(unix))]
fn other_name_below(_: &Path, _: Holds, _: &Path) -> Option<PathBuf> {
    None
}

impl Identity {
    /// `None` for devices and pipes: nothing in them is replaced.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(data) => inode(&data).map(Identity::Inode),
            Err(_) => {
                let path = behind_links(path);
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
                Some(Identity::Place(folder.join(path.file_name()?)))
            }
        }
    }
}

/// The file that a path stands for behind its links. It need not exist; its folder is as it was given if there are no
/// links.
pub fn behind_links(path: &Path) -> PathBuf {
    // As many as the kernel follows (MAXSYMLINKS).
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    fs::canonicalize(&path).unwrap_or(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A folder of its own for each test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("wakelab-input-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn on() -> &'static AtomicBool {
        Box::leak(Box::default())
    }

    #[test]
    fn an_input_is_no_output_by_any_name_and_until_its_command_ends() {
        let at = folder("names");
        fs::write(at.join("a"), "a").unwrap();
        std::os::unix::fs::symlink("a", at.join("link")).unwrap();
        fs::hard_link(at.join("a"), at.join("second")).unwrap();
        let files = Files::begin(on());
        claim_output("--early", &at.join("second")).unwrap();
        assert_eq!(open(&at.join("a")).unwrap_err().to_string(), "--early would overwrite it; name another file");
        drop(files);
        let files = Files::begin(on());
        // Threads that work for the command count.
        std::thread::scope(|scope| scope.spawn(|| read(&at.join("a"), 1).unwrap()).join().unwrap());
        for name in ["a", "link", "second", "../names/a"] {
            let path = at.join(name.replace("names", &at.file_name().unwrap().to_string_lossy()));
            assert_eq!(claim_output("--out", &path), Err(Clash::Input(at.join("a"))), "{name}");
        }
        claim_output("--out", &at.join("b")).unwrap();
        assert_eq!(claim_output("--html", &at.join("./b")), Err(Clash::Output("--out".to_owned())));
        drop(files);
        let _files = Files::begin(on());
        claim_output("--out", &at.join("a")).unwrap();
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn files_of_a_folder_that_is_read_are_inputs_by_their_names() {
        let at = folder("below");
        fs::create_dir(at.join("d")).unwrap();
        for name in ["d/a.csv", "d/page.html", "topo-a.json", "other.json"] {
            fs::write(at.join(name), "").unwrap();
        }
        let _files = Files::begin(on());
        note_folder(&at, &[("", ".csv"), ("topo-", ".json")]);
        for name in ["d/a.csv", "topo-a.json"] {
            assert!(check_output(&at.join(name)).is_err(), "{name}");
        }
        for name in ["d/page.html", "other.json", "new.csv"] {
            check_output(&at.join(name)).unwrap();
        }
        assert!(check_output(&at).is_err());
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn nobody_waits_for_a_pipe_longer_than_the_command_runs() {
        let at = folder("pipe");
        let made = std::process::Command::new("mkfifo").arg(at.join("p")).status();
        assert!(made.unwrap().success());
        let what = read_file(&at.join("p"), 1).unwrap_err().to_string();
        assert!(what.starts_with("it is a pipe or a device"), "{what}");
        // It waits for whoever writes.
        let path = at.join("p");
        let text = std::thread::scope(|scope| {
            let read = scope.spawn(|| read(&path, 100).unwrap());
            fs::write(&path, "text").unwrap();
            read.join().unwrap()
        });
        assert_eq!(text, b"text");
        let stop = on();
        let what = std::thread::scope(|scope| {
            let read = scope.spawn(|| {
                let _files = Files::begin(stop);
                read(&path, 100).unwrap_err().to_string()
            });
            stop.store(true, Ordering::Relaxed);
            read.join().unwrap()
        });
        assert_eq!(what, INTERRUPTED);
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let at = folder("limit");
        fs::write(at.join("a"), "12").unwrap();
        assert_eq!(read(&at.join("a"), 2).unwrap(), b"12");
        assert_eq!(read(&at.join("a"), 1).unwrap_err().to_string(), "it has more than 1 bytes");
        assert_eq!(read_file(&at, 1).unwrap_err().to_string(), "it is a folder; expected a file");
        fs::remove_dir_all(at).unwrap();
    }
}
