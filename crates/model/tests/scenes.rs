//! Scenes: policies, operations on one key, and the expected answers.
//!
//! A scene is a name, its limit lines, and one line per step: the time, the operation, its cost (or
//! one for each limit, as `1,850`), optionally `@id`, and after the colon what is known of the answer.

mod lines;

use tollgate_model::{Answer, Key, Limit, Operation, Step, TooMuch};

#[test]
fn traces_of_other_systems() {
    play(include_str!("traces.txt"));
}

#[test]
fn rules() {
    play(include_str!("rules.txt"));
}

#[test]
fn reservations() {
    play(include_str!("reservations.txt"));
}

fn play(text: &str) {
    let (mut name, mut key, mut limits) = ("", None, Vec::<Limit>::new());
    for line in text.lines().map(str::trim) {
        if let Some(scene) = line.strip_prefix("scene ") {
            (name, key, limits) = (scene, None, Vec::new());
        } else if let Some(limit) = line.strip_prefix("limit ") {
            limits.push(lines::limit(limit));
        } else if !line.is_empty() && !line.starts_with('#') {
            let key = key.get_or_insert_with(|| Key::new(limits.clone()));
            play_step(key, limits.len(), line, name);
        }
    }
}

fn play_step(key: &mut Key, limits: usize, line: &str, scene: &str) {
    let (asked, known) = line.split_once(':').expect("a step has a colon");
    let answer = key.apply(&step(asked, limits));
    for word in known.split_whitespace() {
        assert!(agrees(&answer, word), "{scene}: {line}\nbut not {word}: {answer:?}");
    }
}

fn step(asked: &str, limits: usize) -> Step {
    let words: Vec<&str> = asked.split_whitespace().collect();
    Step {
        t: lines::ticks(words[0]),
        op: operation(words[1]),
        costs: costs(words[2], limits),
        id: words.get(3).map(|id| id.trim_start_matches('@').to_owned()),
    }
}

fn costs(word: &str, limits: usize) -> Vec<u64> {
    let costs: Vec<u64> = word.split(',').map(|cost| cost.parse().expect("a cost")).collect();
    if let [cost] = costs[..] { vec![cost; limits] } else { costs }
}

fn operation(word: &str) -> Operation {
    match word {
        "check" => Operation::Check,
        "peek" => Operation::Peek,
        "refund" => Operation::Refund,
        "charge" => Operation::Charge,
        "reset" => Operation::Reset,
        "reserve" => Operation::Reserve,
        "settle" => Operation::Settle,
        "release" => Operation::Release,
        "renew" => Operation::Renew,
        _ => panic!("no such operation: {word}"),
    }
}

fn agrees(answer: &Result<Answer, TooMuch>, word: &str) -> bool {
    let Ok(answer) = answer else {
        return word == "too-much";
    };
    match word.split_once('=') {
        Some(("limit", known)) => answer.limit == known.parse().ok(),
        Some(("remaining", known)) => answer.remaining == known.parse().ok(),
        Some(("retry", "never")) => answer.retry_after.is_none(),
        Some(("retry", known)) => answer.retry_after == Some(lines::ticks(known)),
        Some(("reset", known)) => answer.reset_after == lines::ticks(known),
        Some(("by", known)) => Some(answer.bound_by) == known.parse().ok(),
        None if word == "allowed" => answer.allowed,
        None if word == "denied" => !answer.allowed,
        _ => false,
    }
}
