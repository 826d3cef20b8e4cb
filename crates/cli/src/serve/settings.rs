//! The settings of the server: the config file, overridden by command-line flags.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use tollgate_core::{Name, Policy};
use tollgate_redis::MAX_LIMITS;
use tollgate_server::{Config, Diagnostic, PolicyConfig};

use crate::args::Serve;
use crate::file;

/// Limit of the policy `default` if there is no config file and no `--limit`: something to try.
const DEFAULT_LIMIT: &str = "gcra 10/s burst 20";

/// Reads the config for these arguments. Returns it with the text of the file.
pub(super) fn read(args: &Serve) -> anyhow::Result<(Config, String)> {
    let text = args.config.as_deref().map(read_text).transpose()?.unwrap_or_default();
    Ok((parse(args, &text)?, text))
}

/// Reads the text of a config file.
pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    file::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Parses the text of a config file and applies the command-line flags.
pub(super) fn parse(args: &Serve, text: &str) -> anyhow::Result<Config> {
    let mut config = match Config::parse(text) {
        Ok(config) if config.unsupported.is_empty() => config,
        Ok(config) => {
            bail!("{}", list(args, "uses keys that are not implemented yet", &config.unsupported))
        }
        Err(errors) => bail!("{}", list(args, "has errors", &errors)),
    };
    if !args.limits.is_empty() {
        config.policies.retain(|config| config.policy.name() != &Name::default());
        let policy = Policy::new(Name::default(), args.limits.clone());
        config.policies.insert(0, policy.into());
    }
    if config.policies.is_empty() && args.config.is_none() {
        config.policies.push(Policy::parse(Name::default(), [DEFAULT_LIMIT])?.into());
    }
    config.server.http = args.http.unwrap_or(config.server.http);
    config.server.resp = args.resp.unwrap_or(config.server.resp);
    config.server.threads = args.threads.or(config.server.threads);
    if let (Some(file), Some(config_file)) = (&mut config.store.hash_key_file, &args.config) {
        // Relative to the config file, so that it does not matter where the server is started.
        *file = config_file.parent().unwrap_or(Path::new("")).join(&*file);
    }
    if let Some(url) = &args.store {
        config.store.url.clone_from(url);
    }
    let is_too_long = |config: &PolicyConfig| {
        config.policy.limits().len().max(config.candidate.len()) > MAX_LIMITS
    };
    if let Some(too_long) =
        config.policies.iter().find(|one| config.store.is_remote() && is_too_long(one))
    {
        let name = too_long.policy.name();
        bail!(
            "policy {name} or its candidate has more than {MAX_LIMITS} limits, the maximum for Redis"
        );
    }
    Ok(config)
}

/// Returns whether some of these policies come from the file, not from `--limit`.
pub(super) fn has_file_policies(args: &Serve, policies: &[PolicyConfig]) -> bool {
    policies.len() > usize::from(!args.limits.is_empty())
}

/// Lists diagnostics as compilers do: file, line, column, message.
fn list(args: &Serve, what: &str, diagnostics: &[Diagnostic]) -> String {
    let name = args.config.as_deref().unwrap_or(Path::new("")).display();
    let mut text = format!("{name} {what}");
    for diagnostic in diagnostics {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {name}:{diagnostic}");
    }
    text
}
