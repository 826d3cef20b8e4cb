//! "Did you mean": the nearest of a few right words.

/// ` (did you mean "WORD"?)`, or nothing if no word is like what was typed.
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
    nearest(typed, words).map(asked).unwrap_or_default()
}

/// The question itself.
pub(crate) fn asked(word: &str) -> String {
    format!(" (did you mean {word:?}?)")
}

/// The word most like `typed`, if any is like it at all.
pub(crate) fn nearest<'w>(
    typed: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Option<&'w str> {
    // Long input is a mistake of another kind, and comparing it would take long too.
    const LONGEST: usize = 64;
    if typed.len() > LONGEST {
        return None;
    }
    let typed = typed.to_lowercase();
    let likeness = |word: &&str| {
        let word = word.to_lowercase();
        // Of a short word one letter is a large part, so one slip is forgiven whatever it weighs.
        let slip = typed.len() > 1 && strsim::damerau_levenshtein(&typed, &word) == 1;
        strsim::jaro_winkler(&typed, &word).max(if slip { 0.9 } else { 0.0 })
    };
    words
        .into_iter()
        .filter(|word| likeness(word) > 0.75)
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}
