//! One check as the client wrote it, before its policy is looked up.

use std::borrow::Cow;

use tollgate_core::{Act, Decimal, Id, Key, Name};

use super::rejection::Rejection;
use crate::engine::keys::Keys;
use crate::engine::operation::{Operation, Options};
use crate::engine::policies::Policies;
use crate::error::excerpt_lossy;

/// Bytes of the request, or what they were unescaped to.
pub(super) type Bytes<'b> = Cow<'b, [u8]>;

/// Maximum number of keys in one check; more than any policy counts.
const MAX_KEYS: usize = 64;

/// One check, or one of the other operations.
#[derive(Debug)]
pub(super) struct CheckRequest<'b> {
    pub(super) act: Act,
    /// Name of the policy. Default: `default`.
    pub(super) policy: Option<Bytes<'b>>,
    pub(super) key: Option<Bytes<'b>>,
    /// Keys by the name of their subject.
    pub(super) keys: Vec<(Bytes<'b>, Bytes<'b>)>,
    pub(super) cost: Option<u64>,
    pub(super) factor: Option<Decimal>,
    pub(super) id: Option<Bytes<'b>>,
}

impl<'b> CheckRequest<'b> {
    pub(super) fn new(act: Act) -> CheckRequest<'b> {
        CheckRequest {
            act,
            policy: None,
            key: None,
            keys: Vec::new(),
            cost: None,
            factor: None,
            id: None,
        }
    }

    /// Returns the operation of the policy that is asked for.
    ///
    /// # Errors
    /// Fails if there is no such policy, or if keys, cost, factor or id are invalid for it.
    pub(super) fn operation<'a>(
        &'a self,
        policies: &'a Policies,
    ) -> Result<Operation<'a>, Rejection> {
        let name = self.policy.as_deref().unwrap_or(Name::DEFAULT.as_bytes());
        let policy = policies.find(name).map_err(Rejection::not_found)?;
        let id = self.id.as_deref().map(Id::new).transpose();
        let options = Options {
            cost: self.cost,
            factor: self.factor,
            id: id.map_err(|error| Rejection::invalid(error.to_string()))?,
        };
        let keys = self.keys().map_err(Rejection::invalid)?;
        Operation::new(policy, keys, self.act, options).map_err(Rejection::invalid)
    }

    fn keys(&self) -> Result<Keys<'_>, String> {
        let parse = |key| Key::new(key).map_err(|error| error.to_string());
        let key = self.key.as_deref().map(parse).transpose()?;
        if let (Some(key), []) = (key, self.keys.as_slice()) {
            return Ok(Keys::One(key));
        }
        if self.keys.len() > MAX_KEYS {
            return Err(format!("{} keys: expected at most {MAX_KEYS}", self.keys.len()));
        }
        let mut all: NamedKeys<'_> = key.into_iter().map(|key| ("", key)).collect();
        for (name, key) in &self.keys {
            add_key(&mut all, name, key)?;
        }
        Ok(Keys::Named(all.into_boxed_slice()))
    }
}

type NamedKeys<'a> = Vec<(&'a str, Key<'a>)>;

fn add_key<'a>(all: &mut NamedKeys<'a>, name: &'a [u8], key: &'a [u8]) -> Result<(), String> {
    let name =
        std::str::from_utf8(name).map_err(|_| "the name of a key is not UTF-8".to_owned())?;
    let key =
        Key::new(key).map_err(|error| format!("{}: {error}", excerpt_lossy(name.as_bytes())))?;
    if name.is_empty() || all.iter().any(|(known, _)| *known == name) {
        return Err(format!(
            "key '{}' is given twice, or has no name",
            excerpt_lossy(name.as_bytes())
        ));
    }
    all.push((name, key));
    Ok(())
}
