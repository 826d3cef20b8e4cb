//! Strings of JSON.

/// Appends text as a JSON string with its quotes. The bytes are those that `serde_json` writes.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    // Most texts have nothing to escape and are copied as they are.
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push_str(text);
    } else {
        text.chars().for_each(|char| push_char(out, char));
    }
    out.push('"');
}

/// Quotes, backslashes and control characters must be escaped. Everything else is copied.
fn push_char(out: &mut String, char: char) {
    match char {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\0'..' ' => {
            let digit = |number: u32| char::from_digit(number, 16).unwrap_or('0');
            out.push_str("\\u00");
            out.extend([digit(u32::from(char) >> 4), digit(u32::from(char) & 15)]);
        }
        other => out.push(other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = String::new();
        push_string(&mut out, text);
        out
    }

    fn read_back(text: &str) -> String {
        serde_json::from_str(&written(text)).unwrap()
    }

    #[test]
    fn every_character_of_one_byte_reads_back() {
        let all: String = (0..=0x7f_u8).map(char::from).collect();
        assert_eq!(read_back(&all), all);
        assert_eq!(written(&all), serde_json::to_string(&all).unwrap());
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in ".*|(?s).*\\PC*") {
            prop_assert_eq!(read_back(&text), text);
        }
    }
}
