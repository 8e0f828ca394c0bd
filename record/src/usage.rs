//! Errors of the command line that clap does not see.

/// Such an error; it ends the program with code 2.
#[derive(Debug)]
pub struct Usage(
    /// What was expected and found, with a hint.
    pub String,
);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}
