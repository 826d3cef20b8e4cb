//! Parses a limit line: splits it into words, then reads them as a spec.

use super::bounds::{LimitResult, MILLISECOND};
use super::period::{self, Period, Written};
use super::spec::{Algorithm, Edge, Rate, Spec, Zone};
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::subject::Name;
use crate::suggest::nearest;
use crate::time::Span;

/// Maximum length of a limit line in bytes.
const MAX_LINE_BYTES: usize = 1024;
/// The words that any limit may have.
const COMMON: [&str; 3] = ["count-denied", "factor", "per"];

/// A parsed line, with its words to locate errors that are found later.
pub(super) struct Parsed<'l> {
    pub(super) spec: Spec,
    pub(super) factor: Decimal,
    pub(super) count_denied: bool,
    pub(super) per: Option<Name>,
    pub(super) words: Words<'l>,
}

/// Parses one limit line.
pub(super) fn parse(line: &str) -> LimitResult<Parsed<'_>> {
    if line.len() > MAX_LINE_BYTES {
        let expected = format!("at most {MAX_LINE_BYTES} bytes");
        return Err(LimitError::new("line", format!("of {} bytes", line.len()), expected));
    }
    let mut words = Words::new(line);
    let algorithm = words.algorithm()?;
    let spec = spec(algorithm, &mut words)?;
    let count_denied = words.flag("count-denied");
    let factor = words.decimal("factor")?.unwrap_or(Decimal::ONE);
    let per = words.name("per")?;
    words.finish(algorithm)?;
    Ok(Parsed { spec, factor, count_denied, per, words })
}

fn spec(algorithm: Algorithm, words: &mut Words<'_>) -> LimitResult<Spec> {
    Ok(match algorithm {
        Algorithm::Gcra => {
            let rate = words.rate()?;
            Spec::Gcra { rate, burst: words.count("burst")?.unwrap_or(rate.count) }
        }
        Algorithm::TokenBucket => {
            let rate = words.rate()?;
            let burst = words.count("burst")?.unwrap_or(rate.count);
            Spec::TokenBucket { rate, burst, whole: words.flag("whole") }
        }
        Algorithm::LeakyBucket => Spec::LeakyBucket {
            size: words.count("size")?.ok_or_else(|| missing("size", "size 10"))?,
            drip: words.count("drip")?.unwrap_or(1),
            every: words.length("every")?.unwrap_or(Span::from_micros(1_000_000)),
        },
        Algorithm::Legacy => legacy(words)?,
        Algorithm::FixedWindow => fixed_window(words)?,
        Algorithm::RequestWindow => Spec::RequestWindow { rate: words.rate()? },
        Algorithm::SlidingLog => Spec::SlidingLog { rate: words.rate()? },
        Algorithm::SlidingCounters => Spec::SlidingCounters {
            rate: words.rate()?,
            resolution: words.length("resolution")?,
            edge: words.edge()?,
        },
        Algorithm::SlidingWindow => Spec::SlidingWindow { rate: words.rate()? },
        Algorithm::Ar1 => Spec::Ar1 {
            max: words.decimal("max")?.ok_or_else(|| missing("max", "max 1.2"))?,
            decay: words.decimal("decay")?.ok_or_else(|| missing("decay", "decay 2"))?,
            resolution: words
                .length("resolution")?
                .ok_or_else(|| missing("resolution", "resolution 1s"))?,
        },
        Algorithm::Concurrency => concurrency(words)?,
        Algorithm::Unlimited => Spec::Unlimited,
    })
}

fn legacy(words: &mut Words<'_>) -> LimitResult<Spec> {
    Ok(Spec::Legacy {
        max: words.count("max")?,
        duration: words.milliseconds("duration")?,
        min_interval: words.milliseconds("min-interval")?,
    })
}

fn fixed_window(words: &mut Words<'_>) -> LimitResult<Spec> {
    let (count, written, unit) = words.rate_words()?;
    let period = written.period();
    let period = period.ok_or_else(|| invalid("period", unit, period::EXPECTED))?;
    let Some(tz) = words.value("tz")? else {
        return Ok(Spec::FixedWindow { count, period, zone: Zone::utc() });
    };
    if matches!(period, Period::Length(_)) {
        let expected = "no time zone: only the bare units day, week, month and year take one";
        return Err(invalid("tz", tz, expected));
    }
    let zone = Zone::from_name(tz.text).ok_or_else(|| invalid_zone(tz))?;
    Ok(Spec::FixedWindow { count, period, zone })
}

fn invalid_zone(tz: Word<'_>) -> LimitError {
    let names: Vec<String> =
        jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect();
    LimitError::new("tz", tz.text, "a zone of the IANA database, such as Europe/Amsterdam")
        .or_nearest(nearest(tz.text, names.iter().map(String::as_str)))
        .at(Some(tz.column))
}

