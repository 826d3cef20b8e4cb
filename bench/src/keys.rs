//! The keys of the checks.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// Replaces `key` by a key of 20 bytes: `user:000000000000042`.
pub(crate) fn write(number: u64, key: &mut String) {
    key.clear();
    write!(key, "user:{number:015}").expect("writing to a String does not fail");
}

/// Calls `what` with the first `count` keys. They share one buffer, so that a system that keeps a key
/// must copy it.
pub(crate) fn each(count: u64, mut what: impl FnMut(&String)) {
    let mut key = String::new();
    for number in 0..count {
        write(number, &mut key);
        what(&key);
    }
}

/// Returns random keys, evenly distributed, in the order of their use. So the next key is in the CPU
/// cache like that of a request just parsed, and the table is what is measured.
pub(crate) fn drawn(draws: u64, among: u64, seed: u64) -> Vec<String> {
    let mut state = seed;
    let mut key = String::new();
    let one = |_| {
        write(next(&mut state) % among, &mut key);
        key.clone()
    };
    (0..draws).map(one).collect()
}

/// Returns random keys by Zipf's law, in the order of their use: key number N is drawn 1 / (N + 1) times as
/// often as the first.
pub(crate) fn drawn_by_zipf(draws: u64, among: u64, seed: u64) -> Vec<String> {
    let mut total = 0.0;
    let shares = (1..=among).map(|rank| {
        total += 1.0 / rank as f64;
        total
    });
    let shares: Vec<f64> = shares.collect();
    let (mut state, mut key) = (seed, String::new());
    let one = |_| {
        let drawn = next(&mut state) as f64 / u64::MAX as f64 * total;
        write(shares.partition_point(|share| *share < drawn) as u64, &mut key);
        key.clone()
    };
    (0..draws).map(one).collect()
}

/// Returns the first `count` keys in a random order, and then in another: in the same order, the second
/// pass would access the memory of the keys in the order of their creation.
pub(crate) fn shuffled_twice(count: usize) -> Vec<String> {
    let mut state = 1;
    let mut keys = Vec::with_capacity(2 * count);
    for _ in 0..2 {
        let mut numbers: Vec<u64> = (0..count as u64).collect();
        shuffle(&mut numbers, &mut state);
        keys.extend(numbers.into_iter().map(|number| {
            let mut key = String::new();
            write(number, &mut key);
            key
        }));
    }
    keys
}

/// Writes one key per line, for clients in other languages.
pub(crate) fn write_file(file: &Path, keys: &[String]) -> io::Result<()> {
    fs::write(file, keys.join("\n") + "\n")
}

/// Fisher-Yates.
fn shuffle(numbers: &mut [u64], state: &mut u64) {
    for last in (1..numbers.len()).rev() {
        let other = next(state) % (last as u64 + 1);
        numbers.swap(last, usize::try_from(other).expect("`other` is at most `last`"));
    }
}

/// SplitMix64: every run and every system gets the same numbers.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_have_20_bytes() {
        let mut keys = Vec::new();
        each(3, |key| keys.push(key.clone()));
        assert_eq!(keys, ["user:000000000000000", "user:000000000000001", "user:000000000000002"]);
        assert!(keys.iter().all(|key| key.len() == 20));
    }

    #[test]
    fn draws_are_the_same_every_time_and_differ_by_seed() {
        assert_eq!(drawn(100, 1000, 1), drawn(100, 1000, 1));
        assert_ne!(drawn(100, 1000, 1), drawn(100, 1000, 2));
    }

    #[test]
    fn the_first_key_of_zipf_is_drawn_twice_as_often_as_the_second() {
        let drawn = drawn_by_zipf(100_000, 1000, 1);
        let count = |number| {
            let mut key = String::new();
            write(number, &mut key);
            drawn.iter().filter(|drawn| **drawn == key).count()
        };
        // The sum of 1 / N up to 1000 is 7.485.
        assert_eq!((count(0) / 1000, count(1) / 1000), (13, 6));
        assert!(drawn.iter().all(|key| key.as_str() < "user:000000000001000"));
    }

    #[test]
    fn every_key_is_shuffled_twice() {
        let keys = shuffled_twice(100);
        let (first, second) = keys.split_at(100);
        let sorted = |keys: &[String]| BTreeSet::from_iter(keys.to_vec());
        assert_eq!((sorted(first).len(), sorted(first)), (100, sorted(second)));
        assert_ne!(first, second);
        assert!(!first.is_sorted() && !second.is_sorted());
    }
}
