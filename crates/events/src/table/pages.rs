//! Checks what the pages of a file are said to hold before they are decoded: a few bytes may stand for any number of
//! values, and for values of any length.
//!
//! Parquet's crate believes the header of a page. The headers are read here, without the pages.

use super::metadata::damaged;
use crate::error::ReadError;
use parquet::basic::{Encoding, Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Snappy copies at most 64 bytes for each 3 of its own.
const SNAPPY_MOST: u64 = 22;
/// The bytes that a page may have besides its values.
const SPARE: u64 = 1 << 10;
/// The limits on the lists of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListLimits {
    /// The most values of a list: one for each CPU, in some tables several.
    pub(crate) longest: u64,
    /// The most values of all lists of a column in a row group. All of them could be in one list.
    pub(crate) most: u64,
}

/// Checks the pages of the columns for which `wanted` returns true.
///
/// # Errors
/// Fails if the file cannot be read, or if its pages hold more than its rows can.
pub(crate) fn check(
    path: &Path,
    file: &File,
    metadata: &ParquetMetaData,
    wanted: impl Fn(&str) -> bool,
    lists: ListLimits,
) -> Result<(), ReadError> {
    let mut file = BufReader::with_capacity(1 << 9, file);
    for group in metadata.row_groups() {
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        for column in group.columns() {
            let name = column.column_path().parts().first().map_or("", String::as_str);
            if !wanted(name) {
                continue;
            }
            let is_list = column.column_descr().max_rep_level() > 0;
            // An empty list, and a null, count as a value.
            let most = if is_list { rows.saturating_mul(lists.longest).min(lists.most) } else { rows };
            let values = of_chunk(&mut file, column).map_err(|what| match what {
                Wrong::Unreadable(e) => damaged(path, &e),
                Wrong::TooMuch(what) => too_much(path, name, what),
            })?;
            if values > most {
                return Err(too_much(path, name, format!("{values} values in {rows} rows")));
            }
        }
    }
    Ok(())
}

fn too_much(path: &Path, column: &str, found: String) -> ReadError {
    let what = format!("expected at most what a kernel on this machine can produce, found {found}");
    ReadError::of_file(path, what).in_column(column).with_hint("was the file edited or damaged?")
}

enum Wrong {
    Unreadable(String),
    TooMuch(String),
}

impl From<std::io::Error> for Wrong {
    fn from(error: std::io::Error) -> Self {
        Wrong::Unreadable(error.to_string())
    }
}

/// Checks the pages of a column of a row group. Returns how many values they are said to hold.
fn of_chunk(file: &mut BufReader<&File>, column: &ColumnChunkMetaData) -> Result<u64, Wrong> {
    // ColumnChunkMetaData::byte_range() panics if one of them is negative.
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let place = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
    let (start, end) =
        place.and_then(|(start, length)| Some((start, start.checked_add(length)?))).ok_or_else(|| {
            Wrong::Unreadable(format!("a column begins at {start} and has {} bytes", column.compressed_size()))
        })?;
    let is_text = column.column_type() == Type::BYTE_ARRAY;
    let mut at = file.seek(SeekFrom::Start(start))?;
    let mut values = 0_u64;
    while at < end {
        let page = header(file)?;
        at = file.stream_position()?;
        let most = page.compressed.saturating_mul(SNAPPY_MOST).saturating_add(SPARE);
        if page.uncompressed > most {
            let (from, to) = (page.compressed, page.uncompressed);
            return Err(Wrong::TooMuch(format!("a page of {from} bytes that would expand to {to}")));
        }
        // It repeats a part of the value before, however long that is.
        if is_text && page.encoding == Some(Encoding::DELTA_BYTE_ARRAY as i64) {
            return Err(Wrong::TooMuch("texts in the encoding DELTA_BYTE_ARRAY, which wakelab does not write".into()));
        }
        values = values.saturating_add(page.values);
        at = at.saturating_add(page.compressed);
        file.seek_relative(i64::try_from(page.compressed).unwrap_or(i64::MAX))?;
    }
    Ok(values)
}

/// The header of a page.
#[derive(Default)]
struct Page {
    uncompressed: u64,
    compressed: u64,
    /// The number of values of a page of data; 0 for a dictionary.
    values: u64,
    encoding: Option<i64>,
}

/// Reads `PageHeader` of parquet.thrift in Thrift's compact protocol.
fn header(file: &mut impl BufRead) -> Result<Page, Wrong> {
    let mut page = Page::default();
    fields(file, &mut [0; MAX_DEPTH], 0, &mut |path, value| match path {
        [2] => page.uncompressed = u64::try_from(value).unwrap_or(u64::MAX),
        [3] => page.compressed = u64::try_from(value).unwrap_or(u64::MAX),
        // data_page_header and data_page_header_v2: num_values
        [5 | 8, 1] => page.values = u64::try_from(value).unwrap_or(u64::MAX),
        [5, 2] | [8, 4] => page.encoding = Some(value),
        _ => {}
    })?;
    Ok(page)
}

/// No header has structures within structures deeper than this.
const MAX_DEPTH: usize = 4;

/// Called with the numbers of a field and of the structures that it is in, and its value if it is a number.
type EachField<'a> = dyn FnMut(&[i64], i64) + 'a;

fn fields(
    file: &mut impl BufRead,
    path: &mut [i64; MAX_DEPTH],
    depth: usize,
    each: &mut EachField<'_>,
) -> Result<(), Wrong> {
    let odd = || Wrong::Unreadable("the header of a page is damaged".into());
    if depth == MAX_DEPTH {
        return Err(odd());
    }
    path[depth] = 0;
    loop {
        let first = byte(file)?;
        let (delta, kind) = (i64::from(first >> 4), first & 0xf);
        match kind {
            0 => return Ok(()),
            _ if delta == 0 => path[depth] = zigzag(varint(file)?),
            _ => path[depth] += delta,
        }
        match kind {
            1 | 2 => {}
            3 => _ = byte(file)?,
            4..=6 => {
                let value = zigzag(varint(file)?);
                each(&path[..=depth], value);
            }
            7 => skip(file, 8)?,
            8 => {
                let length = varint(file)?;
                skip(file, length)?;
            }
            12 => fields(file, path, depth + 1, each)?,
            // Lists and maps are in no header.
            _ => return Err(odd()),
        }
    }
}

fn byte(file: &mut impl BufRead) -> Result<u8, Wrong> {
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

fn skip(file: &mut impl BufRead, length: u64) -> Result<(), Wrong> {
    if std::io::copy(&mut file.take(length), &mut std::io::sink())? < length {
        return Err(Wrong::Unreadable("the file ends within a page".into()));
    }
    Ok(())
}

fn varint(file: &mut impl BufRead) -> Result<u64, Wrong> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = byte(file)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Wrong::Unreadable("the header of a page is damaged".into()))
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
