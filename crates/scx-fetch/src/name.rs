//! How a side names a scheduler.

use std::fmt;
use wakelab_input::printable;

/// The text after `scx:` in a side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedulerName {
    /// A crate of the registry, and its version; without one the newest: `scx_bpfland@1.1.4`.
    Crate {
        /// Its name.
        name: String,
        /// Its version: 1 to 3 numbers, of which the missing ones may be any.
        version: Option<String>,
    },
    /// A compiled object (`.o`), a source (`.c`), or a folder with a crate.
    Path(String),
}

impl SchedulerName {
    /// Reads a name. A path has a `/` or ends in `.o` or `.c`.
    ///
    /// # Errors
    /// Fails if it is neither a path nor a crate.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains('/') || text.ends_with(".o") || text.ends_with(".c") || text == "." || text == ".." {
            return Ok(SchedulerName::Path(text.to_owned()));
        }
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let expected =
            "expected a crate (scx_bpfland, scx_bpfland@1.1.4), or a path, which has a / or ends in .o or .c";
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(letters) {
            return Err(format!("scx:{} does not name a scheduler; {expected}", printable(text)));
        }
        if let Some(version) = version.filter(|version| !is_version(version)) {
            let version = printable(version);
            return Err(format!("scx:{name}@{version}: {version:?} is not a version; expected one as in {name}@1.1.4"));
        }
        Ok(SchedulerName::Crate { name: name.to_owned(), version: version.map(str::to_owned) })
    }
}

/// Whether a text is a version as cargo reads it: `1`, `1.0`, `1.0.18`, `1.1.0-rc.1`.
fn is_version(text: &str) -> bool {
    let core = text.split_once('+').map_or(text, |(core, _)| core);
    let (numbers, rest) = core.split_once('-').map_or((core, None), |(numbers, rest)| (numbers, Some(rest)));
    let number = |part: &str| !part.is_empty() && part.len() < 10 && part.bytes().all(|byte| byte.is_ascii_digit());
    let word = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let count = numbers.split('.').count();
    (1..=3).contains(&count)
        && numbers.split('.').all(number)
        && rest.is_none_or(|rest| count == 3 && !rest.is_empty() && rest.chars().all(word))
        && text.split_once('+').is_none_or(|(_, build)| !build.is_empty() && build.chars().all(word))
}

impl fmt::Display for SchedulerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchedulerName::Crate { name, version: Some(version) } => write!(f, "{name}@{version}"),
            SchedulerName::Crate { name, version: None } => f.write_str(name),
            SchedulerName::Path(path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_slash_or_ends_in_o_or_c() {
        for path in ["a/scx_bpfland", "scx_simple.bpf.o", "scx_simple.bpf.c", "./scx_bpfland", ".", "x@1/"] {
            assert_eq!(SchedulerName::parse(path), Ok(SchedulerName::Path(path.to_owned())), "{path}");
        }
    }

    #[test]
    fn a_crate_may_have_a_version() {
        for (text, version) in [
            ("scx_bpfland", None),
            ("scx_bpfland@1.1.4", Some("1.1.4")),
            ("scx_bpfland@1.0", Some("1.0")),
            ("scx-mine@2", Some("2")),
            ("scx_mine@1.0.0-rc.1", Some("1.0.0-rc.1")),
            ("scx_mine@1.0.0+v6", Some("1.0.0+v6")),
        ] {
            let name = SchedulerName::parse(text).unwrap();
            assert!(matches!(&name, SchedulerName::Crate { version: v, .. } if v.as_deref() == version), "{text}");
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in ["", "scx bpfland", "scx_simple.bpf", "@1.1.4", "1scx", "b\"= \"x"] {
            assert!(SchedulerName::parse(text).unwrap_err().contains("expected a crate (scx_bpfland,"), "{text}");
        }
        for version in ["", "new", "1.", "1..2", "1.2.3.4", "^1", "=1.0", "1.0-rc", "1.0.0-", "1.0.0+", "1.0.0-\""] {
            let error = SchedulerName::parse(&format!("scx_bpfland@{version}")).unwrap_err();
            assert!(error.contains("is not a version; expected one as in scx_bpfland@1.1.4"), "{version}: {error}");
        }
    }
}
