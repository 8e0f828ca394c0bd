//! What the reader says of files that are no sound recordings: the complete text, with file, line, column, what was
//! expected and what to do.

#[path = "bad_input/files.rs"]
mod files;
#[path = "bad_input/lists.rs"]
mod lists;
#[path = "bad_input/odd_but_sound.rs"]
mod odd_but_sound;
#[path = "bad_input/support.rs"]
mod support;
#[path = "bad_input/topo.rs"]
mod topo;
#[path = "bad_input/values.rs"]
mod values;
