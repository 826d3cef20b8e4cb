//! What a limit would do, before it is switched on.
//!
//! * [`Simulator`] answers the steps of a trace, one JSON object a line, in constant memory.
//! * [`Explanation`] says in plain words what a limit means, and draws a burst, a wait and a
//!   recovery.
//!
//! ```
//! use tollgate_sim::{Simulator, Step};
//!
//! let mut simulator = Simulator::new(["gcra 1/s burst 5"])?;
//! let step = Step::parse(r#"{"t_ms": 1500.25, "key": "a"}"#)?;
//! let answer = simulator.answer(&step)?;
//! assert_eq!(
//!     answer.to_json(),
//!     r#"{"t_ms":1500.25,"key":"a","cost":1,"op":"check","allowed":true,"limit":5,"remaining":4,"retry_after_ms":0,"reset_after_ms":1000,"bound_by":"gcra 1/s burst 5"}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod answer;
mod explain;
mod lines;
mod millis;
mod row;
mod simulate;
mod throughput;
mod timeline;
mod trace;

pub use answer::{Answer, push_decision};
pub use explain::Explanation;
pub use lines::{Line, Lines, MAX_LINE_BYTES};
pub use millis::{Millis, whole};
pub use row::Tally;
pub use simulate::{RemoteDecide, SimulateError, Simulator};
pub use throughput::Throughput;
pub use timeline::Timeline;
pub use trace::{Step, StepError};
