//! Every colour of a page, once: the style sheet, the charts and the legends take them from here as custom properties.
//!
//! What a wake-up came to has one colour on all pages: where an idle CPU was found a cool one, where the search fell
//! back on a busy CPU a warm one, where a rule placed the task without asking a grey. Tests hold each colour against
//! the background of its theme (3:1, WCAG 2.2, 1.4.11) and against the others as people without one kind of cone see
//! them.

use std::fmt::Write;

/// The state of the CPU that a reason or a cause implies, which decides whether its colour is cool, warm or grey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// An idle CPU: cool.
    Idle,
    /// A busy CPU, because nothing idle was found or looked for: warm.
    FallBack,
    /// A rule that does not ask whether the CPU is idle: grey.
    Rule,
}

impl Family {
    /// All families, in the order of a legend.
    pub const ALL: [Family; 3] = [Family::Idle, Family::FallBack, Family::Rule];
}

/// A name that has a colour.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The name, as it is printed.
    pub name: &'static str,
    /// Cool, warm or grey.
    pub family: Family,
    light: u32,
    dark: u32,
}

impl Key {
    const fn new(name: &'static str, family: Family, light: u32, dark: u32) -> Self {
        Self { name, family, light, dark }
    }

    /// The name of its custom property, without hyphens before it.
    pub(crate) fn property(&self) -> String {
        format!("k-{}", crate::text::anchor(self.name))
    }
}

/// The reasons of decisions. `wakelab_report` tests that every reason of the model is here, in its family.
pub const REASONS: [Key; 20] = [
    Key::new("target", Family::Idle, 0x04254b, 0x687bc8),
    Key::new("prev", Family::Idle, 0x2656a4, 0x8aaefb),
    Key::new("recent", Family::Idle, 0x3e83c2, 0xb0c9fb),
    Key::new("smt", Family::Idle, 0x2d778d, 0x2e9fac),
    Key::new("core", Family::Idle, 0x194747, 0x63e3c4),
    Key::new("core-cpu", Family::Idle, 0x499fbb, 0xaef6e5),
    Key::new("scan", Family::Idle, 0x6f52df, 0x9e79fe),
    Key::new("capacity", Family::Idle, 0x4e1095, 0x614bdb),
    Key::new("oracle", Family::Idle, 0x8682ee, 0xb3bae5),
    Key::new("prev-far", Family::Idle, 0x647fa4, 0x85a1d3),
    Key::new("recent-far", Family::Idle, 0x204f80, 0x4974a7),
    Key::new("overloaded", Family::FallBack, 0xd07a00, 0xf8e24c),
    Key::new("limit", Family::FallBack, 0xaf5700, 0xfb7d19),
    Key::new("none", Family::FallBack, 0x6e2400, 0xc9450f),
    Key::new("kthread", Family::Rule, 0x868785, 0xafafaf),
    Key::new("short", Family::Rule, 0x584d5b, 0x897c8c),
    Key::new("energy", Family::Rule, 0x736b75, 0xc2b5c6),
    Key::new("slow", Family::Rule, 0x5c5c5c, 0x7d7080),
    Key::new("stay", Family::Rule, 0x322c33, 0xfdf7fe),
    Key::new("current-cpu", Family::Rule, 0x978a9a, 0x938b94),
];

/// The causes of waits: what a task waited behind is warm, an idle CPU is cool.
pub const CAUSES: [Key; 8] = [
    Key::new("behind, LLC idle", Family::FallBack, 0x6e2400, 0xc9450f),
    Key::new("behind, other idle", Family::FallBack, 0xaf5700, 0xfb7d19),
    Key::new("behind, none idle", Family::FallBack, 0xd07a00, 0xf8e24c),
    Key::new("leaving idle", Family::Idle, 0x3e83c2, 0x8aaefb),
    Key::new("choosing", Family::Rule, 0x322c33, 0xfdf7fe),
    Key::new("preempted", Family::Rule, 0x5c5c5c, 0xafafaf),
    Key::new("shared DSQ", Family::FallBack, 0x963c00, 0xffb478),
    Key::new("unknown", Family::Rule, 0x978a9a, 0x7d7080),
];

/// What CPUs do, over time.
const DOING: [Key; 3] = [
    Key::new("running", Family::Rule, 0x584d5b, 0xafafaf),
    Key::new("searching", Family::FallBack, 0xaf5700, 0xfb7d19),
    Key::new("idle", Family::Idle, 0x2656a4, 0x8aaefb),
];

