//! Tests of the comparison itself: a second model agrees with the first, random steps cover what they
//! are meant to cover, and a wrong system is detected.

mod lines;

use tollgate_model::random::{Algorithm, System, compare};
use tollgate_model::{Answer, Key, LimitAnswer, Step, TooMuch};

/// A second model, made from the lines alone.
struct Second(Key);

impl System for Second {
    fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch> {
        self.0.apply(step)
    }

    fn limit_answers(&self) -> Option<Vec<LimitAnswer>> {
        Some(self.0.limit_answers().to_vec())
    }
}

fn key(lines: &[String]) -> Key {
    Key::new(lines.iter().map(|line| lines::limit(line)).collect())
}

#[test]
fn the_model_agrees_with_itself() {
    for algorithm in Algorithm::ALL {
        let tally = compare(1, algorithm, 20_000, |lines| Box::new(Second(key(lines))));
        println!("{}: {tally:?}", algorithm.name());
        tally.assert_covers();
    }
}

/// Returns a `retry_after` that is one tick too short.
struct Hasty(Key);

impl System for Hasty {
    fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch> {
        let mut answer = self.0.apply(step)?;
        answer.retry_after = answer.retry_after.map(|wait| wait.saturating_sub(1));
        Ok(answer)
    }
}

#[test]
#[should_panic(expected = "the system differs from the model (seed 7, gcra, key ")]
fn a_wrong_answer_is_detected() {
    compare(7, Algorithm::Gcra, 1_000, |lines| Box::new(Hasty(key(lines))));
}

/// Decides right, but returns the answers of the limits in reverse.
struct Reversed(Key);

impl System for Reversed {
    fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch> {
        self.0.apply(step)
    }

    fn limit_answers(&self) -> Option<Vec<LimitAnswer>> {
        Some(self.0.limit_answers().iter().rev().copied().collect())
    }
}

#[test]
#[should_panic(expected = "the system differs from the model (seed 7, gcra, key ")]
fn a_wrong_answer_of_a_limit_is_detected() {
    compare(7, Algorithm::Gcra, 1_000, |lines| Box::new(Reversed(key(lines))));
}
