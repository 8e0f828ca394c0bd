//! The page as text.

use crate::figure::Embedded;
use crate::script::SCRIPTS;
use crate::{Error, Page, limits, section, text};
use minijinja::{AutoEscape, Environment, Value, context};
use std::collections::BTreeSet;

const STYLE: &str = concat!(include_str!("../assets/page.css"), include_str!("../assets/print.css"));

const LICENCES: [(&str, &str); 4] = [
    ("Vega 6.4.0", include_str!("../assets/vendor/vega.LICENSE")),
    ("Vega-Lite 6.4.3", include_str!("../assets/vendor/vega-lite.LICENSE")),
    ("Vega-Embed 7.3.0", include_str!("../assets/vendor/vega-embed.LICENSE")),
    ("D3, parts of which are in Vega", include_str!("../assets/vendor/d3.LICENSE")),
];

/// The whole file. The same page gives the same bytes.
///
/// # Errors
///
/// Where there is more data than [`limits`] allows, or data contradict each other.
pub fn render(page: &Page) -> Result<String, Error> {
    let words: usize = page.explained.iter().map(|e| e.text.len() + e.title.len() + e.why.len()).sum::<usize>()
        + page.notes.iter().chain(page.sections.iter().flat_map(|s| &s.paragraphs)).map(String::len).sum::<usize>();
    if words > limits::TEXT {
        let hint = "explain fewer wake-ups";
        return Err(Error::TooMuch { what: "bytes of text".into(), found: words, limit: limits::TEXT, hint });
    }
    let (views, figures) = section::all(page)?;
    let mut ids = BTreeSet::new();
    let used = views.iter().map(|view| view.id.as_str()).chain(figures.iter().map(|figure| figure.id.as_str()));
    for id in used {
        if id.is_empty() || text::anchor(id) != id || !ids.insert(id) {
            let why = "expected lower-case letters, digits and hyphens, and each anchor once".into();
            return Err(Error::Inconsistent { what: format!("anchor '{id}'"), why });
        }
    }
    let sides: Vec<&str> = page.sides.iter().map(|side| side.name.as_str()).collect();
    let embedded: Vec<Embedded> = figures.into_iter().map(crate::figure::Figure::embed).collect();
    let data = serde_json::json!({ "title": page.title, "sides": sides, "figures": embedded }).to_string();
    let hashes: Vec<String> = SCRIPTS.iter().map(|script| format!("'{}'", script.hash)).collect();
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("table.html", include_str!("../templates/table.html"))?;
    environment.add_template("figure.html", include_str!("../templates/figure.html"))?;
    environment.add_template("page.html", include_str!("../templates/page.html"))?;
    let html = environment.get_template("page.html")?.render(context! {
        title => page.title,
        lead => page.lead,
        version => page.run.version,
        kind => page.run.kind,
        views,
        hashes => Value::from_safe_string(hashes.join(" ")),
        style => Value::from_safe_string(STYLE.into()),
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
