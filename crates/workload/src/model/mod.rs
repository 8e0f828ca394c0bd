//! Parts that several models of benchmarks share.

pub(crate) mod connections;
pub(crate) mod groups;
pub(crate) mod params;
pub(crate) mod ping_pong;
pub(crate) mod requests;
pub(crate) mod sequential;
pub(crate) mod smb_mix;
pub(crate) mod tcp;
