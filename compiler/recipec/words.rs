//! Small matters of wording.

/// Returns `1 recipe`, `7 recipes`.
pub(crate) fn count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
