//! The text of a page with its scripts. The content security policy of the page lists the hash of each script. Nothing
//! else runs in it: neither a task name from a recording nor code that is evaluated from text.

use crate::figure::{Embedded, Figure};
use crate::view::View;
use crate::{Error, Page, colour, limits, section, text};
use minijinja::{AutoEscape, Environment, Value, context};
use std::collections::{BTreeMap, BTreeSet};

const STYLE: &str = concat!(include_str!("../assets/page.css"), include_str!("../assets/print.css"));

const LICENCES: [(&str, &str); 4] = [
    ("Vega 6.4.0", include_str!("../assets/vendor/vega.LICENSE")),
    ("Vega-Lite 6.4.3", include_str!("../assets/vendor/vega-lite.LICENSE")),
    ("Vega-Embed 7.3.0", include_str!("../assets/vendor/vega-embed.LICENSE")),
    ("D3, parts of which are in Vega", include_str!("../assets/vendor/d3.LICENSE")),
];

/// Returns the text of the whole file. Equal pages give equal bytes.
///
/// # Errors
///
/// Fails if there is more data than [`limits`] allows, or if parts of the data contradict each other.
pub fn render(page: &Page) -> Result<String, Error> {
    let words: usize = page.explained.iter().map(|e| e.text.len() + e.title.len() + e.why.len()).sum::<usize>()
        + page.notes.iter().chain(page.sections.iter().flat_map(|s| &s.paragraphs)).map(String::len).sum::<usize>();
    if words > limits::TEXT {
        let hint = "explain fewer wake-ups";
        return Err(Error::TooMuch { what: "bytes of text".into(), found: words, limit: limits::TEXT, hint });
    }
    let (mut views, figures) = section::all(page)?;
    for (at, label) in views.iter_mut().flat_map(View::labels).filter(|label| label.about.is_some()).enumerate() {
        label.tip = format!("tip-{at}");
    }
    let mut ids = BTreeSet::new();
    let used = views.iter().map(|view| view.id.as_str()).chain(figures.iter().map(|figure| figure.id.as_str()));
    for id in used {
        if id.is_empty() || text::anchor(id) != id || !ids.insert(id) {
            let why = "expected lower-case letters, digits and hyphens, and each anchor once".into();
            return Err(Error::Inconsistent { what: format!("anchor '{id}'"), why });
        }
    }
    let sides: Vec<&str> = page.sides.iter().map(|side| side.name.as_str()).collect();
    let embedded: Vec<Embedded> = figures.into_iter().map(Figure::embed).collect();
    let keys: BTreeMap<&str, String> =
        colour::REASONS.iter().chain(&colour::CAUSES).map(|key| (key.name, key.property())).collect();
    let data = serde_json::json!({
        "title": page.title,
        "sides": sides,
        "focus": page.focus,
        "keys": keys,
        "figures": embedded,
    });
    let data = data.to_string();
    let hashes: Vec<String> = SCRIPTS.iter().map(|script| format!("'{}'", script.hash)).collect();
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("prose", |words: &str| Value::from_safe_string(text::prose(words)));
    environment.add_template("label.html", include_str!("../templates/label.html"))?;
    environment.add_template("block.html", include_str!("../templates/block.html"))?;
    environment.add_template("table.html", include_str!("../templates/table.html"))?;
    environment.add_template("figure.html", include_str!("../templates/figure.html"))?;
    environment.add_template("page.html", include_str!("../templates/page.html"))?;
    let html = environment.get_template("page.html")?.render(context! {
        title => page.title,
        lead => page.lead,
        verdict => page.verdict,
        version => page.run.version,
        kind => page.run.kind,
        views,
        hashes => Value::from_safe_string(hashes.join(" ")),
        style => Value::from_safe_string(colour::css() + STYLE),
        data => Value::from_safe_string(text::json_in_html(&data)),
        scripts => SCRIPTS.iter().map(|s| Value::from_safe_string(s.text.into())).collect::<Vec<_>>(),
        licences => LICENCES,
    })?;
    if html.len() > limits::BYTES {
        let hint = "leave sections out, or bring their data together";
        return Err(Error::TooMuch { what: "bytes".into(), found: html.len(), limit: limits::BYTES, hint });
    }
    Ok(html)
}

/// A script with its SHA-256 in the notation of a content security policy.
pub(crate) struct Script {
    pub(crate) text: &'static str,
    pub(crate) hash: &'static str,
}

/// All scripts, in the order in which they run.
pub(crate) const SCRIPTS: [Script; 4] = [
    Script {
        text: include_str!("../assets/vendor/vega.min.js"),
        hash: "sha256-j2o1h8+NT0LH4IEg4+sF0GfnRtVU450tz1KswL1boo8=",
    },
    Script {
        text: include_str!("../assets/vendor/vega-lite.min.js"),
        hash: "sha256-hD0gdiym5S/1zqt6MpYhknKpwLU2RALWgU88dzj0vl4=",
    },
    Script {
        text: include_str!("../assets/vendor/vega-embed.min.js"),
        hash: "sha256-ZxnwPt9yvv8jMQ7lbNDxqeu/fdzGVtPlzC+QZ6uDVnE=",
    },
    Script { text: PAGE, hash: "sha256-nMaKCJmuu98YkiznftjHJhdHaW/1bFFuVSnRZTsQp+Y=" },
];

/// The page's own script: one function around all files, so that they share their names only with each other.
const PAGE: &str = concat!(
    "(function () {\n\"use strict\";\n",
    include_str!("../assets/js/data.js"),
    include_str!("../assets/js/theme.js"),
    include_str!("../assets/js/save.js"),
    include_str!("../assets/js/table.js"),
    include_str!("../assets/js/words.js"),
    include_str!("../assets/js/base.js"),
    include_str!("../assets/js/charts-load.js"),
    include_str!("../assets/js/charts-counts.js"),
    include_str!("../assets/js/charts-time.js"),
    include_str!("../assets/js/figure.js"),
    include_str!("../assets/js/main.js"),
    "})();\n"
);

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_policy_names_the_hash_of_each_script() {
        let right: Vec<String> =
            SCRIPTS.iter().map(|script| format!("sha256-{}", STANDARD.encode(Sha256::digest(script.text)))).collect();
        let named: Vec<&str> = SCRIPTS.iter().map(|script| script.hash).collect();
        assert_eq!(named, right, "after a change of assets, put the right-hand hashes into src/render.rs");
    }

    #[test]
    fn no_script_ends_its_own_element() {
        for script in &SCRIPTS {
            let text = script.text.to_ascii_lowercase();
            assert!(!text.contains("</script") && !text.contains("<!--"));
        }
    }
}
