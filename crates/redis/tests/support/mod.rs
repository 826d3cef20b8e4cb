//! Helpers that several test programs share.

#![allow(dead_code, reason = "each test program uses a part of them")]

pub(crate) mod at_bounds;
pub(crate) mod calendar;
pub(crate) mod errors;
pub(crate) mod limits;
pub(crate) mod operations;
pub(crate) mod workers;
