//! Numbered jobs, which run over the cores in order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Counts jobs as they finish.
#[derive(Debug, Default)]
pub(crate) struct FinishedJobs(AtomicUsize);

impl FinishedJobs {
    /// Counts one more finished job, and returns how many there are.
    pub(crate) fn next(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Runs the jobs 0 to `count`, `at_a_time` of them at a time (0: as many as there are cores). The result of a job that
/// was stopped or never started is `None`.
///
/// # Errors
/// Returns the error of the lowest job that failed. No job starts after a failure, but running jobs finish. Jobs start
/// in order, so that the error does not depend on how many run at a time.
pub(crate) fn run_jobs<T: Send + Sync, E: Send + Sync>(
    count: usize,
    at_a_time: usize,
    stop: &AtomicBool,
    job: impl Fn(usize, &FinishedJobs) -> Result<Option<T>, E> + Sync,
) -> Result<Vec<Option<T>>, E> {
    let results: Vec<OnceLock<Result<Option<T>, E>>> = (0..count).map(|_| OnceLock::new()).collect();
    let (next, failed, finished) = (AtomicUsize::new(0), AtomicBool::new(false), FinishedJobs::default());
    let worker = || {
        while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = results.get(n) else { break };
            let result = job(n, &finished);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            let set = slot.set(result);
            debug_assert!(set.is_ok(), "each job is done once");
        }
    };
    // Threads without a job would spin.
    let threads = rayon::ThreadPoolBuilder::new().num_threads(at_a_time.min(count)).build();
    match threads {
        Ok(pool) => {
            pool.broadcast(|_| worker());
        }
        // If the system gives no more threads, this thread does the work.
        Err(_) => worker(),
    }
    results.into_iter().map(|slot| slot.into_inner().unwrap_or(Ok(None))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(count: usize, jobs: usize, job: impl Fn(usize) -> Result<Option<usize>, usize> + Sync) -> String {
        format!("{:?}", run_jobs(count, jobs, &AtomicBool::new(false), |n, _| job(n)))
    }

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for jobs in [1, 2, 7] {
            assert_eq!(run(3, jobs, |n| Ok(Some(n * n))), "Ok([Some(0), Some(1), Some(4)])");
        }
    }

    #[test]
    fn there_are_no_more_threads_than_jobs() {
        let threads = std::sync::Mutex::new(std::collections::HashSet::new());
        let most = std::sync::atomic::AtomicUsize::new(0);
        let job = |n| {
            threads.lock().unwrap().insert(std::thread::current().id());
            most.fetch_max(rayon::current_num_threads(), Ordering::Relaxed);
            Ok(Some(n))
        };
        assert_eq!(run(2, 1000, job), "Ok([Some(0), Some(1)])");
        assert_eq!(most.into_inner(), 2);
        assert!(threads.lock().unwrap().len() <= 2);
    }

    #[test]
    fn the_lowest_failure_is_told() {
        for jobs in [1, 2, 7] {
            assert_eq!(run(20, jobs, |n| if n % 5 == 3 { Err(n) } else { Ok(None) }), "Err(3)");
        }
    }

    #[test]
    fn nothing_begins_after_a_stop() {
        let stop = AtomicBool::new(false);
        let done = run_jobs(4, 1, &stop, |n, _| {
            stop.store(n == 1, Ordering::Relaxed);
            Ok::<_, ()>(Some(n))
        });
        assert_eq!(done, Ok(vec![Some(0), Some(1), None, None]));
    }
}
