//! What people write: durations, CPU lists, TOML files and names; and what others wrote, made safe to print.
//!
//! Every crate that reads text from a person reads it here, so that one mistake has one message. A message names the
//! file, the line and the key, says what was expected and what was found, and, if there is one, the next step:
//!
//! ```text
//! m.toml:7: `cache.size`: unknown key; expected name, size_kib, shared_by, cpus, source, assumed
//!   hint: did you mean `size_kib`?
//! ```
//!
//! [`files`] opens every input, so that no output replaces one.
//!
//! This crate depends on no other crate of the workspace. The feature `toml` adds `Table` for TOML files.

mod cpulist;
mod duration;
mod error;
pub mod files;
mod printable;
mod spelling;
#[cfg(feature = "toml")]
mod table;
mod text;

pub use cpulist::{cpulist_text, parse_cpulist, parse_sysfs_list, parse_sysfs_mask};
pub use duration::{DURATION, DURATION_MAX_NS, duration_text, parse_duration, parse_wall_time};
pub use error::{InputError, write_place};
pub use files::read_file;
pub use printable::{printable, printable_lines};
pub use spelling::{did_you_mean, in_any_case, nearest, suggest};
#[cfg(feature = "toml")]
pub use table::{Document, Source, Table, Value, toml_text};
pub use text::{FILE_MAX, read_text, read_text_file, shortened, shortened_message};
