//! Reloads the config file when it changes and on SIGHUP.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tollgate_server::{Config, PolicyConfig, Server};

use super::settings;
use crate::args::Serve;

/// How long a file must be unchanged before it is read: it may be half written.
const QUIET_PERIOD: Duration = Duration::from_millis(100);
/// How long to wait at most for the quiet period.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Reloads the config, and knows which one is active.
pub(super) struct Reloader {
    watcher: Option<ConfigWatcher>,
    /// The text that was read last, valid or not; `None` if it could not be read.
    text: Option<String>,
    /// The config with which the server was started.
    started: Config,
    policies: Vec<PolicyConfig>,
}

/// Watches the config file.
pub(super) struct ConfigWatcher {
    _watcher: RecommendedWatcher,
    events: mpsc::UnboundedReceiver<()>,
}

impl ConfigWatcher {
    /// Starts to watch the config file, if there is one. Changes while the server starts are seen too.
    pub(super) fn start(args: &Serve) -> Option<ConfigWatcher> {
        let path = args.config.as_deref()?;
        let warn = |error: &notify::Error| {
            let path = path.display();
            tracing::warn!("cannot watch {path}: {error}; send SIGHUP to reload it");
        };
        ConfigWatcher::new(path).inspect_err(warn).ok()
    }

    /// Watches the directory: many programs write a new file and rename it over the old one.
    fn new(path: &Path) -> notify::Result<ConfigWatcher> {
        let (sender, events) = mpsc::unbounded_channel();
        let name = path.file_name().unwrap_or_default().to_owned();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| concerns(&event, &name)) {
                // Sending fails only when the server has stopped.
                let _ = sender.send(());
            }
        })?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        watcher.watch(directory.unwrap_or(Path::new(".")), RecursiveMode::NonRecursive)?;
        Ok(ConfigWatcher { _watcher: watcher, events })
    }

    async fn next(&mut self) {
        if self.events.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        let start = Instant::now();
        while start.elapsed() < MAX_WAIT
            && timeout(QUIET_PERIOD, self.events.recv()).await.is_ok_and(|event| event.is_some())
        {
        }
    }
}

/// Returns whether the file of this name may have changed. Kubernetes replaces a link called `..data`
/// through which the file is reached.
fn concerns(event: &Event, name: &OsStr) -> bool {
    let matches = |other: &OsStr| other == name || other.as_encoded_bytes().starts_with(b"..");
    !event.kind.is_access() && event.paths.iter().filter_map(|path| path.file_name()).any(matches)
}

impl Reloader {
    /// Creates a reloader for a server that was started with this config, read from this text. Any
    /// other text is a change.
    pub(super) fn new(
        watcher: Option<ConfigWatcher>,
        (started, text): (Config, String),
    ) -> Reloader {
        let policies = started.policies.clone();
        Reloader { watcher, text: Some(text), started, policies }
    }

    /// Waits until the file may have changed.
    pub(super) async fn changed(&mut self) {
        match &mut self.watcher {
            Some(watcher) => watcher.next().await,
            None => std::future::pending().await,
        }
    }

    /// Reloads the config if its text has changed.
    pub(super) fn reload_if_changed(&mut self, args: &Serve, server: &Server) {
        let text = args.config.as_deref().and_then(|path| settings::read_text(path).ok());
        if text != self.text {
            self.reload(args, server);
        }
    }

    /// Reloads the config. A config with errors changes nothing.
    pub(super) fn reload(&mut self, args: &Serve, server: &Server) {
        let Some(path) = args.config.as_deref() else {
            return tracing::warn!("nothing to reload: the server was started without --config");
        };
        let text = settings::read_text(path);
        self.text = text.as_ref().ok().cloned();
        let config = text.and_then(|text| settings::parse(args, &text));
        match config.and_then(|config| self.accept(args, config)) {
            Err(error) => {
                server.count_reload(false);
                tracing::error!("config reload failed, keeping the current config: {error:#}");
            }
            Ok(config) => match server.set_policies(&config.policies) {
                Ok(()) => self.report(config),
                Err(error) => {
                    tracing::error!("config reload failed, keeping the current config: {error}");
                }
            },
        }
    }

    /// Rejects a config without policies: a file that is empty for a moment is valid, and every check
    /// would fail with an unknown policy.
    fn accept(&self, args: &Serve, config: Config) -> anyhow::Result<Config> {
        let has_policies = |policies: &[PolicyConfig]| settings::has_file_policies(args, policies);
        let lost_all = has_policies(&self.policies) && !has_policies(&config.policies);
        ensure!(
            !lost_all,
            "the file has no policies any more; restart the server to remove them all"
        );
        Ok(config)
    }

    /// Logs what has changed, and what needs a restart.
    fn report(&mut self, new: Config) {
        tracing::info!(policies = new.policies.len(), "config reloaded");
        super::log_warnings(&new);
        for what in without_state(&self.policies, &new.policies) {
            tracing::warn!("{what}");
        }
        if self.started.server != new.server {
            tracing::warn!("[server] has changed: restart the server to apply it");
        }
        if self.started.store != new.store {
            tracing::warn!("[store] has changed: restart the server to apply it");
        }
        self.policies = new.policies;
    }
}

/// Returns which policies and limits do not go on with their state: those of another generation, and those of
/// another rule, whose state cannot be converted.
fn without_state(old: &[PolicyConfig], new: &[PolicyConfig]) -> Vec<String> {
    let mut found = Vec::new();
    for new in new {
        let name = new.policy.name();
        let is_same = |config: &&PolicyConfig| config.policy.name() == name;
        let Some(old) = old.iter().find(is_same) else { continue };
        if old.generation != new.generation {
            found.push(format!(
                "policy {name}: generation {} -> {}, its previous state is ignored",
                old.generation, new.generation
            ));
            continue;
        }
        for (old, new) in old.policy.limits().iter().zip(new.policy.limits()) {
            if !new.keeps_state_of(old) {
                found.push(format!(
                    "policy {name}: {new} uses another rule than before, so its state starts empty"
                ));
            }
        }
    }
    found
}
