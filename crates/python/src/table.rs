//! Tables for what reads Arrow: pyarrow, pandas, Polars, DuckDB.

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// A table in Arrow's memory. What reads the Arrow PyCapsule interface takes it over without a copy.
#[pyclass(frozen, module = "wakelab._wakelab")]
pub struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// Makes a table of columns: each a name, the kind of its values (`int`, `float`, `str`, `bool`, or `list[…]` of
    /// one of these), and the values, `None` for what is missing.
    #[new]
    fn new(columns: Vec<(String, String, Vec<Bound<'_, PyAny>>)>) -> PyResult<Self> {
        let rows = columns.first().map_or(0, |(.., values)| values.len());
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for (name, kind, values) in columns {
            let array = array(&kind, &values)?;
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
        Ok(Table(batch.map_err(|error| PyValueError::new_err(error.to_string()))?))
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The table as a stream of the Arrow PyCapsule interface. A schema that is asked for is not heeded, as the
    /// interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = [Ok::<_, ArrowError>(self.0.clone())];
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(RecordBatchIterator::new(batches, self.0.schema()));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }
}

/// Appends values to a builder, of which each is a `None` or a value of the kind.
macro_rules! filled {
    ($builder:expr, $of:ty, $values:expr) => {{
        let mut builder = $builder;
        for value in $values {
            builder.append_option(value.extract::<Option<$of>>()?);
        }
        Arc::new(builder.finish())
    }};
}

/// The same for lists.
macro_rules! filled_lists {
    ($builder:expr, $of:ty, $values:expr) => {{
        let mut builder = ListBuilder::new($builder);
        for value in $values {
            match value.extract::<Option<Vec<Option<$of>>>>()? {
                Some(list) => builder.append_value(list),
                None => builder.append_null(),
            }
        }
        Arc::new(builder.finish())
    }};
}

fn array(kind: &str, values: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    Ok(match kind {
        "int" => filled!(Int64Builder::new(), i64, values),
        "float" => filled!(Float64Builder::new(), f64, values),
        "str" => filled!(StringBuilder::new(), String, values),
        "bool" => filled!(BooleanBuilder::new(), bool, values),
        "list[int]" => filled_lists!(Int64Builder::new(), i64, values),
        "list[float]" => filled_lists!(Float64Builder::new(), f64, values),
        "list[str]" => filled_lists!(StringBuilder::new(), String, values),
        "list[bool]" => filled_lists!(BooleanBuilder::new(), bool, values),
        _ => return Err(PyTypeError::new_err(format!("{kind:?} is not a kind of values"))),
    })
}
