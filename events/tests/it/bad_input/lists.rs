//! Lists by CPU and by LLC.

use super::support::*;

#[test]
fn a_list_of_another_machine() {
    says(
        with_value(1, "cpu_nr_running", "0 0 0 0"),
        "r.csv:3: column cpu_nr_running: expected one number for each CPU, 8 in all; found 4\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "cpu_capacity", &"1024 ".repeat(16)),
        "r.csv:3: column cpu_capacity: expected one number for each CPU, 8 in all; found 16\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "cpu_load_avg", ""),
        "r.csv:3: column cpu_load_avg: expected one number for each CPU, 8 in all; found 0\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "llc_ids", "0 8"),
        "r.csv:3: column llc_ids: expected one number for each LLC, 1 in all; found 2\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "llc_ids", "8"),
        "r.csv:3: column llc_ids: expected the LLCs of the topo file, LLC 0 among them, found \"8\"\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "llc_nr_idle_scan", "4 4"),
        "r.csv:3: column llc_nr_idle_scan: expected one number for each LLC, 1 in all; found 2\n  hint: does the topo file belong to this recording?",
    );
}

#[test]
fn values_that_no_kernel_gives() {
    says(
        with_value(1, "cpu_nr_running", "0 0 -1 0 0 0 0 0"),
        "r.csv:3: column cpu_nr_running: expected numbers from 0 to 4194304, found \"-1\" at CPU 2\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "cpu_nr_running", "0 0 0 0 0 0 0 4194305"),
        "r.csv:3: column cpu_nr_running: expected numbers from 0 to 4194304, found \"4194305\" at CPU 7\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "cpu_nr_running", "4194304 1 0 0 0 0 0 0"),
        "r.csv:3: column cpu_nr_running: expected at most 4194304 running tasks on all CPUs, found 4194305\n  hint: no kernel has more (PID_MAX_LIMIT)",
    );
    says(
        with_value(1, "cpu_h_nr_delayed", "0 0 0 0 0 0 -4194305 0"),
        "r.csv:3: column cpu_h_nr_delayed: expected numbers from -4194304 to 4194304, found \"-4194305\" at CPU 6\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "cpu_load_avg", "0 18446744073709551615 0 0 0 0 0 0"),
        "r.csv:3: column cpu_load_avg: expected numbers from 0 to 1099511627776, found \"18446744073709551615\" at CPU 1\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "cpu_util_avg", "0 x 0 0 0 0 0 0"),
        "r.csv:3: column cpu_util_avg: expected numbers from 0 to 1099511627776, found \"x\" at CPU 1\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "cpu_capacity", "1024 1024 1024 1024 1024 1024 1024 0"),
        "r.csv:3: column cpu_capacity: expected numbers from 1 to 1048576, found \"0\" at CPU 7\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "llc_has_idle_cores", "2"),
        "r.csv:3: column llc_has_idle_cores: expected numbers from 0 to 1, found \"2\" at LLC 0\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "llc_nr_idle_scan", "-1"),
        "r.csv:3: column llc_nr_idle_scan: expected numbers from 0 to 2147483647, found \"-1\" at LLC 0\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
}

#[test]
fn the_slow_path() {
    says(
        with_value(FORK, "cpu_idle_stamp", ""),
        "r.csv:3: column cpu_idle_stamp: expected one number for each CPU, 8 in all; found 0\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(FORK, "cpu_idle_exit_latency", "-2 0 0 0 0 0 0 0"),
        "r.csv:3: column cpu_idle_exit_latency: expected numbers from -1 to 2147483647, found \"-2\" at CPU 0\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(FORK, "cpu_group_cap_l0", "1024 1024 1024 1024 1024 1024 1024 0"),
        "r.csv:3: column cpu_group_cap_l0: expected a capacity from 1 to 1048576, as CPU 7's group at level 0 has weight 1; found 0\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(FORK, "cpu_group_cap_l1", "1 2 2 2 2 2 2 2"),
        "r.csv:3: column cpu_group_cap_l1: expected a capacity from 2 to 2097152, as CPU 0's group at level 1 has weight 2; found 1\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(EXEC, "cpu_nr_running", "0 0 0 0 0 0 0 0"),
        "r.csv:3: column cpu_nr_running: expected at least one task on CPU 4, where the wakee is queued (on_rq is 1), found 0\n  hint: a task that executes another program runs meanwhile; was the file edited or damaged?",
    );
    // A wake-up that is said to be a fork lacks what a fork reads.
    says(
        with_value(0, "wake_flags", "4"),
        "r.csv:3: column cpu_idle_stamp: expected one number for each CPU, 8 in all; found 0\n  hint: does the topo file belong to this recording?",
    );
}