fn concurrency(words: &mut Words<'_>) -> LimitResult<Spec> {
    let leases = words.next("leases");
    let leases = leases.ok_or_else(|| missing("the number of leases", "20 ttl 30s"))?;
    Ok(Spec::Concurrency {
        leases: count("leases", leases)?,
        ttl: words.length("ttl")?.ok_or_else(|| missing("ttl", "ttl 30s"))?,
    })
}

fn missing(field: &str, example: &str) -> LimitError {
    LimitError::new(field, "", format_args!("it as in {example:?}")).at(Some(0))
}

/// One word of the line, and where it begins.
#[derive(Debug, Clone, Copy)]
struct Word<'l> {
    text: &'l str,
    column: usize,
}

/// The words of a line.
pub(super) struct Words<'l> {
    /// The words that are not yet parsed.
    left: Vec<Word<'l>>,
    /// The word of each field, so that an error found later can point at it.
    parsed: Vec<(&'static str, Word<'l>)>,
    end: usize,
}

impl<'l> Words<'l> {
    fn new(line: &'l str) -> Words<'l> {
        let words = line.split_ascii_whitespace();
        let column = |text: &str| text.as_ptr().addr().saturating_sub(line.as_ptr().addr());
        let left = words.map(|text| Word { text, column: column(text) }).collect();
        Words { left, parsed: Vec::new(), end: line.len() }
    }

    /// Takes the next word as the value of a field.
    fn next(&mut self, field: &'static str) -> Option<Word<'l>> {
        (!self.left.is_empty()).then(|| self.take(field, 0))
    }

    fn take(&mut self, field: &'static str, index: usize) -> Word<'l> {
        let word = self.left.remove(index);
        self.parsed.push((field, word));
        word
    }

    fn algorithm(&mut self) -> LimitResult<Algorithm> {
        let names = || Algorithm::ALL.iter().map(|algorithm| algorithm.name());
        let expected = names().collect::<Vec<_>>().join(", ");
        let Some(word) = self.next("algorithm") else {
            return Err(LimitError::new("algorithm", "", expected).at(Some(0)));
        };
        Algorithm::from_name(word.text).ok_or_else(|| {
            LimitError::new("algorithm", word.text, expected)
                .or_nearest(nearest(word.text, names()))
                .at(Some(word.column))
        })
    }

    /// Takes a keyword that has no value. Returns whether it is there.
    fn flag(&mut self, word: &'static str) -> bool {
        let index = self.left.iter().position(|left| left.text == word);
        index.map(|index| self.take(word, index)).is_some()
    }

    /// Takes a keyword and the word after it. Returns that word.
    fn value(&mut self, keyword: &'static str) -> LimitResult<Option<Word<'l>>> {
        let Some(index) = self.left.iter().position(|word| word.text == keyword) else {
            return Ok(None);
        };
        let column = self.left.remove(index).column;
        if index < self.left.len() {
            return Ok(Some(self.take(keyword, index)));
        }
        let value = format!("the value of {keyword}");
        Err(LimitError::new(&value, "", "one after the keyword").at(Some(column)))
    }

    fn count(&mut self, keyword: &'static str) -> LimitResult<Option<u32>> {
        self.value(keyword)?.map(|word| count(keyword, word)).transpose()
    }

    fn length(&mut self, keyword: &'static str) -> LimitResult<Option<Span>> {
        let Some(word) = self.value(keyword)? else { return Ok(None) };
        let written = written(keyword, word)?;
        let length = written.length().filter(|length| *length > Span::ZERO);
        match length {
            Some(length) => Ok(Some(length)),
            None => Err(invalid(keyword, word, LENGTH)),
        }
    }

    /// Like a length, but in whole milliseconds, and zero is accepted.
    fn milliseconds(&mut self, keyword: &'static str) -> LimitResult<Option<Span>> {
        let Some(word) = self.value(keyword)? else { return Ok(None) };
        let length = written(keyword, word)?.length();
        let whole = |span: &Span| span.as_micros().is_multiple_of(MILLISECOND.as_micros());
        match length.filter(whole) {
            Some(length) => Ok(Some(length)),
            None => {
                let expected = "whole milliseconds or a longer unit, such as 500ms or 5s";
                Err(invalid(keyword, word, expected))
            }
        }
    }

    fn decimal(&mut self, keyword: &'static str) -> LimitResult<Option<Decimal>> {
        let Some(word) = self.value(keyword)? else { return Ok(None) };
        let expected = "a non-negative decimal with at most 9 decimal places, such as 0.5";
        word.text.parse().map(Some).map_err(|_| invalid(keyword, word, expected))
    }

    fn name(&mut self, keyword: &'static str) -> LimitResult<Option<Name>> {
        let Some(word) = self.value(keyword)? else { return Ok(None) };
        let expected = "a name of up to 64 letters, digits, '-', '_' and '.', such as ip or user";
        Name::new(word.text).map(Some).map_err(|_| invalid(keyword, word, expected))
    }

    fn edge(&mut self) -> LimitResult<Edge> {
        let Some(word) = self.value("edge")? else { return Ok(Edge::Strict) };
        match word.text {
            "strict" => Ok(Edge::Strict),
            "lenient" => Ok(Edge::Lenient),
            _ => Err(LimitError::new("edge", word.text, "strict or lenient")
                .or_nearest(nearest(word.text, ["strict", "lenient"]))
                .at(Some(word.column))),
        }
    }

    fn rate(&mut self) -> LimitResult<Rate> {
        let (count, written, unit) = self.rate_words()?;
        let period = written.length().filter(|length| *length > Span::ZERO);
        let period = period.ok_or_else(|| invalid("period", unit, LENGTH))?;
        Ok(Rate { count, period })
    }

    /// Takes `N/PERIOD`. Returns the count, the period, and the word of the period.
    fn rate_words(&mut self) -> LimitResult<(u32, Written, Word<'l>)> {
        const RATE: &str = "a count and a period, such as 30/min";
        let end = self.end;
        let Some(word) = self.next("rate") else {
            return Err(LimitError::new("rate", "", RATE).at(Some(end)));
        };
        let (number, unit) =
            word.text.split_once('/').ok_or_else(|| invalid("rate", word, RATE))?;
        let after = word.column.saturating_add(number.len()).saturating_add(1);
        let count = count("count", Word { text: number, column: word.column })?;
        let unit = Word { text: unit, column: after };
        self.parsed.push(("period", unit));
        let written = written("period", unit)?;
        if written.is_zero() {
            return Err(invalid("period", unit, LENGTH));
        }
        Ok((count, written, unit))
    }

    /// Adds the column of the word that the error is about.
    pub(super) fn locate(&self, error: LimitError) -> LimitError {
        let matches =
            |(name, word): &&(&str, Word<'_>)| *name == error.field() || word.text == error.value();
        let word = self.parsed.iter().find(matches);
        let column = word.or(self.parsed.first()).map(|(_, word)| word.column);
        error.at(column)
    }

    /// Fails if there are words left that were not parsed.
    fn finish(&self, algorithm: Algorithm) -> LimitResult<()> {
        let Some(word) = self.left.first() else { return Ok(()) };
        let words: Vec<&str> = options(algorithm).iter().chain(&COMMON).copied().collect();
        if self.parsed.iter().any(|(field, _)| *field == word.text) {
            return Err(LimitError::new("word", word.text, "it only once").at(Some(word.column)));
        }
        let expected = format!("one of {} after {algorithm}", words.join(", "));
        Err(LimitError::new("word", word.text, expected)
            .or_nearest(nearest(word.text, words))
            .at(Some(word.column)))
    }
}

/// Returns the keywords of an algorithm, other than the common ones.
const fn options(algorithm: Algorithm) -> &'static [&'static str] {
    match algorithm {
        Algorithm::Gcra => &["burst"],
        Algorithm::TokenBucket => &["burst", "whole"],
        Algorithm::LeakyBucket => &["size", "drip", "every"],
        Algorithm::Legacy => &["max", "duration", "min-interval"],
        Algorithm::FixedWindow => &["tz"],
        Algorithm::SlidingCounters => &["resolution", "edge"],
        Algorithm::Ar1 => &["max", "decay", "resolution"],
        Algorithm::Concurrency => &["ttl"],
        Algorithm::RequestWindow
        | Algorithm::SlidingLog
        | Algorithm::SlidingWindow
        | Algorithm::Unlimited => &[],
    }
}

const LENGTH: &str = "a length of time: a unit (us, ms, s, min, h, day, week) or a positive whole \
                      number and a unit, such as 10min";

fn invalid(field: &str, word: Word<'_>, expected: &str) -> LimitError {
    LimitError::new(field, word.text, expected).at(Some(word.column))
}

fn count(field: &str, word: Word<'_>) -> LimitResult<u32> {
    let digits = word.text.bytes().all(|b| b.is_ascii_digit());
    let number = word.text.parse().ok().filter(|number| digits && *number > 0);
    number.ok_or_else(|| {
        let expected = format!("a whole number from 1 to {}", u32::MAX);
        LimitError::new(field, word.text, expected).at(Some(word.column))
    })
}

fn written(field: &str, word: Word<'_>) -> LimitResult<Written> {
    Written::parse(word.text).map_err(|error| {
        let nearest = error.0;
        LimitError::new(field, word.text, period::EXPECTED)
            .or_nearest(nearest)
            .at(Some(word.column))
    })
}
