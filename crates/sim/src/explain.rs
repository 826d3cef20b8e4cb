//! What a limit means, in plain words.

use std::fmt;

use tollgate_core::{Edge, Limit, Name, Period, Span, Spec};

use crate::throughput::Throughput;
use crate::timeline::Timeline;

/// One limit, explained.
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
    /// Explains a limit.
    #[must_use]
    pub fn new(limit: Limit) -> Explanation {
        Explanation { limit }
    }

    /// Sentences for the rule itself.
    fn meaning(&self) -> String {
        let capacity = self.limit.capacity().unwrap_or(0);
        let rate = self.limit.rate().map(|rate| (rate.count, rate.period));
        match (self.limit.spec(), rate, self.limit.leak()) {
            _ if self.limit.capacity().is_none() => "Everything passes. Nothing is counted.".into(),
            (_, _, Some((size, drip, every))) => format!(
                "A bucket that holds {size}. Each request pours its cost in; a drop of {drip} \
                 leaks out every {every}, counted from when the bucket was last empty."
            ),
            (Spec::Gcra { .. } | Spec::TokenBucket { .. }, Some((count, period)), _) => format!(
                "A bucket that holds {capacity}. Each request pours its cost in; what is in it \
                 drains evenly, {count} in every {period}{}.",
                pace(count, period)
            ),
            (Spec::FixedWindow { period, zone, .. }, ..) => match period {
                Period::Calendar(_) => {
                    format!("At most {capacity} in each calendar {period}, in the zone {zone}.")
                }
                Period::Length(length) => format!(
                    "At most {capacity} in each window of {length}. Windows follow the clock, back \
                     to back."
                ),
            },
            (Spec::RequestWindow { .. }, Some((_, period)), _) => format!(
                "At most {capacity} in each window of {period}. A window opens with the first \
                 request after the last one has closed."
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
                "At most {capacity} in any {period}, by estimate: what came in the last window is \
                 taken to have come evenly, and weighs less the longer it is past."
            ),
            (Spec::Ar1 { decay, resolution, .. }, ..) => format!(
                "A level of at most {}. Each request adds its cost; every {resolution} the level \
                 is divided by {decay}.",
                self.limit.max_level().unwrap_or_default()
            ),
            (Spec::Concurrency { ttl, .. }, ..) => format!(
                "At most {capacity} held at once. Each is held until it is released, or for {ttl} \
                 if it is not renewed."
            ),
            _ => String::new(),
        }
    }

    /// Sentences for the words any limit may add.
    fn extras(&self) -> Vec<String> {
        let mut extras = vec![match self.limit.counts_denied() {
            true => "Denied requests count too: a client that keeps trying stays out.".to_owned(),
            false => "A denied request takes nothing.".to_owned(),
        }];
        if self.limit.factor().to_f64() != 1.0 {
            extras
                .push(format!("The factor {} is worked into these numbers.", self.limit.factor()));
        }
        match self.limit.per().map(Name::as_str) {
            Some("all") => extras.push("One count for everyone together.".to_owned()),
            Some(name) => extras.push(format!("Counted for each {name}.")),
            None => {}
        }
        extras
    }

    fn write_numbers(&self, f: &mut fmt::Formatter<'_>, capacity: u64) -> fmt::Result {
        writeln!(f, "  {:<25}{capacity}", "most at one instant")?;
        if let Some(most) = Throughput::new(&self.limit) {
            let note = match self.limit.spec() {
                Spec::FixedWindow { .. } => ", maybe within an instant",
                _ => "",
            };
            let window = if self.limit.max_level().is_some() { "step" } else { "window" };
            write_throughput(f, &most, window, note)?;
        }
        match (self.limit.spec(), self.limit.full_reset_after()) {
            (Spec::FixedWindow { period: Period::Calendar(_), .. }, _) => {
                writeln!(f, "  {:<25}the window's end", "a full key is new after")?;
            }
            (_, Some(drain)) => writeln!(f, "  {:<25}{drain}", "a full key is new after")?,
            (_, None) => {}
        }
        if let Some((least, most)) = self.limit.state_bytes() {
            let range =
                if least == most { least.to_string() } else { format!("{least} to {most}") };
            writeln!(f, "  {:<25}{range} bytes of numbers, and the key", "memory for each key")?;
        }
        Ok(())
    }
}

fn write_throughput(
    f: &mut fmt::Formatter<'_>,
    most: &Throughput,
    window: &str,
    note: &str,
) -> fmt::Result {
    let Throughput { length, in_one, in_two, anywhere } = *most;
    let twice = Span::from_micros(length.as_micros().saturating_mul(2));
    let (one, two) = match anywhere {
        true => (format!("in any {length}"), format!("in any {twice}")),
        false => (format!("in one {window}"), format!("across two {window}s")),
    };
    writeln!(f, "  {:<25}{in_one}", format!("most {one}"))?;
    writeln!(f, "  {:<25}{in_two}{note}", format!("most {two}"))
}

/// How long one unit takes, where that is worth saying.
fn pace(count: u32, period: Span) -> String {
    let each = period.as_micros() / u64::from(count.max(1));
    let exact = period.as_micros().is_multiple_of(u64::from(count.max(1)));
    match exact {
        true if count > 1 => format!(", one every {}", Span::from_micros(each)),
        _ => String::new(),
    }
}

fn slots(width: Span, edge: Edge) -> String {
    let edge = match edge {
        Edge::Strict => "is kept until all of it is past",
        Edge::Lenient => "may be forgotten that much early",
    };
    format!("Requests are counted in slots of {width}; the slot at the edge {edge}.")
}

/// Breaks text into lines that can be read.
fn wrapped(text: &str) -> String {
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
        let mut sentences = vec![self.meaning()];
        if self.limit.capacity().is_some() {
            sentences.extend(self.extras());
        }
        writeln!(f, "{}", wrapped(&sentences.join(" ")))?;
        if let Some(capacity) = self.limit.capacity() {
            writeln!(f)?;
            self.write_numbers(f, capacity)?;
        }
        if let Some(timeline) = Timeline::new(&self.limit) {
            writeln!(f, "\n  A client that takes all it can get, three times:\n\n{timeline}")?;
        }
        Ok(())
    }
}
