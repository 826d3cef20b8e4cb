//! "Did you mean": the nearest of a few right words.

/// The word most like `typed`, if any is like it at all.
///
/// ```
/// assert_eq!(tollgate_core::nearest("tokn-bucket", ["gcra", "token-bucket"]), Some("token-bucket"));
/// assert_eq!(tollgate_core::nearest("zzz", ["gcra", "token-bucket"]), None);
/// ```
#[must_use]
pub fn nearest<'w>(typed: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
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
