//! Lets a script count its steps, for tests of how much a call does at most.
//!
//! A step is one run through a loop, or one value that `struct` packs or unpacks: there is no other way for a script to
//! treat entries one by one.

/// The key under which a script adds the number of its steps to a list.
pub const STEPS_KEY: &str = "tollgate-steps";

/// Defines `steps`, and lets `struct` count its values.
const BEGIN: &str = "local steps = 0
local function count_values(...)
steps = steps + select('#', ...)
return ...
end
local function script()
local struct = {
unpack = function(...) return count_values(struct.unpack(...)) end,
pack = function(...) return struct.pack(count_values(...)) end,
}
";

/// Returns a script that does the same and counts its steps.
pub(super) fn count_steps(script: &str) -> String {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = BEGIN.to_owned();
    // Every second piece is the content of a string.
    for (index, piece) in script.split('\'').enumerate() {
        if index > 0 {
            out.push('\'');
        }
        if index % 2 == 1 {
            out.push_str(piece);
            continue;
        }
        let mut in_head = false;
        for word in piece.split_inclusive(|c| !in_word(c)) {
            out.push_str(word);
            match word.trim_end_matches(|c| !in_word(c)) {
                "for" | "while" => in_head = true,
                "do" if in_head => {
                    out.push_str(" steps = steps + 1 ");
                    in_head = false;
                }
                "repeat" => out.push_str(" steps = steps + 1 "),
                _ => {}
            }
        }
    }
    let end = format!("end\nlocal reply = script()\nredis.call('RPUSH', '{STEPS_KEY}', steps)\n");
    out + &end + "return reply\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_counted() {
        let counted =
            count_steps("for i = 1, 2 do do f('for') end end\nwhile a\nand b do c() end\n");
        let expected = "for i = 1, 2 do  steps = steps + 1 do f('for') end end\n\
                        while a\nand b do  steps = steps + 1 c() end\n";
        assert!(counted.contains(expected), "{counted}");
    }
}
