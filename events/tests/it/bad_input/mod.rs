//! What the reader reports of files that are no sound recordings: the complete message, with the file, the line, the
//! column, what was expected and what to do.

mod files;
mod odd_but_sound;
mod support;
mod topo;
mod values;
