//! The rates that follow from the counters, compared with published counters and rates.

use wakelab_measure::SearchStats;

fn published(file: &str) -> Vec<Vec<String>> {
    let path = format!("{}/../../data/published/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn counters(column: usize) -> SearchStats {
    let rows = published("sis_util-224-threads-counters.csv");
    let get = |name: &str| {
        let row = rows.iter().find(|row| row[0] == format!("{name}.avg")).unwrap();
        row[column].parse().unwrap()
    };
    SearchStats {
        sis_search: get("sis_search"),
        sis_domain_search: get("sis_domain_search"),
        sis_scanned: get("sis_scanned"),
        sis_failed: get("sis_failed"),
    }
}

fn close(value: Option<f64>, expected: f64, within: f64) {
    let value = value.unwrap();
    assert!((value - expected).abs() <= within, "{value} is not {expected} within {within}");
}

#[test]
fn the_published_counters_give_their_rates() {
    let vanilla = counters(1);
    close(vanilla.se_eff_pct(), 4.5241, 1e-4);
    close(vanilla.dom_eff_pct(), 3.5479, 1e-4);
    close(vanilla.fast_rate_pct(), 22.2219, 1e-4);
    close(vanilla.success_rate_pct(), 99.3404, 1e-4);
    close(vanilla.scanned_per_domain_search(), 28.2320, 1e-4);
    let patched = counters(2);
    close(patched.scanned_per_domain_search(), 1.0139, 1e-4);
    close(patched.success_rate_pct(), 0.0935, 1e-4);
}

/// fast_rate, success_rate and se_eff of a published row determine its counters up to a factor, and these determine its
/// dom_eff.
#[test]
fn the_published_rates_fit_each_other() {
    let mut rows = 0;
    for row in published("sis_util-vanilla-search-stats.csv") {
        let [se_eff, dom_eff, fast, success] = [3, 4, 5, 6].map(|n| row[n].parse::<f64>().unwrap());
        // Closer to 100 the three published digits are not exact enough for the rest.
        if fast > 95.0 {
            continue;
        }
        let search = 1e12;
        let found = search * success / 100.0;
        let stats = SearchStats {
            sis_search: search as u64,
            sis_domain_search: (search * (1.0 - fast / 100.0)) as u64,
            sis_scanned: (found / (se_eff / 100.0)) as u64,
            sis_failed: (search - found) as u64,
        };
        // What is compared has three digits, too.
        close(stats.dom_eff_pct(), dom_eff, 5e-4 * (1.0 + dom_eff));
        rows += 1;
    }
    assert!(rows >= 18, "{rows} rows");
}

#[test]
fn nothing_counted_has_no_rate() {
    let none = SearchStats::default();
    assert_eq!(none.se_eff_pct(), None);
    assert_eq!(none.dom_eff_pct(), None);
    assert_eq!(none.fast_rate_pct(), None);
    assert_eq!(none.success_rate_pct(), None);
    assert_eq!(none.scanned_per_domain_search(), None);
}

#[test]
fn fast_paths_alone_have_no_dom_eff() {
    let fast = SearchStats { sis_search: 5, sis_domain_search: 0, sis_scanned: 5, sis_failed: 0 };
    assert_eq!(fast.dom_eff_pct(), None);
    assert_eq!((fast.scanned_per_domain_search(), fast.looks_per_domain_search()), (None, None));
    assert_eq!(fast.se_eff_pct(), Some(100.0));
}

#[test]
fn runs_add_up() {
    let one = SearchStats { sis_search: 1, sis_domain_search: 2, sis_scanned: 3, sis_failed: 4 };
    let sum = SearchStats { sis_search: 3, sis_domain_search: 6, sis_scanned: 9, sis_failed: 12 };
    assert_eq!([one, one, one].into_iter().sum::<SearchStats>(), sum);
}
