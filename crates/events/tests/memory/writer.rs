//! Writing a run takes the same memory however long it is.

use wakelab_events::sim::{Event, Queued, Sink};
use wakelab_events::simulated::EventFolder;
use wakelab_testing::most_memory;
use wakelab_testing::simulated_run::{run_info, topology};

/// The most memory that is in use while this many wake-ups and switches are written, bytes.
fn most(events: u64) -> usize {
    let (temporary, topology) = (tempfile::tempdir().expect("a folder"), topology());
    let folder = EventFolder::new(temporary.path()).expect("an empty folder");
    let memory = most_memory::begin();
    let mut recorder = folder.record(&run_info(&topology)).expect("files");
    // Times without a pattern, which do not compress well.
    let mut time = 0u64;
    for n in 0..events {
        time += n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let (task, cpu) = ((n % 1013) as u32, (n % 2) as u32);
        recorder.event(time, &Event::Switch { cpu, prev: Some(task), prev_sleeps: n % 3 == 0, next: None });
        recorder.event(
            time,
            &Event::Wakeup {
                waker_cpu: cpu,
                waker: None,
                wakee: task,
                prev_cpu: cpu,
                decision: None,
                cpu,
                queued: Queued::OnCpu,
                began: time,
                scan_began: None,
                scan_ended: None,
                claimed: false,
                workload: true,
            },
        );
    }
    recorder.finish().expect("it is written");
    memory.most()
}

#[test]
fn memory_does_not_grow_with_the_length_of_a_run() {
    // Three row groups, and twelve.
    let (short, long) = (most(200_000), most(800_000));
    assert!(short > 100_000, "{short} bytes");
    // The footer of a file lists its row groups.
    assert!(long < short + short / 4, "{short} bytes, then {long}");
    assert!(long < 64 << 20, "{long} bytes");
}
