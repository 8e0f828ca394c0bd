//! A file's columns in memory.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;

/// A file's rows, in batches.
pub struct Frame {
    batches: Vec<RecordBatch>,
}

/// One row.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    batch: &'a RecordBatch,
    at: usize,
}

impl Frame {
    pub fn read(folder: &Path, table: &str) -> Self {
        let file = File::open(folder.join(format!("{table}.parquet"))).expect("a file");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
        Frame { batches: reader.build().expect("a reader").map(|batch| batch.expect("a batch")).collect() }
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| Row { batch, at }))
    }

    pub fn len(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    pub fn sum(&self, column: &str) -> u64 {
        self.rows().map(|row| row.int(column) as u64).sum()
    }
}

impl<'a> Row<'a> {
    fn column(&self, name: &str) -> Option<&'a dyn Array> {
        let column = self.batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}")).as_ref();
        (!column.is_null(self.at)).then_some(column)
    }

    pub fn long_or(&self, name: &str) -> Option<i64> {
        self.column(name).map(|column| column.as_primitive::<Int64Type>().value(self.at))
    }

    pub fn long(&self, name: &str) -> i64 {
        self.long_or(name).unwrap_or_else(|| panic!("{name} is null"))
    }

    pub fn int_or(&self, name: &str) -> Option<i32> {
        self.column(name).map(|column| column.as_primitive::<Int32Type>().value(self.at))
    }

    pub fn int(&self, name: &str) -> i32 {
        self.int_or(name).unwrap_or_else(|| panic!("{name} is null"))
    }

    pub fn flag(&self, name: &str) -> bool {
        self.column(name).unwrap_or_else(|| panic!("{name} is null")).as_boolean().value(self.at)
    }

    pub fn name(&self, name: &str) -> &'a str {
        let column = self.column(name).unwrap_or_else(|| panic!("{name} is null")).as_any_dictionary();
        column.values().as_string::<i32>().value(column.normalized_keys()[self.at])
    }

    pub fn words(&self, name: &str) -> Option<Vec<u64>> {
        let list = self.column(name)?.as_list::<i32>().value(self.at);
        Some(list.as_primitive::<UInt64Type>().values().to_vec())
    }

    pub fn ints(&self, name: &str) -> Option<Vec<i32>> {
        let list = self.column(name)?.as_list::<i32>().value(self.at);
        Some(list.as_primitive::<Int32Type>().values().to_vec())
    }

    pub fn longs(&self, name: &str) -> Option<Vec<i64>> {
        let list = self.column(name)?.as_list::<i32>().value(self.at);
        Some(list.as_primitive::<Int64Type>().values().to_vec())
    }
}
