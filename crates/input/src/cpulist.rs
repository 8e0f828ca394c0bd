//! Lists of CPUs in the kernel's form (`bitmap_parselist()`): `0-3,8`, and `0-31:2/4` for the first 2 of each group of
//! 4.
//!
//! Written by hand: the crate that reads such lists takes `0-31:2` for a step, which the kernel does not, and allocates
//! whatever range a damaged file names.

/// Reads the CPUs of a list as `taskset -c` takes it, in the order of the list. Each is below `nr_cpus`.
///
/// # Errors
///
/// What was expected, if a part is not a CPU or a range of CPUs, or if there are more entries than CPUs.
pub fn parse_cpulist(list: &str, nr_cpus: u32) -> Result<Vec<u32>, String> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        cpus.extend(parse_part(part.trim(), "CPUs", nr_cpus)?);
        if cpus.len() > nr_cpus as usize {
            return Err(format!("expected each CPU once, found more entries than the maximum of {nr_cpus} CPUs"));
        }
    }
    Ok(cpus)
}

/// Reads a list as sysfs has it and returns its numbers, lowest first, each once. The list may be empty, and white
/// space separates like a comma, as in `related_cpus`. Each number is below `limit`. Messages call them `what`, such as
/// `CPUs`.
///
/// # Errors
///
/// What was expected, if a part is not a number or a range.
pub fn parse_sysfs_list(list: &str, what: &str, limit: u32) -> Result<Vec<u32>, String> {
    let mut all = Vec::new();
    let compact = |all: &mut Vec<u32>| {
        all.sort_unstable();
        all.dedup();
    };
    for part in list.split([',', ' ', '\t', '\n']).filter(|part| !part.is_empty()) {
        // One part has at most `limit` numbers, but a file can name them again and again.
        if all.len() > 2 * limit as usize {
            compact(&mut all);
        }
        all.extend(parse_part(part, what, limit)?);
    }
    compact(&mut all);
    Ok(all)
}

/// Reads a mask as sysfs has it (`bitmap_parse()`): hex words of 32 bits, the highest first, with commas between them,
/// such as `ff` and `00000003,0000ffff`. Returns its numbers, lowest first; each is below `limit`. hwloc's masks are
/// read, too: their words begin with `0x`, and one of 0 may be empty.
///
/// # Errors
///
/// What was expected, if a word is not one, or if a number is not below `limit`.
pub fn parse_sysfs_mask(mask: &str, what: &str, limit: u32) -> Result<Vec<u32>, String> {
    let wrong = |found: &str| {
        let last = limit.saturating_sub(1);
        format!(
            "expected a mask of {what} from 0 to {last} in hex words, such as 3 or 00000001,0000ffff, found {found}"
        )
    };
    let shown = || {
        if mask.len() <= 40 {
            format!("`{mask}`")
        } else {
            format!("`{}...`", &mask.chars().take(40).collect::<String>())
        }
    };
    let words: Vec<&str> = mask.split(',').map(str::trim).collect();
    let mut all = Vec::new();
    for (place, word) in words.iter().rev().enumerate() {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        // Only the highest word may have more than 32 bits, if nobody put the commas in.
        let highest = place + 1 == words.len();
        let sound = digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && (digits.len() <= 8 || highest);
        if !sound || (word.is_empty() && words.len() == 1) {
            return Err(wrong(&shown()));
        }
        for (nibble, digit) in digits.bytes().rev().enumerate() {
            let value = char::from(digit).to_digit(16).unwrap_or(0);
            for bit in (0..4).filter(|bit| value & (1 << bit) != 0) {
                let number = place as u64 * 32 + nibble as u64 * 4 + bit;
                match u32::try_from(number).ok().filter(|&number| number < limit) {
                    Some(number) => all.push(number),
                    None => return Err(wrong(&format!("bit {number}"))),
                }
            }
        }
    }
    Ok(all)
}

/// Writes ascending CPUs as [`parse_cpulist`] reads them: `0-3,8`.
pub fn cpulist_text(cpus: &[u32]) -> String {
    let ranges = cpus.chunk_by(|a, b| a + 1 == *b).map(|range| match *range {
        [first, .., last] => format!("{first}-{last}"),
        [one] => one.to_string(),
        [] => String::new(),
    });
    ranges.collect::<Vec<_>>().join(",")
}

