//! The goals. All are ratios from one run, so that the machine matters less.

use crate::goals::{Bound, Goal};
use crate::redis::bench::{CLIENT_CPU, REDIS_CPU};
use crate::redis::system::{BASE, MAIN};
use crate::report::Row;

const CLIENT_CPU_GCRA: &str = "client-cpu-gcra";
const REDIS_CPU_GCRA: &str = "redis-cpu-gcra";

pub(crate) const ALL: [Goal; 2] = [
    Goal::ratio(CLIENT_CPU_GCRA, MAIN, Bound::AtMost(0.333)),
    Goal::ratio(REDIS_CPU_GCRA, MAIN, Bound::AtMost(1.25)),
];

/// Returns the rows of the goals again, under names of their own. There are none if the peer could
/// not be measured.
pub(crate) fn figures(rows: &[Row]) -> Vec<Row> {
    let figure = |(bench, name): (&str, &str)| {
        let matches = |row: &&Row| row.bench == bench && row.system == MAIN && row.against == BASE;
        let mut row = rows.iter().find(matches)?.clone();
        row.bench = name.to_owned();
        Some(row)
    };
    let names = [(CLIENT_CPU, CLIENT_CPU_GCRA), (REDIS_CPU, REDIS_CPU_GCRA)];
    names.into_iter().filter_map(figure).collect()
}
