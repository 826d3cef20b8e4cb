//! Builds a rule with checked numbers from a spec.

use super::bounds::{
    LimitResult, MAX_FACTOR, MAX_FADE, bucket, check_length, invalid_factor, length_text,
    too_many_slots, window,
};
use super::period::Period;
use super::spec::{Edge, Rate, Spec, Zone};
use super::{check, legacy};
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::{
    Alignment, Calendar, Counting, Estimate, Fade, Flow, Held, MAX_ENTRIES, Rule, Slots, Window,
};
use crate::time::Span;

/// Default number of slots in a window of sliding counters.
const DEFAULT_SLOTS: u64 = 60;
const TICK: Span = Span::from_micros(1);

/// Builds the rule of a limit. A factor of zero switches it off.
pub(super) fn rule(spec: &Spec, factor: Decimal) -> LimitResult<Rule> {
    if factor.is_zero() {
        // Its own numbers must be valid all the same.
        return rule(spec, Decimal::ONE).map(|_| Rule::Unlimited);
    }
    if !Decimal::from(MAX_FACTOR).is_at_least(factor) {
        return Err(invalid_factor(factor));
    }
    check::spec(spec)?;
    Scale(factor).rule(spec).map_err(|_| match Scale(Decimal::ONE).rule(spec) {
        // It is valid without the factor, so the factor is at fault.
        Ok(_) => invalid_factor(factor),
        Err(error) => error,
    })
}

/// Returns the rate after the factor.
pub(super) fn rate(spec: &Spec, factor: Decimal, rule: &Rule) -> Option<Rate> {
    match (spec, rule) {
        (Spec::Gcra { rate, .. } | Spec::TokenBucket { rate, .. }, Rule::Flow(_)) => {
            Scale(factor).period(rate.period).ok().map(|period| Rate { period, ..*rate })
        }
        (_, Rule::Drip(drip)) => {
            let (_, count, period) = drip.leak();
            u32::try_from(count).ok().map(|count| Rate { count, period })
        }
        (Spec::SlidingLog { rate } | Spec::SlidingCounters { rate, .. }, Rule::Slots(_))
        | (Spec::RequestWindow { rate }, Rule::Window(_))
        | (Spec::SlidingWindow { rate }, Rule::Estimate(_)) => {
            let count = rule.capacity().and_then(|count| u32::try_from(count).ok());
            count.map(|count| Rate { count, ..*rate })
        }
        _ => None,
    }
}

/// Applies a factor to the numbers of a limit.
struct Scale(Decimal);

impl Scale {
    /// Scales a capacity.
    fn capacity(&self, written: u32) -> LimitResult<u64> {
        let scaled = self.0.ceil_div_of(u64::from(written)).map(|capacity| capacity.max(1));
        let fits = scaled.filter(|capacity| *capacity <= u64::from(u32::MAX));
        fits.ok_or_else(|| invalid_factor(self.0))
    }

    /// Scales the period of a flow or drip.
    fn period(&self, written: Span) -> LimitResult<Span> {
        let scaled = self.0.ceil_mul(written.as_micros());
        scaled.map(|ticks| Span::from_micros(ticks.max(1))).ok_or_else(|| invalid_factor(self.0))
    }

    fn rule(&self, spec: &Spec) -> LimitResult<Rule> {
        match spec {
            Spec::Gcra { rate, burst } => self.flow(*rate, *burst),
            Spec::TokenBucket { rate, burst, whole: false } => self.flow(*rate, *burst),
            Spec::TokenBucket { rate, burst, whole: true } => {
                self.drip(*burst, rate.count, rate.period, "burst")
            }
            Spec::LeakyBucket { size, drip, every } => self.drip(*size, *drip, *every, "size"),
            Spec::Legacy { max, duration, min_interval } => {
                legacy::rule(*max, *duration, *min_interval, self.0)
            }
            Spec::FixedWindow { count, period, zone } => self.fixed(*count, *period, zone),
            Spec::RequestWindow { rate } => {
                let alignment = Alignment::Request(window(rate.period)?);
                Ok(Rule::Window(Window::new(self.capacity(rate.count)?, alignment)))
            }
            Spec::SlidingLog { rate } => self.slots(*rate, Some(TICK), Edge::Lenient),
            Spec::SlidingCounters { rate, resolution, edge } => {
                self.slots(*rate, *resolution, *edge)
            }
            Spec::SlidingWindow { rate } => {
                let window = window(rate.period)?;
                Ok(Rule::Estimate(Estimate::new(self.capacity(rate.count)?, window)))
            }
            Spec::Ar1 { max, decay, resolution } => self.fade(*max, *decay, *resolution),
            Spec::Concurrency { leases, ttl } => self.held(*leases, *ttl),
            Spec::Unlimited => Ok(Rule::Unlimited),
        }
    }

