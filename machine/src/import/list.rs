//! Lists of CPUs and nodes as the kernel writes and reads them (`bitmap_parselist()`).

use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::MAX_CPUS;

/// The numbers of a list, lowest first, each once; none of an empty one. `0-3,8` and, of each group of 4, the first 2:
/// `0-31:2/4`. White space separates like a comma, as in `related_cpus`.
///
/// By hand: the crate that reads such lists takes `0-31:2` for a step, which is not the kernel's, and makes room for
/// whatever range a damaged file names.
pub(super) fn parse(text: &str) -> Result<Vec<Cpu>, String> {
    let mut all = Vec::new();
    for part in text.split([',', ' ', '\t', '\n']).filter(|part| !part.is_empty()) {
        // One part has at most MAX_CPUS numbers, but a file can name them again and again.
        if all.len() > 2 * MAX_CPUS as usize {
            compact(&mut all);
        }
        let (range, groups) = part.split_once(':').map_or((part, None), |(range, groups)| (range, Some(groups)));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("expected the lower number first, found `{part}`"));
        }
        let (used, group) = groups.map_or(Ok((1, 1)), |groups| group(part, groups))?;
        all.extend((first..=last).filter(|n| (n - first) % group < used));
    }
    compact(&mut all);
    Ok(all)
}

fn compact(all: &mut Vec<Cpu>) {
    all.sort_unstable();
    all.dedup();
}

fn group(part: &str, text: &str) -> Result<(Cpu, Cpu), String> {
    let both = text.split_once('/').map(|(used, group)| Ok::<_, String>((number(used)?, number(group)?)));
    match both.transpose()? {
        Some((used, group)) if (1..=group).contains(&used) => Ok((used, group)),
        _ => Err(format!("expected FIRST-LAST:USED/GROUP with 1 <= USED <= GROUP, found `{part}`")),
    }
}

fn number(text: &str) -> Result<Cpu, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten().filter(|&n: &Cpu| n < MAX_CPUS);
    number.ok_or_else(|| format!("expected numbers from 0 to {} such as 0-3,8, found `{text}`", MAX_CPUS - 1))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lists_are_read_as_the_kernel_reads_them() {
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
            assert_eq!(parse(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused_with_what_was_found() {
        for (text, found) in [
            ("x", "found `x`"),
            ("3-1", "lower number first, found `3-1`"),
            ("-1", "found ``"),
            ("0-", "found ``"),
            ("0-7:2", "USED/GROUP with 1 <= USED <= GROUP, found `0-7:2`"),
            ("0-7:0/4", "found `0-7:0/4`"),
            ("0-7:5/4", "found `0-7:5/4`"),
            ("8192", "from 0 to 8191"),
            ("0-4294967295", "found `4294967295`"),
            ("+1", "found `+1`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(found), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_list_that_repeats_itself_stays_small() {
        assert_eq!(parse(&"0-8191,".repeat(100)).unwrap().len(), 8192);
    }
}
