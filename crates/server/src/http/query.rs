//! Checks in the query of `/check`, which is how proxies ask.

use percent_encoding::percent_decode;
use tollgate_core::{Act, MAX_COST};

use super::check_request::{Bytes, CheckRequest};
use super::rejection::Rejection;
use crate::error::excerpt_lossy;

/// The statuses that a proxy can ask for in a denial: some proxies pass on only these.
const DENY_STATUSES: [u16; 3] = [401, 403, 429];
const DEFAULT_DENY_STATUS: u16 = 429;
/// The parameter after which the query is ignored.
const END: &str = "end";
/// Maximum number of parameters; the rest is ignored.
const MAX_PARAMETERS: usize = 64;

/// Parses `policy=login&key=203.0.113.9&key.user=42&cost=1&cost.tokens=850&deny_status=403&peek=1`, and returns the
/// check and the status of a denial.
///
/// Some proxies append the query of their client. So the first value of a parameter counts, unknown
/// parameters are ignored, and everything after `end` is. Neither `id` nor `factor` is accepted here: a client that
/// controls them could replay an allowed response for a minute, or raise its limits.
///
/// # Errors
/// Fails if a value is invalid.
pub(super) fn parse(query: &str) -> Result<(CheckRequest<'_>, u16), Rejection> {
    let (mut check, mut deny_status) = (CheckRequest::new(Act::Check), DEFAULT_DENY_STATUS);
    let mut seen: Vec<Bytes<'_>> = Vec::new();
    let pairs = query.split('&').take_while(|pair| *pair != END);
    for pair in pairs.take(MAX_PARAMETERS) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(name);
        if seen.contains(&name) {
            continue;
        }
        let set = match &*name {
            b"deny_status" => status(&decoded(value)).map(|status| deny_status = status),
            name => set(&mut check, name, decoded(value)),
        };
        set.map_err(Rejection::invalid)?;
        seen.push(name);
    }
    Ok((check, deny_status))
}

fn set<'b>(check: &mut CheckRequest<'b>, name: &[u8], value: Bytes<'b>) -> Result<(), String> {
    match name {
        b"policy" => check.policy = Some(value),
        b"key" => check.key = Some(value),
        b"cost" => check.cost = Some(cost(name, &value)?),
        b"peek" => {
            check.act = match &*value {
                b"0" => Act::Check,
                b"1" | b"" => Act::Peek,
                _ => return Err("peek: expected 0 or 1".to_owned()),
            }
        }
        other => {
            if let Some(subject) = other.strip_prefix(b"key.") {
                check.keys.push((subject.to_vec().into(), value));
            } else if let Some(unit) = other.strip_prefix(b"cost.") {
                check.costs.push((unit.to_vec().into(), cost(name, &value)?));
            }
        }
    }
    Ok(())
}

fn status(value: &[u8]) -> Result<u16, String> {
    let status = number(b"deny_status", value)?;
    let known = DENY_STATUSES.into_iter().find(|known| u64::from(*known) == status);
    known.ok_or_else(|| "deny_status: expected 401, 403 or 429".to_owned())
}

fn cost(name: &[u8], value: &[u8]) -> Result<u64, String> {
    let cost = number(name, value)?;
    if cost > MAX_COST {
        return Err(format!("{} {cost}: expected at most {MAX_COST}", excerpt_lossy(name)));
    }
    Ok(cost)
}

fn number(name: &[u8], value: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(value).ok().filter(|text| !text.starts_with('+'));
    let invalid =
        || format!("{} '{}': expected a whole number", excerpt_lossy(name), excerpt_lossy(value));
    text.and_then(|text| text.parse().ok()).ok_or_else(invalid)
}

/// Decodes a name or value of a query.
fn decoded(part: &str) -> Bytes<'_> {
    if part.contains('+') {
        let spaced = part.replace('+', " ");
        return percent_decode(spaced.as_bytes()).collect::<Vec<u8>>().into();
    }
    percent_decode(part.as_bytes()).into()
}
