//! The name of a limit in header fields.

use crate::number::push_number;

/// Name of one limit of a policy: the policy's name, with a suffix if it has several limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitName<'a> {
    pub(crate) policy: &'a str,
    /// Position in the policy, counted from 1; `None` if it is the only limit.
    pub(crate) position: Option<u64>,
}

impl LimitName<'_> {
    pub(crate) fn push_to(self, out: &mut String) {
        out.push_str(self.policy);
        if let Some(position) = self.position {
            out.push('-');
            push_number(out, position);
        }
    }
}
