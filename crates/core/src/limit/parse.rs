//! From text to a limit: first words, then their meaning.

use super::Limit;
use super::bounds::{LimitResult, MILLISECOND};
use super::period::{self, Period, Written};
use super::spec::{Algorithm, Edge, Rate, Spec, Zone};
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::subject::Name;
use crate::time::Span;
use crate::words::nearest;

/// The longest line that is looked at.
const MAX_LINE_BYTES: usize = 1024;
/// The words any limit may add.
const COMMON: [&str; 3] = ["count-denied", "factor", "per"];

/// Reads one limit line.
pub(super) fn limit(line: &str) -> LimitResult<Limit> {
    if line.len() > MAX_LINE_BYTES {
        let accepted = format!("at most {MAX_LINE_BYTES} bytes");
        return Err(LimitError::new("line", format!("of {} bytes", line.len()), accepted));
    }
    let mut words = Words::new(line);
    let algorithm = words.algorithm()?;
    let spec = spec(algorithm, &mut words)?;
    let count_denied = words.flag("count-denied");
    let factor = words.decimal("factor")?.unwrap_or(Decimal::ONE);
    let per = words.name("per")?;
    words.finish(algorithm)?;
    Limit::new(spec, factor, count_denied, per).map_err(|error| words.locate(error))
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
            size: words.count("size")?.ok_or_else(|| missing(algorithm, "size 10"))?,
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
            max: words.decimal("max")?.ok_or_else(|| missing(algorithm, "max 1.2"))?,
            decay: words.decimal("decay")?.ok_or_else(|| missing(algorithm, "decay 2"))?,
            resolution: words
                .length("resolution")?
                .ok_or_else(|| missing(algorithm, "resolution 1s"))?,
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
    let period = period.ok_or_else(|| bad("period", unit, period::ACCEPTED))?;
    let Some(tz) = words.value("tz")? else {
        return Ok(Spec::FixedWindow { count, period, zone: Zone::utc() });
    };
    if matches!(period, Period::Length(_)) {
        let accepted = "no time zone: it goes only with the bare units day, week, month and year";
        return Err(bad("tz", tz, accepted));
    }
    let zone = Zone::named(tz.text).ok_or_else(|| bad_zone(tz))?;
    Ok(Spec::FixedWindow { count, period, zone })
}

fn bad_zone(tz: Word<'_>) -> LimitError {
    let names: Vec<String> =
        jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect();
    LimitError::new("tz", tz.text, "a zone of the IANA database, such as Europe/Amsterdam")
        .or_nearest(nearest(tz.text, names.iter().map(String::as_str)))
        .at(Some(tz.column))
}

fn concurrency(words: &mut Words<'_>) -> LimitResult<Spec> {
    let missing = |part| missing(Algorithm::Concurrency, part);
    let leases = words.next("leases").ok_or_else(|| missing("20 ttl 30s"))?;
    Ok(Spec::Concurrency {
        leases: count("leases", leases)?,
        ttl: words.length("ttl")?.ok_or_else(|| missing("ttl 30s"))?,
    })
}

fn missing(algorithm: Algorithm, example: &str) -> LimitError {
    let part = format!("a part of {algorithm}");
    LimitError::new(&part, "", format_args!("one such as {example:?}")).at(Some(0))
}

/// One word of the line, and where it begins.
#[derive(Debug, Clone, Copy)]
struct Word<'l> {
    text: &'l str,
    column: usize,
}

/// The words of a line that are not yet understood.
struct Words<'l> {
    left: Vec<Word<'l>>,
    /// Which word gave which field, so that a number found wrong later can be pointed at.
    read: Vec<(&'static str, Word<'l>)>,
    end: usize,
}

