//! Costs that nobody measured: those of another machine times ratios of published numbers.

use crate::{Amount, Cost, Costs, Origin, ScxCosts, Unit};
use std::fmt;

/// The reference from which another machine's costs are scaled: the speed of this one, whose costs were fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The highest clock, MHz.
    pub clock: (u64, Origin),
    /// How long a cache line takes from another core of the LLC, ns.
    pub llc_line: (u64, Origin),
    /// How long one takes from another LLC, ns.
    pub far_line: (u64, Origin),
}

impl Reference {
    /// Returns the costs of sched_ext on a machine with these lines. Their ranges are those of machines about which
    /// nothing is known, as far as they contain them.
    pub(crate) fn scx_costs(&self) -> ScxCosts {
        let unknown = ScxCosts::default();
        let line = |(value, origin): &(u64, Origin), of: &Cost| Cost {
            value: *value,
            low: of.low.min(*value),
            high: of.high.max(*value),
            origin: origin.clone(),
        };
        let llc = line(&self.llc_line, &unknown.scx_line);
        let far = line(&self.far_line, &unknown.scx_line_far);
        unknown.with_lines(llc, Some(far))
    }
}

/// The speed of a machine whose costs are scaled.
#[derive(Clone, Debug)]
pub(crate) struct Speed {
    /// The highest clock, MHz.
    pub(crate) clock: (u64, Origin),
    /// How long a cache line takes from another core of the LLC, ns.
    pub(crate) llc_line: (Amount, Origin),
    /// Whether LLCs have clusters.
    pub(crate) clusters: bool,
    /// How long one takes from another core of the cluster, ns. `None` if it is not known.
    pub(crate) cluster_line: Option<(Amount, Origin)>,
    /// How long one takes from another LLC, ns. `None` if there is one LLC.
    pub(crate) far_line: Option<(Amount, Origin)>,
    /// The most CPUs that an LLC has.
    pub(crate) llc_cpus: u64,
    /// Whether a core has several CPUs.
    pub(crate) smt: bool,
}

/// A machine that costs are scaled from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct From<'a> {
    pub(crate) name: &'a str,
    pub(crate) costs: &'a Costs,
    pub(crate) reference: &'a Reference,
    /// The most CPUs that an LLC has.
    pub(crate) llc_cpus: u64,
}

/// How many cache lines a CPU takes over to enqueue a task on another's run queue.
const ENQUEUE_LINES: u64 = 15;

/// A value and the ends of its range.
type Three<T> = [T; 3];

/// Returns all costs of a machine of this speed. docs/machines.md has the rules ("Costs that nobody measured").
pub(crate) fn costs(from: From<'_>, speed: &Speed) -> Costs {
    let scale = Scale { from, speed };
    let cost = |name: &'static str, _: Unit| Ok::<_, std::convert::Infallible>(scale.cost(name));
    let Ok(costs) = Costs::try_from_fn(cost);
    costs
}

#[derive(Clone, Copy, Debug)]
struct Scale<'a> {
    from: From<'a>,
    speed: &'a Speed,
}

