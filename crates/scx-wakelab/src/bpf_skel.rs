//! The BPF program, compiled and embedded by build.rs.
#![allow(missing_docs, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/bpf_skel.rs"));
