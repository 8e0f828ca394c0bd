//! What happened around the decisions.

use crate::record::cell::Text;
use crate::record::table::table;

table! {
    /// Context switches.
    RecordedSwitches, RecordedSwitchRow, "switches" {
        t_ns: i64 = "When, ns of CLOCK_MONOTONIC.";
        cpu: i32 = "The CPU.";
        prev_pid: i32 = "Who ran; 0 is the idle task.";
        prev_sleeps: bool = "Whether it sleeps, or has exited; else it waits for a CPU.";
        next_pid: i32 = "Who runs; 0 is the idle task.";
    }
}

table! {
    /// Tasks that got another CPU, by a wake-up or by balancing.
    RecordedMigrations, RecordedMigrationRow, "migrations" {
        t_ns: i64 = "When.";
        pid: i32 = "The task.";
        from_cpu: i32 = "From this CPU.";
        to_cpu: i32 = "To this one.";
    }
}

table! {
    /// Idle states of CPUs.
    IdleStates, IdleStateRow, "idle" {
        t_ns: i64 = "When.";
        cpu: i32 = "The CPU.";
        state: Option<i32> = "The state that it enters; null where it leaves one.";
    }
}

table! {
    /// Frequencies of CPUs.
    Frequencies, FrequencyRow, "frequencies" {
        t_ns: i64 = "When.";
        cpu: i32 = "The CPU.";
        khz: i64 = "What it runs at from now on.";
    }
}

table! {
    /// Wake-ups without their inputs, as another recorder's events tell them.
    Wakings, WakingRow, "wakings" {
        t_ns: i64 = "When the wake-up began; rows come when it is known where the wakee goes.";
        waker_cpu: i32 = "The waking CPU.";
        waker_pid: i32 = "Who was running there; 0 is the idle task, or not known.";
        waker_comm: Text = "Its name; empty where it is not known.";
        wakee_pid: i32 = "Who is woken.";
        wakee_comm: Text = "Its name.";
        prev_cpu: Option<i32> = "Where it ran last; null where the events do not tell, as for new tasks.";
        dest_cpu: i32 = "Where it goes.";
    }
}
