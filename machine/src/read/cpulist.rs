//! Lists of CPUs in the kernel's form: `0-7,64-71`.

use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::MAX_CPUS;

/// The CPUs of a list in its order, or what is wrong with it.
pub(super) fn parse(list: &str) -> Result<Vec<Cpu>, String> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("expected the lower CPU first, found {}", part.trim()));
        }
        cpus.extend(first..=last);
        if cpus.len() > MAX_CPUS as usize {
            return Err(format!("expected at most {MAX_CPUS} CPUs, each once"));
        }
    }
    Ok(cpus)
}

fn number(text: &str) -> Result<Cpu, String> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten().filter(|&cpu: &Cpu| cpu < MAX_CPUS);
    number.ok_or_else(|| format!("expected CPUs from 0 to {} such as 0-3,8, found `{text}`", MAX_CPUS - 1))
}