impl Scale<'_> {
    fn cost(self, name: &'static str) -> Cost {
        let machine = self.from.name;
        if name == "cluster_line" {
            return self.cluster_line();
        }
        let (values, why) = match name {
            "context_switch" | "switch_mm" | "wakeup" | "enqueue_local" | "wakelist" | "wakelist_flush" | "ipi"
            | "ipi_far" | "idle_exit" | "idle_entry" | "tick" | "balance" | "newidle_max_smt" => {
                self.by(name, self.clock(), || {
                    self.between("the highest clock", &ghz(&self.from.reference.clock), &self.speed.clock.1)
                })
            }
            "probe" | "cold_task" | "cold_message" | "balance_cpu" => {
                self.by(name, self.llc_line(), || self.llc_line_text())
            }
            "cold_task_far" | "cold_message_far" => match (self.far_line(), &self.speed.far_line) {
                (Some(ratios), Some((_, origin))) => self.by(name, ratios, || {
                    let far = ns(&self.from.reference.far_line);
                    self.between("a cache line of another LLC", &far, origin)
                }),
                _ => self.one_llc(name),
            },
            "enqueue_remote" => {
                let [rest, ..] = self.above("enqueue_remote", "enqueue_local");
                let why = format!(
                    "the part of it that is enqueue_local's × {}, the rest of {machine}'s ({rest}) × {}, {}",
                    self.clock()[0],
                    self.llc_line()[0],
                    self.llc_line_text()
                );
                (self.enqueue_remote().map(Ratio::rounded), why)
            }
            "enqueue_far" => match &self.speed.far_line {
                Some((_, origin)) => {
                    let why = format!(
                        "enqueue_remote and about {ENQUEUE_LINES} cache lines from another LLC ({}) instead of the \
                         CPU's own, as in {machine}",
                        text(origin)
                    );
                    (self.enqueue_far().map(Ratio::rounded), why)
                }
                None => self.one_llc(name),
            },
            "newidle_max_llc" => {
                let [above, ..] = self.above("newidle_max_llc", "newidle_max_smt");
                let (cpus, of) = (self.speed.llc_cpus, self.from.llc_cpus);
                let why = format!(
                    "newidle_max_smt and what {machine} has above it ({above}) × {}, by the CPUs of the LLC ({cpus} of \
                     {of}), × {}, by a cache line of the LLC",
                    Ratio::new(cpus, of),
                    self.llc_line()[0]
                );
                (self.newidle_max_llc().map(Ratio::rounded), why)
            }
            "enqueue_visible" => {
                let why =
                    format!("enqueue_visible of {machine}: a share, which neither the clock nor cache lines change");
                (self.of(name), why)
            }
            "smt_slowdown" if !self.speed.smt => ([100; 3], "not used: there is no SMT".to_owned()),
            _ => {
                let why = format!(
                    "{name} of {machine}, because nothing is published to scale it by; the throughput of a core with \
                     both siblings busy is 1.15 (the kernel's old smt_gain) to 1.3 times that of one"
                );
                (self.of(name), why)
            }
        };
        let [value, low, high] = values;
        // Lines of the LLC may differ more than those of others do.
        Cost { value, low: low.min(value), high: high.max(value), origin: Origin::Assumed(why) }
    }

    /// A cost of the machine that is scaled from.
    fn of(self, name: &str) -> Three<u64> {
        let costs = self.from.costs.list();
        let (.., cost) = costs.iter().find(|(known, ..)| *known == name).expect("one of the costs");
        [cost.value, cost.low, cost.high]
    }

    /// Returns the part of a cost of that machine that is left without another that it contains.
    fn above(self, name: &str, part: &str) -> Three<u64> {
        let (all, part) = (self.of(name), self.of(part));
        [0, 1, 2].map(|i| all[i].saturating_sub(part[i]))
    }

    fn clock(self) -> Three<Ratio> {
        [Ratio::new(self.from.reference.clock.0, self.speed.clock.0); 3]
    }

    fn llc_line(self) -> Three<Ratio> {
        three(&self.speed.llc_line.0).map(|ns| Ratio::new(ns, self.from.reference.llc_line.0))
    }

    fn far_line(self) -> Option<Three<Ratio>> {
        let (line, _) = self.speed.far_line.as_ref()?;
        Some(three(line).map(|ns| Ratio::new(ns, self.from.reference.far_line.0)))
    }

    fn by(self, name: &str, ratios: Three<Ratio>, by: impl Fn() -> String) -> (Three<u64>, String) {
        let of = self.of(name);
        let values = [0, 1, 2].map(|i| ratios[i].times(of[i]).rounded());
        (values, format!("{name} of {} ({}) × {}, {}", self.from.name, of[0], ratios[0], by()))
    }

    fn one_llc(self, name: &str) -> (Three<u64>, String) {
        (self.of(name), format!("{name} of {}: not used, there is only one LLC", self.from.name))
    }

    fn cluster_line(self) -> Cost {
        let Some((line, from)) = &self.speed.cluster_line else {
            return Cost::unknown_cluster_line(self.speed.clusters);
        };
        let of_llc = |ns: u64| Ratio::new(100 * ns, self.speed.llc_line.0.value).to(1);
        let why =
            format!("a line of the cluster over one of the LLC ({}, {})", text(from), text(&self.speed.llc_line.1));
        let [value, low, high] = three(line).map(of_llc);
        Cost { value, low, high, origin: Origin::Assumed(why) }
    }

    fn enqueue_remote(self) -> Three<Ratio> {
        let (own, rest) = (self.of("enqueue_local"), self.above("enqueue_remote", "enqueue_local"));
        let (clock, line) = (self.clock(), self.llc_line());
        [0, 1, 2].map(|i| clock[i].times(own[i]).plus(line[i].times(rest[i])))
    }

    fn enqueue_far(self) -> Three<Ratio> {
        let near = three(&self.speed.llc_line.0);
        let far = self.speed.far_line.as_ref().map_or(near, |(line, _)| three(line));
        let remote = self.enqueue_remote();
        [0, 1, 2].map(|i| remote[i].plus(Ratio::new(ENQUEUE_LINES * far[i].saturating_sub(near[i]), 1)))
    }

    fn newidle_max_llc(self) -> Three<Ratio> {
        let (smt, above) = (self.of("newidle_max_smt"), self.above("newidle_max_llc", "newidle_max_smt"));
        let (clock, line, cpus) = (self.clock(), self.llc_line(), Ratio::new(self.speed.llc_cpus, self.from.llc_cpus));
        [0, 1, 2].map(|i| clock[i].times(smt[i]).plus(line[i].times(above[i]).by(cpus)))
    }

    fn llc_line_text(self) -> String {
        let (reference, own) = (ns(&self.from.reference.llc_line), &self.speed.llc_line.1);
        self.between("a cache line of the LLC", &reference, own)
    }

    fn between(self, what: &str, reference: &str, own: &Origin) -> String {
        format!("by {what} ({reference}, {})", text(own))
    }
}

