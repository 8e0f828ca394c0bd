//! What repeating until an interval is narrow does to intervals and p: the table of docs/trust.md, computed.

use wakelab_statistics::{Better, difference};
use wakelab_study::compare::{Until, noise_of_means};

/// Trials of each line.
const TRIALS: u32 = 4000;

/// How often something was so, % of the trials.
#[derive(Debug, Default, PartialEq)]
struct Shares {
    /// The interval leaves the true difference, 0, out; p is below 0.05 exactly then.
    misses: f64,
    /// The verdict's rule calls a row better or worse, before it is corrected for other rows.
    effects: f64,
    /// The interval came to be narrow enough.
    reached: f64,
    /// The repeats on each side, mean.
    repeats: f64,
}

/// Compares two sides of the same normal distribution, whose standard deviation is `sigma` % of the mean.
fn shares(sigma: f64, until: Option<Until>) -> Shares {
    let mut random = oorandom::Rand64::new(1);
    // Box and Muller's transformation.
    let mut normal = move || {
        let (u, v) = (1.0 - random.rand_float(), random.rand_float());
        100.0 + sigma * (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    };
    let mut counts = [0u32; 4];
    for _ in 0..TRIALS {
        let (mut base, mut with) = (vec![], vec![]);
        let mut wanted = 3;
        let (found, reached) = loop {
            while base.len() < wanted as usize {
                base.push(normal());
                with.push(normal());
            }
            let found = difference(&base, &with, Better::Higher);
            let half = found.ci95.map_or(f64::INFINITY, |[low, high]| (high - low) / 2.0);
            match until {
                Some(until) if half > until.half_width_pct && wanted < until.most => wanted = until.next(wanted),
                Some(until) => break (found, half <= until.half_width_pct),
                None => break (found, false),
            }
        };
        let p = found.p_value.unwrap();
        let noise = noise_of_means(&base, &with);
        let said = [p < 0.05, p < 0.05 && found.compare_pct.abs() > noise, reached];
        for (count, said) in counts.iter_mut().zip(said) {
            *count += u32::from(said);
        }
        counts[3] += base.len() as u32;
    }
    let [misses, effects, reached, repeats] = counts.map(|count| f64::from(count) / f64::from(TRIALS));
    Shares { misses: 100.0 * misses, effects: 100.0 * effects, reached: 100.0 * reached, repeats }
}

/// The table of docs/trust.md, line by line: sigma, misses with three repeats and with --until 2%, effects of both,
/// repeats, and how many came to be narrow.
#[test]
fn the_page_says_what_stopping_early_costs() {
    let page = include_str!("../../../../docs/trust.md");
    let until = Until { half_width_pct: 2.0, most: Until::MOST };
    let mut missing = Vec::new();
    for sigma in [0.5, 1.0, 2.0, 3.0, 4.0] {
        let (fixed, looked) = (shares(sigma, None), shares(sigma, Some(until)));
        assert!(looked.misses < 8.0 && looked.effects < 0.5, "{looked:?}");
        let line = format!(
            "| {sigma}% | {:.1}% | {:.1}% | {:.1}% | {:.1}% | {:.1} | {:.0}% |",
            fixed.misses, looked.misses, fixed.effects, looked.effects, looked.repeats, looked.reached
        );
        if !page.contains(&line) {
            missing.push(line);
        }
    }
    assert!(missing.is_empty(), "docs/trust.md lacks\n{}", missing.join("\n"));
}
