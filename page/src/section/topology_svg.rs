//! The drawing of a machine. Each last-level cache is an SVG of its cores; they flow with the width of the page.

use super::topology::{CpuPlace, Tree};
use std::fmt::Write;

/// Above this many CPUs the drawing has no numbers in it, as they would not be readable.
const NUMBERED: usize = 288;

/// HTML of the drawing; there are only numbers in it, no texts from outside.
pub(crate) fn draw(tree: &Tree, cpus: usize) -> String {
    let numbered = cpus <= NUMBERED;
    let mut html = String::from("<div class=\"machine\">");
    for (package, llcs) in tree {
        let _ = write!(html, "<div class=\"package\"><h3>Package {package}</h3><div class=\"llcs\">");
        for ((node, _, llc), cores) in llcs {
            let cores: Vec<&[CpuPlace]> = cores.values().map(Vec::as_slice).collect();
            let _ = write!(html, "<div class=\"llc\"><p>LLC {llc} <span>node {node}</span></p>");
            llc_svg(&mut html, *llc, &cores, numbered);
            html += "</div>";
        }
        html += "</div></div>";
    }
    html + "</div>"
}

fn llc_svg(html: &mut String, llc: u32, cores: &[&[CpuPlace]], numbered: bool) {
    let threads = cores.iter().map(|core| core.len()).max().unwrap_or(1);
    let (thread_w, thread_h) = if numbered { (22, 16) } else { (7, 9) };
    let (gap, pad) = if numbered { (4, 2) } else { (2, 1) };
    let core_w = threads * thread_w + 2 * pad;
    let core_h = thread_h + 2 * pad;
    let fit = (286 / (core_w + gap)).max(1);
    let columns = match cores.len() {
        n if n <= 4 => n.min(fit),
        n => n.div_ceil(n.div_ceil(fit)).min(fit),
    };
    let rows = cores.len().div_ceil(columns);
    let (width, height) = (columns * (core_w + gap) - gap, rows * (core_h + gap) - gap);
    let list = cpu_list(cores.iter().flat_map(|core| core.iter().map(|place| place.cpu)).collect());
    let _ = write!(
        html,
        "<svg role=\"img\" aria-label=\"LLC {llc}: {} cores, CPUs {list}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\">",
        cores.len()
    );
    for (i, core) in cores.iter().enumerate() {
        let (x, y) = ((i % columns) * (core_w + gap), (i / columns) * (core_h + gap));
        let _ =
            write!(html, "<rect class=\"core\" x=\"{x}\" y=\"{y}\" width=\"{core_w}\" height=\"{core_h}\" rx=\"2\"/>");
        for (t, place) in core.iter().enumerate() {
            let (x, y) = (x + pad + t * thread_w, y + pad);
            let CpuPlace { cpu, core, node, capacity, .. } = place;
            // 0.15 to 0.5, so that the number on it stays readable.
            let fill = 0.15 + 0.35 * f64::from(*capacity) / 1024.0;
            let (w, h) = (thread_w - 1, thread_h);
            let _ = write!(
                html,
                "<g><title>CPU {cpu}: core {core}, LLC {llc}, node {node}, capacity {capacity}</title>\
                 <rect class=\"cpu\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill-opacity=\"{fill:.2}\"/>"
            );
            if numbered {
                let (x, y) = (x + w / 2, y + 12);
                let _ = write!(html, "<text x=\"{x}\" y=\"{y}\">{cpu}</text>");
            }
            *html += "</g>";
        }
    }
    *html += "</svg>";
}

/// As the kernel writes a list of CPUs: `0-3,8`.
pub(crate) fn cpu_list(mut cpus: Vec<u32>) -> String {
    cpus.sort_unstable();
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let text = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_of_cpus_are_as_the_kernel_writes_them() {
        assert_eq!(super::cpu_list(vec![8, 0, 1, 3, 2, 10, 11]), "0-3,8,10-11");
    }
}
