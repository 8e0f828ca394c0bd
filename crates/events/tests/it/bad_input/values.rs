//! Values that no kernel has.

use super::support::*;

#[test]
fn no_number() {
    error_is(
        with_value(1, "seq", ""),
        "r.csv:3: column seq: expected a number from 0 to 1125899906842624, found \"\"\n  hint: no kernel produces \
         such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "t_ns", "1e9"),
        "r.csv:3: column t_ns: expected a number from 0 to 4611686018427387904, found \"1e9\"\n  hint: no kernel \
         produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "dur_ns", "+1"),
        "r.csv:3: column dur_ns: expected a number from 0 to 1125899906842624, found \"+1\"\n  hint: no kernel \
         produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "stable", "yes"),
        "r.csv:3: column stable: expected 0 or 1, found \"yes\"\n  hint: no kernel produces such a value; was the file \
         edited or damaged?",
    );
    error_is(
        with_value(1, "wake_flags", "0x8"),
        "r.csv:3: column wake_flags: expected a hexadecimal number of 32 bits, found \"0x8\"\n  \
         hint: it is written without 0x",
    );
    error_is(
        with_value(1, "wake_flags", "+8"),
        "r.csv:3: column wake_flags: expected a hexadecimal number of 32 bits, found \"+8\"\n  \
         hint: it is written without 0x",
    );
}

#[test]
fn a_number_that_overflows() {
    error_is(
        with_value(1, "t_ns", "18446744073709551616"),
        "r.csv:3: column t_ns: expected a number from 0 to 4611686018427387904, found \"18446744073709551616\"\n  \
         hint: no kernel produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "wake_flags", "100000000"),
        "r.csv:3: column wake_flags: expected a hexadecimal number of 32 bits, found \"100000000\"\n  \
         hint: it is written without 0x",
    );
    error_is(
        with_value(1, "util_avg", "18446744073709551615"),
        "r.csv:3: column util_avg: expected a number from 0 to 1099511627776, found \"18446744073709551615\"\n  hint: \
         no kernel produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "task_h_load", "1099511627777"),
        "r.csv:3: column task_h_load: expected a number from 0 to 1099511627776, found \"1099511627777\"\n  hint: no \
         kernel produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "wakee_flips", "4294967296"),
        "r.csv:3: column wakee_flips: expected a number from 0 to 4294967295, found \"4294967296\"\n  hint: no kernel \
         produces such a value; was the file edited or damaged?",
    );
}

#[test]
fn a_negative_number() {
    error_is(
        with_value(1, "wakee_flips", "-1"),
        "r.csv:3: column wakee_flips: expected a number from 0 to 4294967295, found \"-1\"\n  hint: no kernel produces \
         such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "waker_pid", "-1"),
        "r.csv:3: column waker_pid: expected a number from 0 to 4194304, found \"-1\"\n  hint: no kernel produces such \
         a value; was the file edited or damaged?",
    );
}

#[test]
fn no_cpu() {
    error_is(
        with_value(1, "waker_cpu", "8"),
        "r.csv:3: column waker_cpu: expected a CPU from 0 to 7, found \"8\"\n  \
         hint: does the topo file belong to this recording?",
    );
    error_is(
        with_value(1, "prev_cpu", "-1"),
        "r.csv:3: column prev_cpu: expected a CPU from 0 to 7, found \"-1\"\n  \
         hint: does the topo file belong to this recording?",
    );
    error_is(
        with_value(1, "chosen_cpu", "4294967296"),
        "r.csv:3: column chosen_cpu: expected a CPU from 0 to 7, found \"4294967296\"\n  \
         hint: does the topo file belong to this recording?",
    );
    error_is(
        with_value(1, "recent_used_cpu", "8"),
        "r.csv:3: column recent_used_cpu: expected a number from -1 to 7, found \"8\"\n  hint: no kernel produces such \
         a value; was the file edited or damaged?",
    );
}

#[test]
fn no_mask() {
    error_is(
        with_value(1, "affinity", "1ff"),
        "r.csv:3: column affinity: expected a hexadecimal mask of CPUs 0 to 7, found \"1ff\"\n  \
         hint: does the topo file belong to this recording?",
    );
    error_is(
        with_value(1, "affinity", "0"),
        "r.csv:3: column affinity: expected at least one CPU, found \"0\"\n  hint: every task may use at least one \
         CPU; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "idle_mask", "0xff"),
        "r.csv:3: column idle_mask: expected a hexadecimal mask of CPUs 0 to 7, found \"0xff\"\n  \
         hint: does the topo file belong to this recording?",
    );
    error_is(
        with_value(1, "ttwu_pending_mask", ""),
        "r.csv:3: column ttwu_pending_mask: expected a hexadecimal mask of CPUs 0 to 7, found \"\"\n  \
         hint: does the topo file belong to this recording?",
    );
}

