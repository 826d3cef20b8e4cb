//! The result of a command that ran, for the exit code.

/// Whether the result is positive, for commands that ask a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Positive,
    /// A check was denied, or a file has errors.
    Negative,
}
