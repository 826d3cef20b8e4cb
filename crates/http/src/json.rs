//! JSON that is written and read without building a tree: strings, numbers and decisions.
//!
//! The server, the simulator and [`Problem`](crate::Problem) use these functions, so that a
//! decision looks the same wherever it is printed.
//!
//! ```
//! use tollgate_core::Span;
//! use tollgate_http::json::{Millis, parse_whole, push_string};
//!
//! let mut out = String::new();
//! push_string(&mut out, "say \"hi\"");
//! assert_eq!(out, r#""say \"hi\"""#);
//! assert_eq!(Millis::from(Span::from_micros(1_500_250)).to_string(), "1500.25");
//! assert_eq!(parse_whole("2e3"), Some(2_000));
//! ```

mod decision;
mod millis;
mod parse;
mod string;

pub use decision::{push_decision, push_status};
pub use millis::Millis;
pub use parse::{parse_scaled, parse_whole};
pub use string::push_string;
