//! Writes header fields in each dialect.
//!
//! `retry-after` is the same in all dialects, so it is written here.

mod drafts;
mod leaky;
mod named;
mod x;

use crate::dialect::Dialect;
use crate::fields::Fields;
use crate::headers::RateLimitHeaders;

impl RateLimitHeaders<'_> {
    /// Calls `each` with every header field: a lower-case name and its value. No name comes twice.
    pub fn fields(&self, dialect: Dialect, mut each: impl FnMut(&'static str, &str)) {
        let mut fields = Fields::new(&mut each);
        match dialect {
            Dialect::Ietf => named::ietf(self, &mut fields),
            Dialect::Draft8 => named::draft_8(self, &mut fields),
            Dialect::Draft7 => drafts::draft_7(self, &mut fields),
            Dialect::Draft6 => drafts::draft_6(self, &mut fields),
            Dialect::XEpoch => x::epoch(self, &mut fields),
            Dialect::XDelta => x::delta(self, &mut fields),
            Dialect::Leaky => leaky::leaky(self, &mut fields),
            Dialect::None => {}
        }
        if let Some(seconds) = self.retry_seconds() {
            fields.number("retry-after", seconds);
        }
    }
}
