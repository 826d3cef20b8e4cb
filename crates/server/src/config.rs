//! The TOML config file.
//!
//! The text is parsed into values with their positions ([`value`]), each table is read by a module of
//! its own, and all errors are collected ([`diagnostics`]) and reported together.

mod bytes;
mod diagnostics;
mod distribution;
mod duration;
mod limit_list;
mod limits;
mod listen;
mod lists;
mod overrides;
mod policy;
mod rules;
mod server;
mod store;
mod value;
mod warnings;

pub use diagnostics::Diagnostic;
pub use listen::{Listen, ParseListenError};
pub use overrides::{Override, OverrideLimits};
pub use policy::PolicyConfig;
pub use server::ServerConfig;
pub use store::StoreConfig;

use diagnostics::Diagnostics;
use toml::de::DeTable;
use value::Table;

/// Maximum size of a config file. The file of a whole company is far shorter.
const MAX_BYTES: usize = 1024 * 1024;

/// A parsed config file.
///
/// ```
/// use tollgate_server::Config;
///
/// let config = Config::parse("[policy.api]\nlimits = [\"gcra 100/s burst 200\"]").unwrap();
/// assert_eq!(config.policies[0].policy.name().as_str(), "api");
///
/// let errors = Config::parse("[server]\nhtp = \"off\"").unwrap_err();
/// assert!(errors[0].to_string().starts_with("2:1: unknown key server.htp"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Config {
    /// The listen addresses, threads and connection limits.
    pub server: ServerConfig,
    /// The store that keeps the state.
    pub store: StoreConfig,
    /// The policies, in the order of the file.
    pub policies: Vec<PolicyConfig>,
    /// The settings that are valid but not supported yet. Report them to the user, who relies on
    /// something that does not happen.
    pub unsupported: Vec<Diagnostic>,
}

impl Config {
    /// Parses the text of a config file. The empty text gives [`Config::default`].
    ///
    /// # Errors
    /// Returns all errors in the order of the file, at most 100 of them; the last one says how many
    /// more there are.
    pub fn parse(text: &str) -> Result<Config, Vec<Diagnostic>> {
        let mut diagnostics = Diagnostics::new(text);
        let mut config = Config::default();
        if text.len() > MAX_BYTES {
            let size = text.len();
            diagnostics
                .error(0, format!("the file has {size} bytes; expected at most {MAX_BYTES}"));
        } else {
            let (table, errors) = DeTable::parse_recoverable(text);
            if diagnostics.syntax(&errors) {
                config.read(&mut diagnostics, Table::root(table.get_ref()));
            }
        }
        let (errors, unsupported) = diagnostics.into_parts();
        config.unsupported = unsupported;
        if errors.is_empty() { Ok(config) } else { Err(errors) }
    }

    fn read(&mut self, diagnostics: &mut Diagnostics<'_>, mut root: Table<'_>) {
        if let Some(table) = root.take("server").and_then(|server| server.table(diagnostics)) {
            self.server = ServerConfig::read(diagnostics, table);
        }
        if let Some(table) = root.take("store").and_then(|store| store.table(diagnostics)) {
            self.store = StoreConfig::read(diagnostics, table);
        }
        let policies = match root.take("policy") {
            Some(policies) => policy::named(diagnostics, &policies),
            None => Some(Vec::new()),
        };
        if let Some(rules) = root.take("rule") {
            let names = policies.as_ref().map(|all| all.iter().map(|(name, _)| *name).collect());
            rules::read(diagnostics, &rules, names.as_ref());
        }
        if let Some(lists) = root.take("lists") {
            lists::read(diagnostics, &lists);
        }
        for (name, value) in policies.unwrap_or_default() {
            let policy = PolicyConfig::read(diagnostics, name, &value, self.store.is_remote());
            self.policies.extend(policy);
        }
        root.finish(diagnostics);
    }
}
