//! The examples that Debian's rt-app ships, simulated: each runs on kernels with CFS and with EEVDF, as often and with
//! as much work as its file says. Those that are no programs at all are refused when they are read, as a test of the
//! package wakelab-workload holds.

use crate::support::{MS, Told, simulate};
use std::path::{Path, PathBuf};
use wakelab_sim::Outcome;
use wakelab_workload::{RtApp, Workload};

const KERNELS: [&str; 2] = ["v5.19-rc1", "v6.12"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/tests/rt-app")
}

/// What one run gave.
struct Run {
    name: String,
    workload: Workload,
    told: Told,
    out: Outcome,
}

impl Run {
    fn rounds(&self, thread: &str) -> u64 {
        let place = self.workload.tasks.iter().position(|task| task.name == thread).expect(thread);
        self.told.times(place).len() as u64
    }

    /// Work of all CPUs, ms.
    fn work(&self) -> u64 {
        self.out.cpus.iter().map(|cpu| cpu.work).sum::<u64>() / MS
    }

    #[track_caller]
    fn did(&self, rounds: &[(&str, u64, u64)]) {
        for &(thread, least, most) in rounds {
            let rounds = self.rounds(thread);
            assert!((least..=most).contains(&rounds), "{}: {thread} did {rounds}, not {least} to {most}", self.name);
        }
    }

    /// So many ms, or up to 2% more.
    #[track_caller]
    fn worked(&self, ms: u64) {
        let work = self.work();
        assert!((ms..=ms + ms.div_ceil(50)).contains(&work), "{}: {work} ms of work, not {ms}", self.name);
    }

    /// When all had exited, ms.
    #[track_caller]
    fn exited(&self, least: u64, most: u64) {
        assert!(self.out.exited, "{}", self.name);
        let ended = self.out.ended / MS;
        assert!((least..=most).contains(&ended), "{}: all had exited at {ended} ms", self.name);
    }
}

/// Runs an example for so many ms on four cores with two CPUs each, under both kernels.
fn each(file: &str, ms: u64, check: impl Fn(&Run)) {
    // Leniently, so that all run; which of them need that is held where they are read.
    let (read, _) = RtApp::read(&folder().join(file), true).unwrap_or_else(|error| panic!("{error}"));
    let workload = read.copies(1).expect("one copy");
    for kernel in KERNELS {
        let mut told = Told::default();
        let out = simulate(("test-8c", kernel), &workload, (1, ms * MS), false, &mut told);
        let out = out.unwrap_or_else(|error| panic!("{file} {kernel}: {error}"));
        check(&Run { name: format!("{file} {kernel}"), workload: workload.clone(), told, out });
    }
}

#[test]
fn every_example_that_can_be_read_runs_a_second_and_does_something() {
    let mut ran = 0;
    for sub in ["", "cpufreq_governor_efficiency", "merge", "tutorial"] {
        for entry in std::fs::read_dir(folder().join(sub)).expect("the folder") {
            let path = entry.expect("an entry").path();
            let json = path.extension().is_some_and(|extension| extension == "json");
            if !json || RtApp::read(&path, true).is_err() {
                continue;
            }
            let file = path.strip_prefix(folder()).expect("under it").to_str().expect("UTF-8").to_owned();
            // The first round of this one begins after 1.2 s.
            each(&file, if file.ends_with("dvfs.json") { 2200 } else { 1000 }, |run| {
                assert!(!run.told.done.is_empty(), "{}", run.name);
            });
            ran += 1;
        }
    }
    assert_eq!(ran, 18);
}

#[test]
fn a_timer_of_100_ms_with_10_ms_of_work_is_a_load_of_10_percent() {
    for file in ["template.json", "tutorial/example2.json"] {
        each(file, 955, |run| {
            run.did(&[("thread0", 9, 9)]);
            run.worked(100);
            // The period neither drifts nor jitters by more than a wake-up takes.
            for (n, &time) in (1..).zip(&run.told.times(0)) {
                assert!((n * 100 * MS..n * 100 * MS + MS / 10).contains(&time), "{}: {n} at {time}", run.name);
            }
        });
    }
}

#[test]
fn running_20_ms_and_sleeping_80_is_a_load_of_20_percent() {
    each("tutorial/example1.json", 955, |run| {
        run.did(&[("thread0", 9, 9)]);
        run.worked(200);
    });
}

#[test]
fn phases_of_10_and_then_90_percent_are_overloaded_where_there_are_more_threads_than_cpus() {
    each("tutorial/example3.json", 3000, |run| {
        assert_eq!(run.told.done.len(), 12 * 20, "{}", run.name);
        // A sibling's work makes it slower: by 1.4 on this machine.
        let work = run.work();
        assert!((12 * 300..=12 * 300 * 14 / 10).contains(&work), "{}: {work} ms", run.name);
        // 10 periods of 30 ms, then 12 threads of 270 ms each on 8 CPUs.
        run.exited(300 + 12 * 270 / 8, 1000);
        // The light phase keeps its period, though some threads wait for others. The last of its rounds ends when the
        // thread gets a CPU, for which others compete that are heavy already.
        for thread in 0..12 {
            let light = run.told.times(thread)[8];
            assert!((270 * MS..280 * MS).contains(&light), "{}: {light}", run.name);
        }
    });
}

