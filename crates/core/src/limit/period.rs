//! Periods such as `s` and `10min`, and for fixed windows `month`.

use std::fmt;

use crate::rule::CalendarUnit;
use crate::suggest::nearest;
use crate::time::Span;

/// A unit of time in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum PeriodUnit {
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

/// The words for each unit. The first is the one that is printed.
const UNIT_WORDS: [(PeriodUnit, &[&str]); 9] = [
    (PeriodUnit::Microsecond, &["us"]),
    (PeriodUnit::Millisecond, &["ms"]),
    (PeriodUnit::Second, &["s", "sec"]),
    (PeriodUnit::Minute, &["min", "m"]),
    (PeriodUnit::Hour, &["h", "hour"]),
    (PeriodUnit::Day, &["day", "d"]),
    (PeriodUnit::Week, &["week", "w"]),
    (PeriodUnit::Month, &["month"]),
    (PeriodUnit::Year, &["year"]),
];

/// What error messages say a period may be.
pub(crate) const EXPECTED: &str = "a unit (us, ms, s, min, h, day, week; for fixed-window also \
                                   month, year) or a positive whole number and a unit, such as \
                                   10min";

impl PeriodUnit {
    fn from_word(word: &str) -> Option<PeriodUnit> {
        let mut units = UNIT_WORDS.iter();
        units.find(|(_, words)| words.contains(&word)).map(|(unit, _)| *unit)
    }

    fn word(self) -> &'static str {
        let words = UNIT_WORDS.iter().find(|(unit, _)| *unit == self).map(|(_, words)| *words);
        words.and_then(|words| words.first()).copied().unwrap_or("")
    }

    /// Returns its length; `None` if it depends on the calendar.
    const fn ticks(self) -> Option<u64> {
        match self {
            PeriodUnit::Microsecond => Some(1),
            PeriodUnit::Millisecond => Some(1_000),
            PeriodUnit::Second => Some(1_000_000),
            PeriodUnit::Minute => Some(60_000_000),
            PeriodUnit::Hour => Some(3_600_000_000),
            PeriodUnit::Day => Some(86_400_000_000),
            PeriodUnit::Week => Some(604_800_000_000),
            PeriodUnit::Month | PeriodUnit::Year => None,
        }
    }

    const fn calendar(self) -> Option<CalendarUnit> {
        match self {
            PeriodUnit::Day => Some(CalendarUnit::Day),
            PeriodUnit::Week => Some(CalendarUnit::Week),
            PeriodUnit::Month => Some(CalendarUnit::Month),
            PeriodUnit::Year => Some(CalendarUnit::Year),
            _ => None,
        }
    }
}

/// The length of a fixed window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// A fixed length; the windows are back to back from the epoch.
    Length(Span),
    /// A unit of the calendar, in a time zone.
    Calendar(PeriodUnit),
}

impl Period {
    /// One second.
    pub const SECOND: Period = Period::Length(Span::from_micros(1_000_000));
    /// One minute.
    pub const MINUTE: Period = Period::Length(Span::from_micros(60_000_000));
    /// One hour.
    pub const HOUR: Period = Period::Length(Span::from_micros(3_600_000_000));
    /// A day of the calendar.
    pub const DAY: Period = Period::Calendar(PeriodUnit::Day);
    /// A week of the calendar, from Monday.
    pub const WEEK: Period = Period::Calendar(PeriodUnit::Week);
    /// A month of the calendar.
    pub const MONTH: Period = Period::Calendar(PeriodUnit::Month);
    /// A year of the calendar.
    pub const YEAR: Period = Period::Calendar(PeriodUnit::Year);

    pub(crate) const fn calendar_unit(self) -> Option<CalendarUnit> {
        match self {
            Period::Length(_) => None,
            Period::Calendar(unit) => unit.calendar(),
        }
    }
}

/// A period as written. A bare unit has no count.
pub(crate) struct Written {
    count: Option<u64>,
    unit: PeriodUnit,
}

/// The error of an invalid period, with the unit to suggest, if any.
pub(crate) struct InvalidPeriod(pub(crate) Option<&'static str>);

impl Written {
    pub(crate) fn parse(text: &str) -> Result<Written, InvalidPeriod> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, word) = text.split_at_checked(digits).unwrap_or(("", text));
        let words = UNIT_WORDS.iter().filter_map(|(_, words)| words.first().copied());
        let unit =
            PeriodUnit::from_word(word).ok_or_else(|| InvalidPeriod(nearest(word, words)))?;
        if number.is_empty() {
            return Ok(Written { count: None, unit });
        }
        let count = number.parse().map_err(|_| InvalidPeriod(None))?;
        // Months and years have no fixed length, so they take no count.
        if unit.ticks().is_none() {
            return Err(InvalidPeriod(Some(unit.word())));
        }
        Ok(Written { count: Some(count), unit })
    }

    /// Returns it as a length; `None` for calendar units and lengths that overflow.
    pub(crate) fn length(&self) -> Option<Span> {
        let ticks = self.unit.ticks()?.checked_mul(self.count.unwrap_or(1))?;
        Some(Span::from_micros(ticks))
    }

    /// Returns it as the period of a fixed window: the bare `day`, `week`, `month` and `year` are
    /// calendar units.
    pub(crate) fn period(&self) -> Option<Period> {
        match (self.count, self.unit.calendar()) {
            (None, Some(_)) => Some(Period::Calendar(self.unit)),
            _ => self.length().map(Period::Length),
        }
    }
}

/// Prints a length as one unit with a number; `bare` omits the number if it is 1.
pub(crate) struct Printed {
    pub(crate) length: Span,
    pub(crate) bare: bool,
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ticks = self.length.as_micros();
        let fits = |unit: &PeriodUnit| unit.ticks().is_some_and(|one| ticks.is_multiple_of(one));
        let units = UNIT_WORDS.iter().rev().map(|(unit, _)| *unit);
        let unit = units.into_iter().find(fits).filter(|_| ticks > 0).unwrap_or(PeriodUnit::Second);
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
            // A bare `day` or `week` would be parsed as a calendar unit.
            Period::Length(length) => {
                let calendar = [PeriodUnit::Day, PeriodUnit::Week]
                    .iter()
                    .any(|unit| unit.ticks() == Some(length.as_micros()));
                write!(f, "{}", Printed { length: *length, bare: !calendar })
            }
        }
    }
}
