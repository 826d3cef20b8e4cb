//! The config file: everything the server can be told beforehand, in TOML.
//!
//! Text becomes values with their places ([`read`]), each table has a file that knows its words,
//! and every mistake is kept until the end ([`findings`]), so that all are told at once.

mod bounds;
mod diagnostics;
mod length;
mod lines;
mod listen;
mod lists;
mod network;
mod overrides;
mod policy;
mod read;
mod rules;
mod server;
mod store;

pub use diagnostics::Diagnostic;
pub use listen::{Listen, ParseListenError};
pub use overrides::Override;
pub use policy::PolicyConfig;
pub use server::ServerConfig;
pub use store::StoreConfig;

use diagnostics::Diagnostics;
use read::Table;
use toml::de::DeTable;

/// The longest file that is read; that of a whole company is far shorter.
const MAX_BYTES: usize = 1024 * 1024;

/// What a config file says.
///
/// ```
/// use tollgate_server::Config;
///
/// let config = Config::parse("[policy.api]\nlimits = [\"gcra 100/s burst 200\"]").unwrap();
/// assert_eq!(config.policies[0].policy.name().as_str(), "api");
///
/// let mistakes = Config::parse("[server]\nhtp = \"off\"").unwrap_err();
/// assert!(mistakes[0].to_string().starts_with("2:1: server.htp is not known"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Config {
    /// Where and how it listens.
    pub server: ServerConfig,
    /// Where it keeps what it counts.
    pub store: StoreConfig,
    /// The policies, in the order of the file.
    pub policies: Vec<PolicyConfig>,
    /// What is written and makes sense, but is not acted on yet. Whoever starts with such a file
    /// must be told: they count on something that does not happen.
    pub not_yet: Vec<Diagnostic>,
}

impl Config {
    /// Understands the text of a file. An empty one is [`Config::default`].
    ///
    /// # Errors
    /// All its mistakes, in the order of the file; at most 100, of which the last says how many
    /// more there are.
    pub fn parse(text: &str) -> Result<Config, Vec<Diagnostic>> {
        let mut found = Diagnostics::new(text);
        let mut config = Config::default();
        if text.len() > MAX_BYTES {
            let what = format!("the file has {} bytes; expected at most {MAX_BYTES}", text.len());
            found.mistake(0, what);
        } else {
            let (table, errors) = DeTable::parse_recoverable(text);
            if found.syntax(&errors) {
                config.read(&mut found, Table::root(table.get_ref()));
            }
        }
        let (mistakes, not_yet) = found.told();
        config.not_yet = not_yet;
        if mistakes.is_empty() { Ok(config) } else { Err(mistakes) }
    }

    fn read(&mut self, found: &mut Diagnostics<'_>, mut root: Table<'_>) {
        if let Some(table) = root.take("server").and_then(|server| server.table(found)) {
            self.server = ServerConfig::read(found, table);
        }
        if let Some(table) = root.take("store").and_then(|store| store.table(found)) {
            self.store = StoreConfig::read(found, table);
        }
        let policies = match root.take("policy") {
            Some(policies) => policy::named(found, &policies),
            None => Some(Vec::new()),
        };
        if let Some(rules) = root.take("rule") {
            let names = policies.as_ref().map(|all| all.iter().map(|(name, _)| *name).collect());
            rules::read(found, &rules, names.as_ref());
        }
        if let Some(lists) = root.take("lists") {
            lists::read(found, &lists);
        }
        for (name, value) in policies.unwrap_or_default() {
            let policy = PolicyConfig::read(found, name, &value, self.store.is_remote());
            self.policies.extend(policy);
        }
        root.finish(found);
    }
}
