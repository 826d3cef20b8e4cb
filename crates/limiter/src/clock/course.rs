//! How time follows the wall clock: never back, and in no leap that may be a mistake.

use tollgate_core::Time;

/// What the clocks of a machine show, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// The counter. It runs evenly, but may stand still while the machine sleeps, and may jump when it
    /// resumes or moves.
    pub(super) count: u64,
    /// The time that the machine has been up, sleep included.
    pub(super) uptime: u64,
    /// The wall clock, since the Unix epoch.
    pub(super) wall: u64,
}

/// A difference that is left alone. Counters drift apart by some microseconds in a second.
const TOLERANCE: u64 = 1_000;
/// A wall clock that is further ahead must stay there for as long before it is believed; one that is further
/// behind is a fault that people should know of.
const MINUTE: u64 = 60_000_000;
/// If the counter and the uptime differ by so much, the counter is wrong: the machine has slept, or moved.
const MAX_DRIFT: u64 = 1_000_000;
/// Where time is to run faster or slower, it gains or loses one part in so many.
const PACE: u64 = 20;

/// Time as a function of the counter. Each synchronization may bend its line, and only ever lifts it.
#[derive(Debug)]
pub(super) struct Course {
    /// Where the line begins: the count and the time of the last synchronization.
    count: u64,
    time: u64,
    /// What it gains or loses before it is even again.
    bend: Bend,
    /// The uptime at the last synchronization.
    uptime: u64,
    /// Since when the wall clock is far ahead, by the uptime, and by how much.
    ahead: Option<(u64, u64)>,
    /// How far the wall clock is behind, once that has been more than a minute, until they agree.
    behind: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bend {
    None,
    Gains(u64),
    Loses(u64),
}

impl Course {
    pub(super) fn start(reading: Reading) -> Course {
        let Reading { count, uptime, wall } = reading;
        let time = wall.min(Time::MAX.as_micros());
        Course { count, time, bend: Bend::None, uptime, ahead: None, behind: None }
    }

    /// Returns the time at this count, which is never before that of an earlier count.
    pub(super) fn time_at(&self, count: u64) -> u64 {
        self.time_after(count.saturating_sub(self.count))
    }

    fn time_after(&self, since: u64) -> u64 {
        let even = self.time.saturating_add(since);
        match self.bend {
            Bend::None => even,
            Bend::Gains(gain) => even.saturating_add(gain.min(since / PACE)),
            Bend::Loses(loss) => even.saturating_sub(loss.min(since / PACE)),
        }
    }

    /// Returns whether time runs evenly from this count on.
    pub(super) fn is_even_from(&self, count: u64) -> bool {
        let (Bend::Gains(amount) | Bend::Loses(amount)) = self.bend else { return true };
        count.saturating_sub(self.count) / PACE >= amount
    }

    /// Returns the count of the last synchronization.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether the last synchronization is this long ago, or the counter has gone back since.
    pub(super) fn is_due(&self, count: u64, interval: u64) -> bool {
        count.checked_sub(self.count).is_none_or(|since| since >= interval)
    }

    /// Returns how far the wall clock was behind at the last synchronization, if that is a fault.
    pub(super) fn behind(&self) -> Option<u64> {
        self.behind
    }

    /// Takes a new reading of all clocks.
    pub(super) fn sync(&mut self, reading: Reading) {
        let Reading { count, uptime, wall } = reading;
        let counted = count.saturating_sub(self.count);
        let been_up = uptime.saturating_sub(self.uptime);
        let since = if counted.abs_diff(been_up) < MAX_DRIFT { counted } else { been_up };
        self.time = self.time_after(since);
        (self.count, self.uptime) = (count, uptime);
        self.bend = Bend::None;
        // A wall clock beyond all time is not to be followed.
        if wall > Time::MAX.as_micros() {
            self.ahead = None;
            return;
        }
        self.follow(wall);
    }

