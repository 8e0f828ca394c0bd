//! Results as one HTML page: what goes where. How it is drawn is `wakelab_page`'s.

mod comparison;

pub use comparison::comparison;
