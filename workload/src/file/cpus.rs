//! Lists of CPUs as `taskset -c` takes them.

use crate::validate::NR_CPUS_MAX;

/// Reads `0-3,8`: ascending, each once.
pub(super) fn parse(text: &str) -> Result<Vec<u32>, String> {
    let wrong = |why: &str| format!("{why}; expected a list of CPUs such as \"0-3,8\", found {text:?}");
    if text.trim().is_empty() {
        return Err(wrong("an affinity without CPUs"));
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let cpu = |text: &str| {
            let text = text.trim();
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u32>().ok().filter(|_| digits).ok_or_else(|| wrong(&format!("{:?} is no CPU", part.trim())))
        };
        let (first, last) = (cpu(first)?, cpu(last)?);
        if first > last {
            return Err(wrong(&format!("the range {} is empty", part.trim())));
        }
        if last >= NR_CPUS_MAX {
            return Err(wrong(&format!("CPU {last} is above {}, the highest there can be", NR_CPUS_MAX - 1)));
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lists_and_ranges_come_out_ascending_and_once() {
        assert_eq!(parse("0-3,8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("8, 1 - 2,2"), Ok(vec![1, 2, 8]));
    }

    #[test]
    fn what_is_no_list_says_why() {
        let expected = "expected a list of CPUs such as \"0-3,8\", found";
        for (text, why) in [
            ("", "an affinity without CPUs"),
            ("3-1", "the range 3-1 is empty"),
            ("1,", "\"\" is no CPU"),
            ("a", "\"a\" is no CPU"),
            ("-1", "\"-1\" is no CPU"),
            ("1-2-3", "\"1-2-3\" is no CPU"),
            ("0-8192", "CPU 8192 is above 8191, the highest there can be"),
        ] {
            assert_eq!(parse(text), Err(format!("{why}; {expected} {text:?}")));
        }
    }
}
