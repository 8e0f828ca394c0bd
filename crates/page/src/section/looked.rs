//! What a decision looked at, drawn on the machine: one SVG of the last-level caches that it came to.

use crate::section::topology::{CpuPlace, cpu_list};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A decision on the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// All CPUs of the machine.
    pub cpus: Vec<CpuPlace>,
    /// The CPUs that were looked at, in order; a CPU may be there several times.
    pub looks: Vec<u32>,
    /// The CPUs that were idle.
    pub idle: Vec<u32>,
    /// The CPU of the waker.
    pub waker: u32,
    /// The CPU on which the wakee ran last.
    pub prev: u32,
    /// The CPU that was chosen.
    pub chosen: u32,
}

/// Cores of one last-level cache, in the order of their numbers.
type Cores = BTreeMap<u32, Vec<CpuPlace>>;

/// A CPU is so large, px.
const CPU_W: usize = 26;
const CPU_H: usize = 24;
/// So much room is between cores, around the CPUs of one, and above those of an LLC, px.
const GAP: usize = 4;
const PAD: usize = 2;
const HEAD: usize = 16;
/// A drawing is so wide at most: a phone shows it whole.
const WIDTH: usize = 660;

impl Looked {
    /// The drawing. It holds numbers, and no text from outside.
    ///
    /// # Errors
    /// Where a CPU is named that the machine has not.
    pub(crate) fn draw(&self) -> Result<String, String> {
        let known: BTreeSet<u32> = self.cpus.iter().map(|place| place.cpu).collect();
        let named = self.looks.iter().chain([&self.waker, &self.prev, &self.chosen]);
        if let Some(cpu) = named.clone().find(|cpu| !known.contains(cpu)) {
            return Err(format!("CPU {cpu}, expected one of the machine's: {}", cpu_list(known.into_iter().collect())));
        }
        let met: BTreeSet<u32> = named.copied().collect();
        let mut llcs: BTreeMap<(u32, u32), Cores> = BTreeMap::new();
        for place in &self.cpus {
            llcs.entry((place.package, place.llc)).or_default().entry(place.core).or_default().push(*place);
        }
        llcs.retain(|_, cores| cores.values().flatten().any(|place| met.contains(&place.cpu)));
        let mut html = format!("<div class=\"looked\" role=\"img\" aria-label=\"{}\">", self.words());
        for ((_, llc), cores) in &llcs {
            self.llc(&mut html, *llc, cores);
        }
        Ok(html + "</div>")
    }

    /// The alternative text.
    fn words(&self) -> String {
        let looks: Vec<String> = self.looks.iter().map(u32::to_string).collect();
        let looks = if looks.is_empty() { "none".to_owned() } else { looks.join(", ") };
        format!(
            "Looked at, in order: {looks}. Chosen: {}. Waker on {}, wakee last on {}. Idle: {}.",
            self.chosen,
            self.waker,
            self.prev,
            if self.idle.is_empty() { "none".to_owned() } else { cpu_list(self.idle.clone()) }
        )
    }

