//! `[[cache]]`.

use super::origin;
use super::table::Table;
use crate::{Cache, MachineError};

/// 1 TiB.
const LARGEST_KIB: u64 = 1 << 30;

/// The caches, in the order of the file.
pub(super) fn read(root: &Table<'_>, nr_cpus: u32) -> Result<Vec<Cache>, MachineError> {
    let mut caches: Vec<Cache> = Vec::new();
    for table in root.tables("cache")? {
        table.only(&["name", "size_kib", "shared_by", "source", "assumed"])?;
        let name = table.need_text("name", "a text such as \"L2\"")?.to_owned();
        if caches.iter().any(|cache| cache.name == name) {
            return Err(table.error(format!("there is a cache {name} already")));
        }
        let size_kib = table.need_number("size_kib", &(1..=LARGEST_KIB))?;
        let shared_by = table.need_number("shared_by", &(1..=u64::from(nr_cpus)))? as u32;
        caches.push(Cache { name, size_kib, shared_by, origin: origin::read(&table)? });
    }
    Ok(caches)
}
