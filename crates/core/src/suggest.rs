//! "Did you mean" suggestions for misspelled words.

/// Returns ` (did you mean "WORD"?)` for the word most similar to `typed`, or an empty string if
/// none is similar.
///
/// ```
/// use tollgate_core::did_you_mean;
///
/// let names = ["gcra", "token-bucket"];
/// assert_eq!(did_you_mean("tokn-bucket", names), " (did you mean \"token-bucket\"?)");
/// assert_eq!(did_you_mean("zzz", names), "");
/// ```
#[must_use]
pub fn did_you_mean<'w>(typed: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    nearest(typed, words).map(suggestion).unwrap_or_default()
}

pub(crate) fn suggestion(word: &str) -> String {
    format!(" (did you mean {word:?}?)")
}

/// Returns the word most similar to `typed`, if any is similar enough.
pub(crate) fn nearest<'w>(
    typed: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Option<&'w str> {
    // Long input is not a misspelled word, and comparing it would be slow.
    const MAX_BYTES: usize = 64;
    if typed.len() > MAX_BYTES {
        return None;
    }
    let typed = typed.to_lowercase();
    let similarity = |word: &&str| {
        let word = word.to_lowercase();
        // In a short word one wrong letter lowers the score a lot, so a single typo is always
        // similar enough.
        let typo = typed.len() > 1 && strsim::damerau_levenshtein(&typed, &word) == 1;
        strsim::jaro_winkler(&typed, &word).max(if typo { 0.9 } else { 0.0 })
    };
    words
        .into_iter()
        .filter(|word| similarity(word) > 0.75)
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)))
}
