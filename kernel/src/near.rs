//! Names like a given one.

/// Those of `names` that are like `given`, the nearest first, four at most.
pub(crate) fn near<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let given = given.to_ascii_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .map(|name| (strsim::jaro_winkler(&given, &name.to_ascii_lowercase()), name))
        .filter(|(score, _)| *score >= 0.8)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(4).map(|(_, name)| name.to_owned()).collect()
}

/// `; near: a, b`, or nothing.
pub(crate) fn hint(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) }
}
