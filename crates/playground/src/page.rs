//! The file that the program writes: the page with its style, its scripts and the simulator in it.
//!
//! The simulator is embedded, packed by gzip and written in base64, so that the page is one file which a browser opens
//! from disk: a page from disk may load no other file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::Write;

/// The most bytes that the page may have.
pub const BYTES_MAX: usize = 3_000_000;

/// What a WebAssembly module begins with.
const WASM: &[u8] = b"\0asm";

const TEMPLATE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const WORKER: &str = include_str!("../assets/worker.js");

/// The scripts of the page, which are one.
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("../assets/js/element.js"),
    include_str!("../../page/assets/js/theme.js"),
    include_str!("../assets/js/colours.js"),
    include_str!("../assets/js/state.js"),
    include_str!("../assets/js/simulators.js"),
    include_str!("../assets/js/cpus.js"),
    include_str!("../assets/js/strips.js"),
    include_str!("../assets/js/sides.js"),
    include_str!("../assets/js/result.js"),
    include_str!("../assets/js/form.js"),
    include_str!("../assets/js/main.js"),
);

/// Why there is no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageError {
    /// What was given is no WebAssembly.
    NotWasm,
    /// The page would have so many bytes, which is more than [`BYTES_MAX`].
    TooLarge(usize),
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageError::NotWasm => write!(f, "expected a WebAssembly module, such as crates/playground/build makes"),
            PageError::TooLarge(bytes) => write!(f, "the page has {bytes} bytes; expected {BYTES_MAX} at most"),
        }
    }
}

impl std::error::Error for PageError {}

/// The text of the page, with this module of WebAssembly as its simulator. Equal modules give equal bytes.
///
/// # Errors
/// Fails if that is no module, or too large for a page.
pub fn page(module: &[u8]) -> Result<String, PageError> {
    if !module.starts_with(WASM) {
        return Err(PageError::NotWasm);
    }
    let packed = STANDARD.encode(packed(module));
    // Of the scripts only those with this hash run: no text of a link can become one.
    let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(SCRIPT)));
    let colours = wakelab_page::colour::css();
    let value = |name: &str| match name {
        "hash" => hash.as_str(),
        "version" => env!("CARGO_PKG_VERSION"),
        "colours" => &colours,
        "style" => STYLE,
        "module" => &packed,
        "worker" => WORKER,
        "script" => SCRIPT,
        _ => panic!("the page has no {name}"),
    };
    let mut parts = TEMPLATE.split("{{");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, text) = part.split_once("}}").expect("the page closes what it opens");
        page.push_str(value(name));
        page.push_str(text);
    }
    if page.len() > BYTES_MAX { Err(PageError::TooLarge(page.len())) } else { Ok(page) }
}

fn packed(module: &[u8]) -> Vec<u8> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(module).and_then(|()| gzip.finish()).expect("memory takes what is written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    const MODULE: &[u8] = b"\0asm and the rest";

    #[test]
    fn the_page_has_the_module_and_no_gap() {
        let page = page(MODULE).unwrap();
        let (_, rest) = page.split_once("id=\"module\">").unwrap();
        let (text, _) = rest.split_once("</script>").unwrap();
        let mut module = Vec::new();
        GzDecoder::new(&STANDARD.decode(text).unwrap()[..]).read_to_end(&mut module).unwrap();
        assert_eq!(module, MODULE);
        for gap in ["{{hash}}", "{{version}}", "{{colours}}", "{{style}}", "{{module}}", "{{worker}}", "{{script}}"] {
            assert!(TEMPLATE.contains(gap) && !page.contains(gap), "{gap}");
        }
    }

    #[test]
    fn no_script_ends_early() {
        assert!(!SCRIPT.contains("</script") && !WORKER.contains("</script") && !STYLE.contains("</style"));
        assert_eq!(page(MODULE).unwrap().matches("</script>").count(), 3);
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert_eq!(page(b"<!doctype html>"), Err(PageError::NotWasm));
    }

    #[test]
    fn a_page_that_is_too_large_is_refused() {
        // What cannot be packed: the bits of a linear congruential generator.
        let mut state = 1_u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        });
        let module: Vec<u8> = WASM.iter().copied().chain(noise.take(BYTES_MAX)).collect();
        assert!(matches!(page(&module), Err(PageError::TooLarge(bytes)) if bytes > BYTES_MAX));
    }
}
