//! The keys that every system is asked about.

use std::fmt::Write;

/// Writes a key of 20 bytes over what was there: `user:000000000000042`.
pub(crate) fn write(number: u64, key: &mut String) {
    key.clear();
    write!(key, "user:{number:015}").expect("a String takes all that is written");
}

/// The first so many keys, one after the other. They share one text, so that whoever keeps a key
/// pays for it.
pub(crate) fn each(count: u64, mut what: impl FnMut(&String)) {
    let mut key = String::new();
    for number in 0..count {
        write(number, &mut key);
        what(&key);
    }
}

/// Keys drawn at random, each equally often, in the order of their use. So the text of the next
/// key is as near as that of a request just parsed, and the table is what is measured.
pub(crate) fn drawn(draws: u64, among: u64, seed: u64) -> Vec<String> {
    let mut state = seed;
    let mut key = String::new();
    let one = |_| {
        write(next(&mut state) % among, &mut key);
        key.clone()
    };
    (0..draws).map(one).collect()
}

/// SplitMix64: every run and every system gets the same draws.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
