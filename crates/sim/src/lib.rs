//! Shows what a limit would do before it is used in production.
//!
//! * [`Simulator`] decides the steps of a trace. Its memory grows with the number of keys, not
//!   with the length of the trace.
//! * [`Explanation`] describes a limit in plain words and draws three bursts with their waits and
//!   recovery.
//! * [`Throughput`] computes the maximum that a limit can let through.
//!
//! ```
//! use tollgate_sim::{Simulator, Step};
//!
//! let mut simulator = Simulator::new(["gcra 1/s burst 5"])?;
//! let step = Step::parse(r#"{"t_ms": 1500.25, "key": "a"}"#)?;
//! let decided = simulator.decide(&step)?;
//! assert_eq!(
//!     decided.to_json(),
//!     r#"{"t_ms":1500.25,"key":"a","cost":1,"op":"check","allowed":true,"limit":5,"remaining":4,"retry_after_ms":0,"reset_after_ms":1000,"bound_by":"gcra 1/s burst 5"}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod decision;
mod escape;
mod explain;
mod lines;
mod simulate;
mod step;
mod table;
mod throughput;
mod timeline;
mod trace;

pub use decision::StepDecision;
pub use explain::Explanation;
pub use lines::{Line, Lines, MAX_LINE_BYTES};
pub use simulate::{DecideFn, SimulateError, Simulator};
pub use step::{Step, StepError};
pub use table::Summary;
pub use throughput::Throughput;
pub use timeline::Timeline;
// The types of other crates that this API names.
pub use tollgate_core::{
    Act, Decision, Limit, LimitError, Op, RequestError, Span, StoreError, Time,
};
