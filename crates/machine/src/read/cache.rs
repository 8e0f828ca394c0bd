//! `[[cache]]`.

use super::value::{need_cpus, origin};
use crate::Cache;
use wakelab_input::{InputError, Table};

/// 1 TiB.
const LARGEST_KIB: u64 = 1 << 30;

/// The caches, in the order of the file.
pub(super) fn read(root: &Table<'_>, nr_cpus: u32) -> Result<Vec<Cache>, InputError> {
    let mut caches: Vec<Cache> = Vec::new();
    for table in root.tables("cache", &["name", "size_kib", "shared_by", "cpus", "source", "assumed"])? {
        let name = table.need_text("name", "a text such as \"L2\"")?.to_owned();
        let cpus = table.get("cpus").map(|_| need_cpus(&table, nr_cpus)).transpose()?;
        let overlap = |before: &Cache| match (&before.cpus, &cpus) {
            (Some(before), Some(cpus)) => before.intersects(cpus),
            _ => true,
        };
        if caches.iter().any(|before| before.name == name && overlap(before)) {
            let error = table.error(format!("the cache {name} already exists"));
            return Err(error.with_hint("caches of the same name need different `cpus`"));
        }
        let size_kib = table.need_number("size_kib", &(1..=LARGEST_KIB))?;
        let most = cpus.as_ref().map_or(nr_cpus, |cpus| cpus.weight());
        let shared_by = table.need_number("shared_by", &(1..=u64::from(most)))? as u32;
        let cpus = cpus.filter(|cpus| cpus.weight() < nr_cpus);
        caches.push(Cache { name, size_kib, shared_by, cpus, origin: origin(&table)? });
    }
    Ok(caches)
}