#[test]
fn fields_with_few_values() {
    error_is(
        with_value(1, "wakee_static_prio", "99"),
        "r.csv:3: column wakee_static_prio: expected a number from 100 to 139, found \"99\"\n  hint: no kernel \
         produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "wakee_policy", "8"),
        "r.csv:3: column wakee_policy: expected a number from 0 to 7, found \"8\"\n  hint: no kernel produces such a \
         value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "numa_preferred_nid", "1024"),
        "r.csv:3: column numa_preferred_nid: expected a number from -1 to 1023, found \"1024\"\n  hint: no kernel \
         produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "sd_llc_size", "16"),
        "r.csv:3: column sd_llc_size: expected 8, the number of CPUs in the LLC of CPU 2 according to the topo file, \
         found \"16\"\n  hint: does the topo file belong to this recording?",
    );
}

#[test]
fn a_long_value_is_cut() {
    error_is(
        with_value(1, "seq", &"9".repeat(1000)),
        "r.csv:3: column seq: expected a number from 0 to 1125899906842624, found \
         \"999999999999999999999999999999999999999999999999999999999999\"...\n  hint: no kernel produces such a value; \
         was the file edited or damaged?",
    );
}

#[test]
fn a_list_of_another_machine() {
    error_is(
        with_value(1, "cpu_nr_running", "0 0 0 0"),
        "r.csv:3: column cpu_nr_running: expected one number for each CPU, 8 in all, found 4\n  hint: does the topo \
         file belong to this recording?",
    );
    error_is(
        with_value(1, "cpu_capacity", &"1024 ".repeat(16)),
        "r.csv:3: column cpu_capacity: expected one number for each CPU, 8 in all, found 16\n  hint: does the topo \
         file belong to this recording?",
    );
    error_is(
        with_value(1, "cpu_load_avg", ""),
        "r.csv:3: column cpu_load_avg: expected one number for each CPU, 8 in all, found 0\n  hint: does the topo \
         file belong to this recording?",
    );
    error_is(
        with_value(1, "llc_ids", "0 8"),
        "r.csv:3: column llc_ids: expected one number for each LLC, 1 in all, found 2\n  hint: does the topo file \
         belong to this recording?",
    );
    error_is(
        with_value(1, "llc_ids", "8"),
        "r.csv:3: column llc_ids: expected the LLCs of the topo file, LLC 0 among them, found \"8\"\n  \
         hint: does the topo file belong to this recording?",
    );
    error_is(
        with_value(1, "llc_nr_idle_scan", "4 4"),
        "r.csv:3: column llc_nr_idle_scan: expected one number for each LLC, 1 in all, found 2\n  hint: does the topo \
         file belong to this recording?",
    );
}

#[test]
fn values_that_no_kernel_gives() {
    error_is(
        with_value(1, "cpu_nr_running", "0 0 -1 0 0 0 0 0"),
        "r.csv:3: column cpu_nr_running: expected numbers from 0 to 4194304, found \"-1\" at CPU 2\n  hint: no kernel \
         produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "cpu_nr_running", "0 0 0 0 0 0 0 4194305"),
        "r.csv:3: column cpu_nr_running: expected numbers from 0 to 4194304, found \"4194305\" at CPU 7\n  hint: no \
         kernel produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "cpu_nr_running", "4194304 1 0 0 0 0 0 0"),
        "r.csv:3: column cpu_nr_running: expected at most 4194304 running tasks on all CPUs, found 4194305\n  hint: no \
         kernel allows more (PID_MAX_LIMIT)",
    );
    error_is(
        with_value(1, "cpu_h_nr_delayed", "0 0 0 0 0 0 -4194305 0"),
        "r.csv:3: column cpu_h_nr_delayed: expected numbers from -4194304 to 4194304, found \"-4194305\" at CPU 6\n  \
         hint: no kernel produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "cpu_load_avg", "0 18446744073709551615 0 0 0 0 0 0"),
        "r.csv:3: column cpu_load_avg: expected numbers from 0 to 1099511627776, found \"18446744073709551615\" at CPU \
         1\n  hint: no kernel produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "cpu_util_avg", "0 x 0 0 0 0 0 0"),
        "r.csv:3: column cpu_util_avg: expected numbers from 0 to 1099511627776, found \"x\" at CPU 1\n  hint: no \
         kernel produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "cpu_capacity", "1024 1024 1024 1024 1024 1024 1024 0"),
        "r.csv:3: column cpu_capacity: expected numbers from 1 to 1048576, found \"0\" at CPU 7\n  hint: no kernel \
         produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "llc_has_idle_cores", "2"),
        "r.csv:3: column llc_has_idle_cores: expected numbers from 0 to 1, found \"2\" at LLC 0\n  hint: no kernel \
         produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(1, "llc_nr_idle_scan", "-1"),
        "r.csv:3: column llc_nr_idle_scan: expected numbers from 0 to 1073741824, found \"-1\" at LLC 0\n  hint: no \
         kernel produces such a value; was the file edited or damaged?",
    );
}

