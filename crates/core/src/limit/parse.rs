//! Parses a limit line: splits it into words, then reads them as a spec.

use super::bounds::LimitResult;
use super::check::{self, LENGTH};
use super::line::{self, Line};
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
const COMMON: [&str; 4] = ["count-denied", "factor", "of", "per"];
/// The keywords that are not followed by a value.
const FLAGS: [&str; 2] = ["count-denied", "whole"];

/// Parses one limit line. Returns it with its words, to locate errors that are found later.
pub(super) fn parse(line: &str) -> LimitResult<(Line, Words<'_>)> {
    if line.len() > MAX_LINE_BYTES {
        let expected = format!("at most {MAX_LINE_BYTES} bytes");
        return Err(LimitError::new("line", format!("of {} bytes", line.len()), expected));
    }
    let mut words = Words::new(line);
    let algorithm = words.algorithm()?;
    let line = Line {
        spec: spec(algorithm, &mut words)?,
        count_denied: words.flag("count-denied"),
        factor: words.decimal("factor")?.unwrap_or(Decimal::ONE),
        unit: words.name("of", line::unit)?,
        per: words.name("per", line::per)?,
    };
    words.finish(algorithm)?;
    Ok((line, words))
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
        duration: words.length("duration")?,
        min_interval: words.length("min-interval")?,
    })
}

fn fixed_window(words: &mut Words<'_>) -> LimitResult<Spec> {
    let (count, written, unit) = words.rate_words()?;
    let period = written.period();
    let period = period.ok_or_else(|| invalid("period", unit, period::EXPECTED))?;
    let Some(tz) = words.value("tz")? else {
        return Ok(Spec::FixedWindow { count, period, zone: Zone::UTC });
    };
    if matches!(period, Period::Length(_)) {
        return Err(check::no_zone(tz.text).at(Some(tz.column)));
    }
    let zone = Zone::named(tz.text).map_err(|error| error.at(Some(tz.column)))?;
    Ok(Spec::FixedWindow { count, period, zone })
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

    /// Returns where a keyword is. The value of another keyword may read the same: `per burst`.
    fn position(&self, keyword: &str) -> Option<usize> {
        let mut is_value = false;
        self.left.iter().position(|word| {
            let found = !is_value && word.text == keyword;
            is_value = !is_value && takes_value(word.text);
            found
        })
    }

    /// Takes a keyword that has no value. Returns whether it is there.
    fn flag(&mut self, word: &'static str) -> bool {
        let index = self.position(word);
        index.map(|index| self.take(word, index)).is_some()
    }

    /// Takes a keyword and the word after it. Returns that word.
    fn value(&mut self, keyword: &'static str) -> LimitResult<Option<Word<'l>>> {
        let Some(index) = self.position(keyword) else { return Ok(None) };
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
        let length = written(keyword, word)?.length();
        length.map(Some).ok_or_else(|| invalid(keyword, word, LENGTH))
    }

    fn decimal(&mut self, keyword: &'static str) -> LimitResult<Option<Decimal>> {
        let Some(word) = self.value(keyword)? else { return Ok(None) };
        let expected = "a non-negative decimal with at most 9 decimal places, such as 0.5";
        word.text.parse().map(Some).map_err(|_| invalid(keyword, word, expected))
    }

    fn name(
        &mut self,
        keyword: &'static str,
        name: fn(&str) -> LimitResult<Name>,
    ) -> LimitResult<Option<Name>> {
        let word = self.value(keyword)?;
        word.map(|word| name(word.text).map_err(|error| error.at(Some(word.column)))).transpose()
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
        let period = written.length().ok_or_else(|| invalid("period", unit, LENGTH))?;
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
        let number = Word { text: number, column: word.column };
        let unit = Word { text: unit, column: after };
        self.parsed.extend([("count", number), ("period", unit)]);
        Ok((count("count", number)?, written("period", unit)?, unit))
    }

    /// Adds the word that the error is about, as written, and its column.
    pub(super) fn locate(&self, error: LimitError) -> LimitError {
        let named = self.parsed.iter().find(|(field, _)| *field == error.field());
        if let Some((_, word)) = named {
            return error.with_value(word.text).at(Some(word.column));
        }
        let same = self.parsed.iter().find(|(_, word)| word.text == error.value());
        let column = same.or(self.parsed.first()).map(|(_, word)| word.column);
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

/// Returns whether the word is a keyword that is followed by a value.
fn takes_value(word: &str) -> bool {
    let known = |words: &[&str]| words.contains(&word) && !FLAGS.contains(&word);
    known(&COMMON) || Algorithm::ALL.into_iter().any(|algorithm| known(options(algorithm)))
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

fn invalid(field: &str, word: Word<'_>, expected: &str) -> LimitError {
    LimitError::new(field, word.text, expected).at(Some(word.column))
}

/// Parses a count. Zero is found later, as in a spec made by hand.
fn count(field: &str, word: Word<'_>) -> LimitResult<u32> {
    let digits = word.text.bytes().all(|b| b.is_ascii_digit());
    let number = word.text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| check::invalid_count(field, word.text).at(Some(word.column)))
}

fn written(field: &str, word: Word<'_>) -> LimitResult<Written> {
    Written::parse(word.text).map_err(|error| {
        let nearest = error.0;
        LimitError::new(field, word.text, period::EXPECTED)
            .or_nearest(nearest)
            .at(Some(word.column))
    })
}
