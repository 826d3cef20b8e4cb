//! JSON, as little of it as we write: strings.

/// Appends text as a string, quotes and all.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    text.chars().for_each(|one| push_char(out, one));
    out.push('"');
}

/// Quotes, backslashes and controls have escapes. All else may stand as it is.
fn push_char(out: &mut String, one: char) {
    match one {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..' ' => {
            let digit = |number: u32| char::from_digit(number, 16).unwrap_or('0');
            out.push_str("\\u00");
            out.extend([digit(u32::from(one) >> 4), digit(u32::from(one) & 15)]);
        }
        other => out.push(other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_back(text: &str) -> String {
        let mut out = String::new();
        push_string(&mut out, text);
        serde_json::from_str(&out).unwrap()
    }

    #[test]
    fn every_character_of_one_byte_reads_back() {
        let all: String = (0..=0x7f_u8).map(char::from).collect();
        assert_eq!(read_back(&all), all);
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in ".*|(?s).*\\PC*") {
            prop_assert_eq!(read_back(&text), text);
        }
    }
}
