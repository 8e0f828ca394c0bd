//! Files that are cut off, damaged, or something else.

use super::support::*;
use std::fs;
use wakelab_events::Reader;
use wakelab_kernel::Preset;

#[test]
fn no_file() {
    let dir = tempfile::tempdir().expect("a folder");
    error_in_folder_is(
        dir.path(),
        "r.csv: No such file or directory (os error 2)\n  \
         hint: a recording is a Parquet file of wakelab-record, or a CSV file, plain or gzip (`wakelab docs \
         recording`); `wakelab demo --recordings DIR` writes some",
    );
}

#[test]
fn a_directory() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::create_dir(dir.path().join("r.csv")).expect("a folder");
    error_in_folder_is(
        dir.path(),
        "r.csv: expected a file, found a directory\n  \
         hint: a recording is a Parquet file of wakelab-record, or a CSV file, plain or gzip (`wakelab docs \
         recording`); `wakelab demo --recordings DIR` writes some",
    );
}

#[test]
fn an_empty_file() {
    error_is(
        "",
        "r.csv: empty; expected a header line with the names of the columns\n  \
         hint: a recording is a Parquet file of wakelab-record, or a CSV file, plain or gzip (`wakelab docs \
         recording`); `wakelab demo --recordings DIR` writes some",
    );
    error_is(
        gzip(b""),
        "r.csv: empty; expected a header line with the names of the columns\n  \
         hint: a recording is a Parquet file of wakelab-record, or a CSV file, plain or gzip (`wakelab docs \
         recording`); `wakelab demo --recordings DIR` writes some",
    );
    error_is(
        "\n\n\n",
        "r.csv: empty; expected a header line with the names of the columns\n  \
         hint: a recording is a Parquet file of wakelab-record, or a CSV file, plain or gzip (`wakelab docs \
         recording`); `wakelab demo --recordings DIR` writes some",
    );
}

#[test]
fn a_header_only() {
    error_is(
        header(),
        "r.csv:1: expected rows after the header, found none\n  hint: was the recorder stopped before its first row?",
    );
    error_is(
        format!("{}\n", header()),
        "r.csv:1: expected rows after the header, found none\n  hint: was the recorder stopped before its first row?",
    );
}

#[test]
fn a_missing_column() {
    error_is(
        SAMPLE.replacen("wakee_flips,", "wakee_flops,", 1),
        "r.csv:1: the header lacks wakee_flips\n  hint: docs/formats.md lists the columns",
    );
    error_is(
        "a,b\n1,2\n",
        "r.csv:1: the header lacks kernel, topology, load, variant, features, seq, t_ns, dur_ns and 64 more; it begins \
         with \"a\"\n  \
         hint: docs/formats.md lists the columns",
    );
}

#[test]
fn a_column_twice() {
    error_is(
        SAMPLE.replacen("load,", "kernel,", 1),
        "r.csv:1: column kernel: the column appears twice; expected it once\n  hint: remove one of the two",
    );
}

#[test]
fn not_a_csv() {
    let bytes: Vec<u8> = (0..=255).collect();
    error_is(
        bytes,
        "r.csv:1: expected a header line with the names of the columns, found bytes that are not text: \
         \"\\0\\u{1}\\u{2}\\u{3}\\u{4}\\u{5}\\u{6}\\u{7}\\u{8}\\t\"\n  hint: a recording is a CSV file, plain or \
         compressed with gzip; other compressions are not supported",
    );
    error_is(
        "{\"kernel\": \"6.12\"}\n",
        "r.csv:1: the header lacks kernel, topology, load, variant, features, seq, t_ns, dur_ns and 64 more; it begins \
         with \"{\\\"kernel\\\": \\\"6.12\\\"}\"\n  \
         hint: docs/formats.md lists the columns",
    );
    let xz = b"\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F\x02\x00!\x01";
    error_is(
        xz,
        "r.csv:1: expected a header line with the names of the columns, found bytes that are not text: \
         \"�7zXZ\\0\\0\\u{4}�\\u{5b4}F\\u{2}\\0!\\u{1}\"\n  hint: a recording is a CSV file, plain or compressed with \
         gzip; other compressions are not supported",
    );
}

#[test]
fn a_plain_file_cut_off() {
    let whole = format!("{}\n{}\n{}\n", header(), row(0), row(FORK));
    error_is(
        &whole[..whole.len() - 300],
        "r.csv:3: expected 72 columns as in the header, found 60\n  hint: a line that was cut off has fewer columns; \
         was the whole file copied?",
    );
    let list = whole.rfind(' ').expect("a list");
    error_is(
        &whole[..list],
        "r.csv:3: column cpu_group_imbalance: expected one number for each CPU, 8 in all, found 7\n  hint: does the \
         topo file belong to this recording?",
    );
}

