//! Unknown names, and the known ones that were probably meant.

/// At most this many names are suggested.
const SUGGESTIONS: usize = 4;

/// A Jaro-Winkler similarity below this is another word.
const SIMILAR: f64 = 0.8;

/// Returns those of `names` that are spelt like `given`, the most similar first, and then those that have its words, at
/// most four. Case is ignored.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let given = given.to_ascii_lowercase();
    let score = |name: &str| match similarity(&given, name) {
        other if other < SIMILAR && has_words(name, &given) => SIMILAR,
        similarity => similarity,
    };
    let scored = names.into_iter().map(|name| (score(&name.to_ascii_lowercase()), name));
    let mut similar: Vec<(f64, &str)> = scored.filter(|(score, _)| *score >= SIMILAR).collect();
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    similar.into_iter().take(SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}

/// Returns whether each word of `given` begins a word of `name`: `zen3` is a part of `amd-zen3-2s64c128t`. Shorter
/// parts are in too many names.
fn has_words(name: &str, given: &str) -> bool {
    const SHORTEST: usize = 3;
    let words = |text: &'_ str| -> Vec<String> {
        let all = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        all.map(str::to_owned).collect()
    };
    let (of_name, of_given) = (words(name), words(given));
    let is_in = |word: &String| of_name.iter().any(|other| other.starts_with(word.as_str()));
    of_given.iter().map(String::len).sum::<usize>() >= SHORTEST && of_given.iter().all(is_in)
}

/// Returns the one of `names` that is `given`, in upper or lower case; `None` if there is none, or more than one and
/// none in the case given.
pub fn in_any_case<'a>(given: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let exact = names.clone().into_iter().find(|name| *name == given);
    exact.or_else(|| {
        let mut like = names.into_iter().filter(|name| name.eq_ignore_ascii_case(given));
        like.next().filter(|_| like.next().is_none())
    })
}

/// Returns the hint ``did you mean `name`?`` for the one of `names` that is spelt most like `given`. Returns `None` if
/// none is.
pub fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(given, names).first().map(|name| format!("did you mean `{name}`?"))
}

/// Returns ``; did you mean `a`, `b` or `c`?`` for the end of a message, or nothing if there are no names.
pub fn suggest(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

/// Jaro-Winkler similarity, 0 to 1, and 1 more for words that are one edit apart: for Jaro and Winkler, two swapped
/// letters make a short word another one. A word of two letters is one edit away from too many.
fn similarity(a: &str, b: &str) -> f64 {
    let one_edit = a.len().max(b.len()) > 2 && strsim::damerau_levenshtein(a, b) <= 1;
    strsim::jaro_winkler(a, b) + f64::from(u8::from(one_edit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_matters_only_between_names_that_differ_in_nothing_else() {
        assert_eq!(in_any_case("sis_util", ["SIS_UTIL", "SIS_UTIL_V1"]), Some("SIS_UTIL"));
        assert_eq!(in_any_case("Ab", ["ab", "Ab"]), Some("Ab"));
        assert_eq!(in_any_case("AB", ["ab", "Ab"]), None);
        assert_eq!(in_any_case("abc", ["ab"]), None);
    }

    #[test]
    fn the_most_similar_name_comes_first() {
        assert_eq!(nearest("nosie", ["name", "noise", "nodes"])[0], "noise");
        assert_eq!(nearest("V6.1", ["v6.12", "v6.1", "SIS_UTIL"]), ["v6.1", "v6.12"]);
        assert_eq!(did_you_mean("ranges", ["ns", "range"]).as_deref(), Some("did you mean `range`?"));
        assert_eq!(did_you_mean("zebra", ["name", "topology"]), None);
        assert_eq!(nearest("Zen3", ["amd-zen3-2s64c128t", "amd-zen4", "zen2"]), ["zen2", "amd-zen3-2s64c128t"]);
        assert_eq!(nearest("hackbench", ["hackbench:process-pipe", "netperf:TCP_RR"]), ["hackbench:process-pipe"]);
        assert_eq!(nearest("tcp_rr", ["hackbench:process-pipe", "netperf:TCP_RR"]), ["netperf:TCP_RR"]);
    }

    #[test]
    fn a_word_of_two_letters_is_not_taken_for_another() {
        assert_eq!(did_you_mean("ab", ["xb"]), None);
        assert_eq!(did_you_mean("fo", ["of", "to"]), None);
    }

    #[test]
    fn several_names_are_one_question() {
        assert_eq!(suggest(&["a", "b", "c"].map(str::to_owned)), "; did you mean `a`, `b` or `c`?");
        assert_eq!(suggest(&["a".to_owned()]), "; did you mean `a`?");
        assert_eq!(suggest(&[]), "");
    }
}