/// The key of a reason, a cause or what a CPU does.
pub fn key(name: &str) -> Option<&'static Key> {
    keys().find(|key| key.name == name)
}

fn keys() -> impl Iterator<Item = &'static Key> {
    REASONS.iter().chain(&CAUSES).chain(&DOING)
}

/// Idle states from the shallowest to the deepest, as far as there are colours.
const IDLE_STATES: [(u32, u32); 6] = [
    (0x3c9db4, 0xaef6e5),
    (0x227990, 0x63e3c4),
    (0x3e83c2, 0xb0c9fb),
    (0x2656a4, 0x8aaefb),
    (0x6f52df, 0x9e79fe),
    (0x04254b, 0x687bc8),
];

/// The sides that are compared, which are neither cool nor warm as long as they are two.
const SIDES: [(u32, u32); 8] = [
    (0x4b5563, 0xb6c0cc),
    (0xa3278f, 0xe96bcf),
    (0x0f7b53, 0x46c08c),
    (0x8a6a00, 0xd9b13a),
    (0x0b6bb8, 0x5aa9f0),
    (0xc64a05, 0xf08a4b),
    (0x6d4bc2, 0xb39bf5),
    (0x1d7f8c, 0x52c3d1),
];

/// What the page itself is drawn with: the name of the property, light, dark.
const PAGE: [(&str, u32, u32); 13] = [
    ("bg", 0xffffff, 0x0e1217),
    ("fg", 0x1b2026, 0xe6eaef),
    ("muted", 0x566069, 0xa3adb8),
    ("line", 0xd5dbe1, 0x2e3640),
    ("card", 0xf6f8fa, 0x161b22),
    ("accent", 0x0b5cad, 0x6cb2ff),
    ("worse", 0xb42318, 0xff8d82),
    ("better", 0x0f6b46, 0x5ed3a0),
    ("published", 0x8f3f97, 0xd191d8),
    ("cell", 0x0b6bb8, 0x5aa9f0),
    ("nothing", 0xeef1f4, 0x1b222b),
    ("noise", 0xe3e8ed, 0x2a323c),
    ("ring", 0xc4126b, 0xff7ab8),
];

/// The custom properties of the style sheet: light, dark where the reader or the system asks for it, light on paper.
pub fn css() -> String {
    let [light, dark] = [false, true].map(properties);
    format!(
        ":root {{ {light} color-scheme: light; }}\n\
         :root[data-theme=\"dark\"] {{ {dark} color-scheme: dark; }}\n\
         @media (prefers-color-scheme: dark) {{ :root[data-theme=\"auto\"] {{ {dark} color-scheme: dark; }} }}\n\
         @media print {{ :root, :root[data-theme=\"dark\"], :root[data-theme=\"auto\"] \
         {{ {light} --card: #ffffff; color-scheme: light; }} }}\n"
    )
}

fn properties(dark: bool) -> String {
    let of = |(light, of_dark): (u32, u32)| if dark { of_dark } else { light };
    let mut text = String::new();
    for (name, light, of_dark) in PAGE {
        let _ = write!(text, "--{name}: #{:06x}; ", of((light, of_dark)));
    }
    for (at, colours) in SIDES.into_iter().enumerate() {
        let _ = write!(text, "--s{at}: #{:06x}; ", of(colours));
    }
    for (at, colours) in IDLE_STATES.into_iter().enumerate() {
        let _ = write!(text, "--i{at}: #{:06x}; ", of(colours));
    }
    for key in keys() {
        let (colour, property) = (of((key.light, key.dark)), key.property());
        let _ = write!(text, "--{property}: #{colour:06x}; --{property}-ink: {}; ", ink(colour));
    }
    text.trim_end().to_owned()
}

/// What is read best on a colour.
fn ink(colour: u32) -> &'static str {
    if contrast(colour, 0xffffff) >= contrast(colour, 0x000000) { "#ffffff" } else { "#000000" }
}

/// The channels of a colour as light, 0 to 1.
fn linear(colour: u32) -> [f64; 3] {
    [16, 8, 0].map(|shift| {
        let channel = f64::from(colour >> shift & 0xff) / 255.0;
        if channel <= 0.040_45 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
    })
}

