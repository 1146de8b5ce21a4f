//! How much one evaluation may use.

/// What an evaluation may use before it is stopped with a diagnostic. Every limit has a flag of
/// the same name on the command line (`--limit-steps`, …).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Expressions evaluated; slug `too-many-steps`.
    pub steps: u64,
    /// Function calls within one another; slug `too-deep`. Expressions that are not calls may
    /// nest twenty times as deep.
    pub depth: u32,
    /// Bytes that values, names and text may take; slug `too-much-memory`.
    pub bytes: u64,
    /// Bytes of one rendered value; slug `too-much-output`.
    pub output: u64,
    /// Files loaded; slug `too-many-imports`.
    pub imports: u32,
}

impl Default for Limits {
    /// A hundred million steps, ten thousand calls within one another, a gibibyte, 256 MiB of
    /// output, ten thousand files: about a hundred times what InferenceX's recipes need.
    fn default() -> Self {
        Self { steps: 100_000_000, depth: 10_000, bytes: 1 << 30, output: 256 << 20, imports: 10_000 }
    }
}