    fn follow(&mut self, wall: u64) {
        let (gap, loss) = (wall.saturating_sub(self.time), self.time.saturating_sub(wall));
        if gap > MINUTE {
            return self.leap_if_held(gap);
        }
        self.ahead = None;
        if gap > TOLERANCE {
            self.bend = Bend::Gains(gap);
        } else if loss > TOLERANCE {
            self.bend = Bend::Loses(loss);
        }
        let is_fault = loss > MINUTE || self.behind.is_some() && loss > TOLERANCE;
        self.behind = is_fault.then_some(loss);
    }

    /// Follows a wall clock that is far ahead, if it has been there for a minute.
    fn leap_if_held(&mut self, gap: u64) {
        self.behind = None;
        // If it was set again meanwhile, the minute begins anew.
        let held = self.ahead.filter(|(_, before)| gap.abs_diff(*before) < MINUTE);
        let (since, _) = *self.ahead.insert(held.unwrap_or((self.uptime, gap)));
        if self.uptime.saturating_sub(since) >= MINUTE {
            self.time = self.time.saturating_add(gap);
            self.ahead = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000;
    const DAY: u64 = 86_400 * SECOND;
    const NOON: u64 = 1_700_000_000 * SECOND;

    /// A machine whose clocks are set by the test. It synchronizes once a second.
    struct Machine {
        at: Reading,
        course: Course,
    }

    impl Machine {
        fn start() -> Machine {
            let at = Reading { count: 0, uptime: 500 * SECOND, wall: NOON };
            Machine { at, course: Course::start(at) }
        }

        fn set_wall(&mut self, by: i64) {
            self.at.wall = self.at.wall.checked_add_signed(by).unwrap();
        }

        /// Lets seconds pass, and returns the time after them.
        fn pass(&mut self, seconds: u64) -> u64 {
            for _ in 0..seconds {
                let before = self.now();
                self.at.count += SECOND;
                self.at.uptime += SECOND;
                self.at.wall += SECOND;
                let passed = self.now() - before;
                assert!((SECOND * 95 / 100..=SECOND * 105 / 100).contains(&passed), "{passed}");
                self.course.sync(self.at);
                assert!(self.now() >= before + passed, "a step back");
            }
            self.now()
        }

        fn sleep(&mut self, micros: u64) {
            self.at.uptime += micros;
            self.at.wall += micros;
            self.course.sync(self.at);
        }

        fn now(&self) -> u64 {
            self.course.time_at(self.at.count)
        }

        /// Returns how far the wall clock is ahead.
        fn ahead(&self) -> i64 {
            self.at.wall.cast_signed() - self.now().cast_signed()
        }
    }

    #[test]
    fn clocks_that_agree_stay_together() {
        let mut machine = Machine::start();
        assert_eq!(machine.pass(100), NOON + 100 * SECOND);
        assert!(machine.course.is_even_from(machine.at.count));
    }

    #[test]
    fn a_wall_clock_that_is_wrong_for_a_second_does_no_harm() {
        for wrong in [-400, -1, 1, 365, 36_500, 365_000].map(|days| days * DAY.cast_signed()) {
            let mut machine = Machine::start();
            machine.set_wall(wrong);
            machine.pass(1);
            machine.set_wall(-wrong);
            machine.pass(2);
            assert!(machine.ahead().abs() <= TOLERANCE.cast_signed(), "{wrong}");
            assert_eq!(machine.course.behind(), None, "{wrong}");
        }
    }

    #[test]
    fn a_small_difference_is_worked_off_at_one_part_in_twenty() {
        for by in [-30, -5, 5, 30].map(|seconds| seconds * SECOND.cast_signed()) {
            let mut machine = Machine::start();
            machine.pass(10);
            machine.set_wall(by);
            machine.pass(1);
            let seconds = by.unsigned_abs() / SECOND;
            machine.pass(20 * seconds - 2);
            assert!(machine.ahead().abs() > TOLERANCE.cast_signed(), "{by}: too early");
            machine.pass(3);
            assert!(machine.ahead().abs() <= TOLERANCE.cast_signed(), "{by}: {}", machine.ahead());
            assert!(machine.course.is_even_from(machine.at.count), "{by}");
        }
    }

    #[test]
    fn a_large_difference_forward_is_taken_after_a_minute() {
        let mut machine = Machine::start();
        machine.set_wall(DAY.cast_signed());
        assert_eq!(machine.pass(60), NOON + 60 * SECOND);
        assert_eq!(machine.pass(1), NOON + DAY + 61 * SECOND);
    }

    #[test]
    fn the_minute_begins_anew_when_the_wall_clock_is_set_again() {
        let mut machine = Machine::start();
        machine.set_wall(DAY.cast_signed());
        machine.pass(40);
        machine.set_wall(DAY.cast_signed());
        assert_eq!(machine.pass(60), NOON + 100 * SECOND);
        assert_eq!(machine.pass(1), NOON + 2 * DAY + 101 * SECOND);
    }

    #[test]
    fn a_machine_that_slept_is_on_time_at_once() {
        for slept in [10 * SECOND, DAY] {
            let mut machine = Machine::start();
            machine.pass(3);
            machine.sleep(slept);
            assert_eq!(machine.now(), NOON + 3 * SECOND + slept);
        }
    }

    #[test]
    fn a_counter_that_jumps_is_ignored() {
        for count in [0, 30 * DAY] {
            let mut machine = Machine::start();
            machine.pass(3);
            machine.at.count = count;
            machine.course.sync(machine.at);
            assert_eq!(machine.now(), NOON + 3 * SECOND);
            assert_eq!(machine.pass(5), NOON + 8 * SECOND);
        }
    }

    #[test]
    fn a_wall_clock_that_is_far_behind_is_a_fault_until_it_agrees() {
        let mut machine = Machine::start();
        machine.set_wall(-(30 * SECOND.cast_signed()));
        machine.pass(2);
        assert_eq!(machine.course.behind(), None);
        machine.set_wall(-(60 * SECOND.cast_signed()));
        machine.pass(2);
        let behind = machine.course.behind().unwrap();
        assert!((88 * SECOND..=90 * SECOND).contains(&behind), "{behind}");
        // Less than a minute is still a fault, until they agree.
        machine.pass(20 * 60);
        assert!(machine.course.behind().is_some_and(|behind| behind < 31 * SECOND));
        machine.pass(20 * 30);
        assert_eq!(machine.course.behind(), None);
    }

    #[test]
    fn time_beyond_all_time_is_not_followed() {
        let mut machine = Machine::start();
        machine.set_wall((Time::MAX.as_micros() - NOON).cast_signed());
        assert_eq!(machine.pass(200), NOON + 200 * SECOND);
        machine.set_wall(-(Time::MAX.as_micros() - NOON).cast_signed());
        assert_eq!(machine.pass(1), NOON + 201 * SECOND);
    }

    proptest! {
        /// Whatever the clocks show, time is never earlier than before.
        #[test]
        fn time_never_steps_back(
            readings in proptest::collection::vec((any::<u32>(), any::<u32>(), any::<u64>()), 1..20),
        ) {
            let mut machine = Machine::start();
            let mut last = machine.now();
            for (count, uptime, wall) in readings {
                machine.at.count += u64::from(count);
                machine.at.uptime += u64::from(uptime);
                machine.at.wall = wall;
                machine.course.sync(machine.at);
                prop_assert!(machine.now() >= last);
                last = machine.course.time_at(machine.at.count + SECOND / 2);
                machine.at.count += SECOND;
                machine.at.uptime += SECOND;
                prop_assert!(machine.now() >= last);
                last = machine.now();
            }
        }
    }
}
