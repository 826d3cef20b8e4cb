//! A limit, explained in plain words.

use std::fmt;

use tollgate_core::{Edge, Limit, Name, Period, Span, Spec};

use crate::throughput::Throughput;
use crate::timeline::Timeline;

/// Describes one limit in plain words, with its numbers and a picture.
///
/// ```
/// let limit = "gcra 30/min burst 16".parse()?;
/// let text = tollgate_sim::Explanation::new(limit).to_string();
/// assert!(text.contains("A bucket that holds 16"), "{text}");
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Explanation {
    limit: Limit,
}

impl Explanation {
    /// Creates an explanation of `limit`.
    #[must_use]
    pub fn new(limit: Limit) -> Explanation {
        Explanation { limit }
    }

    /// Describes the rule itself.
    fn rule(&self) -> String {
        let capacity = self.limit.capacity().unwrap_or(0);
        let rate = self.limit.rate().map(|rate| (rate.count, rate.period));
        match (self.limit.spec(), rate, self.limit.leak()) {
            _ if self.limit.capacity().is_none() => {
                "Every request is allowed. Nothing is counted.".into()
            }
            (_, _, Some((size, drip, every))) => format!(
                "A bucket that holds {size}. Each request adds its cost. Every {every}, counted from \
                 when the bucket was last empty, {drip} leaks out."
            ),
            (Spec::Gcra { .. } | Spec::TokenBucket { .. }, Some((count, period)), _) => format!(
                "A bucket that holds {capacity}. Each request adds its cost. The bucket drains \
                 evenly: {count} every {period}{}.",
                time_per_unit(count, period)
            ),
            (Spec::FixedWindow { period, zone, .. }, ..) => match period {
                Period::Calendar(_) => {
                    format!(
                        "At most {capacity} in each calendar {period}, in the time zone {zone}."
                    )
                }
                Period::Length(length) => format!(
                    "At most {capacity} in each window of {length}. Windows are aligned to the \
                     clock."
                ),
            },
            (Spec::RequestWindow { .. }, Some((_, period)), _) => format!(
                "At most {capacity} in each window of {period}. A window opens with the first \
                 request after the previous window has ended."
            ),
            (Spec::SlidingLog { .. }, Some((_, period)), _) => format!(
                "At most {capacity} in any {period}, exactly: every request is remembered until it \
                 is {period} old."
            ),
            (Spec::SlidingCounters { edge, .. }, Some((_, period)), _) => {
                format!(
                    "At most {capacity} in {period}. {}",
                    slots(self.limit.slot_width().unwrap_or_default(), *edge)
                )
            }
            (Spec::SlidingWindow { .. }, Some((_, period)), _) => format!(
                "At most {capacity} in any {period}, as an estimate: the requests of the previous \
                 window are assumed to be spread evenly, and count less and less as time passes."
            ),
            (Spec::Ar1 { decay, resolution, .. }, ..) => format!(
                "A level of at most {}. Each request adds its cost; every {resolution} the level \
                 is divided by {decay}.",
                self.limit.max_level().unwrap_or_default()
            ),
            (Spec::Concurrency { ttl, .. }, ..) => format!(
                "At most {capacity} leases at once. A lease ends when it is released, or {ttl} after \
                 it was taken or last renewed."
            ),
            _ => String::new(),
        }
    }

    /// Describes the options that any limit may have.
    fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        if let Some(unit) = self.limit.unit() {
            options.push(format!(
                "It takes the cost of {unit}, which is 0 for a request that names none."
            ));
        }
        options.push(match self.limit.counts_denied() {
            true => "Denied requests count too, so a client that keeps retrying stays blocked."
                .to_owned(),
            false => "Denied requests are not counted.".to_owned(),
        });
        if self.limit.factor().to_f64() != 1.0 {
            options.push(format!("These numbers include the factor {}.", self.limit.factor()));
        }
        match self.limit.per().map(Name::as_str) {
            Some("all") => options.push("All clients share one count.".to_owned()),
            Some(name) => options.push(format!("Each {name} has a count of its own.")),
            None => {}
        }
        options
    }

    fn write_numbers(&self, f: &mut fmt::Formatter<'_>, capacity: u64) -> fmt::Result {
        writeln!(f, "  {:<25}{capacity}", "max at one instant")?;
        if let Some(throughput) = Throughput::new(&self.limit) {
            let note = match self.limit.spec() {
                Spec::FixedWindow { .. } => ", possibly within an instant",
                _ => "",
            };
            let window = if self.limit.max_level().is_some() { "step" } else { "window" };
            write_throughput(f, &throughput, window, note)?;
        }
        match (self.limit.spec(), self.limit.full_reset_after()) {
            (Spec::FixedWindow { period: Period::Calendar(_), .. }, _) => {
                writeln!(f, "  {:<25}at the end of the window", "full key resets")?;
            }
            (_, Some(reset)) => writeln!(f, "  {:<25}after {reset}", "full key resets")?,
            (_, None) => {}
        }
        if let Some((min, max)) = self.limit.state_bytes() {
            let range = if min == max { min.to_string() } else { format!("{min} to {max}") };
            writeln!(f, "  {:<25}{range} bytes, plus the key", "memory per key")?;
        }
        Ok(())
    }
}

fn write_throughput(
    f: &mut fmt::Formatter<'_>,
    throughput: &Throughput,
    window: &str,
    note: &str,
) -> fmt::Result {
    let Throughput { length, in_one, in_two, anywhere } = *throughput;
    let twice = Span::from_micros(length.as_micros().saturating_mul(2));
    let (one, two) = match anywhere {
        true => (format!("in any {length}"), format!("in any {twice}")),
        false => (format!("in one {window}"), format!("across two {window}s")),
    };
    writeln!(f, "  {:<25}{in_one}", format!("max {one}"))?;
    writeln!(f, "  {:<25}{in_two}{note}", format!("max {two}"))
}

/// Returns the time that one unit takes, if it is a whole number of ticks and not the period itself.
fn time_per_unit(count: u32, period: Span) -> String {
    let each = period.as_micros() / u64::from(count.max(1));
    let exact = period.as_micros().is_multiple_of(u64::from(count.max(1)));
    match exact {
        true if count > 1 => format!(", one every {}", Span::from_micros(each)),
        _ => String::new(),
    }
}

fn slots(width: Span, edge: Edge) -> String {
    let edge = match edge {
        Edge::Strict => "counts until all of it has left the window".to_owned(),
        Edge::Lenient => format!("may be dropped up to {width} early"),
    };
    format!("Requests are counted in slots of {width}; the oldest slot {edge}.")
}

/// Breaks text into indented lines of at most 78 columns.
fn wrap(text: &str) -> String {
    const WIDTH: usize = 78;
    let (mut out, mut column) = (String::from("  "), 2);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 2 && column + length > WIDTH {
            out.push_str("\n  ");
            column = 2;
        }
        if column > 2 {
            out.push(' ');
        }
        out.push_str(word);
        column += length + 1;
    }
    out
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.limit)?;
        let mut sentences = vec![self.rule()];
        if self.limit.capacity().is_some() {
            sentences.extend(self.options());
        }
        writeln!(f, "{}", wrap(&sentences.join(" ")))?;
        if let Some(capacity) = self.limit.capacity() {
            writeln!(f)?;
            self.write_numbers(f, capacity)?;
        }
        if let Some(timeline) = Timeline::new(&self.limit) {
            writeln!(
                f,
                "\n  A client that sends as many requests as it can, three times:\n\n{timeline}"
            )?;
        }
        Ok(())
    }
}
