//! What a misspelt name was meant to be.

/// A hint that names the one of `names` that is most like `given`, if one is.
pub(crate) fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let given = given.to_ascii_lowercase();
    names
        .into_iter()
        .map(|name| (likeness(&given, &name.to_ascii_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| format!("did you mean `{name}`?"))
}

/// 0 to 1. Two letters changed places make another word of a short one for Jaro and Winkler.
fn likeness(a: &str, b: &str) -> f64 {
    if strsim::damerau_levenshtein(a, b) <= 1 { 1.0 } else { strsim::jaro_winkler(a, b) }
}
