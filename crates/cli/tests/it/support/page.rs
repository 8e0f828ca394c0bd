//! What is in a page: its data, as its scripts and its CSV have them.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// A page that was written.
pub struct Page {
    pub html: String,
    data: Value,
}

impl Page {
    /// Of a file.
    #[track_caller]
    pub fn read(path: &Path) -> Self {
        let html = fs::read_to_string(path).expect("the page");
        assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"), "it is whole");
        assert!(html.len() < 5 * 1024 * 1024, "{} bytes", html.len());
        let begins = "<script type=\"application/json\" id=\"data\">";
        let (_, data) = html.split_once(begins).expect("data");
        let data = serde_json::from_str(data.split_once("</script>").expect("an end").0).expect("JSON");
        Page { html, data }
    }

    /// Whether it has a section.
    pub fn has(&self, section: &str) -> bool {
        self.html.contains(&format!("<section id=\"{section}\""))
    }

    /// The rows of a chart or a table; none if it is not there.
    pub fn rows(&self, id: &str) -> Vec<Row> {
        let figures = self.data["figures"].as_array().expect("figures");
        let Some(figure) = figures.iter().find(|figure| figure["id"] == id) else { return Vec::new() };
        let names = figure["columns"].as_array().expect("columns").iter().map(|column| text(&column["name"]));
        let names: Vec<String> = names.collect();
        let columns: Vec<Vec<Value>> = figure["data"].as_array().expect("data").iter().map(unpacked).collect();
        let rows = figure["rows"].as_u64().expect("rows") as usize;
        assert!(columns.iter().all(|column| column.len() == rows), "{id}");
        (0..rows)
            .map(|row| Row(names.iter().cloned().zip(columns.iter().map(|column| column[row].clone())).collect()))
            .collect()
    }
}

/// A row with its columns by name.
#[derive(Debug)]
pub struct Row(Vec<(String, Value)>);

impl Row {
    /// A column's value, if the row has it.
    pub fn find(&self, column: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == column).map(|(_, value)| value)
    }

    /// A column's value.
    #[track_caller]
    pub fn get(&self, column: &str) -> &Value {
        self.find(column).unwrap_or_else(|| panic!("no column {column} in {self:?}"))
    }

    /// A column's text.
    #[track_caller]
    pub fn text(&self, column: &str) -> String {
        text(self.get(column))
    }

    /// A column's number.
    #[track_caller]
    pub fn number(&self, column: &str) -> f64 {
        self.get(column).as_f64().unwrap_or_else(|| panic!("no number {column} in {self:?}"))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A column as `assets/js/data.js` reads it.
fn unpacked(packed: &Value) -> Vec<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let index = |value: &Value| value.as_u64().expect("a number") as usize;
    if let Some(runs) = packed["runs"].as_array() {
        return runs.iter().flat_map(|run| vec![run[0].clone(); index(&run[1])]).collect();
    }
    if let Some(words) = packed["words"].as_array() {
        return list(&words[1]).iter().map(|at| words[0][index(at)].clone()).collect();
    }
    if let Some(tile) = packed["tile"].as_array() {
        return list(&tile[0]).into_iter().cycle().take(index(&tile[1])).collect();
    }
    list(&packed["plain"])
}