fn three(amount: &Amount) -> Three<u64> {
    [amount.value, amount.low, amount.high]
}

/// An origin within another: that it is assumed is said.
fn text(origin: &Origin) -> String {
    match origin {
        Origin::Source(text) => text.clone(),
        Origin::Measured(text) => format!("measured {text}"),
        Origin::Assumed(text) => format!("assumed {text}"),
    }
}

/// A number of the reference, with whose it is. Why it was assumed is in the reference's own file.
fn of(number: String, origin: &Origin) -> String {
    match origin {
        Origin::Source(text) => format!("{number} of {text}"),
        Origin::Measured(_) | Origin::Assumed(_) => number,
    }
}

fn ghz((mhz, origin): &(u64, Origin)) -> String {
    let (whole, tenths) = (mhz / 1000, mhz % 1000 / 100);
    of(format!("{whole}.{tenths} GHz"), origin)
}

fn ns((ns, origin): &(u64, Origin)) -> String {
    of(format!("{ns} ns"), origin)
}

/// A ratio of whole numbers. Costs, clocks and lines are below 2^32, and so is what these are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio {
    num: u128,
    den: u128,
}

impl Ratio {
    fn new(num: u64, den: u64) -> Self {
        Ratio { num: u128::from(num), den: u128::from(den.max(1)) }
    }

    fn times(self, n: u64) -> Self {
        Ratio { num: self.num * u128::from(n), ..self }
    }

    fn by(self, other: Self) -> Self {
        Ratio { num: self.num * other.num, den: self.den * other.den }
    }

    fn plus(self, other: Self) -> Self {
        Ratio { num: self.num * other.den + other.num * self.den, den: self.den * other.den }
    }

    /// To a multiple of `step`, half a step up.
    fn to(self, step: u128) -> u64 {
        let steps = (2 * self.num + self.den * step) / (2 * self.den * step);
        u64::try_from(steps * step).unwrap_or(u64::MAX)
    }

    /// As exact as costs are known: whole below 100, tens below 10000, else thousands.
    fn rounded(self) -> u64 {
        let (ones, tens) = (self.to(1), self.to(10));
        if ones < 100 {
            ones
        } else if tens < 10_000 {
            tens
        } else {
            self.to(1000)
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = Ratio { num: self.num * 100, ..*self }.to(1);
        write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_rounded_as_exactly_as_costs_are_known() {
        let rounded = |num, den| Ratio::new(num, den).rounded();
        assert_eq!([rounded(1, 2), rounded(0, 7), rounded(994, 10), rounded(996, 10)], [1, 0, 99, 100]);
        assert_eq!([rounded(1045, 10), rounded(1050, 10), rounded(99_944, 10)], [100, 110, 9_990]);
        assert_eq!([rounded(99_951, 10), rounded(10_499, 1), rounded(10_500, 1)], [10_000, 10_000, 11_000]);
    }

    #[test]
    fn a_ratio_is_shown_with_two_places() {
        assert_eq!(Ratio::new(38, 36).to_string(), "1.06");
        assert_eq!(Ratio::new(4, 112).to_string(), "0.04");
        assert_eq!(Ratio::new(199, 100).by(Ratio::new(1, 2)).to_string(), "1.00");
        assert_eq!(Ratio::new(1, 3).plus(Ratio::new(1, 6)).to_string(), "0.50");
    }
}