    fn llc(&self, html: &mut String, llc: u32, cores: &Cores) {
        let threads = cores.values().map(Vec::len).max().unwrap_or(1);
        let (core_w, core_h) = (threads * CPU_W + 2 * PAD, CPU_H + 2 * PAD);
        let columns = (WIDTH / (core_w + GAP)).clamp(1, cores.len());
        let lines = cores.len().div_ceil(columns);
        let (width, height) = (columns * (core_w + GAP), HEAD + lines * (core_h + GAP));
        let (mut outlines, mut idle, mut busy, mut texts) = Default::default();
        let mut ring = String::new();
        for (at, core) in cores.values().enumerate() {
            let (x, y) = ((at % columns) * (core_w + GAP) + 1, HEAD + (at / columns) * (core_h + GAP) + 1);
            rect(&mut outlines, (x, y), (core_w - 2, core_h - 2));
            for (thread, place) in core.iter().enumerate() {
                let (x, y) = (x + PAD - 1 + thread * CPU_W, y + PAD - 1);
                let fill = if self.idle.contains(&place.cpu) { &mut idle } else { &mut busy };
                rect(fill, (x + 1, y + 1), (CPU_W - 2, CPU_H - 2));
                if place.cpu == self.chosen {
                    let (w, h) = (CPU_W, CPU_H);
                    let _ = write!(
                        ring,
                        "<rect class=\"ring\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"5\"/>"
                    );
                }
                self.cpu(&mut texts, place.cpu, (x, y), at % columns == 0 && thread == 0);
            }
        }
        let _ = write!(
            html,
            "<svg aria-hidden=\"true\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\"><text class=\"llc\" x=\"1\" y=\"11\">LLC {llc}</text>\
             <path class=\"core\" d=\"{outlines}\"/><path class=\"busy\" d=\"{busy}\"/><path class=\"idle\" \
             d=\"{idle}\"/>{ring}{texts}</svg>"
        );
    }

    /// The texts on a CPU: its number, small, where something is said of it or a line begins; its place in the order.
    fn cpu(&self, texts: &mut String, cpu: u32, (x, y): (usize, usize), first: bool) {
        let order = self.looks.iter().position(|&looked| looked == cpu);
        let class = if self.idle.contains(&cpu) { " on" } else { "" };
        let mut mark = String::new();
        if cpu == self.waker {
            mark.push('w');
        }
        if cpu == self.prev {
            mark.push('p');
        }
        if first || order.is_some() || cpu == self.chosen || !mark.is_empty() {
            let _ = write!(texts, "<text class=\"n{class}\" x=\"{}\" y=\"{}\">{cpu}{mark}</text>", x + 3, y + 9);
        }
        if let Some(order) = order {
            let (x, y) = (x + CPU_W / 2, y + CPU_H - 4);
            let _ = write!(texts, "<text class=\"o{class}\" x=\"{x}\" y=\"{y}\">{}</text>", order + 1);
        }
    }
}

fn rect(path: &mut String, (x, y): (usize, usize), (w, h): (usize, usize)) {
    let _ = write!(path, "M{x} {y}h{w}v{h}h-{w}z");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked() -> Looked {
        let place = |cpu: u32| CpuPlace { cpu, package: cpu / 4, llc: cpu / 4, core: cpu / 2, ..CpuPlace::default() };
        let cpus = (0..12).map(place).collect();
        Looked { cpus, looks: vec![1, 0, 3], idle: vec![3, 11], waker: 1, prev: 0, chosen: 3 }
    }

    #[test]
    fn looks_are_numbered_in_order_and_the_choice_is_ringed() {
        let svg = looked().draw().unwrap();
        let orders: Vec<&str> = svg.split("<text class=\"o").skip(1).collect();
        assert_eq!(orders.len(), 3);
        let within = |text: &str| text[text.find('>').unwrap() + 1..text.find('<').unwrap()].to_owned();
        let order_of = |cpu: u32| {
            let mut labels = svg.split("<text class=\"n").skip(1);
            let own = labels.find(|rest| within(rest).trim_end_matches(['w', 'p']) == cpu.to_string()).unwrap();
            within(&own[own.find("<text class=\"o").unwrap() + 1..])
        };
        assert_eq!([1, 0, 3].map(order_of), ["1", "2", "3"]);
        assert_eq!(svg.matches("class=\"ring\"").count(), 1);
        assert!(svg.contains("Looked at, in order: 1, 0, 3. Chosen: 3."));
    }

    #[test]
    fn only_caches_that_were_met_are_drawn() {
        let svg = looked().draw().unwrap();
        assert!(svg.contains("LLC 0<") && !svg.contains("LLC 1<") && !svg.contains("LLC 2<"));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        let error = Looked { chosen: 12, ..looked() }.draw().unwrap_err();
        assert_eq!(error, "CPU 12, expected one of the machine's: 0-11");
    }
}
