//! The kinds of columns, and how their values are gathered until a batch of rows is full.

use arrow_array::builder::{BooleanBuilder, ListBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{Int8Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, DictionaryArray, StringArray};
use arrow_schema::{DataType, Field};
use std::marker::PhantomData;
use std::sync::Arc;

/// A kind of column.
pub trait Kind {
    /// The type of a value.
    type Value<'a>;
    /// The builder that gathers values.
    type Column: Default;
    /// Whether a value may be missing.
    const NULLABLE: bool;
    /// Its name in docs/formats.md.
    const NAME: &'static str;

    /// The type in Arrow.
    fn data_type() -> DataType;
    /// Adds a value.
    fn push(column: &mut Self::Column, value: Self::Value<'_>);
    /// Removes the values and returns them as an array.
    fn finish(column: &mut Self::Column) -> ArrayRef;
}

macro_rules! plain {
    ($ty:ty, $builder:ty, $data:expr, $name:literal) => {
        impl Kind for $ty {
            type Value<'a> = $ty;
            type Column = $builder;
            const NULLABLE: bool = false;
            const NAME: &'static str = $name;

            fn data_type() -> DataType {
                $data
            }

            #[inline]
            fn push(column: &mut Self::Column, value: $ty) {
                column.append_value(value);
            }

            fn finish(column: &mut Self::Column) -> ArrayRef {
                Arc::new(column.finish())
            }
        }
    };
}

plain!(i64, PrimitiveBuilder<Int64Type>, DataType::Int64, "int64");
plain!(i32, PrimitiveBuilder<Int32Type>, DataType::Int32, "int32");
plain!(bool, BooleanBuilder, DataType::Boolean, "bool");

/// UTF-8 text.
pub struct Text;

impl Kind for Text {
    type Value<'a> = &'a str;
    type Column = StringBuilder;
    const NULLABLE: bool = false;
    const NAME: &'static str = "text";

    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn push(column: &mut StringBuilder, value: &str) {
        column.append_value(value);
    }

    fn finish(column: &mut StringBuilder) -> ArrayRef {
        Arc::new(column.finish())
    }
}

macro_rules! list {
    ($(#[$doc:meta])* $list:ident, $item:ty, $arrow:ty, $data:expr, $name:literal) => {
        $(#[$doc])*
        pub struct $list;

        impl Kind for $list {
            type Value<'a> = &'a [$item];
            type Column = List<$arrow>;
            const NULLABLE: bool = false;
            const NAME: &'static str = $name;

            fn data_type() -> DataType {
                DataType::List(Arc::new(Field::new("element", $data, false)))
            }

            #[inline]
            fn push(column: &mut Self::Column, value: &[$item]) {
                column.0.values().append_slice(value);
                column.0.append(true);
            }

            fn finish(column: &mut Self::Column) -> ArrayRef {
                Arc::new(column.0.finish())
            }
        }

        impl PushNull for $list {
            #[inline]
            fn push_null(column: &mut Self::Column) {
                column.0.append(false);
            }
        }
    };
}

/// A builder of lists of numbers.
pub struct List<T: arrow_array::ArrowPrimitiveType>(ListBuilder<PrimitiveBuilder<T>>);

impl<T: arrow_array::ArrowPrimitiveType> Default for List<T> {
    fn default() -> Self {
        let element = Field::new("element", T::DATA_TYPE, false);
        List(ListBuilder::new(PrimitiveBuilder::new()).with_field(element))
    }
}

list! {
    /// A set of CPUs: CPU c is bit c % 64 of word c / 64.
    Cpus, u64, UInt64Type, DataType::UInt64, "CPU set"
}
list! {
    /// A list of 32-bit numbers.
    Ints, i32, Int32Type, DataType::Int32, "list of int32"
}
list! {
    /// A list of 64-bit numbers.
    Longs, i64, Int64Type, DataType::Int64, "list of int64"
}

/// A kind whose value may be missing.
pub trait PushNull: Kind {
    /// Adds a row without a value.
    fn push_null(column: &mut Self::Column);
}

macro_rules! push_null {
    ($($ty:ty),*) => {
        $(impl PushNull for $ty {
            #[inline]
            fn push_null(column: &mut Self::Column) {
                column.append_null();
            }
        })*
    };
}

push_null!(i64, i32, bool);

impl<K: PushNull> Kind for Option<K> {
    type Value<'a> = Option<K::Value<'a>>;
    type Column = K::Column;
    const NULLABLE: bool = true;
    const NAME: &'static str = K::NAME;

    fn data_type() -> DataType {
        K::data_type()
    }

    #[inline]
    fn push(column: &mut K::Column, value: Self::Value<'_>) {
        match value {
            Some(value) => K::push(column, value),
            None => K::push_null(column),
        }
    }

    fn finish(column: &mut K::Column) -> ArrayRef {
        K::finish(column)
    }
}

/// An enum whose values are names in the schema.
pub trait Named: Copy {
    /// All names, in the order of their indexes.
    fn names() -> Vec<&'static str>;
    /// The index of this value's name.
    fn index(self) -> i8;
}

/// A column of the names of `T`, stored as a dictionary.
pub struct Name<T>(PhantomData<T>);

impl<T: Named> Kind for Name<T> {
    type Value<'a> = T;
    type Column = PrimitiveBuilder<Int8Type>;
    const NULLABLE: bool = false;
    const NAME: &'static str = "name";

    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
    }

    #[inline]
    fn push(column: &mut Self::Column, value: T) {
        column.append_value(value.index());
    }

    fn finish(column: &mut Self::Column) -> ArrayRef {
        let names = Arc::new(StringArray::from(T::names()));
        Arc::new(DictionaryArray::new(column.finish(), names))
    }
}

impl<T: Named> PushNull for Name<T> {
    #[inline]
    fn push_null(column: &mut Self::Column) {
        column.append_null();
    }
}
