//! Periods: `s`, `10min`, and for fixed windows `month`.

use std::fmt;

use crate::rule::CalendarUnit;
use crate::time::Span;
use crate::words::nearest;

/// A unit of time, the way it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// Every way to write a unit, the printed one first.
const WRITTEN: [(Unit, &[&str]); 9] = [
    (Unit::Microsecond, &["us"]),
    (Unit::Millisecond, &["ms"]),
    (Unit::Second, &["s", "sec"]),
    (Unit::Minute, &["min", "m"]),
    (Unit::Hour, &["h", "hour"]),
    (Unit::Day, &["day", "d"]),
    (Unit::Week, &["week", "w"]),
    (Unit::Month, &["month"]),
    (Unit::Year, &["year"]),
];

/// What a period may be, for errors.
pub(crate) const ACCEPTED: &str = "a unit (us, ms, s, min, h, day, week; for fixed-window also \
                                   month, year) or a whole number from 1 on with one, such as 10min";

impl Unit {
    fn named(word: &str) -> Option<Unit> {
        let mut units = WRITTEN.iter();
        units.find(|(_, words)| words.contains(&word)).map(|(unit, _)| *unit)
    }

    fn word(self) -> &'static str {
        let words = WRITTEN.iter().find(|(unit, _)| *unit == self).map(|(_, words)| *words);
        words.and_then(|words| words.first()).copied().unwrap_or("")
    }

    /// How long it is; `None` for what only a calendar can tell.
    const fn ticks(self) -> Option<u64> {
        match self {
            Unit::Microsecond => Some(1),
            Unit::Millisecond => Some(1_000),
            Unit::Second => Some(1_000_000),
            Unit::Minute => Some(60_000_000),
            Unit::Hour => Some(3_600_000_000),
            Unit::Day => Some(86_400_000_000),
            Unit::Week => Some(604_800_000_000),
            Unit::Month | Unit::Year => None,
        }
    }

    const fn calendar(self) -> Option<CalendarUnit> {
        match self {
            Unit::Day => Some(CalendarUnit::Day),
            Unit::Week => Some(CalendarUnit::Week),
            Unit::Month => Some(CalendarUnit::Month),
            Unit::Year => Some(CalendarUnit::Year),
            _ => None,
        }
    }
}

/// The length of a fixed window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// A plain length, laid back to back from the epoch.
    Length(Span),
    /// A unit of the calendar, in a time zone.
    Calendar(Unit),
}

impl Period {
    pub(crate) const fn calendar_unit(self) -> Option<CalendarUnit> {
        match self {
            Period::Length(_) => None,
            Period::Calendar(unit) => unit.calendar(),
        }
    }
}

/// A period as written: how many of which unit. A bare unit says no number.
pub(crate) struct Written {
    count: Option<u64>,
    unit: Unit,
}

/// Why a period is not one: the unit that was most likely meant, if any.
pub(crate) struct BadPeriod(pub(crate) Option<&'static str>);

impl Written {
    pub(crate) fn parse(text: &str) -> Result<Written, BadPeriod> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, word) = text.split_at_checked(digits).unwrap_or(("", text));
        let words = WRITTEN.iter().filter_map(|(_, words)| words.first().copied());
        let unit = Unit::named(word).ok_or_else(|| BadPeriod(nearest(word, words)))?;
        if number.is_empty() {
            return Ok(Written { count: None, unit });
        }
        let count = number.parse().map_err(|_| BadPeriod(None))?;
        // There is no length to multiply: three months are not a length of time.
        if unit.ticks().is_none() {
            return Err(BadPeriod(Some(unit.word())));
        }
        Ok(Written { count: Some(count), unit })
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.count == Some(0)
    }

    /// As a length; `None` for calendar units and what is too long to count.
    pub(crate) fn length(&self) -> Option<Span> {
        let ticks = self.unit.ticks()?.checked_mul(self.count.unwrap_or(1))?;
        Some(Span::from_micros(ticks))
    }

    /// As the length of a fixed window: the bare `day`, `week`, `month` and `year` are the
    /// calendar's.
    pub(crate) fn period(&self) -> Option<Period> {
        match (self.count, self.unit.calendar()) {
            (None, Some(_)) => Some(Period::Calendar(self.unit)),
            _ => self.length().map(Period::Length),
        }
    }
}

/// Prints a length as one unit with a number; `bare` leaves the number out where it is 1.
pub(crate) struct Printed {
    pub(crate) length: Span,
    pub(crate) bare: bool,
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ticks = self.length.as_micros();
        let fits = |unit: &Unit| unit.ticks().is_some_and(|one| ticks.is_multiple_of(one));
        let units = WRITTEN.iter().rev().map(|(unit, _)| *unit);
        let unit = units.into_iter().find(fits).filter(|_| ticks > 0).unwrap_or(Unit::Second);
        let count = ticks.checked_div(unit.ticks().unwrap_or(1)).unwrap_or(0);
        if count == 1 && self.bare {
            return f.write_str(unit.word());
        }
        write!(f, "{count}{}", unit.word())
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Period::Calendar(unit) => f.write_str(unit.word()),
            // A bare `day` or `week` would be read as the calendar's.
            Period::Length(length) => {
                let calendar = [Unit::Day, Unit::Week]
                    .iter()
                    .any(|unit| unit.ticks() == Some(length.as_micros()));
                write!(f, "{}", Printed { length: *length, bare: !calendar })
            }
        }
    }
}