#[test]
fn the_slow_path() {
    error_is(
        with_value(FORK, "cpu_idle_stamp", ""),
        "r.csv:3: column cpu_idle_stamp: expected one number for each CPU, 8 in all, found 0\n  hint: does the topo \
         file belong to this recording?",
    );
    error_is(
        with_value(FORK, "cpu_idle_exit_latency", "-2 0 0 0 0 0 0 0"),
        "r.csv:3: column cpu_idle_exit_latency: expected numbers from -1 to 2147483647, found \"-2\" at CPU 0\n  hint: \
         no kernel produces such a value; was the file edited or damaged?",
    );
    error_is(
        with_value(FORK, "cpu_group_cap_l0", "1024 1024 1024 1024 1024 1024 1024 0"),
        "r.csv:3: column cpu_group_cap_l0: expected a capacity from 1 to 1048576, because CPU 7's group at level 0 has \
         weight 1, found 0\n  hint: does the topo file belong to this recording?",
    );
    error_is(
        with_value(FORK, "cpu_group_cap_l1", "1 2 2 2 2 2 2 2"),
        "r.csv:3: column cpu_group_cap_l1: expected a capacity from 2 to 2097152, because CPU 0's group at level 1 has \
         weight 2, found 1\n  hint: does the topo file belong to this recording?",
    );
    error_is(
        with_value(EXEC, "cpu_nr_running", "0 0 0 0 0 0 0 0"),
        "r.csv:3: column cpu_nr_running: expected at least one task on CPU 4, where the wakee is queued (on_rq is 1), \
         found 0\n  hint: a task runs while it execs; was the file edited or damaged?",
    );
    // A wake-up that is marked as a fork does not have what a fork reads.
    error_is(
        with_value(0, "wake_flags", "4"),
        "r.csv:3: column cpu_idle_stamp: expected one number for each CPU, 8 in all, found 0\n  hint: does the topo \
         file belong to this recording?",
    );
}

/// Columns that no decision and no statistic reads.
const NOT_READ: [&str; 13] = [
    "waker_policy",
    "waker_nr_cpus_allowed",
    "preempt_count",
    "wakee_flags",
    "wakee_flips_before",
    "nr_cpus_allowed",
    "load_avg",
    "load_weight",
    "waker_load_avg",
    "waker_load_weight",
    "wake_flags_text",
    // Texts, whose length is bound.
    "waker_comm",
    "wakee_comm",
];

#[test]
fn every_column_has_a_bound() {
    let labels = ["load", "variant", "features"];
    for column in header().split(',').filter(|column| !NOT_READ.contains(column) && !labels.contains(column)) {
        for value in ["18446744073709551615", "9223372036854775807", "9223372036854775808", "-9223372036854775808"] {
            let cell = row(FORK).split(',').nth(place(column)).expect("a cell");
            let (_, rest) =
                cell.split_once(' ').map_or(("", String::new()), |(first, rest)| (first, format!(" {rest}")));
            let dir = folder(with_value(FORK, column, &format!("{value}{rest}")).as_bytes(), TOPO);
            let error = error_of(dir.path());
            assert!(error.starts_with(&format!("r.csv:3: column {column}: expected ")), "{column} {value}: {error}");
        }
    }
}

#[test]
fn every_text_has_a_bound() {
    for (column, most) in
        [("waker_comm", 63), ("wakee_comm", 63), ("load", 1024), ("variant", 1024), ("features", 16384)]
    {
        reads(with_value(1, column, &"A".repeat(most)), 2);
        let dir = folder(with_value(1, column, &"A".repeat(most + 1)).as_bytes(), TOPO);
        let expected = format!("r.csv:3: column {column}: expected at most {most} bytes, found {}: \"AAA", most + 1);
        assert!(error_of(dir.path()).starts_with(&expected), "{}", error_of(dir.path()));
    }
}
