//! Writes the object of a scheduler: `object NAME OUT CACHE`, where NAME is what stands after `scx:` in a side.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use wakelab_scx_fetch::{SchedulerName, Schedulers};

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, out, cache] = &arguments[..] else { return Err("expected NAME, OUT and CACHE".to_owned()) };
    static NEVER: AtomicBool = AtomicBool::new(false);
    let cache = PathBuf::from(cache);
    let schedulers =
        Schedulers::new(Some(cache), std::env::temp_dir, false, |line| eprintln!("{line}"), Box::new(|| &NEVER));
    let built = schedulers.object(&SchedulerName::parse(name)?)?;
    std::fs::write(out, &built.object).map_err(|error| error.to_string())?;
    println!("{}: {} bytes, scx:{}", built.title, built.object.len(), built.name);
    Ok(())
}
