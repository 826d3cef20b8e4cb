//! `TG.CHECK policy key [COST n] [FACTOR f] [ID id]`, and the same for every other operation.
//!
//! Where limits count named subjects, the key is `ip=203.0.113.9 user=42`: in one word or in several.

use smallvec::SmallVec;
use tollgate_core::{Act, Decimal, Id, Key, Name, Policy};

use super::parse::Command;
use crate::ask::{Ask, Keys, Limits};
use crate::engine::Policies;

/// Reads the command of an act.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn read<'a>(
    act: Act,
    command: &Command<'a>,
    policies: &'a Policies,
) -> Result<Ask<'a>, String> {
    let (Some(name), Some(key)) = (command.word(1), command.word(2)) else {
        return Err(usage(act));
    };
    let policy = policies.get(name).ok_or_else(|| unknown_policy(name, policies))?;
    let mut keys = KeyWords::new(policy);
    keys.add(key)?;
    let options = Options::read(act, command, &mut keys)?;
    let limits = match options.factor {
        None => Limits::Of(policy),
        Some(factor) => {
            let scaled = policy.limits().iter().map(|limit| limit.scaled(factor));
            Limits::Scaled(scaled.collect::<Result<_, _>>().map_err(|error| error.to_string())?)
        }
    };
    let ask = Ask::new(policy.name(), limits, keys.done()?, act);
    let ask = ask.map_err(|missing| missing.to_string())?;
    if act.needs_id() && options.id.is_none() {
        return Err(format!("TG.{} needs an ID", upper(act)));
    }
    Ok(ask.cost(options.cost).id(options.id))
}

/// What may follow the key.
struct Options<'a> {
    cost: u64,
    factor: Option<Decimal>,
    id: Option<Id<'a>>,
}

impl<'a> Options<'a> {
    fn read(
        act: Act,
        command: &Command<'a>,
        keys: &mut KeyWords<'a>,
    ) -> Result<Options<'a>, String> {
        let mut options = Options { cost: 1, factor: None, id: None };
        let mut words = command.words_from(3);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| usage(act));
            if word.eq_ignore_ascii_case(b"COST") {
                options.cost = parse("COST", value()?)?;
            } else if word.eq_ignore_ascii_case(b"FACTOR") {
                options.factor = Some(parse("FACTOR", value()?)?);
            } else if word.eq_ignore_ascii_case(b"ID") {
                options.id = Some(Id::new(value()?).map_err(|unfit| unfit.to_string())?);
            } else if keys.are_named() {
                keys.add(word)?;
            } else {
                return Err(usage(act));
            }
        }
        Ok(options)
    }
}

/// The words that say whose it is.
struct KeyWords<'a> {
    /// The kinds of subjects that the policy counts, if they have names.
    kinds: SmallVec<[&'a str; 4]>,
    alone: Option<Key<'a>>,
    named: SmallVec<[(&'a str, Key<'a>); 4]>,
}

impl<'a> KeyWords<'a> {
    fn new(policy: &'a Policy) -> KeyWords<'a> {
        let kinds = policy.limits().iter().filter_map(|limit| limit.per().map(Name::as_str));
        KeyWords { kinds: kinds.collect(), alone: None, named: SmallVec::new() }
    }

    fn are_named(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// Takes a word: a key, or several with their names.
    fn add(&mut self, word: &'a [u8]) -> Result<(), String> {
        match self.name_at(word) {
            Some(_) => self.add_named(word),
            None if self.alone.is_some() || !self.named.is_empty() => {
                let kinds = self.kinds.join("=…, ");
                let word = String::from_utf8_lossy(word);
                Err(format!("'{word}' is no key of this policy: expected {kinds}=…"))
            }
            None => {
                self.alone = Some(Key::new(word).map_err(|unfit| unfit.to_string())?);
                Ok(())
            }
        }
    }

    fn add_named(&mut self, word: &'a [u8]) -> Result<(), String> {
        let mut rest = Some(word);
        while let Some((kind, after)) = rest.and_then(|rest| self.name_at(rest)) {
            let next = self.next_name(after);
            let (value, following) = match next {
                Some(place) => (after.get(..place), after.get(place + 1..)),
                None => (Some(after), None),
            };
            let key = Key::new(value.unwrap_or_default());
            let key = key.map_err(|unfit| format!("{kind}: {unfit}"))?;
            // Whoever chooses one of the keys must not choose another with it.
            if self.named.iter().any(|(known, _)| *known == kind) {
                return Err(format!("'{kind}=' is given twice"));
            }
            self.named.push((kind, key));
            rest = following;
        }
        Ok(())
    }

    /// The kind whose `name=` stands at the start, and what follows.
    fn name_at(&self, word: &'a [u8]) -> Option<(&'a str, &'a [u8])> {
        self.kinds
            .iter()
            .find_map(|kind| Some((*kind, word.strip_prefix(kind.as_bytes())?.strip_prefix(b"=")?)))
    }

    /// Where a blank is followed by another `name=`.
    fn next_name(&self, bytes: &'a [u8]) -> Option<usize> {
        let blanks = bytes.iter().enumerate().filter(|(_, byte)| **byte == b' ');
        let named =
            |at: &usize| bytes.get(at + 1..).is_some_and(|rest| self.name_at(rest).is_some());
        blanks.map(|(at, _)| at).find(named)
    }

    fn done(mut self) -> Result<Keys<'a>, String> {
        if !self.are_named() {
            return self.alone.map(Keys::One).ok_or_else(|| String::from("there is no key"));
        }
        // The nameless key goes by the empty name.
        self.named.extend(self.alone.map(|key| ("", key)));
        Ok(Keys::Named(self.named.into_vec().into_boxed_slice()))
    }
}

fn parse<T: std::str::FromStr>(name: &str, word: &[u8]) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    let text = String::from_utf8_lossy(word);
    text.parse().map_err(|error| format!("{name} '{text}': {error}"))
}

#[cold]
fn usage(act: Act) -> String {
    let id = if act.needs_id() { "ID id" } else { "[ID id]" };
    format!("expected TG.{} policy key [COST n] [FACTOR f] {id}", upper(act))
}

fn upper(act: Act) -> String {
    act.name().to_ascii_uppercase()
}

#[cold]
fn unknown_policy(name: &[u8], policies: &Policies) -> String {
    let name = String::from_utf8_lossy(name);
    let known = policies.names().take(NAMED_IN_ERRORS).collect::<Vec<_>>();
    match known.as_slice() {
        [] => format!("unknown policy '{name}': this server has none; start it with --limit"),
        known => format!("unknown policy '{name}': expected one of {}", known.join(", ")),
    }
}

/// How many names an error tells at most.
const NAMED_IN_ERRORS: usize = 20;
