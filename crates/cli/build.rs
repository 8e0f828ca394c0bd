//! Puts the playground's simulator into the program, if WAKELAB_PLAYGROUND names the file that crates/playground/build
//! made. Without it the program is built without the target of browsers, and finds the file in a clone.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=WAKELAB_PLAYGROUND");
    let out = env::var_os("OUT_DIR").expect("cargo names a folder");
    let out = Path::new(&out).join("playground.wasm");
    let given = env::var_os("WAKELAB_PLAYGROUND").filter(|path| !path.is_empty()).map(PathBuf::from);
    let module = given.map_or_else(Vec::new, |path| {
        println!("cargo:rerun-if-changed={}", path.display());
        fs::read(&path).unwrap_or_else(|e| panic!("WAKELAB_PLAYGROUND: {}: {e}", path.display()))
    });
    fs::write(&out, module).unwrap_or_else(|e| panic!("{}: {e}", out.display()));
}