/// The contrast of two colours, 1 to 21, as WCAG 2 defines it.
fn contrast(a: u32, b: u32) -> f64 {
    let luminance = |colour| {
        let [red, green, blue] = linear(colour);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What people without one kind of cone see of a colour: protanopia, deuteranopia and tritanopia by Machado,
    /// Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", 2009, at
    /// severity 1.
    const CONES: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ];

    fn times(matrix: [[f64; 3]; 3], of: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.into_iter().zip(of).map(|(a, b)| a * b).sum())
    }

    /// Oklab (Ottosson, 2020), in which distances are about as people see them: black and white are 1 apart.
    fn oklab(light: [f64; 3]) -> [f64; 3] {
        let cones = [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ];
        let lab = [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ];
        times(lab, times(cones, light).map(f64::cbrt))
    }

    /// How far two colours are apart for those who tell them apart least.
    fn apart(a: u32, b: u32) -> f64 {
        let seen = |colour, cones| oklab(times(cones, linear(colour)).map(|channel| channel.clamp(0.0, 1.0)));
        let distance = |cones| {
            let (a, b): ([f64; 3], [f64; 3]) = (seen(a, cones), seen(b, cones));
            a.into_iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        CONES.into_iter().map(distance).fold(f64::INFINITY, f64::min)
    }

    fn background(dark: bool) -> u32 {
        if dark { PAGE[0].2 } else { PAGE[0].1 }
    }

    #[test]
    fn all_that_is_drawn_stands_out_from_the_background() {
        let drawn = keys().map(|key| (key.name, key.light, key.dark));
        let drawn =
            drawn.chain(SIDES.into_iter().chain(IDLE_STATES).map(|(light, dark)| ("side or state", light, dark)));
        let page = PAGE.into_iter().filter(|(name, ..)| !["bg", "line", "card", "nothing", "noise"].contains(name));
        for (name, light, dark) in drawn.chain(page) {
            for (colour, on) in [(light, background(false)), (dark, background(true))] {
                assert!(contrast(colour, on) >= 3.0, "{name} #{colour:06x} has {:.2}", contrast(colour, on));
            }
        }
        for text in ["fg", "muted", "accent", "worse", "better"] {
            let (_, light, dark) = PAGE.into_iter().find(|(name, ..)| *name == text).unwrap();
            for (colour, dark) in [(light, false), (dark, true)] {
                let card = PAGE.into_iter().find(|(name, ..)| *name == "card").unwrap();
                let card = if dark { card.2 } else { card.1 };
                assert!(contrast(colour, background(dark)) >= 4.5 && contrast(colour, card) >= 4.5, "{text}");
            }
        }
    }

    #[test]
    fn what_is_written_on_a_colour_can_be_read() {
        for key in keys() {
            for colour in [key.light, key.dark] {
                let ink = if ink(colour) == "#ffffff" { 0xffffff } else { 0 };
                assert!(contrast(colour, ink) >= 4.5, "{} #{colour:06x}", key.name);
            }
        }
    }

    /// Reasons that few runs have: they may be nearer to each other.
    const RARE: [&str; 7] = ["oracle", "prev-far", "recent-far", "short", "energy", "stay", "current-cpu"];

    #[test]
    fn reasons_differ_for_all_kinds_of_cones() {
        for (at, one) in REASONS.iter().enumerate() {
            for other in &REASONS[at + 1..] {
                let rare = RARE.contains(&one.name) || RARE.contains(&other.name);
                let least = match (one.family == other.family, rare) {
                    (false, false) => 0.075,
                    (true, false) => 0.05,
                    (_, true) => 0.03,
                };
                for (a, b) in [(one.light, other.light), (one.dark, other.dark)] {
                    assert!(apart(a, b) >= least, "{} and {}: {:.3}", one.name, other.name, apart(a, b));
                }
            }
        }
    }

    #[test]
    fn cool_is_blue_and_warm_is_red_or_yellow() {
        for key in keys() {
            for colour in [key.light, key.dark] {
                let [_, a, b] = oklab(linear(colour));
                let chroma = a.hypot(b);
                let right = match key.family {
                    Family::Idle => b < 0.035 && chroma > 0.02 && a < 0.1,
                    Family::FallBack => b > 0.06 && chroma > 0.1,
                    Family::Rule => chroma < 0.03,
                };
                assert!(right, "{} #{colour:06x}: a {a:.3}, b {b:.3}", key.name);
            }
        }
    }

    #[test]
    fn both_sides_differ_for_all_kinds_of_cones() {
        let (base, with) = (SIDES[0], SIDES[1]);
        assert!(apart(base.0, with.0) >= 0.075 && apart(base.1, with.1) >= 0.075);
    }
}