impl<'l> Words<'l> {
    fn new(line: &'l str) -> Words<'l> {
        let words = line.split_ascii_whitespace();
        let column = |text: &str| text.as_ptr().addr().saturating_sub(line.as_ptr().addr());
        let left = words.map(|text| Word { text, column: column(text) }).collect();
        Words { left, read: Vec::new(), end: line.len() }
    }

    /// The next word, as the value of a field.
    fn next(&mut self, field: &'static str) -> Option<Word<'l>> {
        (!self.left.is_empty()).then(|| self.take(field, 0))
    }

    fn take(&mut self, field: &'static str, place: usize) -> Word<'l> {
        let word = self.left.remove(place);
        self.read.push((field, word));
        word
    }

    fn algorithm(&mut self) -> LimitResult<Algorithm> {
        let names = || Algorithm::ALL.iter().map(|algorithm| algorithm.name());
        let accepted = names().collect::<Vec<_>>().join(", ");
        let Some(word) = self.next("algorithm") else {
            return Err(LimitError::new("algorithm", "", accepted).at(Some(0)));
        };
        Algorithm::named(word.text).ok_or_else(|| {
            LimitError::new("algorithm", word.text, accepted)
                .or_nearest(nearest(word.text, names()))
                .at(Some(word.column))
        })
    }

    /// Whether a word stands alone somewhere.
    fn flag(&mut self, word: &'static str) -> bool {
        let place = self.left.iter().position(|left| left.text == word);
        place.map(|place| self.take(word, place)).is_some()
    }

    /// The word after a keyword.
    fn value(&mut self, keyword: &'static str) -> LimitResult<Option<Word<'l>>> {
        let Some(place) = self.left.iter().position(|word| word.text == keyword) else {
            return Ok(None);
        };
        let keyword_at = self.left.remove(place).column;
        if place < self.left.len() {
            return Ok(Some(self.take(keyword, place)));
        }
        let value = format!("the value of {keyword}");
        Err(LimitError::new(&value, "", "one after the word").at(Some(keyword_at)))
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
            None => Err(bad(keyword, word, LENGTH)),
        }
    }

    /// Like a length, but zero has a meaning and there is nothing below a millisecond.
    fn milliseconds(&mut self, keyword: &'static str) -> LimitResult<Option<Span>> {
        let Some(word) = self.value(keyword)? else { return Ok(None) };
        let length = written(keyword, word)?.length();
        let whole = |span: &Span| span.as_micros().is_multiple_of(MILLISECOND.as_micros());
        match length.filter(whole) {
            Some(length) => Ok(Some(length)),
            None => {
                let accepted = "whole milliseconds or a longer unit, such as 500ms or 5s";
                Err(bad(keyword, word, accepted))
            }
        }
    }

    fn decimal(&mut self, keyword: &'static str) -> LimitResult<Option<Decimal>> {
        let Some(word) = self.value(keyword)? else { return Ok(None) };
        let accepted = "a decimal that is not negative, such as 0.5, with at most 9 decimals";
        word.text.parse().map(Some).map_err(|_| bad(keyword, word, accepted))
    }

    fn name(&mut self, keyword: &'static str) -> LimitResult<Option<Name>> {
        let Some(word) = self.value(keyword)? else { return Ok(None) };
        let accepted = "a name of up to 64 letters, digits, '-', '_' and '.', such as ip or user";
        Name::new(word.text).map(Some).map_err(|_| bad(keyword, word, accepted))
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
        let period = period.ok_or_else(|| bad("period", unit, LENGTH))?;
        Ok(Rate { count, period })
    }

    /// `N/PERIOD`: the count, the period, and the word that gave it.
    fn rate_words(&mut self) -> LimitResult<(u32, Written, Word<'l>)> {
        const RATE: &str = "a count and a period, such as 30/min";
        let end = self.end;
        let Some(word) = self.next("rate") else {
            return Err(LimitError::new("rate", "", RATE).at(Some(end)));
        };
        let (number, unit) = word.text.split_once('/').ok_or_else(|| bad("rate", word, RATE))?;
        let after = word.column.saturating_add(number.len()).saturating_add(1);
        let count = count("count", Word { text: number, column: word.column })?;
        let unit = Word { text: unit, column: after };
        self.read.push(("period", unit));
        let written = written("period", unit)?;
        if written.is_zero() {
            return Err(bad("period", unit, LENGTH));
        }
        Ok((count, written, unit))
    }

    /// Points at the word that gave the field.
    fn locate(&self, error: LimitError) -> LimitError {
        let names =
            |(name, word): &&(&str, Word<'_>)| *name == error.field() || word.text == error.value();
        let word = self.read.iter().find(names);
        let column = word.or(self.read.first()).map(|(_, word)| word.column);
        error.at(column)
    }

    /// Nothing may be left that was not understood.
    fn finish(&self, algorithm: Algorithm) -> LimitResult<()> {
        let Some(word) = self.left.first() else { return Ok(()) };
        let words: Vec<&str> = options(algorithm).iter().chain(&COMMON).copied().collect();
        if self.read.iter().any(|(field, _)| *field == word.text) {
            return Err(LimitError::new("word", word.text, "it once").at(Some(word.column)));
        }
        let accepted = format!("after {algorithm}: {}", words.join(", "));
        Err(LimitError::new("word", word.text, accepted)
            .or_nearest(nearest(word.text, words))
            .at(Some(word.column)))
    }
}

/// The words that only some limits take.
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

const LENGTH: &str = "a length of time: a unit (us, ms, s, min, h, day, week) or a whole number \
                      from 1 on with one, such as 10min";

fn bad(field: &str, word: Word<'_>, accepted: &str) -> LimitError {
    LimitError::new(field, word.text, accepted).at(Some(word.column))
}

fn count(field: &str, word: Word<'_>) -> LimitResult<u32> {
    let digits = word.text.bytes().all(|b| b.is_ascii_digit());
    let number = word.text.parse().ok().filter(|number| digits && *number > 0);
    number.ok_or_else(|| {
        let accepted = format!("a whole number from 1 to {}", u32::MAX);
        LimitError::new(field, word.text, accepted).at(Some(word.column))
    })
}

fn written(field: &str, word: Word<'_>) -> LimitResult<Written> {
    Written::parse(word.text).map_err(|bad| {
        LimitError::new(field, word.text, period::ACCEPTED).or_nearest(bad.0).at(Some(word.column))
    })
}