/// `8`, `0-3` or `0-31:2/4`.
fn parse_part(part: &str, what: &str, limit: u32) -> Result<impl Iterator<Item = u32>, String> {
    let number = |text: &str| parse_number(text.trim(), what, limit);
    let (range, group) = part.split_once(':').map_or((part, None), |(range, group)| (range, Some(group)));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!("expected a range with its lower number first, found `{part}`"));
    }
    let (used, size) = match group {
        None => (1, 1),
        Some(group) => group
            .split_once('/')
            .map(|(used, size)| Ok::<_, String>((number(used)?, number(size)?)))
            .transpose()?
            .filter(|&(used, size)| (1..=size).contains(&used))
            .ok_or_else(|| format!("expected FIRST-LAST:USED/SIZE with 1 <= USED <= SIZE, found `{part}`"))?,
    };
    Ok((first..=last).filter(move |n| (n - first) % size < used))
}

fn parse_number(text: &str, what: &str, limit: u32) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten().filter(|&number| number < limit);
    let last = limit.saturating_sub(1);
    number.ok_or_else(|| format!("expected {what} from 0 to {last}, such as 0-3,8, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order() {
        assert_eq!(parse_cpulist("0-3,8", 9), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_cpulist("8, 1 - 2,2", 9), Ok(vec![8, 1, 2, 2]));
        assert_eq!(parse_cpulist("0-9:2/4", 10), Ok(vec![0, 1, 4, 5, 8, 9]));
    }

    #[test]
    fn lists_of_sysfs_are_read_as_the_kernel_reads_them() {
        for (text, expected) in [
            ("", vec![]),
            ("\n", vec![]),
            ("7", vec![7]),
            ("0-3,8,10-12", vec![0, 1, 2, 3, 8, 10, 11, 12]),
            ("3,1,2-3", vec![1, 2, 3]),
            ("0 1 4", vec![0, 1, 4]),
            ("0-9:2/4", vec![0, 1, 4, 5, 8, 9]),
            ("1-6:1/3,9", vec![1, 4, 9]),
        ] {
            assert_eq!(parse_sysfs_list(text, "CPUs", 8192).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_a_list_is_refused_with_what_was_found() {
        for (text, found) in [
            ("x", "found `x`"),
            ("3-1", "a range with its lower number first, found `3-1`"),
            ("-1", "found ``"),
            ("0-", "found ``"),
            ("1-2-3", "found `2-3`"),
            ("0-7:2", "USED/SIZE with 1 <= USED <= SIZE, found `0-7:2`"),
            ("0-7:0/4", "found `0-7:0/4`"),
            ("0-7:5/4", "found `0-7:5/4`"),
            ("8192", "expected CPUs from 0 to 8191, such as 0-3,8, found `8192`"),
            ("0-4294967295", "found `4294967295`"),
            ("+1", "found `+1`"),
        ] {
            for error in [parse_cpulist(text, 8192), parse_sysfs_list(text, "CPUs", 8192)].map(Result::unwrap_err) {
                assert!(error.contains(found), "{text:?}: {error}");
            }
        }
        for text in ["", " ", "1,", ",1", "1,,2"] {
            assert!(parse_cpulist(text, 8192).unwrap_err().contains("found ``"), "{text:?}");
        }
    }

    #[test]
    fn masks_are_hex_words_with_the_highest_first() {
        for (mask, expected) in [
            ("0", vec![]),
            ("f", vec![0, 1, 2, 3]),
            ("00000000,80000001", vec![0, 31]),
            ("00000003,00000000", vec![32, 33]),
            ("1,00000000,00000000", vec![64]),
            ("100000000", vec![32]),
            ("0x00000003,,0x1", vec![0, 64, 65]),
        ] {
            assert_eq!(parse_sysfs_mask(mask, "CPUs", 8192).unwrap(), expected, "{mask:?}");
        }
        for (mask, found) in [
            ("", "found ``"),
            ("0-3", "found `0-3`"),
            ("1,000000000", "found `1,000000000`"),
            ("g", "found `g`"),
            ("8", "found bit 3"),
            (&"f".repeat(5000), "found bit 3"),
        ] {
            let error = parse_sysfs_mask(mask, "CPUs", 3).unwrap_err();
            assert!(error.contains(found) && error.len() < 200, "{mask:?}: {error}");
        }
    }

    #[test]
    fn a_list_that_repeats_itself_stays_small() {
        let list = "0-8191,".repeat(100);
        assert_eq!(parse_sysfs_list(&list, "CPUs", 8192).unwrap().len(), 8192);
        assert!(parse_cpulist(&list, 8192).unwrap_err().contains("each CPU once"));
    }

    #[test]
    fn lists_are_written_in_ranges() {
        assert_eq!(cpulist_text(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(cpulist_text(&[]), "");
    }
}
