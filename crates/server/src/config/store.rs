//! `[store]`: where what is counted is kept.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use tollgate::WhenFull;
use tollgate_redis::RedisStore;

use super::diagnostics::Diagnostics;
use super::length;
use super::read::{Table, Value};

/// The store of this process.
const MEMORY: &str = "memory:";
/// The most keys of a store in memory: they take 80 GB at least.
const MAX_KEYS: u64 = 4_000_000_000;
/// The longest prefix. It stands in every key of a far store.
const MAX_PREFIX_BYTES: usize = 64;
/// Whoever waits for an answer longer than this has given up.
const MAX_TIMEOUT: &str = "1min";
/// What can be said of a store that is full.
const WHEN_FULL: [(&str, WhenFull); 2] = [("deny", WhenFull::Deny), ("allow", WhenFull::Allow)];

/// Where what is counted is kept.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct StoreConfig {
    /// `memory:`, if not said, or what [`RedisStore::builder`] takes.
    pub url: String,
    /// What keys of a far store begin with, if not what they do by themselves.
    pub prefix: Option<String>,
    /// How long a far store may take to answer, if not as long as it may by itself.
    pub timeout: Option<Duration>,
    /// How many keys a store in memory holds, if not as many as it does by itself.
    pub max_keys: Option<NonZeroUsize>,
    /// What a store in memory answers to a new key when it is full.
    pub when_full: WhenFull,
}

impl Default for StoreConfig {
    fn default() -> StoreConfig {
        StoreConfig {
            url: MEMORY.to_owned(),
            prefix: None,
            timeout: None,
            max_keys: None,
            when_full: WhenFull::default(),
        }
    }
}

impl fmt::Debug for StoreConfig {
    /// Without what the URL says before the host: it may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoreConfig { url, prefix, timeout, max_keys, when_full } = self;
        let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
        let hosts = rest.rsplit_once('@').map(|(_, hosts)| format!("{scheme}://…@{hosts}"));
        f.debug_struct("StoreConfig")
            .field("url", hosts.as_ref().unwrap_or(url))
            .field("prefix", prefix)
            .field("timeout", timeout)
            .field("max_keys", max_keys)
            .field("when_full", when_full)
            .finish()
    }
}

impl StoreConfig {
    /// Whether it is somewhere else.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.url != MEMORY
    }

    pub(super) fn read(found: &mut Diagnostics<'_>, mut table: Table<'_>) -> StoreConfig {
        let mut store = StoreConfig::default();
        if let Some(url) = table.take("url").and_then(|value| url(found, &value)) {
            store.url = url;
        }
        store.prefix = table.take("prefix").and_then(|value| prefix(found, &value));
        if let Some(value) = table.take("max_keys") {
            let most = value.whole(found, 1..=MAX_KEYS);
            store.max_keys = most.and_then(|most| NonZeroUsize::new(usize::try_from(most).ok()?));
        }
        if let Some(value) = table.take("when_full") {
            store.when_full = value.word(found, &WHEN_FULL).unwrap_or_default();
        }
        if let Some(value) = table.take("timeout") {
            store.timeout = length::read(found, &value, MAX_TIMEOUT);
        }
        table.finish(found);
        store
    }
}

/// The URL is not repeated in a mistake: it may have a password in it.
fn url(found: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<String> {
    let url = value.text(found, "the URL of a store, such as memory: or redis://host:port")?;
    if matches!(url, "memory:" | "memory") {
        return Some(MEMORY.to_owned());
    }
    match RedisStore::builder(url).build() {
        Ok(_) => Some(url.to_owned()),
        Err(error) => {
            found.mistake(value.at(), format!("{} is {error}, or memory:", value.path()));
            None
        }
    }
}

/// A prefix has no braces: they would tell Redis Cluster where its keys belong.
fn prefix(found: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<String> {
    let expected = format!("1 to {MAX_PREFIX_BYTES} letters, digits, '-', '_', '.', ':' or '/'");
    let fine =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/');
    value.parsed(found, &expected, |text| {
        let fits = (1..=MAX_PREFIX_BYTES).contains(&text.len()) && text.bytes().all(fine);
        fits.then(|| text.to_owned())
    })
}
