//! Text from outside, made safe for a terminal.

/// Escapes control and bidirectional characters, which could change what a terminal shows.
pub(crate) fn escape_controls(text: &str) -> String {
    let unsafe_char = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, c| {
        if unsafe_char(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
        escaped
    })
}
