//! What must hold for whatever names stand on a page: they are shown, and are never markup.

use wakelab_page::{Assumed, Cell, Column, Explained, Page, Run, Section, Side, Table, render};

/// Renders a page whose names are the lines of the bytes, and the same page with harmless names. Returns whether it was
/// rendered.
pub fn names(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let names: Vec<&str> = text.split('\n').collect();
    // As many words and lines of as many letters, as some names are shown a word or a line at a time.
    let letter = |c: char| if c.is_whitespace() { c } else { 'x' };
    let harmless: Vec<String> = names.iter().map(|name| name.chars().map(letter).collect()).collect();
    let harmless: Vec<&str> = harmless.iter().map(String::as_str).collect();
    let Ok(html) = render(&page(&names)) else { return false };
    let expected = render(&page(&harmless)).expect("harmless names");
    let ((markup, data), (expected, _)) = (parts(&html), parts(&expected));
    // Lines of a text are as many elements; all else has the same tags and attributes.
    for (what, sign) in [("tags", '<'), ("ends of tags", '>'), ("quotes", '"')] {
        let count = |text: &str| text.matches(sign).count();
        assert_eq!(count(&markup), count(&expected), "{what} on the page of {names:?}");
    }
    assert!(!data.contains(['<', '>', '&']), "the data of the page of {names:?}");
    let data: serde_json::Value = serde_json::from_str(&data).expect("the data are JSON");
    assert_eq!(data["title"], format!("page of {}", names[0]), "the data of the page of {names:?}");
    true
}

fn page(names: &[&str]) -> Page {
    let name = |at: usize| names[at % names.len()].to_owned();
    let side = |at, side: &str| Side { name: side.into(), switches: name(at), features: Vec::new() };
    let cells = names.iter().map(|name| vec![Cell::Text((*name).to_owned()), Cell::Number(1.5, 1)]).collect();
    Page {
        title: format!("page of {}", name(0)),
        lead: name(1),
        run: Run {
            command: name(2),
            version: name(3),
            kernel: name(4),
            machine: name(5),
            workload: name(6),
            facts: vec![(format!("fact {}", name(7)), format!("is {}", name(8)))],
            ..Run::default()
        },
        sides: vec![side(9, "base"), side(10, "with")],
        explained: vec![Explained { title: name(11), why: name(12), text: name(13), ..Explained::default() }],
        sections: vec![Section {
            id: "names".into(),
            title: name(14),
            paragraphs: vec![name(15)],
            tables: vec![Table {
                id: "table".into(),
                caption: name(16),
                columns: vec![
                    // Before it a word, so that it is none of the glossary, which would be a tooltip.
                    Column { title: format!("of {}", name(17)), unit: name(18), ..Column::default() },
                    Column { title: "n".into(), ..Column::default() },
                ],
                rows: cells,
            }],
        }],
        notes: vec![name(19)],
        assumed: vec![Assumed { of: name(20), name: name(21), value: name(22), range: name(23), why: name(24) }],
        ..Page::default()
    }
}

/// The page without its scripts and their data, and the data.
fn parts(html: &str) -> (String, String) {
    const DATA: &str = "<script type=\"application/json\" id=\"data\">";
    let at = html.find(DATA).expect("data") + DATA.len();
    let end = at + html[at..].find("</script>").expect("the end of the data");
    let (mut rest, mut markup) = (html, String::new());
    while let Some(start) = rest.find("<script") {
        let end = start + rest[start..].find("</script>").expect("a script that ends");
        markup += &rest[..start];
        rest = &rest[end + "</script>".len()..];
    }
    (markup + rest, html[at..end].to_owned())
}
