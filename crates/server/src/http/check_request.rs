//! What a request requests for, before it is known whether there is such a policy.

use std::borrow::Cow;

use tollgate_core::{Act, Decimal, Id, Key, Name};

use super::rejection::Rejection;
use crate::engine::operation::{Keys, Operation, Options};
use crate::engine::policies::Policies;
use crate::error::excerpt_lossy;

/// What was sent, or what it was unescaped to.
pub(super) type Bytes<'b> = Cow<'b, [u8]>;

/// More subjects than any policy counts.
const MAX_KEYS: usize = 64;

/// One operation, in the caller's words.
#[derive(Debug, Default)]
pub(super) struct CheckRequest<'b> {
    /// The policy `default`, if not said.
    pub(super) policy: Option<Bytes<'b>>,
    pub(super) key: Option<Bytes<'b>>,
    /// Keys by the kind of subject.
    pub(super) keys: Vec<(Bytes<'b>, Bytes<'b>)>,
    pub(super) cost: Option<u64>,
    pub(super) factor: Option<Decimal>,
    pub(super) id: Option<Bytes<'b>>,
}

impl CheckRequest<'_> {
    /// The operation that this comes to.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn operation<'a>(
        &'a self,
        act: Act,
        policies: &'a Policies,
    ) -> Result<Operation<'a>, Rejection> {
        let name = self.policy.as_deref().unwrap_or(Name::DEFAULT.as_bytes());
        let policy = policies.find(name).map_err(Rejection::not_found)?;
        let id = self.id.as_deref().map(Id::new).transpose();
        let options = Options {
            cost: self.cost,
            factor: self.factor,
            id: id.map_err(|unfit| Rejection::unfit(unfit.to_string()))?,
        };
        let keys = self.keys().map_err(Rejection::unfit)?;
        Operation::new(policy, keys, act, options).map_err(Rejection::unfit)
    }

    fn keys(&self) -> Result<Keys<'_>, String> {
        let fit = |key| Key::new(key).map_err(|unfit| unfit.to_string());
        let key = self.key.as_deref().map(fit).transpose()?;
        if let (Some(key), []) = (key, self.keys.as_slice()) {
            return Ok(Keys::One(key));
        }
        if self.keys.len() > MAX_KEYS {
            return Err(format!("{} keys: expected at most {MAX_KEYS}", self.keys.len()));
        }
        let mut all: Named<'_> = key.into_iter().map(|key| ("", key)).collect();
        for (kind, key) in &self.keys {
            add(&mut all, kind, key)?;
        }
        Ok(Keys::Named(all.into_boxed_slice()))
    }
}

type Named<'a> = Vec<(&'a str, Key<'a>)>;

fn add<'a>(all: &mut Named<'a>, kind: &'a [u8], key: &'a [u8]) -> Result<(), String> {
    let kind = std::str::from_utf8(kind).map_err(|_| "the name of a key is no text".to_owned())?;
    let key =
        Key::new(key).map_err(|unfit| format!("{}: {unfit}", excerpt_lossy(kind.as_bytes())))?;
    if kind.is_empty() || all.iter().any(|(known, _)| *known == kind) {
        return Err(format!(
            "key '{}' is given twice, or has no name",
            excerpt_lossy(kind.as_bytes())
        ));
    }
    all.push((kind, key));
    Ok(())
}
