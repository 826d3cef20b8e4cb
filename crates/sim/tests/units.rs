//! Costs by unit: how a trace carries them, and how they are printed.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::error::Error;

use tollgate_sim::{Explanation, Simulator, Step};

/// The limits of a gateway to a language model.
const GATEWAY: [&str; 2] = ["gcra 60/min", "gcra 90000/min of tokens"];

fn gateway() -> Simulator {
    Simulator::new(GATEWAY).unwrap()
}

/// Returns the decision in JSON, or the error message.
fn decide(simulator: &mut Simulator, line: &str) -> Result<String, String> {
    let step = Step::parse(line).map_err(|error| error.to_string())?;
    let decided = simulator.decide(&step).map_err(|error| with_causes(&error))?;
    Ok(decided.to_json())
}

/// Returns the message of an error and of all its causes, as the command line prints them.
fn with_causes(error: &dyn Error) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Steps, and the part of the output that repeats them.
const REPEATED: [(&str, &str); 6] = [
    (
        r#"{"t_ms": 1500.25, "key": "a", "cost": 1, "costs": {"tokens": 850}}"#,
        r#"{"t_ms":1500.25,"key":"a","cost":1,"costs":{"tokens":850},"op":"check","allowed":true,"#,
    ),
    (
        r#"{"costs":{"tokens":4294967295},"op":"charge","cost":0,"t_ms":0}"#,
        r#"{"t_ms":0,"key":"-","cost":0,"costs":{"tokens":4294967295},"op":"charge","#,
    ),
    (
        r#"{"t_ms":0,"keys":{"ip":"x"},"costs":{"tokens":8.5e1}}"#,
        r#"{"t_ms":0,"keys":{"ip":"x"},"cost":1,"costs":{"tokens":85},"op":"check","#,
    ),
    (r#"{"t_ms":0,"costs":{"tokens":0}}"#, r#","cost":1,"costs":{"tokens":0},"op":"check","#),
    (r#"{"t_ms":0,"costs":{}}"#, r#"{"t_ms":0,"key":"-","cost":1,"op":"check","#),
    (r#"{"t_ms":0,"costs":null}"#, r#"{"t_ms":0,"key":"-","cost":1,"op":"check","#),
];

#[test]
fn costs_are_repeated_after_the_cost() {
    for (line, part) in REPEATED {
        let json = decide(&mut gateway(), line).unwrap();
        assert!(json.contains(part), "{line}: {json}");
    }
}

#[test]
fn each_limit_takes_the_cost_of_its_unit() {
    let simulator = &mut gateway();
    let table = [
        (
            r#"{"t_ms":0,"cost":2,"costs":{"tokens":89000}}"#,
            r#""allowed":true,"limit":60,"remaining":58,"#,
        ),
        (r#"{"t_ms":0,"cost":58,"costs":{"tokens":1001}}"#, r#""allowed":false,"limit":90000,"#),
        // All or nothing: both limits are as before.
        (r#"{"t_ms":0,"cost":0}"#, r#""allowed":true,"limit":60,"remaining":58,"#),
        (
            r#"{"t_ms":0,"cost":58,"costs":{"tokens":1000}}"#,
            r#""allowed":true,"limit":60,"remaining":0,"#,
        ),
        (r#"{"t_ms":0}"#, r#""allowed":false,"limit":60,"#),
    ];
    for (line, part) in table {
        let json = decide(simulator, line).unwrap();
        assert!(json.contains(part), "{line}: {json}");
    }
}

#[test]
fn a_limit_without_a_cost_of_its_unit_takes_nothing() {
    let simulator = &mut Simulator::new(["gcra 5/s of tokens"]).unwrap();
    for _ in 0..10 {
        let json = decide(simulator, r#"{"t_ms":0,"cost":1}"#).unwrap();
        assert!(json.contains(r#""allowed":true,"limit":5,"remaining":5,"#), "{json}");
    }
}

/// Steps whose costs are not accepted, and the whole error message.
const INVALID: [(&str, &str); 13] = [
    (
        r#"{"t_ms":0,"costs":{"tokens":-1}}"#,
        "costs.tokens -1 is not accepted; expected a whole number from 0 to 4294967295",
    ),
    (
        r#"{"t_ms":0,"costs":{"tokens":1.5}}"#,
        "costs.tokens 1.5 is not accepted; expected a whole number from 0 to 4294967295",
    ),
    (
        r#"{"t_ms":0,"costs":{"tokens":4294967296}}"#,
        "costs.tokens 4294967296 is not accepted; expected a whole number from 0 to 4294967295",
    ),
    (
        r#"{"t_ms":0,"costs":{"tokens":"7"}}"#,
        "costs.tokens \"7\" is not accepted; expected a whole number from 0 to 4294967295",
    ),
    (
        r#"{"t_ms":0,"costs":{"tokens":null}}"#,
        "costs.tokens null is not accepted; expected a whole number from 0 to 4294967295",
    ),
    (
        r#"{"t_ms":0,"costs":{"a\u001b[31m":[]}}"#,
        "costs.a\\u{1b}[31m [] is not accepted; expected a whole number from 0 to 4294967295",
    ),
    (
        r#"{"t_ms":0,"costs":850}"#,
        "costs 850 is not accepted; expected an object of costs, such as {\"tokens\":850}",
    ),
    (
        r#"{"t_ms":0,"costs":{"tokens":1,"tokens":2}}"#,
        "costs {\"tokens\":1,\"tokens\":2} is not accepted; expected names of 1 to 64 bytes, each \
         only once",
    ),
    (
        r#"{"t_ms":0,"costs":{"":1}}"#,
        "costs {\"\":1} is not accepted; expected names of 1 to 64 bytes, each only once",
    ),
    (
        r#"{"t_ms":0,"keys":{"ip":"x","ip":"y"}}"#,
        "keys {\"ip\":\"x\",\"ip\":\"y\"} is not accepted; expected names of 1 to 64 bytes, each \
         only once",
    ),
    (
        r#"{"t_ms":0,"costs":{"tokens":1},"costs":{}}"#,
        "invalid step: duplicate field \"costs\" at column 42",
    ),
    (
        r#"{"t_ms":0,"costs":{"tokens":1,"tokns":1}}"#,
        "cost of \"tokns\": no limit of the policy has this unit (of UNIT); \"costs\" may have tokens",
    ),
    (
        r#"{"t_ms":0,"op":"charge","cost":7,"costs":{"tokens":4294967295}}"#,
        "charge of cost 7 tokens=4294967295 failed: the debt would be too large: it may take at most 2^51 µs \
         (71 years) to drain",
    ),
];

#[test]
fn every_bad_cost_is_an_error() {
    for (line, message) in INVALID {
        // The debt is only too large for a slow limit.
        let mut simulator = Simulator::new(["gcra 60/min", "gcra 1/week of tokens"]).unwrap();
        assert_eq!(decide(&mut simulator, line).unwrap_err(), message, "{line}");
    }
}

#[test]
fn a_policy_without_units_accepts_no_costs() {
    let mut simulator = Simulator::new(["gcra 60/min"]).unwrap();
    let error = decide(&mut simulator, r#"{"t_ms":0,"costs":{"tokens":0}}"#).unwrap_err();
    assert!(error.ends_with("has this unit (of UNIT); expected no \"costs\""), "{error}");
}

#[test]
fn the_table_has_room_for_the_costs() {
    let mut simulator = gateway();
    let head = simulator.table_head();
    let lines = [
        r#"{"t_ms":0,"key":"a"}"#,
        r#"{"t_ms":0,"key":"a","cost":3,"costs":{"tokens":850}}"#,
        r#"{"t_ms":0,"key":"a","op":"charge","cost":99999,"costs":{"tokens":90000}}"#,
    ];
    let costs = ["1", "3 tokens=850", "99999 tokens=90000"];
    for (line, costs) in lines.into_iter().zip(costs) {
        let step = Step::parse(line).unwrap();
        let row = simulator.decide(&step).unwrap().to_string();
        let before = row.split_once("  \u{1b}").unwrap().0;
        assert!(before.ends_with(&format!(" {costs}")), "{row}");
        assert_eq!(before.len(), head.find("  decision").unwrap(), "{head}\n{row}");
    }
}

#[test]
fn the_table_of_limits_without_units_is_narrow() {
    let head = Simulator::new(["gcra 60/min"]).unwrap().table_head();
    assert_eq!(
        head,
        "          t_ms  key               op       cost  decision  remaining  retry after  reset after"
    );
}

#[test]
fn explain_names_the_unit_and_draws_the_same_picture() {
    let explain = |line: &str| Explanation::new(line.parse().unwrap()).to_string();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (plain, tokens) =
        (explain("gcra 900/min per user"), explain("gcra 900/min of tokens per user"));
    let sentence = "It takes the cost of tokens, which is 0 for a request that names none.";
    assert!(words(&tokens).contains(sentence), "{tokens}");
    assert!(!plain.contains("It takes the cost of"), "{plain}");
    let picture = |text: &str| text.split_once("three times:").unwrap().1.to_owned();
    assert_eq!(picture(&tokens), picture(&plain));
}
