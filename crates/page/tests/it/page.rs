//! What holds for each page: it is safe, small, whole and needs nothing from outside.

use wakelab_page::*;
use wakelab_testing::sample_page;

/// The page without what its scripts and its style hold.
fn markup(html: &str) -> String {
    let mut rest = html;
    let mut text = String::new();
    while let Some(start) = rest.find("<script") {
        let end = start + rest[start..].find("</script>").expect("a script that ends");
        text += &rest[..start];
        rest = &rest[end + "</script>".len()..];
    }
    text + rest
}

#[test]
fn names_from_a_kernel_do_not_become_html() {
    let html = render(&sample_page::page(112)).unwrap();
    let markup = markup(&html);
    assert!(!markup.contains("<img") && !markup.contains("<b>x") && !markup.contains("</script"));
    assert!(markup.contains("&lt;img onerror=1&gt;"), "the name is still shown");
    assert_eq!(html.matches("<script").count(), 5, "four scripts and the data");
    assert_eq!(html.matches("</script>").count(), 5);
}

#[test]
fn a_page_of_112_cpus_and_100_000_wakeups_is_below_5_mib() {
    let html = render(&sample_page::page(112)).unwrap();
    assert!(html.len() < limits::BYTES, "{} bytes", html.len());
    let small = render(&Page { title: "Nothing".into(), ..Page::default() }).unwrap();
    assert!(html.len() - small.len() < 1024 * 1024, "{} bytes of data", html.len() - small.len());
}

#[test]
fn machines_of_4_to_1024_cpus_fit() {
    for cpus in [4, 1024] {
        let html = render(&sample_page::page(cpus)).unwrap();
        assert!(html.len() < limits::BYTES);
        assert_eq!(html.matches("<title>CPU ").count(), cpus as usize);
    }
}

