//! The times of a trace need not be sorted.

#![allow(clippy::unwrap_used, reason = "a test")]

use tollgate_sim::{Simulator, Step};

/// One step far ahead of the others must not make the store forget them.
#[test]
fn a_step_far_ahead_drops_no_state() {
    let mut simulator = Simulator::new(["gcra 1/h burst 1"]).unwrap();
    let mut allowed = |line: String| {
        let step = Step::parse(&line).unwrap();
        let decided = simulator.decide(&step).unwrap();
        decided.decision().allowed
    };
    let keys = 0..3_000;
    for key in keys.clone() {
        assert!(allowed(format!(r#"{{"t_ms":0,"key":"k{key}"}}"#)));
    }
    for key in keys.clone() {
        assert!(allowed(format!(r#"{{"t_ms":99999999999,"key":"ahead{key}"}}"#)));
    }
    for key in keys {
        assert!(!allowed(format!(r#"{{"t_ms":1,"key":"k{key}"}}"#)), "{key}");
    }
}
