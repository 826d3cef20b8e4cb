//! What the config says, and what was typed goes before it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use tollgate_core::{Name, Policy};
use tollgate_redis::MAX_LIMITS;
use tollgate_server::{Config, Diagnostic, PolicyConfig};

use crate::args::Serve;
use crate::file;

/// The limit of the policy `default` where nothing is said at all: something to be tried.
const TO_BEGIN_WITH: &str = "gcra 10/s burst 20";

/// The config of a server that is started like this, and the text it was read from.
pub(super) fn read(args: &Serve) -> anyhow::Result<(Config, String)> {
    let text = args.config.as_deref().map(read_text).transpose()?.unwrap_or_default();
    Ok((parse(args, &text)?, text))
}

/// The text of a config file.
pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    file::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The same from its text.
pub(super) fn parse(args: &Serve, text: &str) -> anyhow::Result<Config> {
    let mut config = match Config::parse(text) {
        Ok(config) if config.unsupported.is_empty() => config,
        Ok(config) => {
            bail!("{}", listed(args, "counts on what is not there yet", &config.unsupported))
        }
        Err(mistakes) => bail!("{}", listed(args, "has mistakes", &mistakes)),
    };
    if !args.limits.is_empty() {
        config.policies.retain(|config| config.policy.name() != &Name::default());
        let policy = Policy::new(Name::default(), args.limits.clone());
        config.policies.insert(0, policy.into());
    }
    if config.policies.is_empty() && args.config.is_none() {
        config.policies.push(Policy::parse(Name::default(), [TO_BEGIN_WITH])?.into());
    }
    config.server.http = args.http.unwrap_or(config.server.http);
    config.server.resp = args.resp.unwrap_or(config.server.resp);
    config.server.threads = args.threads.or(config.server.threads);
    if let Some(url) = &args.store {
        config.store.url.clone_from(url);
    }
    let is_long = |config: &PolicyConfig| {
        config.policy.limits().len().max(config.candidate.len()) > MAX_LIMITS
    };
    if let Some(long) = config.policies.iter().find(|one| config.store.is_remote() && is_long(one))
    {
        let name = long.policy.name();
        bail!(
            "policy {name} or its candidate has more than {MAX_LIMITS} limits, which is the most in Redis"
        );
    }
    Ok(config)
}

/// Whether some of these policies are of the file, and not of `--limit`.
pub(super) fn has_own(args: &Serve, policies: &[PolicyConfig]) -> bool {
    policies.len() > usize::from(!args.limits.is_empty())
}

/// Each with its place, as compilers write it.
fn listed(args: &Serve, what: &str, mistakes: &[Diagnostic]) -> String {
    let name = args.config.as_deref().unwrap_or(Path::new("")).display();
    let mut text = format!("{name} {what}");
    for mistake in mistakes {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {name}:{mistake}");
    }
    text
}
