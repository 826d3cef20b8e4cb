//! The reference model: the decisions that Tollgate must make, in the most obviously correct way.
//!
//! A [`Key`] keeps the whole history of each of its limits and replays it for every operation. A rule
//! only defines what a history counts at an instant: whether a cost fits, and whether the state is
//! empty. `remaining`, `retry_after` and `reset_after` are then *searched for* by their laws, not
//! computed by a formula, so that a wrong formula elsewhere cannot be repeated here.
//!
//! All arithmetic is exact: fractions are whole numerators over one fixed denominator. Only fade
//! uses doubles, as its definition requires.
//!
//! ```
//! use tollgate_model::{Key, Limit, Operation, Rule, Step};
//!
//! let rule = Rule::Flow { n: 1, window: 1_000_000, burst: 1 };
//! let mut key = Key::new(vec![Limit { rule, count_denied: false }]);
//! let step = Step { t: 0, op: Operation::Check, costs: vec![1], id: None };
//! assert!(key.apply(&step).unwrap().allowed);
//! assert_eq!(key.apply(&step).unwrap().retry_after, Some(1_000_000));
//! ```

#![forbid(unsafe_code)]

mod counting;
mod drip;
mod estimate;
mod fade;
mod flow;
mod held;
mod key;
mod law;
mod ledger;
pub mod random;
mod slots;
mod window;

pub use key::Key;
pub use law::LimitAnswer;

/// How a limit counts. All times are in ticks (microseconds).
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// gcra, token-bucket: `n` leave evenly in each `window`, `burst` is the capacity.
    Flow { n: u64, window: u64, burst: u64 },
    /// leaky-bucket, token-bucket whole, legacy.
    Drip { size: u64, drip: u64, every: u64 },
    /// fixed-window: windows do not depend on the requests.
    FixedWindow { n: u64, window: Window },
    /// request-window: a window opens with the first request.
    RequestWindow { n: u64, window: u64 },
    /// sliding-counters; sliding-log with `strict: false` and a resolution of one tick.
    Slots { n: u64, window: u64, resolution: u64, strict: bool },
    /// sliding-window: two counters, estimated.
    Estimate { n: u64, window: u64 },
    /// ar1.
    Fade { max: f64, decay: f64, resolution: u64 },
    /// concurrency.
    Held { leases: u64, ttl: u64 },
    /// unlimited: no bound and no state.
    Unlimited,
}

/// The boundaries of the windows of [`Rule::FixedWindow`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Window {
    /// Windows of one length, counted from the epoch.
    Plain(u64),
    /// The starts of calendar windows, in order. They must reach beyond every instant of the steps.
    /// The time between the epoch and the first start is a window too.
    Boundaries(Vec<u64>),
}

/// One limit of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub rule: Rule,
    /// Whether denied attempts count too.
    pub count_denied: bool,
}

/// An operation on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Check,
    Peek,
    Refund,
    Charge,
    Reset,
    Reserve,
    Settle,
    Release,
    Renew,
}

/// One operation at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub t: u64,
    pub op: Operation,
    /// The cost that each limit takes, in order.
    pub costs: Vec<u64>,
    /// Required for reserve, settle, release and renew.
    pub id: Option<String>,
}

/// The decision of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub allowed: bool,
    /// Capacity; `None` is unlimited.
    pub limit: Option<u64>,
    /// `None` is unlimited.
    pub remaining: Option<u64>,
    /// `None` if the cost can never fit.
    pub retry_after: Option<u64>,
    pub reset_after: u64,
    /// Position of the binding limit in the policy.
    pub bound_by: usize,
}

/// The operation would leave a debt that takes longer than 2^51 ticks to drain, or a count beyond
/// 2^52-1. It fails and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMuch;
