//! What makes a table of a list of columns.

use arrow_array::ArrayRef;
use arrow_schema::{Field, SchemaRef};

/// A column, as docs/events.md describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: &'static str,
    /// What it holds: `int64` ...
    pub kind: &'static str,
    /// Whether a value may be missing.
    pub nullable: bool,
    /// What it means.
    pub what: &'static str,
}

/// A row of a table.
pub trait Table {
    /// A row.
    type Row<'a>;

    /// The name of its files, without `.parquet`.
    const NAME: &'static str;
    /// Its columns.
    const COLUMNS: &'static [ColumnInfo];

    /// Its columns in Arrow.
    fn schema() -> SchemaRef;
    /// Adds a row.
    fn push(&mut self, row: Self::Row<'_>);
    /// Takes the rows out, by column.
    fn finish(&mut self) -> Vec<ArrayRef>;
}

/// A field of that kind.
pub fn field<K: super::cell::Kind>(name: &str) -> Field {
    Field::new(name, K::data_type(), K::NULLABLE)
}

/// Defines a table and its row: a field for each column, of its kind.
macro_rules! table {
    ($(#[$doc:meta])* $Table:ident, $Row:ident, $name:literal { $($field:ident: $kind:ty = $what:literal;)* }) => {
        $(#[$doc])*
        #[derive(Default)]
        pub struct $Table { $($field: <$kind as $crate::record::cell::Kind>::Column,)* }

        /// A row of it.
        #[derive(Clone, Copy)]
        pub struct $Row<'a> { $(#[doc = $what] pub $field: <$kind as $crate::record::cell::Kind>::Value<'a>,)* }

        impl $crate::record::table::Table for $Table {
            type Row<'a> = $Row<'a>;
            const NAME: &'static str = $name;
            const COLUMNS: &'static [$crate::record::table::ColumnInfo] = &[
                $($crate::record::table::ColumnInfo {
                    name: stringify!($field),
                    kind: <$kind as $crate::record::cell::Kind>::NAME,
                    nullable: <$kind as $crate::record::cell::Kind>::NULLABLE,
                    what: $what,
                },)*
            ];

            fn schema() -> arrow_schema::SchemaRef {
                std::sync::Arc::new(arrow_schema::Schema::new(vec![
                    $($crate::record::table::field::<$kind>(stringify!($field)),)*
                ]))
            }

            #[inline]
            fn push(&mut self, row: $Row<'_>) {
                $(<$kind as $crate::record::cell::Kind>::push(&mut self.$field, row.$field);)*
            }

            fn finish(&mut self) -> Vec<arrow_array::ArrayRef> {
                vec![$(<$kind as $crate::record::cell::Kind>::finish(&mut self.$field)),*]
            }
        }
    };
}

pub(crate) use table;
