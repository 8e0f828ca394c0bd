//! Values that no kernel gives.

use super::support::*;

#[test]
fn no_number() {
    says(
        with_value(1, "seq", ""),
        "r.csv:3: column seq: expected a number from 0 to 18446744073709551615, found \"\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "t_ns", "1e9"),
        "r.csv:3: column t_ns: expected a number from 0 to 18446744073709551615, found \"1e9\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "dur_ns", "+1"),
        "r.csv:3: column dur_ns: expected a number from 0 to 18446744073709551615, found \"+1\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "stable", "yes"),
        "r.csv:3: column stable: expected 0 or 1, found \"yes\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "wake_flags", "0x8"),
        "r.csv:3: column wake_flags: expected a hexadecimal number of 32 bits, found \"0x8\"\n  hint: it is written without 0x",
    );
    says(
        with_value(1, "wake_flags", "+8"),
        "r.csv:3: column wake_flags: expected a hexadecimal number of 32 bits, found \"+8\"\n  hint: it is written without 0x",
    );
}

#[test]
fn a_number_that_overflows() {
    says(
        with_value(1, "t_ns", "18446744073709551616"),
        "r.csv:3: column t_ns: expected a number from 0 to 18446744073709551615, found \"18446744073709551616\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "wake_flags", "100000000"),
        "r.csv:3: column wake_flags: expected a hexadecimal number of 32 bits, found \"100000000\"\n  hint: it is written without 0x",
    );
    says(
        with_value(1, "util_avg", "18446744073709551615"),
        "r.csv:3: column util_avg: expected a number from 0 to 1099511627776, found \"18446744073709551615\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "task_h_load", "1099511627777"),
        "r.csv:3: column task_h_load: expected a number from 0 to 1099511627776, found \"1099511627777\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "wakee_flips", "4294967296"),
        "r.csv:3: column wakee_flips: expected a number from 0 to 4294967295, found \"4294967296\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
}

#[test]
fn a_negative_number() {
    says(
        with_value(1, "wakee_flips", "-1"),
        "r.csv:3: column wakee_flips: expected a number from 0 to 4294967295, found \"-1\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "waker_pid", "-1"),
        "r.csv:3: column waker_pid: expected a number from 0 to 4194304, found \"-1\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
}

#[test]
fn no_cpu() {
    says(
        with_value(1, "waker_cpu", "8"),
        "r.csv:3: column waker_cpu: expected a CPU from 0 to 7, found \"8\"\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "prev_cpu", "-1"),
        "r.csv:3: column prev_cpu: expected a CPU from 0 to 7, found \"-1\"\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "chosen_cpu", "4294967296"),
        "r.csv:3: column chosen_cpu: expected a CPU from 0 to 7, found \"4294967296\"\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "recent_used_cpu", "8"),
        "r.csv:3: column recent_used_cpu: expected a number from -1 to 7, found \"8\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
}

#[test]
fn no_mask() {
    says(
        with_value(1, "affinity", "1ff"),
        "r.csv:3: column affinity: expected a hexadecimal mask of CPUs 0 to 7, found \"1ff\"\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "affinity", "0"),
        "r.csv:3: column affinity: expected at least one CPU, found \"0\"\n  hint: every task may run somewhere; was the file edited or damaged?",
    );
    says(
        with_value(1, "idle_mask", "0xff"),
        "r.csv:3: column idle_mask: expected a hexadecimal mask of CPUs 0 to 7, found \"0xff\"\n  hint: does the topo file belong to this recording?",
    );
    says(
        with_value(1, "ttwu_pending_mask", ""),
        "r.csv:3: column ttwu_pending_mask: expected a hexadecimal mask of CPUs 0 to 7, found \"\"\n  hint: does the topo file belong to this recording?",
    );
}

#[test]
fn fields_with_few_values() {
    says(
        with_value(1, "wakee_static_prio", "99"),
        "r.csv:3: column wakee_static_prio: expected a number from 100 to 139, found \"99\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "wakee_policy", "8"),
        "r.csv:3: column wakee_policy: expected a number from 0 to 7, found \"8\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "numa_preferred_nid", "1024"),
        "r.csv:3: column numa_preferred_nid: expected a number from -1 to 1023, found \"1024\"\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
    says(
        with_value(1, "sd_llc_size", "16"),
        "r.csv:3: column sd_llc_size: expected 8, the number of CPUs in the LLC of CPU 2 by the topo file, found \"16\"\n  hint: does the topo file belong to this recording?",
    );
}

#[test]
fn a_long_value_is_cut() {
    says(
        with_value(1, "seq", &"9".repeat(1000)),
        "r.csv:3: column seq: expected a number from 0 to 18446744073709551615, found \"999999999999999999999999999999999999999999999999999999999999\"...\n  hint: no kernel gives such a value; was the file edited or damaged?",
    );
}
