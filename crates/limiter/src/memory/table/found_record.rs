//! The record of a state in either form, and where it is.

use super::hash_table::Place;
use super::record::{OneWordRecord, ThreeWordRecord};
use super::shard::Shard;

/// A copy of a record, and its place in a shard that stays locked.
#[derive(Clone, Copy)]
pub(crate) enum FoundRecord {
    OneWord(Place, OneWordRecord),
    ThreeWords(Place, ThreeWordRecord),
}

impl FoundRecord {
    /// Stands for no record.
    pub(crate) const NONE: FoundRecord = FoundRecord::OneWord(Place::FIRST, [0; 2]);

    /// Finds the record with this fingerprint.
    #[inline(always)]
    pub(crate) fn find(shard: &Shard, fingerprint: u64) -> Option<FoundRecord> {
        if let Some(place) = shard.one_word.place_of(fingerprint) {
            return Some(FoundRecord::OneWord(place, *shard.one_word.record_at(place)?));
        }
        let place = shard.three_words.place_of(fingerprint)?;
        Some(FoundRecord::ThreeWords(place, *shard.three_words.record_at(place)?))
    }

    /// Writes the copy back.
    #[inline(always)]
    pub(crate) fn write_to(&self, shard: &mut Shard) {
        match self {
            FoundRecord::OneWord(place, new) => {
                if let Some(record) = shard.one_word.record_at_mut(*place) {
                    *record = *new;
                }
            }
            FoundRecord::ThreeWords(place, new) => {
                if let Some(record) = shard.three_words.record_at_mut(*place) {
                    *record = *new;
                }
            }
        }
    }
}
