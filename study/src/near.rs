//! Names like a given one.

/// `; did you mean X?`, where one of `names` is like `given`; else nothing.
pub(crate) fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let given = given.to_ascii_lowercase();
    let scored = names.into_iter().map(|name| (strsim::jaro_winkler(&given, &name.to_ascii_lowercase()), name));
    let near = scored.filter(|(score, _)| *score >= 0.8).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    near.map_or_else(String::new, |(_, name)| format!("; did you mean {name}?"))
}
