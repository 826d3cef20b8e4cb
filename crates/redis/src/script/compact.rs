//! Makes a script short: without indents, and with short names.
//!
//! Redis keeps the text, and hashes it whenever it is sent whole.

use std::collections::HashMap;

/// Words that keep their names: those of Lua, of Redis and of the libraries that the parts use. A word that
/// is missing here fails in the first test that runs the script.
const RESERVED: &str = "and break do else elseif end false for function if in local nil not or repeat \
    return then true until while redis call error_reply KEYS ARGV struct pack unpack string sub byte find \
    format math floor ceil huge log table concat remove sort ipairs tostring type error pairs rep insert pcall err \
    select next";

/// Returns the same program with shorter text.
pub(super) fn compact(script: &str) -> String {
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut names = Names::new();
    let mut out = String::with_capacity(script.len());
    for line in lines {
        // Every second piece is the content of a string. No string in the parts contains a quote.
        for (index, piece) in line.split('\'').enumerate() {
            if index > 0 {
                out.push('\'');
            }
            if index % 2 == 0 { names.shorten(piece, &mut out) } else { out.push_str(piece) }
        }
        out.push('\n');
    }
    out
}

/// The name of each word in the short text. Different words have different names, so that the program stays
/// the same.
struct Names<'s> {
    names: HashMap<&'s str, String>,
    /// Number of words that were given a short name.
    shortened: usize,
}

impl<'s> Names<'s> {
    fn new() -> Names<'s> {
        let reserved = RESERVED.split_whitespace().map(|word| (word, word.to_owned()));
        Names { names: reserved.collect(), shortened: 0 }
    }

    fn shorten(&mut self, code: &'s str, out: &mut String) {
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut rest = code;
        while let Some(start) = rest.find(in_word) {
            let (before, from) = rest.split_at(start);
            let (word, after) = from.split_at(from.find(|c| !in_word(c)).unwrap_or(from.len()));
            out.push_str(before);
            if word.starts_with(|c: char| c.is_ascii_digit()) {
                out.push_str(word);
            } else {
                let short = self.names.entry(word).or_insert_with(|| {
                    self.shortened += 1;
                    name(self.shortened - 1)
                });
                out.push_str(short);
            }
            rest = after;
        }
        out.push_str(rest);
    }
}

/// Returns the name with that number: a letter in upper case, and lower case or digits. No word of
/// [`RESERVED`] looks like that.
fn name(number: usize) -> String {
    const FIRST: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const MORE: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut name = String::new();
    let mut rest = number / FIRST.len();
    name.push(char::from(*FIRST.get(number % FIRST.len()).unwrap_or(&b'A')));
    while rest > 0 {
        rest -= 1;
        name.push(char::from(*MORE.get(rest % MORE.len()).unwrap_or(&b'a')));
        rest /= MORE.len();
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_become_short_and_strings_stay() {
        let script = "local cost, limit_1 = unpack('<I4 cost', args)\n  \n  return cost\n";
        assert_eq!(compact(script), "local A, B = unpack('<I4 cost', C)\nreturn A\n");
    }

    #[test]
    fn names_are_never_the_same() {
        let names: HashSet<String> = (0..10_000).map(name).collect();
        assert_eq!(names.len(), 10_000);
        assert!(!RESERVED.split_whitespace().any(|word| names.contains(word)));
    }
}
