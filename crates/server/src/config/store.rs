//! `[store]`: the store that keeps the state.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use tollgate::WhenFull;
use tollgate::layers::{DEFAULT_LAYER_MEMORY, DEFAULT_TIMEOUT};
use tollgate_redis::RedisStore;

use super::diagnostics::Diagnostics;
use super::value::{Table, Value};
use super::{bytes, duration};

/// The URL of the store in the memory of this process.
const MEMORY: &str = "memory:";
/// Maximum number of keys of a store in memory. So many take at least 80 GB.
const MAX_KEYS: u64 = 4_000_000_000;
/// Bounds on the memory of a store in memory.
const MAX_MEMORY: (&str, &str) = ("1MiB", "16TiB");
/// Maximum length of the prefix, which is part of every key in a remote store.
const MAX_PREFIX_BYTES: usize = 64;
/// Longest timeout. A client that has waited longer has given up.
const MAX_TIMEOUT: &str = "1min";
/// Maximum number of nodes that share a store.
const MAX_NODES: u64 = 10_000;
/// Bounds on the memory of the layers.
const LAYER_MEMORY: (&str, &str) = ("1MiB", "1TiB");
/// The values of `when_full`.
const WHEN_FULL: [(&str, WhenFull); 2] = [("deny", WhenFull::Deny), ("allow", WhenFull::Allow)];

/// The `[store]` table: the store that keeps the state.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct StoreConfig {
    /// URL of the store: `memory:` or a URL that [`RedisStore::builder`] accepts. Default: `memory:`.
    pub url: String,
    /// Prefix of all keys in a remote store. Default: the default of [`RedisStore`].
    pub prefix: Option<String>,
    /// File with the secret that keys the hashes in a remote store. Default: none.
    pub hash_key_file: Option<PathBuf>,
    /// How long a remote store may take to answer before the failure mode of the policy decides. Default:
    /// [`DEFAULT_TIMEOUT`].
    pub timeout: Duration,
    /// Number of servers that share a remote store. Default: 1, with a [warning](super::Config::warnings) where
    /// it matters.
    pub nodes: Option<NonZeroU32>,
    /// Maximum number of bytes that the layers around a remote store keep. Default:
    /// [`DEFAULT_LAYER_MEMORY`].
    pub layer_memory: usize,
    /// Maximum number of keys of a store in memory. Default: the default of
    /// [`MemoryStore`](tollgate::MemoryStore).
    pub max_keys: Option<NonZeroUsize>,
    /// Maximum number of bytes that a store in memory keeps. Default: the default of
    /// [`MemoryStore`](tollgate::MemoryStore).
    pub max_memory: Option<usize>,
    /// Whether a store in memory that is full allows or denies what needs room.
    pub when_full: WhenFull,
}

impl Default for StoreConfig {
    fn default() -> StoreConfig {
        StoreConfig {
            url: MEMORY.to_owned(),
            prefix: None,
            hash_key_file: None,
            timeout: DEFAULT_TIMEOUT,
            nodes: None,
            layer_memory: DEFAULT_LAYER_MEMORY,
            max_keys: None,
            max_memory: None,
            when_full: WhenFull::default(),
        }
    }
}

impl fmt::Debug for StoreConfig {
    /// Hides the part of the URL before the host, as it may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoreConfig { url, .. } = self;
        let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
        let hosts = rest.rsplit_once('@').map(|(_, hosts)| format!("{scheme}://…@{hosts}"));
        f.debug_struct("StoreConfig")
            .field("url", hosts.as_ref().unwrap_or(url))
            .field("prefix", &self.prefix)
            .field("hash_key_file", &self.hash_key_file)
            .field("timeout", &self.timeout)
            .field("nodes", &self.nodes)
            .field("layer_memory", &self.layer_memory)
            .field("max_keys", &self.max_keys)
            .field("max_memory", &self.max_memory)
            .field("when_full", &self.when_full)
            .finish()
    }
}

impl StoreConfig {
    /// Returns whether the store is outside of this process.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.url != MEMORY
    }

    pub(super) fn read(diagnostics: &mut Diagnostics<'_>, mut table: Table<'_>) -> StoreConfig {
        let mut store = StoreConfig::default();
        if let Some(url) = table.take("url").and_then(|value| url(diagnostics, &value)) {
            store.url = url;
        }
        store.prefix = table.take("prefix").and_then(|value| prefix(diagnostics, &value));
        store.hash_key_file = table
            .take("hash_key_file")
            .and_then(|value| value.non_empty_text(diagnostics, "a file name"))
            .map(PathBuf::from);
        store.max_keys = max_keys(diagnostics, &mut table);
        store.max_memory = table
            .take("max_memory")
            .and_then(|value| bytes::read(diagnostics, &value, MAX_MEMORY.0, MAX_MEMORY.1));
        if let Some(value) = table.take("when_full") {
            store.when_full = value.choice(diagnostics, &WHEN_FULL).unwrap_or_default();
        }
        store.read_layers(diagnostics, &mut table);
        table.finish(diagnostics);
        store
    }

    /// Reads the settings of the layers around a remote store.
    fn read_layers(&mut self, diagnostics: &mut Diagnostics<'_>, table: &mut Table<'_>) {
        if let Some(value) = table.take("timeout") {
            let timeout = duration::read(diagnostics, &value, MAX_TIMEOUT);
            self.timeout = timeout.unwrap_or(self.timeout);
        }
        if let Some(value) = table.take("nodes") {
            let nodes = value.whole(diagnostics, 1..=MAX_NODES);
            self.nodes = nodes.and_then(|nodes| NonZeroU32::new(u32::try_from(nodes).ok()?));
        }
        if let Some(value) = table.take("layer_memory") {
            let bytes = bytes::read(diagnostics, &value, LAYER_MEMORY.0, LAYER_MEMORY.1);
            self.layer_memory = bytes.unwrap_or(self.layer_memory);
        }
    }
}

/// Reads `max_keys`, of the store or of a policy.
pub(super) fn max_keys(
    diagnostics: &mut Diagnostics<'_>,
    table: &mut Table<'_>,
) -> Option<NonZeroUsize> {
    let max = table.take("max_keys")?.whole(diagnostics, 1..=MAX_KEYS)?;
    NonZeroUsize::new(usize::try_from(max).ok()?)
}

/// Reads the URL. Errors do not quote it, as it may contain a password.
fn url(diagnostics: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<String> {
    let url =
        value.text(diagnostics, "the URL of a store, such as memory: or redis://host:port")?;
    if matches!(url, "memory:" | "memory") {
        return Some(MEMORY.to_owned());
    }
    match RedisStore::builder(url).build() {
        Ok(_) => Some(url.to_owned()),
        Err(error) => {
            diagnostics.error(value.at(), format!("{}: {error}, or memory:", value.path()));
            None
        }
    }
}

/// Reads the prefix. Braces are not accepted, as Redis Cluster takes them for a hash tag.
fn prefix(diagnostics: &mut Diagnostics<'_>, value: &Value<'_>) -> Option<String> {
    let expected = format!("1 to {MAX_PREFIX_BYTES} letters, digits, '-', '_', '.', ':' or '/'");
    let is_valid =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/');
    value.parsed(diagnostics, &expected, |text| {
        let fits = (1..=MAX_PREFIX_BYTES).contains(&text.len()) && text.bytes().all(is_valid);
        fits.then(|| text.to_owned())
    })
}
