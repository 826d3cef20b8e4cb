//! What a proxy operations: all of it in the query.

use percent_encoding::percent_decode;
use tollgate_core::{Act, MAX_COST};

use super::check_request::{Bytes, CheckRequest};
use super::rejection::Rejection;
use crate::error::excerpt_lossy;

/// The statuses that can be asked for where someone is denied: some proxies pass on only these.
const DENY: [u16; 3] = [401, 403, 429];
/// What ends what the proxy says.
const END: &str = "end";
/// More parameters than this are not looked at.
const MAX_PARAMETERS: usize = 64;

/// What a proxy wants to know, and how it is told.
#[derive(Debug)]
pub(super) struct Question<'b> {
    pub(super) act: Act,
    pub(super) check: CheckRequest<'b>,
    pub(super) deny: u16,
}

/// Reads `policy=login&key=203.0.113.9&key.user=42&cost=1&factor=0.5&deny_status=403&peek=1`.
///
/// Some proxies append what the client has asked for. So what is said first holds, what is not known is
/// passed over, and nothing is heard after `end`. An id is not taken: whoever chose it could be
/// answered for a minute as the first time.
///
/// # Errors
/// If a value makes no sense.
pub(super) fn read(query: &str) -> Result<Question<'_>, Rejection> {
    let mut question = Question { act: Act::Check, check: CheckRequest::default(), deny: 429 };
    let mut heard: Vec<Bytes<'_>> = Vec::new();
    let pairs = query.split('&').take_while(|pair| *pair != END);
    for pair in pairs.take(MAX_PARAMETERS) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(name);
        if heard.contains(&name) {
            continue;
        }
        question.set(&name, decoded(value)).map_err(Rejection::unfit)?;
        heard.push(name);
    }
    Ok(question)
}

impl<'b> Question<'b> {
    fn set(&mut self, name: &[u8], value: Bytes<'b>) -> Result<(), String> {
        let check = &mut self.check;
        match name {
            b"policy" => check.policy = Some(value),
            b"key" => check.key = Some(value),
            b"cost" => {
                let cost = number(name, &value)?;
                let most = || format!("cost {cost}: expected at most {MAX_COST}");
                check.cost = Some((cost <= MAX_COST).then_some(cost).ok_or_else(most)?);
            }
            b"factor" => {
                let text = String::from_utf8_lossy(&value);
                let wrong = |error| format!("factor '{}': {error}", excerpt_lossy(&value));
                check.factor = Some(text.parse().map_err(wrong)?);
            }
            b"deny_status" => {
                let status = number(name, &value)?;
                let known = DENY.into_iter().find(|known| u64::from(*known) == status);
                self.deny = known.ok_or("deny_status: expected 401, 403 or 429")?;
            }
            b"peek" => {
                self.act = match &*value {
                    b"0" => Act::Check,
                    b"1" | b"" => Act::Peek,
                    _ => return Err("peek: expected 0 or 1".to_owned()),
                }
            }
            other => {
                if let Some(kind) = other.strip_prefix(b"key.") {
                    check.keys.push((kind.to_vec().into(), value));
                }
            }
        }
        Ok(())
    }
}

fn number(name: &[u8], value: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(value).ok().filter(|text| !text.starts_with('+'));
    let wrong =
        || format!("{} '{}': expected a whole number", excerpt_lossy(name), excerpt_lossy(value));
    text.and_then(|text| text.parse().ok()).ok_or_else(wrong)
}

/// Bytes as they were before they were put into a query.
fn decoded(part: &str) -> Bytes<'_> {
    if part.contains('+') {
        let spaced = part.replace('+', " ");
        return percent_decode(spaced.as_bytes()).collect::<Vec<u8>>().into();
    }
    percent_decode(part.as_bytes()).into()
}