#[test]
fn all_elements_are_closed_in_order() {
    let html = markup(&render(&sample_page::page(112)).unwrap());
    let start = html.find("<body>").unwrap();
    let mut open: Vec<&str> = Vec::new();
    for tag in html[start..].split('<').skip(1) {
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap();
        let inner = &tag[..tag.find('>').expect("a tag that ends")];
        match tag.starts_with('/') {
            true if name == "html" => {}
            true => assert_eq!(open.pop(), Some(name), "in {inner}"),
            false if inner.ends_with('/') || name == "rect" => assert!(inner.ends_with('/'), "{inner}"),
            false => open.push(name),
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

#[test]
fn nothing_is_loaded_from_a_network() {
    let html = render(&sample_page::page(112)).unwrap();
    assert!(html.contains("default-src 'none'"));
    assert!(!html.contains("unsafe-eval") && !html.contains("script-src 'unsafe-inline'"));
    let markup = markup(&html).replace("http://www.w3.org/2000/svg", "");
    for way in ["http:", "https:", "src=", "url(", "@import", "<link", "<iframe", "<object"] {
        assert!(!markup.contains(way), "{way} in the page");
    }
}

#[test]
fn every_section_is_there_and_only_those_with_data() {
    let full = render(&sample_page::page(112)).unwrap();
    let none = render(&Page { title: "Nothing".into(), ..Page::default() }).unwrap();
    let ids = ["machine", "comparison", "search", "search-cost", "latency", "reasons", "migrations", "heat", "llc"];
    for id in ids.into_iter().chain([
        "causes",
        "power",
        "power-difference",
        "regret",
        "explained",
        "tasks",
        "notes",
        "constants",
    ]) {
        let section = format!("<section id=\"{id}\"");
        assert!(full.contains(&section) && !none.contains(&section), "{id}");
    }
}

#[test]
fn regressions_are_the_first_rows_of_the_comparison() {
    let html = render(&sample_page::page(112)).unwrap();
    let table = &html[html.find("id=\"comparison-table\"").unwrap()..];
    assert!(table.find("▼ worse").unwrap() < table.find("▲ better").unwrap());
}

#[test]
fn the_same_page_gives_the_same_bytes() {
    assert_eq!(render(&sample_page::page(16)).unwrap(), render(&sample_page::page(16)).unwrap());
}

#[test]
fn too_much_or_contradicting_data_is_an_error_that_says_where() {
    let mut page = sample_page::page(16);
    page.heat[0].rows[0].running.push(0.5);
    let bins = format!("{} bins", page.heat[0].rows[0].running.len());
    let error = render(&page).unwrap_err().to_string();
    assert!(error.contains("heat map of SIS_PROP") && error.contains(&bins), "{error}");
    let mut page = sample_page::page(16);
    page.llcs[0].points = vec![LlcPoint::default(); limits::POINTS + 1];
    let error = render(&page).unwrap_err().to_string();
    assert!(error.contains("expected at most 20000") && error.contains("hint: "), "{error}");
    let mut page = sample_page::page(16);
    page.sections[0].id = "heat".into();
    assert!(render(&page).unwrap_err().to_string().contains("anchor 'heat'"));
}

#[test]
fn what_was_found_comes_first_and_what_was_run_is_folded_at_the_end() {
    let html = render(&sample_page::page(16)).unwrap();
    let sections: Vec<&str> =
        html.split("<section id=\"").skip(1).map(|rest| &rest[..rest.find('"').unwrap()]).collect();
    assert_eq!(sections[0], "comparison");
    assert_eq!(sections[sections.len() - 4..], ["run", "machine", "constants", "words"]);
    for id in &sections[sections.len() - 4..] {
        assert!(html.contains(&format!("<section id=\"{id}\" aria-labelledby=\"{id}-title\" class=\"folded\">")));
    }
}

#[test]
fn sides_are_called_by_their_names() {
    let markup = markup(&render(&sample_page::page(16)).unwrap());
    assert!(markup.contains("SIS_UTIL against SIS_PROP") && !markup.contains("with against base"));
}

#[test]
fn cells_have_two_decimals_at_most_and_a_column_one_precision() {
    let decimals = |cell: &str| {
        let number = cell.replace([',', '+', '\u{2212}'], "");
        number.parse::<f64>().ok().map(|_| number.split_once('.').map_or(0, |(_, decimals)| decimals.len()))
    };
    let markup = markup(&render(&sample_page::page(16)).unwrap());
    let mut tables = 0;
    for table in markup.split("<table").skip(1) {
        let mut columns: std::collections::BTreeMap<usize, usize> = std::collections::BTreeMap::new();
        for row in table.split("<tr>").skip(2) {
            let cells = row.split("<td").skip(1).map(|cell| &cell[cell.find('>').unwrap() + 1..]);
            for (at, cell) in cells.enumerate() {
                let Some(decimals) = decimals(&cell[..cell.find('<').unwrap()]) else { continue };
                assert!(decimals <= 2, "{cell}");
                assert_eq!(*columns.entry(at).or_insert(decimals), decimals, "column {at}: {row}");
            }
        }
        tables += usize::from(!columns.is_empty());
    }
    assert!(tables >= 2, "{tables} tables with numbers");
}

#[test]
fn labels_of_the_glossary_have_their_definition() {
    let glossary = include_str!("../../../../docs/glossary.md");
    let of_load = glossary.lines().find_map(|line| line.strip_prefix("| load | ")).expect("an entry");
    let of_load = of_load.trim_end_matches(" |");
    let markup = markup(&render(&sample_page::page(16)).unwrap());
    let at = markup.find(">Load</button>").expect("a label");
    let tip = &markup[at..at + 600];
    assert!(tip.contains("role=\"tooltip\"") && tip.contains(of_load), "{tip}");
}

#[test]
fn each_reason_has_its_colour_in_the_style_and_in_the_legend() {
    let html = render(&sample_page::page(16)).unwrap();
    for key in colour::REASONS {
        assert_eq!(html.matches(&format!("--k-{}: #", key.name)).count(), 4, "light, dark twice, and paper");
    }
    let legend = &html[html.find("class=\"keys\"").unwrap()..];
    let legend = &legend[..legend.find("</div>").unwrap()];
    assert!(legend.find("--k-prev").unwrap() < legend.find("--k-limit").unwrap(), "idle CPUs first");
}

#[test]
fn wakeups_are_drawn_on_the_machine() {
    let html = render(&sample_page::page(16)).unwrap();
    assert_eq!(html.matches("class=\"ring\"").count(), sample_page::HOSTILE.len());
    let mut page = sample_page::page(16);
    page.explained[0].looked.as_mut().unwrap().chosen = 99;
    assert!(render(&page).unwrap_err().to_string().contains("CPU 99, expected one of the machine's: 0-15"));
}
