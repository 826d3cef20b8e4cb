//! One check as the client wrote it, before its policy is looked up.

use std::borrow::Cow;
use std::cell::OnceCell;

use tollgate_core::{Act, Decimal, Key, LimitStatuses, MAX_NAME_BYTES, Name, Request};

use super::rejection::Rejection;
use crate::engine::operation::Operation;
use crate::engine::policies::Policies;
use crate::error::excerpt_lossy;
use crate::policy::required_keys::RequiredKeys;

/// Bytes of the request, or what they were unescaped to.
pub(super) type Bytes<'b> = Cow<'b, [u8]>;

/// Maximum number of keys in one check; more than any policy counts.
const MAX_KEYS: usize = 64;
/// Maximum number of costs of a unit in one check; more than any policy takes.
const MAX_COSTS: usize = 64;

/// One check, or one of the other operations.
#[derive(Debug)]
pub(super) struct CheckRequest<'b> {
    pub(super) act: Act,
    /// Name of the policy. Default: `default`.
    pub(super) policy: Option<Bytes<'b>>,
    pub(super) key: Option<Bytes<'b>>,
    /// Keys by the name of their subject.
    pub(super) keys: Vec<(Bytes<'b>, Bytes<'b>)>,
    /// Keys that came in headers, by the name of their subject in lower case. They replace the others.
    pub(super) header_keys: Vec<(String, Vec<u8>)>,
    pub(super) cost: Option<u64>,
    /// Costs by their unit.
    pub(super) costs: Vec<(Bytes<'b>, u64)>,
    pub(super) factor: Option<Decimal>,
    pub(super) id: Option<Bytes<'b>>,
    /// Whether the client asks for the status of each limit.
    pub(super) each: bool,
    /// The status of each limit, if the client asks for it.
    pub(super) statuses: OnceCell<Box<LimitStatuses>>,
}

impl<'b> CheckRequest<'b> {
    pub(super) fn new(act: Act) -> CheckRequest<'b> {
        CheckRequest {
            act,
            policy: None,
            key: None,
            keys: Vec::new(),
            header_keys: Vec::new(),
            cost: None,
            costs: Vec::new(),
            factor: None,
            id: None,
            each: false,
            statuses: OnceCell::new(),
        }
    }

    /// Returns the operation of the policy that is asked for.
    ///
    /// # Errors
    /// Fails if there is no such policy, or if keys, costs, factor or id are invalid for it.
    pub(super) fn operation<'a>(
        &'a self,
        policies: &'a Policies,
    ) -> Result<Operation<'a>, Rejection> {
        let name = self.policy.as_deref().unwrap_or(Name::DEFAULT.as_bytes());
        let policy = policies.find(name).map_err(Rejection::not_found)?;
        let mut request = self.request(policy.required()).map_err(Rejection::invalid)?;
        if self.each {
            request = request.statuses(self.statuses.get_or_init(Box::default));
        }
        Operation::new(policy, self.act, request).map_err(Rejection::invalid)
    }

    fn request<'a>(&'a self, required: &'a RequiredKeys) -> Result<Request<'a>, String> {
        let mut request = self.with_options(Request::new());
        let valid = |key: &'a [u8]| Key::new(key).map_err(|error| error.to_string());
        let key = self.key.as_deref().map(valid).transpose()?;
        if let Some(key) = self.header_key("").map(valid).transpose()?.or(key) {
            request = request.key(key);
        }
        check_count("keys", self.keys.len().saturating_add(self.header_keys.len()), MAX_KEYS)?;
        for (name, key) in &self.keys {
            let name = valid_name("the name of a key", name)?;
            let key = Key::new(key).map_err(|error| format!("{name}: {error}"))?;
            if self.header_key(name).is_none() {
                request = request.subject(name, key);
            }
        }
        for (name, key) in &self.header_keys {
            Key::new(key).map_err(|error| format!("header tollgate-key-{name}: {error}"))?;
        }
        // Headers do not tell cases apart, and one that no limit counts is ignored, as any other key is.
        for name in required.named.iter().map(Name::as_str) {
            if let Some(key) = self.header_key(name) {
                let key = Key::new(key).map_err(|error| format!("{name}: {error}"))?;
                request = request.subject(name, key);
            }
        }
        check_count("costs", self.costs.len(), MAX_COSTS)?;
        for (unit, cost) in &self.costs {
            request = request.cost_of(valid_name("the unit of a cost", unit)?, *cost);
        }
        Ok(request)
    }

    /// Returns the key of a subject that came in a header.
    fn header_key(&self, subject: &str) -> Option<&[u8]> {
        let is_of = |(name, _): &&(String, Vec<u8>)| name.eq_ignore_ascii_case(subject);
        self.header_keys.iter().find(is_of).map(|(_, key)| key.as_slice())
    }

    fn with_options<'a>(&'a self, mut request: Request<'a>) -> Request<'a> {
        if let Some(cost) = self.cost {
            request = request.cost(cost);
        }
        if let Some(factor) = self.factor {
            request = request.factor(factor);
        }
        if let Some(id) = &self.id {
            request = request.id(id);
        }
        request
    }
}

fn check_count(what: &str, count: usize, max: usize) -> Result<(), String> {
    if count > max {
        return Err(format!("{count} {what}: expected at most {max}"));
    }
    Ok(())
}

/// Returns the name of a key or a unit. A longer one is that of no limit, and not worth repeating in an error.
fn valid_name<'a>(what: &str, name: &'a [u8]) -> Result<&'a str, String> {
    let text = std::str::from_utf8(name).map_err(|_| format!("{what} is not UTF-8"))?;
    if !(1..=MAX_NAME_BYTES).contains(&text.len()) {
        let (size, text) = (text.len(), excerpt_lossy(name));
        return Err(format!("{what} '{text}' has {size} bytes; expected 1 to {MAX_NAME_BYTES}"));
    }
    Ok(text)
}
