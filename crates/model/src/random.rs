//! Random limits and random steps, to compare another system with the model. The same seed gives
//! the same steps everywhere.

mod costs;
mod limits;
mod period;
mod policy;
mod rng;
mod steps;
mod tally;

use std::fmt::Write;

pub use limits::limit;
pub use rng::Rng;
pub use tally::Tally;

use crate::{Answer, Key, LimitAnswer, Step, TooMuch};
use policy::Policy;
use steps::Walk;

/// Maximum number of steps of one key. The model replays the whole history of a key at every step.
const LONGEST_KEY: u64 = 60;

/// The ten algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Gcra,
    TokenBucket,
    LeakyBucket,
    FixedWindow,
    RequestWindow,
    SlidingLog,
    SlidingCounters,
    SlidingWindow,
    Ar1,
    Concurrency,
}

impl Algorithm {
    /// All algorithms, in the order of the documentation.
    pub const ALL: [Algorithm; 10] = [
        Algorithm::Gcra,
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
        Algorithm::FixedWindow,
        Algorithm::RequestWindow,
        Algorithm::SlidingLog,
        Algorithm::SlidingCounters,
        Algorithm::SlidingWindow,
        Algorithm::Ar1,
        Algorithm::Concurrency,
    ];

    /// Returns the first word of its limit lines.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Gcra => "gcra",
            Algorithm::TokenBucket => "token-bucket",
            Algorithm::LeakyBucket => "leaky-bucket",
            Algorithm::FixedWindow => "fixed-window",
            Algorithm::RequestWindow => "request-window",
            Algorithm::SlidingLog => "sliding-log",
            Algorithm::SlidingCounters => "sliding-counters",
            Algorithm::SlidingWindow => "sliding-window",
            Algorithm::Ar1 => "ar1",
            Algorithm::Concurrency => "concurrency",
        }
    }
}

/// Defines one test for each algorithm, which calls a function with it.
///
/// ```
/// use tollgate_model::random::Algorithm;
///
/// fn agrees(algorithm: Algorithm) {
///     println!("{}", algorithm.name());
/// }
///
/// tollgate_model::test_each_algorithm!(agrees);
/// ```
#[macro_export]
macro_rules! test_each_algorithm {
    ($hold:ident) => {
        $crate::test_each_algorithm! { $hold:
            gcra => Gcra
            token_bucket => TokenBucket
            leaky_bucket => LeakyBucket
            fixed_window => FixedWindow
            request_window => RequestWindow
            sliding_log => SlidingLog
            sliding_counters => SlidingCounters
            sliding_window => SlidingWindow
            ar1 => Ar1
            concurrency => Concurrency
        }
    };
    ($hold:ident: $($test:ident => $algorithm:ident)*) => {
        $(#[test]
        fn $test() {
            $hold($crate::random::Algorithm::$algorithm);
        })*
    };
}

/// One fresh key of a system under test.
pub trait System {
    /// Applies one operation.
    ///
    /// # Errors
    ///
    /// Fails with [`TooMuch`] if the state would become too large.
    fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch>;

    /// Returns the answer of each limit to the last operation, as [`Key::limit_answers`] does;
    /// `None` if the system was not asked for them, or cannot tell.
    fn limit_answers(&self) -> Option<Vec<LimitAnswer>> {
        None
    }
}

/// Runs about `operations` random steps on the model and on the system that `new_system` creates from
/// a policy's limit lines, with many keys: four in five have a single limit of `algorithm`, the
/// others a policy that contains one.
///
/// # Panics
///
/// Panics at the first difference, with all that is needed to reproduce it.
pub fn compare(
    seed: u64,
    algorithm: Algorithm,
    operations: u64,
    mut new_system: impl FnMut(&[String]) -> Box<dyn System>,
) -> Tally {
    let mut tally = Tally::default();
    let mut number = 0;
    while tally.steps < operations {
        // Each key has its own random numbers, so that it can be run again without those before it.
        let mut rng = Rng::new(seed).nth(algorithm as u64).nth(number);
        let policy = Policy::random(&mut rng, algorithm);
        let mut system = new_system(&policy.lines);
        let title = format!("seed {seed}, {}, key {number}", algorithm.name());
        run_key(&mut rng, policy, system.as_mut(), &title, &mut tally);
        number += 1;
    }
    tally
}

fn run_key(rng: &mut Rng, policy: Policy, system: &mut dyn System, title: &str, tally: &mut Tally) {
    let mut walk = Walk::new(rng, &policy);
    let mut model = Key::new(policy.limits);
    let mut steps = Vec::new();
    for _ in 0..rng.between(5, LONGEST_KEY) {
        let before = walk.now();
        let step = walk.next_step(rng);
        let expected = Answers { policy: model.apply(&step), limits: model.limit_answers().into() };
        let policy_found = system.apply(&step);
        let limits_found = system.limit_answers();
        let limits = limits_found.unwrap_or_else(|| expected.limits.clone());
        let found = Answers { policy: policy_found, limits };
        tally.count(before, &step, &expected.policy);
        walk.learn(&expected);
        let differs = found != expected;
        steps.push((step, expected));
        if differs {
            panic!("{}", report(title, &policy.lines, &steps, &found));
        }
    }
}

/// The answer of the policy to a step, and those of its limits.
#[derive(Debug, PartialEq, Eq)]
struct Answers {
    policy: Result<Answer, TooMuch>,
    limits: Vec<LimitAnswer>,
}

impl Answers {
    fn write_to(&self, text: &mut String) {
        let _ = writeln!(text, "    -> {:?}", self.policy);
        for limit in &self.limits {
            let _ = writeln!(text, "       {limit:?}");
        }
    }
}

fn report(title: &str, lines: &[String], steps: &[(Step, Answers)], found: &Answers) -> String {
    let mut text = format!("the system differs from the model ({title})\n");
    for line in lines {
        let _ = writeln!(text, "limit: {line}");
    }
    for (Step { t, op, costs, id }, expected) in steps {
        let id = id.as_deref().unwrap_or("-");
        let _ = writeln!(text, "t={t} {op:?} costs={costs:?} id={id}");
        expected.write_to(&mut text);
    }
    text.push_str("the system answers the last with\n");
    found.write_to(&mut text);
    text
}
