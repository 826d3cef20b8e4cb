//! Requests that cannot be parsed.

use crate::http::rejection::{BODY_TOO_LARGE, Rejection};

/// A request that cannot be parsed, so that nothing after it on the connection can be either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageError {
    pub(super) status: u16,
    pub(super) detail: &'static str,
}

impl From<MessageError> for Rejection {
    fn from(error: MessageError) -> Rejection {
        Rejection::new(error.status, error.detail)
    }
}

pub(super) const fn error(status: u16, detail: &'static str) -> MessageError {
    MessageError { status, detail }
}

pub(super) const HEAD_TOO_LARGE: MessageError = error(431, "request head too large");
pub(super) const TOO_LARGE: MessageError = error(413, BODY_TOO_LARGE);
