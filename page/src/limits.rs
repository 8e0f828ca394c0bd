//! How much a page takes. A file within these limits stays below [`BYTES`], whatever the number of wake-ups behind it,
//! and a browser draws it in a few seconds.

/// Bytes of the whole file: 5 MiB.
pub const BYTES: usize = 5 * 1024 * 1024;

/// CPUs of a machine that is drawn.
pub const CPUS: usize = 1024;

/// Sides that are compared.
pub const SIDES: usize = 8;

/// Rows of one heat map: each is a CPU, or CPUs that follow each other. [`crate::HeatBuilder`] keeps to it.
pub const HEAT_ROWS: usize = 128;

/// Bins of time of one heat map. [`crate::HeatBuilder`] keeps to it.
pub const HEAT_BINS: usize = 120;

/// Heat maps of one page.
pub const HEATS: usize = 4;

/// Points of all series of one chart over time. [`crate::thin`] brings a series down to a number.
pub const POINTS: usize = 20_000;

/// LLCs of a matrix of migrations.
pub const MATRIX_LLCS: usize = 64;

/// Values of any other chart.
pub const VALUES: usize = 10_000;

/// Cells of one table.
pub const CELLS: usize = 20_000;

/// Bytes of all explained wake-ups, notes and paragraphs.
pub const TEXT: usize = 512 * 1024;
