//! Work on as many threads as there are cores, or on one if the system makes no others.

/// Calls `work`, in which rayon's parallel iterators use a thread for each core, or this thread alone if no others can
/// be made (`ulimit -u`, the `pids.max` of a container). Rayon's global threads would end the program then.
pub(crate) fn on_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().build();
    let pool = pool.or_else(|_| rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build());
    match pool {
        Ok(pool) => pool.install(work),
        // A thread of a pool already: its iterators use that pool.
        Err(_) => work(),
    }
}
