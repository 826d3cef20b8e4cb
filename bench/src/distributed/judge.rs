//! How many checks were allowed within one second, at least.

/// An instant of the monotonic clock in nanoseconds, which all processes share.
type Nanos = u64;

const SECOND: Nanos = 1_000_000_000;

/// When an allowed check was sent, and when its answer arrived. The decision was made in between.
pub(crate) type Admission = [Nanos; 2];

/// Returns the most that were decided within one second, whichever instants the decisions had: those that
/// were both sent and answered within it. Where the node decides, the two instants are the same but for
/// microseconds.
pub(crate) fn most_in_a_second(mut admissions: Vec<Admission>) -> usize {
    admissions.sort_unstable();
    let within = |first: usize| {
        let end = admissions[first][0] + SECOND;
        let sent_before_end = admissions[first..].iter().take_while(|[sent, _]| *sent < end);
        sent_before_end.filter(|[_, answered]| *answered < end).count()
    };
    (0..admissions.len()).map(within).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_was_allowed() {
        assert_eq!(most_in_a_second(Vec::new()), 0);
    }

    #[test]
    fn a_second_is_half_open() {
        assert_eq!(most_in_a_second(vec![[0, 0], [SECOND, SECOND]]), 1);
        assert_eq!(most_in_a_second(vec![[1, 1], [SECOND, SECOND]]), 2);
    }

    #[test]
    fn a_decision_that_may_be_later_does_not_count() {
        let certain = [[0, 10], [20, 30], [40, SECOND - 1]];
        let uncertain = [[50, SECOND + 60], [SECOND, 2 * SECOND]];
        assert_eq!(most_in_a_second([certain.as_slice(), &uncertain].concat()), 3);
    }

    #[test]
    fn any_second_counts_not_only_the_first() {
        let late = (0..5).map(|n| [3 * SECOND + n, 3 * SECOND + n]);
        assert_eq!(most_in_a_second([0, 1].map(|n| [n, n]).into_iter().chain(late).collect()), 5);
    }
}
