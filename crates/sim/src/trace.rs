//! Parses the lines of a trace.

mod full;
mod plain;

use crate::step::{Step, StepError};

impl<'t> Step<'t> {
    /// Parses one line of a trace.
    ///
    /// # Errors
    /// Fails if the line is not a JSON object, a field is unknown or duplicate, or a value is
    /// invalid.
    pub fn parse(line: &'t str) -> Result<Step<'t>, StepError> {
        plain::parse(line).map_or_else(|| full::parse(line), Ok)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Valid, nearly valid and invalid lines, put together from pieces in every way.
    fn lines() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "{",
            "}",
            ",",
            ":",
            " ",
            "\t",
            "\"",
            "\"t_ms\":",
            "\"key\":",
            "\"cost\":",
            "\"costs\":",
            "{\"tokens\":5}",
            "\"op\":",
            "\"id\":",
            "\"keys\":",
            "\"x\":",
            "0",
            "1",
            "7.5",
            "1500.250",
            "00",
            "1.",
            ".5",
            "-1",
            "1e3",
            "4294967296",
            "\"a\"",
            "\"\"",
            "\"check\"",
            "\"reserve\"",
            "\"é\"",
            "\"a\\n\"",
            "null",
            "[]",
            "\u{7f}",
            "\u{1}",
        ]);
        let field = prop::sample::select(vec![
            "\"t_ms\":1500.25",
            "\"t_ms\": 0",
            "\"key\":\"k\"",
            "\"cost\":3",
            "\"op\":\"peek\"",
            "\"op\":\"reserve\"",
            "\"id\":\"i\"",
            "\"t_ms\":01",
            "\"cost\":1.0",
            "\"costs\":{\"tokens\":850}",
            "\"costs\":null",
            "\"key\":null",
        ]);
        let whole = prop::collection::vec(field, 0..5)
            .prop_map(|fields| format!("{{{}}}", fields.join(",")));
        let fragments = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
        prop_oneof![3 => whole, 2 => fragments]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn plain_parser_agrees_with_full_parser(line in lines()) {
            if let Some(step) = plain::parse(&line) {
                prop_assert_eq!(Ok(step), full::parse(&line));
            }
        }
    }

    #[test]
    fn plain_parser_reads_plain_lines() {
        for line in [
            r#"{"t_ms":0}"#,
            r#" { "t_ms" : 1500.25 , "key" : "a b" , "cost" : 0 , "op" : "check" } "#,
            r#"{"op":"settle","id":"x","t_ms":1700000000000,"key":"é"}"#,
        ] {
            assert!(plain::parse(line).is_some(), "{line}");
        }
    }
}