#[test]
fn threads_that_resume_each_other_take_turns() {
    // Both run at first; the resume of whoever is first is lost, and from there on one waits for the other.
    each("tutorial/example4.json", 1005, |run| {
        let rounds = run.told.done.len();
        assert_eq!(rounds, 100, "{}", run.name);
        // The first 10 ms twice.
        run.worked(1014);
    });
}

#[test]
fn a_loop_ends_and_signals_and_resumes_wake_who_waits() {
    each("tutorial/example5.json", 4000, |run| {
        // `p0` once and `p1` 8 times; the other three times.
        run.did(&[("thread0", 9, 9), ("thread1", 3, 3)]);
        // Eight periods of 200 ms, which count from the start.
        run.exited(1600, 1600);
        // Each on its CPU. These are of one core: while both work, it takes 1.4 times as long.
        for (cpu, ms) in [(0, 8 * 120), (1, 3 * 30)] {
            let work = run.out.cpus[cpu].work / MS;
            assert!((ms..=ms + 90 * 4 / 10).contains(&work), "{}: CPU {cpu}: {work} ms", run.name);
        }
    });
}

#[test]
fn mem_and_iorun_take_no_time_where_they_are_let_pass() {
    each("tutorial/example6.json", 597, |run| {
        run.did(&[("thread0", 98, 99)]);
        run.worked(99);
    });
}

#[test]
fn threads_meet_at_three_barriers_in_each_round_of_9_ms() {
    // `runtime` ends with the piece of 32 us in which the time is up: 1024 us for 1000, and so 9072 us for a round.
    each("tutorial/example7.json", 1000, |run| {
        run.did(&[("task0", 109, 110), ("task1", 109, 110)]);
        for (n, &time) in (1..).zip(&run.told.times(0)) {
            assert!((n * 9 * MS..n * 9 * MS + n * MS / 10 + MS).contains(&time), "{}: {n} at {time}", run.name);
        }
    });
}

#[test]
fn each_phase_runs_on_its_own_cpu() {
    each("tutorial/example8.json", 900, |run| {
        run.did(&[("thread0", 590, 600)]);
        for cpu in 0..3 {
            let work = run.out.cpus[cpu].work / MS;
            assert!((290..=300).contains(&work), "{}: CPU {cpu}: {work} ms", run.name);
        }
        assert_eq!(run.work(), run.out.cpus[..3].iter().map(|cpu| cpu.work).sum::<u64>() / MS, "{}", run.name);
    });
}

#[test]
fn phases_of_10_and_70_percent_come_one_after_another() {
    each("spreading-tasks.json", 3999, |run| {
        run.did(&[("thread1", 399, 399), ("thread2", 399, 399)]);
        run.worked(300 + 100 * 7 + 400);
    });
}

#[test]
fn a_governor_is_tried_by_ten_times_1200_ms_of_sleep_and_900_of_work_on_one_cpu() {
    each("cpufreq_governor_efficiency/dvfs.json", 14_000, |run| {
        run.did(&[("thread", 20, 20)]);
        run.worked(9000);
        assert_eq!(run.out.cpus[1].work / MS, run.work());
        run.exited(12_900, 12_901);
    });
    each("cpufreq_governor_efficiency/calibration.json", 100, |run| {
        run.did(&[("thread", 2, 2)]);
        run.worked(2);
        run.exited(4, 4);
    });
}

#[test]
fn audio_comes_each_30_ms_from_a_tick_of_6() {
    for file in ["mp3-short.json", "mp3-long.json"] {
        each(file, 3000, |run| {
            run.did(&[("AudioTick", 499, 500), ("AudioOut", 99, 101), ("AudioTrack", 99, 101)]);
            // 5 ms, 0.3 ms, and of decoder and codec 1.15 and 0.3.
            let work = run.work();
            assert!((100 * 53 / 10..=100 * 68 / 10 * 14 / 10).contains(&work), "{}: {work} ms", run.name);
        });
    }
}

#[test]
fn video_comes_with_its_display_at_60_and_its_frames_at_30_a_second() {
    for file in ["video-short.json", "video-long.json"] {
        each(file, 2005, |run| {
            run.did(&[("hwc_eventmon", 120, 120), ("waker", 60, 60)]);
            // A frame in two periods of the display at most, and the decoder once in four wake-ups.
            assert!(run.rounds("surfaceflinger") > 30, "{}", run.name);
            assert!((10..=60).contains(&run.rounds("NPDecoder")), "{}", run.name);
        });
    }
}

#[test]
fn a_browser_goes_through_three_pages() {
    for file in ["browser-short.json", "browser-long.json"] {
        each(file, 20_000, |run| {
            // 1 + 50 + 1 + 20 + 1 + 4 + 1 rounds of its phases, three times.
            run.did(&[("BrowserMain", 3 * 78, 3 * 78)]);
            // Each page sleeps 2 s and renders for 0.25 s, and waits for the display.
            let place = run.workload.tasks.iter().position(|task| task.name == "BrowserMain").expect("it");
            let end = *run.told.times(place).last().expect("an end") / MS;
            assert!((3 * 2250..3 * 2600).contains(&end), "{}: {end} ms", run.name);
        });
    }
}
