//! The header: where each column is.

use super::columns::Column;
use super::error::{ReadError, shown};
use super::records::Record;
use std::path::Path;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// By [`Column`]: its place, by the names in the header. Columns of other names are passed over.
pub(super) fn places(path: &Path, header: &Record) -> Result<Vec<usize>, ReadError> {
    let error = |what: String| ReadError::of_file(path, what).at_line(header.line);
    let first = header.get(0).unwrap_or_default();
    if header.iter().any(|name| name.contains(&0) || str::from_utf8(name).is_err()) {
        return Err(error(format!(
            "expected a header line with the names of the columns, found bytes that are no text: {}",
            shown(first)
        ))
        .with_hint("a recording is a CSV file, plain or gzip; other compressions are not read"));
    }
    let name_at = |(place, name)| if place == 0 { strip_bom(name) } else { name };
    let mut missing = Vec::new();
    let mut places = Vec::with_capacity(Column::ALL.len());
    for column in Column::ALL {
        let mut found = header
            .iter()
            .enumerate()
            .filter(|&field| name_at(field) == column.name().as_bytes())
            .map(|(place, _)| place);
        match (found.next(), found.next()) {
            (Some(place), None) => places.push(place),
            (None, _) if column.is_optional() => places.push(usize::MAX),
            (None, _) => missing.push(column.name()),
            (Some(_), Some(_)) => {
                return Err(error("expected the column once, found it twice".into())
                    .in_column(column.name())
                    .with_hint("take one of the two out"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(places);
    }
    let few: Vec<_> = missing.iter().take(8).copied().collect();
    let more =
        if missing.len() > few.len() { format!(" and {} more", missing.len() - few.len()) } else { String::new() };
    let found = if places.iter().all(|&place| place == usize::MAX) {
        format!("; it begins with {}", shown(first))
    } else {
        String::new()
    };
    Err(error(format!("the header lacks {}{more}{found}", few.join(", ")))
        .with_hint("docs/recording-format.md lists the columns"))
}

fn strip_bom(name: &[u8]) -> &[u8] {
    name.strip_prefix(BOM).unwrap_or(name)
}
