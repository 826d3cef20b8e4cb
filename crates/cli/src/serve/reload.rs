//! The config is read anew when it changes, and when somebody asks for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tollgate_server::{Config, Server};

use super::settings;
use crate::args::Serve;

/// How long nothing must have happened to a file before it is read: it may be half written.
const SETTLED: Duration = Duration::from_millis(100);

/// What is known of the config that is in force.
pub(super) struct Reloading {
    changes: Option<Changes>,
    /// What was read last, whether it was right or not.
    text: String,
    config: Option<Config>,
}

/// Someone has written to where the config is.
struct Changes {
    _watcher: RecommendedWatcher,
    events: mpsc::UnboundedReceiver<()>,
}

impl Changes {
    /// The folder is watched: many programs write a new file and put it in the place of the old one.
    fn of(path: &Path) -> notify::Result<Changes> {
        let (tell, events) = mpsc::unbounded_channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<_>| {
            if event.is_ok_and(|event: notify::Event| !event.kind.is_access()) {
                // If nobody listens any more, the server has stopped.
                let _ = tell.send(());
            }
        })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        watcher.watch(folder.unwrap_or(Path::new(".")), RecursiveMode::NonRecursive)?;
        Ok(Changes { _watcher: watcher, events })
    }

    async fn next(&mut self) {
        if self.events.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        while tokio::time::timeout(SETTLED, self.events.recv()).await.is_ok_and(|e| e.is_some()) {}
    }
}

impl Reloading {
    /// Watches from here on: what is written while the server starts is seen as well.
    pub(super) fn begin(args: &Serve) -> anyhow::Result<Reloading> {
        let watch = |path: &PathBuf| {
            Changes::of(path).with_context(|| format!("cannot watch {}", path.display()))
        };
        let changes = args.config.as_ref().map(watch).transpose()?;
        let text = args.config.as_deref().map(settings::read_text).transpose()?;
        Ok(Reloading { changes, text: text.unwrap_or_default(), config: None })
    }

    /// Waits until something may have changed.
    pub(super) async fn changed(&mut self) {
        match &mut self.changes {
            Some(changes) => changes.next().await,
            None => std::future::pending().await,
        }
    }

    /// Reads the config anew, if it is another text than before.
    pub(super) fn reload_if_new(&mut self, args: &Serve, server: &Server) {
        let text = args.config.as_deref().map(settings::read_text);
        if !matches!(&text, Some(Ok(text)) if *text == self.text) {
            self.reload(args, server);
        }
    }

    /// Reads the config anew. One with mistakes changes nothing.
    pub(super) fn reload(&mut self, args: &Serve, server: &Server) {
        let Some(path) = args.config.as_deref() else {
            return tracing::warn!("there is no config to be read anew: none was given");
        };
        let before = self.config.take().or_else(|| settings::parse(args, &self.text).ok());
        match self.read(args, path, server) {
            Ok(config) => {
                report(before.as_ref(), &config);
                self.config = Some(config);
            }
            Err(error) => {
                server.count_reload(false);
                tracing::error!("the config is not changed: {error:#}");
                self.config = before;
            }
        }
    }

    fn read(&mut self, args: &Serve, path: &Path, server: &Server) -> anyhow::Result<Config> {
        self.text = settings::read_text(path)?;
        let config = settings::parse(args, &self.text)?;
        server.set_policies(config.policies.clone())?;
        Ok(config)
    }
}

/// Says what is different now, and what only will be after a restart.
fn report(before: Option<&Config>, now: &Config) {
    let policies = now.policies.len();
    tracing::info!(policies, "the config is read anew");
    let Some(before) = before else { return };
    for limit in afresh(before, now) {
        tracing::warn!("{limit} is of another kind than before, and starts afresh");
    }
    let same_store = before.store == now.store;
    if before.server != now.server || !same_store {
        tracing::warn!("[server] and [store] have changed, which takes a restart");
    }
}

/// The limits that begin anew, because what was counted for another rule means nothing to them.
fn afresh(before: &Config, now: &Config) -> Vec<String> {
    let mut found = Vec::new();
    for policy in now.policies.iter().map(|config| &config.policy) {
        let same = |config: &&tollgate_server::PolicyConfig| config.policy.name() == policy.name();
        let Some(old) = before.policies.iter().find(same) else { continue };
        for (old, new) in old.policy.limits().iter().zip(policy.limits()) {
            if !new.continues(old) {
                found.push(format!("policy {}: {new}", policy.name()));
            }
        }
    }
    found
}
