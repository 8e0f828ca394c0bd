//! The program, compiled into this one, and its skeleton.

// The skeleton maps the program's variables.
#![allow(unsafe_code, missing_docs, clippy::all, dead_code)]

include!(concat!(env!("OUT_DIR"), "/record.skel.rs"));
