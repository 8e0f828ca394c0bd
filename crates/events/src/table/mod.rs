//! Tables of Parquet files: their columns, their writer and their readers.

pub(crate) mod checksum;
pub(crate) mod column;
pub(crate) mod decode;
pub(crate) mod metadata;
pub(crate) mod pages;
pub(crate) mod reader;
pub(crate) mod writer;

use arrow_array::ArrayRef;
use arrow_schema::{Field, SchemaRef};

/// A column, as docs/formats.md describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// The name.
    pub name: &'static str,
    /// The kind of its values, such as `int64`.
    pub kind: &'static str,
    /// Whether a value may be missing.
    pub nullable: bool,
    /// Its meaning.
    pub what: &'static str,
}

/// A table: the rows that have not been written yet, by column.
pub trait Table {
    /// A row of the table.
    type Row<'a>;

    /// The name of the table, as in the names of its files.
    const NAME: &'static str;
    /// The columns.
    const COLUMNS: &'static [ColumnInfo];

    /// The schema in Arrow.
    fn schema() -> SchemaRef;
    /// Adds a row.
    fn push(&mut self, row: Self::Row<'_>);
    /// Removes the rows and returns them by column.
    fn finish(&mut self) -> Vec<ArrayRef>;
}

/// A field of the schema with this kind of values.
pub fn field<K: column::Kind>(name: &str) -> Field {
    Field::new(name, K::data_type(), K::NULLABLE)
}

/// Defines a table and its row, which has a field for each column.
macro_rules! table {
    ($(#[$doc:meta])* $Table:ident, $Row:ident, $name:literal { $($field:ident: $kind:ty = $what:literal;)* }) => {
        $(#[$doc])*
        #[derive(Default)]
        pub struct $Table { $($field: <$kind as $crate::table::column::Kind>::Column,)* }

        /// A row of the table.
        #[derive(Clone, Copy)]
        pub struct $Row<'a> { $(#[doc = $what] pub $field: <$kind as $crate::table::column::Kind>::Value<'a>,)* }

        impl $crate::table::Table for $Table {
            type Row<'a> = $Row<'a>;
            const NAME: &'static str = $name;
            const COLUMNS: &'static [$crate::table::ColumnInfo] = &[
                $($crate::table::ColumnInfo {
                    name: stringify!($field),
                    kind: <$kind as $crate::table::column::Kind>::NAME,
                    nullable: <$kind as $crate::table::column::Kind>::NULLABLE,
                    what: $what,
                },)*
            ];

            fn schema() -> arrow_schema::SchemaRef {
                std::sync::Arc::new(arrow_schema::Schema::new(vec![
                    $($crate::table::field::<$kind>(stringify!($field)),)*
                ]))
            }

            #[inline]
            fn push(&mut self, row: $Row<'_>) {
                $(<$kind as $crate::table::column::Kind>::push(&mut self.$field, row.$field);)*
            }

            fn finish(&mut self) -> Vec<arrow_array::ArrayRef> {
                vec![$(<$kind as $crate::table::column::Kind>::finish(&mut self.$field)),*]
            }
        }
    };
}

pub(crate) use table;
