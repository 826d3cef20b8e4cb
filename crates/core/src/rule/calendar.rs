//! Windows of the calendar: the days, weeks, months and years of a time zone.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use crate::time::{Span, Time};

/// The length of a calendar window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CalendarUnit {
    Day,
    /// A week starts on Monday.
    Week,
    Month,
    Year,
}

/// A unit of the calendar in a time zone. A day starts at its first instant in the zone, so it is
/// 23 or 25 hours long when clocks change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Calendar {
    unit: CalendarUnit,
    zone: TimeZone,
}

impl Calendar {
    pub(crate) fn new(unit: CalendarUnit, zone: TimeZone) -> Calendar {
        Calendar { unit, zone }
    }

    /// Returns the maximum length of a window. Since 1970 no zone has set its clocks back by more
    /// than seven hours.
    pub(crate) fn max_length(&self) -> Span {
        let days = match self.unit {
            CalendarUnit::Day => 1,
            CalendarUnit::Week => 7,
            CalendarUnit::Month => 31,
            CalendarUnit::Year => 366,
        };
        let set_back = if self.zone == TimeZone::UTC { 0 } else { 7 };
        let hour = Span::from_micros(3_600_000_000);
        hour.times(24).times(days).plus(hour.times(set_back))
    }

    /// Returns the bounds of the window that contains `now`.
    pub(crate) fn bounds_at(&self, now: Time) -> (Time, Time) {
        // Instants end in the year 2112, well within the range of the calendar, so neither default
        // is ever used.
        let stamp =
            i64::try_from(now.as_micros()).ok().and_then(|m| Timestamp::from_microsecond(m).ok());
        let date = stamp.unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(self.zone.clone()).date();
        let mut first = self.unit.first_day(date);
        // Where clocks were set back over midnight, the date is yesterday's again, but the window
        // of the new day has already started and continues.
        let mut end = self.start_of(self.unit.next(first));
        while end <= now && self.unit.next(first) > first {
            first = self.unit.next(first);
            end = self.start_of(self.unit.next(first));
        }
        (self.start_of(first), end)
    }

    /// Returns the first instant of a day; the epoch for days before it.
    fn start_of(&self, day: Date) -> Time {
        let start = day.to_zoned(self.zone.clone()).and_then(|start| start.start_of_day());
        let micros = start.as_ref().map_or(0, |start: &Zoned| start.timestamp().as_microsecond());
        Time::at(u64::try_from(micros).unwrap_or(0))
    }
}

impl CalendarUnit {
    fn first_day(self, date: Date) -> Date {
        match self {
            CalendarUnit::Day => date,
            CalendarUnit::Week => {
                date.saturating_sub(i64::from(date.weekday().to_monday_zero_offset()).days())
            }
            CalendarUnit::Month => date.first_of_month(),
            CalendarUnit::Year => date.first_of_year(),
        }
    }

    fn next(self, first: Date) -> Date {
        match self {
            CalendarUnit::Day => first.saturating_add(1.day()),
            CalendarUnit::Week => first.saturating_add(1.week()),
            CalendarUnit::Month => first.saturating_add(1.month()),
            CalendarUnit::Year => first.saturating_add(1.year()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(unit: CalendarUnit, zone: &str, at: &str) -> (String, String) {
        let calendar = Calendar::new(unit, TimeZone::get(zone).unwrap());
        let at: Timestamp = at.parse().unwrap();
        let (start, end) = calendar.bounds_at(Time::at(at.as_microsecond().try_into().unwrap()));
        let text = |t: Time| {
            Timestamp::from_microsecond(t.as_micros().try_into().unwrap()).unwrap().to_string()
        };
        (text(start), text(end))
    }

    /// Checked in every zone around every change of its clocks.
    #[test]
    fn windows_contain_their_instant_and_are_adjacent_in_every_zone() {
        let from: Timestamp = "1970-01-01T00:00:00Z".parse().unwrap();
        let to: Timestamp = "2040-01-01T00:00:00Z".parse().unwrap();
        for name in jiff::tz::db().available() {
            let zone = TimeZone::get(name.as_str()).unwrap();
            let changes = zone.following(from).map(|change| change.timestamp());
            let changes: Vec<Timestamp> = changes.take_while(|change| *change < to).collect();
            for unit in [CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month] {
                let calendar = Calendar::new(unit, zone.clone());
                for change in &changes {
                    for minutes in [-90, -31, -1, 0, 1, 29, 59, 61, 90, 1500] {
                        let at = change.as_microsecond() + minutes * 60_000_000;
                        let at = Time::at(u64::try_from(at).unwrap_or(0));
                        let (start, end) = calendar.bounds_at(at);
                        assert!(start <= at && at < end, "{} {unit:?} {at:?}", name.as_str());
                        assert_eq!(
                            calendar.bounds_at(end).0,
                            end,
                            "{} {unit:?} {at:?}",
                            name.as_str()
                        );
                        let max_length = calendar.max_length();
                        assert!(
                            end.since(start) <= max_length,
                            "{} {unit:?} {at:?}",
                            name.as_str()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn windows_follow_the_calendar_of_the_zone() {
        use CalendarUnit::{Day, Month, Week, Year};
        let table = [
            (Day, "UTC", "2024-02-29T12:00:00Z", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"),
            // The clocks go forward: 23 hours. They go back: 25.
            (
                Day,
                "Europe/Amsterdam",
                "2024-03-31T12:00:00Z",
                "2024-03-30T23:00:00Z",
                "2024-03-31T22:00:00Z",
            ),
            (
                Day,
                "Europe/Amsterdam",
                "2024-10-27T00:30:00Z",
                "2024-10-26T22:00:00Z",
                "2024-10-27T23:00:00Z",
            ),
            // Midnight does not exist: the day starts at one o'clock.
            (
                Day,
                "America/Sao_Paulo",
                "2018-11-04T12:00:00Z",
                "2018-11-04T03:00:00Z",
                "2018-11-05T02:00:00Z",
            ),
            (Week, "UTC", "2024-05-05T23:59:59Z", "2024-04-29T00:00:00Z", "2024-05-06T00:00:00Z"),
            (
                Month,
                "Asia/Kolkata",
                "2024-02-29T18:30:00Z",
                "2024-02-29T18:30:00Z",
                "2024-03-31T18:30:00Z",
            ),
            (
                Year,
                "UTC",
                "2023-12-31T23:59:59.999999Z",
                "2023-01-01T00:00:00Z",
                "2024-01-01T00:00:00Z",
            ),
            // At one minute past midnight the clocks go back to 23:01: the new day continues.
            (
                Day,
                "America/St_Johns",
                "2010-11-07T03:00:00Z",
                "2010-11-07T02:30:00Z",
                "2010-11-08T03:30:00Z",
            ),
            // The epoch is inside a week, a month and a year that started before it.
            (Week, "UTC", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-05T00:00:00Z"),
        ];
        for (unit, zone, at, start, end) in table {
            assert_eq!(bounds(unit, zone, at), (start.into(), end.into()), "{unit:?} {zone} {at}");
        }
    }
}
