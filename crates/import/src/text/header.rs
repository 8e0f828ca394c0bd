//! The lines of a text trace that are no events: headers, which describe the machine, and reports of losses.

use crate::event::Losses;
use crate::trace_info::{Caches, TraceInfo};

/// The facts that the header has given so far.
#[derive(Default)]
pub(super) struct Header {
    caches: Caches,
    /// Whether the lines that follow list caches.
    in_caches: bool,
}

impl Header {
    /// Takes a line. Returns whether it is a line that text traces have between their events.
    pub(super) fn line(&mut self, line: &str, info: &mut TraceInfo, losses: &mut Losses) -> bool {
        let line = line.trim_end();
        if let Some(comment) = line.strip_prefix('#') {
            self.comment(comment, info, losses);
            return true;
        }
        if let Some(cpus) = line.strip_prefix("cpus=") {
            info.cpus = cpus.trim().parse().ok().or(info.cpus);
            return true;
        }
        if let Some((_, report)) = line.trim_start().strip_prefix("CPU:").and_then(|rest| rest.split_once(" [")) {
            // `CPU:3 [LOST 123 EVENTS]` of tracefs, `CPU:3 [123 EVENTS DROPPED]` of trace-cmd; without a number if it
            // is not known.
            if report.contains("EVENTS") {
                losses.lost = losses.lost.saturating_add(first_number(report).unwrap_or(1));
                return true;
            }
        }
        let text = line.trim_start();
        // `=> function` is of a stack trace of ftrace; perf writes the addresses of call chains.
        let of_a_stack =
            text.starts_with("=> ") || text.starts_with("<stack trace>") || (text != line && address(text));
        let of_trace_cmd = text.starts_with("CPU ") && text.ends_with(" is empty") || text.starts_with("version = ");
        text.is_empty() || of_a_stack || of_trace_cmd
    }

    /// By CPU: the number of its last-level cache, of the header's list of caches.
    pub(super) fn cpu_llc(&self) -> Option<Vec<u32>> {
        self.caches.cpu_llc()
    }

    fn comment(&mut self, comment: &str, info: &mut TraceInfo, losses: &mut Losses) {
        let set = |to: &mut Option<String>, value: &str| {
            if to.is_none() && !value.is_empty() && value.len() <= 256 {
                *to = Some(value.to_owned());
            }
        };
        // `#  L3 Unified         32768K [0-3]` of `perf script --header -I`.
        if self.in_caches
            && let Some(cache) = comment.trim().strip_prefix('L')
        {
            let mut words = cache.split_ascii_whitespace();
            if let (Some(Ok(level)), Some(kind), Some(list)) =
                (words.next().map(str::parse), words.next(), words.next_back())
            {
                self.caches.add(level, kind, list.trim_matches(['[', ']']));
            }
            return;
        }
        self.in_caches = false;
        // The number of CPUs in the header of tracefs; `latency trace v1.1.5 on 6.1.0` in that of its latency format.
        if let Some((_, cpus)) = comment.rsplit_once("#P:") {
            info.cpus = first_number(cpus).and_then(|cpus| u32::try_from(cpus).ok()).or(info.cpus);
        }
        if let Some((_, written)) = comment.split_once("entries-in-buffer/entries-written:") {
            let mut numbers = written.split(['/', ' ']).filter_map(|word| word.parse::<u64>().ok());
            if let (Some(kept), Some(written)) = (numbers.next(), numbers.next()) {
                losses.overwritten = losses.overwritten.saturating_add(written.saturating_sub(kept));
            }
        }
        if let Some((_, release)) = comment.split_once("latency trace v").and_then(|(_, rest)| rest.split_once(" on "))
        {
            set(&mut info.release, release.trim());
        }
        if comment.trim() == "CPU cache info:" {
            self.in_caches = true;
        }
        let Some((key, value)) = comment.split_once(" : ") else { return };
        match key.trim() {
            "os release" => set(&mut info.release, value.trim()),
            "arch" => set(&mut info.arch, value.trim()),
            "cpudesc" => set(&mut info.model, value.trim()),
            "nrcpus avail" => info.cpus = value.trim().parse().ok().or(info.cpus),
            _ => {}
        }
    }
}

fn first_number(text: &str) -> Option<u64> {
    text.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

/// Returns whether a line begins with an address in hexadecimal, as those of a call chain do.
fn address(line: &str) -> bool {
    let word = line.split(' ').next().unwrap_or_default();
    (4..=16).contains(&word.len()) && word.bytes().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (TraceInfo, Losses) {
        let (mut header, mut info, mut losses) = (Header::default(), TraceInfo::default(), Losses::default());
        for line in text.lines() {
            assert!(header.line(line, &mut info, &mut losses), "{line}");
        }
        info.cpu_llc = header.cpu_llc();
        (info, losses)
    }

    #[test]
    fn the_header_of_tracefs_has_the_cpus_and_what_was_overwritten() {
        let (info, losses) = read(
            "# tracer: nop\n#\n# entries-in-buffer/entries-written: 1000/1250   #P:4\n#\n\
             ##### CPU 2 buffer started ####\nCPU:3 [LOST 123 EVENTS]\nCPU:1 [EVENTS DROPPED]\n => schedule\n\n",
        );
        assert_eq!((info.cpus, losses.overwritten, losses.lost), (Some(4), 250, 124));
        let (info, _) = read("# sched_switch latency trace v1.1.5 on 5.10.0-8-amd64\n");
        assert_eq!(info.release.as_deref(), Some("5.10.0-8-amd64"));
    }

    #[test]
    fn the_header_of_perf_has_the_kernel_the_machine_and_its_caches() {
        let (info, _) = read(
            "# ========\n# hostname : box\n# os release : 6.1.0-50\n# arch : x86_64\n# nrcpus online : 3\n\
             # nrcpus avail : 4\n# cpudesc : A CPU @ 3 GHz\n# CPU cache info:\n#  L1 Data                 32K [0-1]\n\
             #  L2 Unified            1024K [0-1]\n#  L3 Unified            8192K [0-1]\n\
             #  L3 Unified            8192K [2-3]\n# time of first sample : 1.000000\n#\n",
        );
        assert_eq!(info.machine(), "A CPU @ 3 GHz, 4 CPUs, x86_64");
        assert_eq!((info.release.as_deref(), info.cpu_llc), (Some("6.1.0-50"), Some(vec![0, 0, 2, 2])));
    }

    #[test]
    fn call_chains_are_no_bad_lines_and_other_text_is() {
        let (mut header, mut info, mut losses) = (Header::default(), TraceInfo::default(), Losses::default());
        let mut line = |line: &str| header.line(line, &mut info, &mut losses);
        assert!(line("\tffffffff8109 __schedule+0x1 ([kernel.kallsyms])"));
        assert!(line("cpus=6") && line("CPU 3 is empty") && line("version = 6"));
        assert!(!line("some text") && !line("  some text") && !line("CPU:3 [other]"));
    }
}