    fn flow(&self, rate: Rate, burst: u32) -> LimitResult<Rule> {
        let period = self.period(rate.period)?;
        check_length(
            period,
            Span::MAX,
            "period",
            length_text(rate.period),
            "at most 2^51 µs (71 years)",
        )?;
        let flow = Flow::new(u64::from(rate.count), period, self.capacity(burst)?);
        let expected = "a burst that drains within 2^51 µs (71 years): burst * period / count";
        check_length(flow.full_reset_after(), Span::MAX, "burst", burst, expected)?;
        Ok(Rule::Flow(flow))
    }

    fn drip(&self, size: u32, drip: u32, every: Span, field: &str) -> LimitResult<Rule> {
        let (capacity, every) = (self.capacity(size)?, self.period(every)?);
        bucket(capacity, u64::from(drip), every, (field, size)).map(Rule::Drip)
    }

    fn fixed(&self, count: u32, period: Period, zone: &Zone) -> LimitResult<Rule> {
        let alignment = match (period, period.calendar_unit()) {
            (Period::Length(length), _) => Alignment::Aligned(window(length)?),
            (_, Some(unit)) => Alignment::Calendar(Calendar::new(unit, zone.time_zone())),
            (_, None) => {
                let expected = "day, week, month or year as the unit of the calendar";
                return Err(LimitError::new("period", period, expected));
            }
        };
        Ok(Rule::Window(Window::new(self.capacity(count)?, alignment)))
    }

    fn slots(&self, rate: Rate, width: Option<Span>, edge: Edge) -> LimitResult<Rule> {
        let window = window(rate.period)?;
        let default = window.as_micros() / DEFAULT_SLOTS;
        let width = width.unwrap_or(Span::from_micros(default.max(1)));
        let expected = "a resolution no longer than the window";
        check_length(width, window, "resolution", length_text(width), expected)?;
        let slots = Slots::new(self.capacity(rate.count)?, window, width, edge == Edge::Strict);
        if slots.max_slots() <= MAX_ENTRIES as u64 {
            return Ok(Rule::Slots(slots));
        }
        Err(if width == TICK { too_many_requests(rate) } else { too_many_slots(width) })
    }

    fn fade(&self, max: Decimal, decay: Decimal, resolution: Span) -> LimitResult<Rule> {
        let expected = format!("a decimal from 1 to {MAX_FADE}");
        let in_bounds = |max: f64| (1.0..=f64::from(MAX_FADE)).contains(&max);
        if !in_bounds(max.to_f64()) {
            return Err(LimitError::new("max", max, expected));
        }
        let min_decay = "1.001".parse().unwrap_or(Decimal::ONE);
        if !decay.is_at_least(min_decay) || !Decimal::from(u32::MAX).is_at_least(decay) {
            return Err(LimitError::new("decay", decay, "a decimal from 1.001 to 4294967295"));
        }
        let scaled = max.ratio(self.0).map(|max| max.max(1.0)).filter(|max| in_bounds(*max));
        let fade =
            Fade::new(scaled.ok_or_else(|| invalid_factor(self.0))?, decay.to_f64(), resolution);
        let expected = "a resolution at which a full level fades within 2^51 µs (71 years)";
        check_length(
            fade.full_reset_after(),
            Span::MAX,
            "resolution",
            length_text(resolution),
            expected,
        )?;
        Ok(Rule::Fade(fade))
    }

    fn held(&self, leases: u32, ttl: Span) -> LimitResult<Rule> {
        check_length(ttl, Span::MAX, "ttl", length_text(ttl), "at most 2^51 µs (71 years)")?;
        let capacity = self.capacity(leases)?;
        if capacity > MAX_ENTRIES as u64 {
            let expected = format_args!("a whole number from 1 to {MAX_ENTRIES}");
            return Err(LimitError::new("leases", leases, expected));
        }
        Ok(Rule::Held(Held::new(capacity, ttl)))
    }
}

/// The error of a sliding log that would keep too many requests.
fn too_many_requests(rate: Rate) -> LimitError {
    let expected = format_args!(
        "at most {MAX_ENTRIES}, since every request is kept; or sliding-counters, which keep counts"
    );
    LimitError::new("count", rate.count, expected)
}