#[test]
fn a_gzip_file_cut_off() {
    let whole = gzip(SAMPLE.as_bytes());
    error_is(
        &whole[..2],
        "r.csv:1: the gzip stream ends too early: the file is cut off\n  hint: copy the whole file again; `gzip -t` \
         checks it",
    );
    error_is(
        &whole[..whole.len() / 2],
        "r.csv:3: the gzip stream ends too early: the file is cut off\n  hint: copy the whole file again; `gzip -t` \
         checks it",
    );
    // Only the checksum and the length are missing, all rows are there.
    error_is(
        &whole[..whole.len() - 8],
        "r.csv:10: the gzip stream ends too early: the file is cut off\n  hint: copy the whole file again; `gzip -t` \
         checks it",
    );
}

#[test]
fn a_damaged_gzip_file() {
    let mut whole = gzip(SAMPLE.as_bytes());
    let checksum = whole.len() - 8;
    whole[checksum] ^= 1;
    error_is(
        &whole,
        "r.csv:10: the gzip stream is damaged: corrupt gzip stream does not have a matching checksum\n  hint: copy it \
         again; `gzip -t` checks it",
    );
    whole[checksum] ^= 1;
    whole.extend_from_slice(b"no second member");
    error_is(
        &whole,
        "r.csv:10: the gzip stream is damaged: invalid gzip header\n  hint: copy it again; `gzip -t` checks it",
    );
    let mut method = gzip(SAMPLE.as_bytes());
    method[2] = 7;
    error_is(
        &method,
        "r.csv:1: the gzip stream is damaged: invalid gzip header\n  hint: copy it again; `gzip -t` checks it",
    );
    let mut block = gzip(SAMPLE.as_bytes());
    block[10] |= 6;
    error_is(
        &block,
        "r.csv:1: the gzip stream is damaged: corrupt deflate stream\n  hint: copy it again; `gzip -t` checks it",
    );
}

#[test]
fn an_open_quote() {
    error_is(
        with_value(1, "waker_comm", "\"name"),
        "r.csv:3: expected the closing quote of a field, found the end of the file\n  hint: the quote begins in this \
         row; was the whole file copied?",
    );
}

#[test]
fn a_row_that_never_ends() {
    let mut text = with_value(1, "waker_comm", "\"name");
    let lines = "a line within the quote\n".repeat(1 << 20);
    text.push_str(&lines);
    error_is(
        &text,
        "r.csv:3: expected a row of at most 16 MiB, found a longer one\n  hint: is this a recording? An open quote \
         also turns many lines into one row",
    );
    let mut text = format!("{}\n{}\n", header(), row(0));
    text.push_str(&"1 ".repeat(9 << 20));
    error_is(
        &text,
        "r.csv:3: expected a row of at most 16 MiB, found a longer one\n  hint: is this a recording? An open quote \
         also turns many lines into one row",
    );
    error_is(
        vec![b','; 17 << 20],
        "r.csv:1: expected a row of at most 16 MiB, found a longer one\n  hint: is this a recording? An open quote \
         also turns many lines into one row",
    );
    error_is(
        gzip(&vec![b'\n'; 17 << 20]),
        "r.csv:16777217: expected a row of at most 16 MiB, found a longer one\n  hint: is this a recording? An open \
         quote also turns many lines into one row",
    );
}

#[test]
fn two_kernels_in_one_file() {
    error_is(
        with_value(1, "kernel", "6.1"),
        "r.csv:3: column kernel: expected \"6.12\", with which the file began, found \"6.1\"\n  hint: put each kernel \
         and each machine into a file of its own",
    );
    error_is(
        with_value(1, "topology", "C-16c-2s4x2-numa2"),
        "r.csv:3: column topology: expected \"A-8c-1s4x2\", with which the file began, found \"C-16c-2s4x2-numa2\"\n  \
         hint: put each kernel and each machine into a file of its own",
    );
}

#[test]
fn an_unknown_kernel() {
    let text = |kernel| format!("{}\n{}\n", header(), changed(0, "kernel", kernel));
    error_is(
        text("6.13"),
        &format!(
            "r.csv:2: column kernel: {}\n  hint: `wakelab kernel list` shows the known kernels",
            Preset::of_release("6.13").unwrap_err()
        ),
    );
    error_is(
        text("6.12-../../x"),
        "r.csv:2: column kernel: expected a name of at most 64 letters, digits and ._+~-, found \"6.12-../../x\"\n  \
         hint: a kernel is a release such as 6.12; a topology is the name of a machine such as A-8c-1s4x2",
    );
    error_is(
        text(""),
        "r.csv:2: column kernel: expected a name of at most 64 letters, digits and ._+~-, found \"\"\n  hint: a kernel \
         is a release such as 6.12; a topology is the name of a machine such as A-8c-1s4x2",
    );
}

#[test]
fn nothing_is_read_after_an_error() {
    let dir = folder(format!("{}{}\n", with_value(1, "seq", "x"), row(2)).as_bytes(), TOPO);
    let mut reader = Reader::open(&dir.path().join("r.csv")).expect("a recording");
    let mut row = wakelab_events::Row::new();
    assert_eq!(reader.read(&mut row), Ok(true));
    assert!(reader.read(&mut row).is_err());
    assert_eq!(reader.read(&mut row), Ok(false));
}
