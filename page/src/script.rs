//! The scripts of a page. Its policy names their hashes, so that nothing else runs in it: no text that comes from a
//! kernel, and no code that is made of text.

/// A script and its SHA-256 as a content security policy names it.
pub(crate) struct Script {
    pub(crate) text: &'static str,
    pub(crate) hash: &'static str,
}

/// All scripts, in the order in which they run.
pub(crate) const SCRIPTS: [Script; 4] = [
    Script {
        text: include_str!("../assets/vendor/vega.min.js"),
        hash: "sha256-j2o1h8+NT0LH4IEg4+sF0GfnRtVU450tz1KswL1boo8=",
    },
    Script {
        text: include_str!("../assets/vendor/vega-lite.min.js"),
        hash: "sha256-hD0gdiym5S/1zqt6MpYhknKpwLU2RALWgU88dzj0vl4=",
    },
    Script {
        text: include_str!("../assets/vendor/vega-embed.min.js"),
        hash: "sha256-ZxnwPt9yvv8jMQ7lbNDxqeu/fdzGVtPlzC+QZ6uDVnE=",
    },
    Script { text: PAGE, hash: "sha256-xPsHm0JfVGdV0rSMRB3WUBxz51vttBBFp1Mr7EReQgk=" },
];

/// The page's own script: one function around all files, so that they share names with each other and nobody else.
const PAGE: &str = concat!(
    "(function () {\n\"use strict\";\n",
    include_str!("../assets/js/data.js"),
    include_str!("../assets/js/theme.js"),
    include_str!("../assets/js/save.js"),
    include_str!("../assets/js/table.js"),
    include_str!("../assets/js/base.js"),
    include_str!("../assets/js/charts-load.js"),
    include_str!("../assets/js/charts-counts.js"),
    include_str!("../assets/js/charts-time.js"),
    include_str!("../assets/js/figure.js"),
    include_str!("../assets/js/main.js"),
    "})();\n"
);

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, engine::general_purpose::STANDARD};
    use sha2::{Digest, Sha256};

    #[test]
    fn the_policy_names_the_hash_of_each_script() {
        let right: Vec<String> =
            SCRIPTS.iter().map(|script| format!("sha256-{}", STANDARD.encode(Sha256::digest(script.text)))).collect();
        let named: Vec<&str> = SCRIPTS.iter().map(|script| script.hash).collect();
        assert_eq!(named, right, "after a change of assets, put the right-hand hashes into src/script.rs");
    }

    #[test]
    fn no_script_ends_its_own_element() {
        for script in &SCRIPTS {
            let text = script.text.to_ascii_lowercase();
            assert!(!text.contains("</script") && !text.contains("<!--"));
        }
    }
}
