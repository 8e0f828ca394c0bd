//! Names from kernels and other machines on a page, in the fuzzer's corpus and in files made from it.

use wakelab_testing::changes::{change, corpus, run, sum_of_changed};
use wakelab_testing::check_page;

fn rendered(bytes: &[u8]) -> usize {
    usize::from(check_page::names(bytes))
}

const MARKUP: &[&str] =
    &["</script>", "<script>", "<!--", "-->", "\"", "'", "&quot;", "{{", "{%", "<b>", "&", "\u{2028}", "\0"];

#[test]
fn no_name_is_markup() {
    let files = corpus("page_names");
    for (path, bytes) in &files {
        assert_eq!(run(rendered, bytes, &|| path.display().to_string()), 1);
    }
    let pages = sum_of_changed(&files, rendered, 60, &|bytes, other, random| change(bytes, other, MARKUP, random));
    assert!(pages > 150, "{pages} pages");
}
