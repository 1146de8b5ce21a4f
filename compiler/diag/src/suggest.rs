//! The nearest name for a misspelt one.

/// Returns the candidate that `name` was most likely meant to be, if any is near.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_all(name, candidates).first().copied()
}

/// Returns the near candidates, nearest first, ties in alphabetical order.
#[must_use]
pub fn nearest_all<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // A third of the letters may be wrong: enough for a swap or a missing letter, too little to
    // suggest another word. Letters of another case or separator count as right.
    let fold = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    let letters = |text: &str| text.chars().filter(|letter| !matches!(letter, '-' | '_')).count();
    let folded = fold(name);
    let allowed = (folded.chars().count() / 3).max(1);
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        // Letters that one has and the other lacks are wrong whatever they are; there are thousands
        // of candidates, and most differ in that already.
        .filter(|candidate| letters(candidate).abs_diff(folded.chars().count()) <= allowed)
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().map(|(_, candidate)| candidate).collect()
}
