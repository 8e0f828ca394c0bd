//! Writes a page with every section from made-up data, to look at and for `crates/page/browser-test`:
//! `cargo run -p wakelab-page --example sample -- sample.html`

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("error: no file is named\nhint: cargo run -p wakelab-page --example sample -- sample.html");
        std::process::exit(2);
    };
    let written = wakelab_page::render(&wakelab_testing::sample_page::page(112))
        .map_err(|error| error.to_string())
        .and_then(|html| std::fs::write(&path, html).map_err(|error| format!("{path}: {error}")));
    if let Err(error) = written {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
