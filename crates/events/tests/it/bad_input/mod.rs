//! The errors of files that are no valid recordings: the complete message, with the file, the line, the column, what
//! was expected and a hint.

mod files;
mod odd_but_sound;
mod support;
mod topo;
mod values;
