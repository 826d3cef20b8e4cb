//! The config is read anew when it changes, and when somebody asks for it.

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

/// How long nothing must have happened to a file before it is read: it may be half written.
const SETTLED: Duration = Duration::from_millis(100);
/// It is read after this in any case.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// What is known of the config that is in force.
pub(super) struct Reloading {
    changes: Option<Changes>,
    /// What was read last, whether it was right or not; `None` if it could not be read.
    text: Option<String>,
    /// What the server was started with.
    started: Config,
    policies: Vec<PolicyConfig>,
}

/// Someone has written to where the config is.
pub(super) struct Changes {
    _watcher: RecommendedWatcher,
    events: mpsc::UnboundedReceiver<()>,
}

impl Changes {
    /// Watches from here on, if that can be: what is written while the server starts is seen as well.
    pub(super) fn begin(args: &Serve) -> Option<Changes> {
        let path = args.config.as_deref()?;
        let told = |error: &notify::Error| {
            tracing::warn!("{} cannot be watched; send SIGHUP: {error}", path.display());
        };
        Changes::of(path).inspect_err(told).ok()
    }

    /// The folder is watched: many programs write a new file and put it in the place of the old one.
    fn of(path: &Path) -> notify::Result<Changes> {
        let (tell, events) = mpsc::unbounded_channel();
        let name = path.file_name().unwrap_or_default().to_owned();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_about(&event, &name)) {
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
        let begin = Instant::now();
        while begin.elapsed() < MAX_WAIT
            && timeout(SETTLED, self.events.recv()).await.is_ok_and(|event| event.is_some())
        {
        }
    }
}

/// Whether a file of this name may be another now. Kubernetes puts a link called `..data` in the place
/// of another, and the file is reached through it.
fn is_about(event: &Event, name: &OsStr) -> bool {
    let is_it = |known: &OsStr| known == name || known.as_encoded_bytes().starts_with(b"..");
    !event.kind.is_access() && event.paths.iter().filter_map(|path| path.file_name()).any(is_it)
}

impl Reloading {
    /// For a server that was started with a config, and the text it was read from: what was written
    /// since is new.
    pub(super) fn new(changes: Option<Changes>, (started, text): (Config, String)) -> Reloading {
        let policies = started.policies.clone();
        Reloading { changes, text: Some(text), started, policies }
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
        let text = args.config.as_deref().and_then(|path| settings::read_text(path).ok());
        if text != self.text {
            self.reload(args, server);
        }
    }

    /// Reads the config anew. One with mistakes changes nothing.
    pub(super) fn reload(&mut self, args: &Serve, server: &Server) {
        let Some(path) = args.config.as_deref() else {
            return tracing::warn!("there is no config to be read anew: none was given");
        };
        let text = settings::read_text(path);
        self.text = text.as_ref().ok().cloned();
        let config = text.and_then(|text| settings::parse(args, &text));
        match config.and_then(|config| self.accept(args, config)) {
            Err(error) => {
                server.count_reload(false);
                tracing::error!("the config is not changed: {error:#}");
            }
            Ok(config) => match server.set_policies(&config.policies) {
                Ok(()) => self.report(config),
                Err(error) => tracing::error!("the config is not changed: {error}"),
            },
        }
    }

    /// A file that is empty for a moment is valid, and would let nobody be found.
    fn accept(&self, args: &Serve, config: Config) -> anyhow::Result<Config> {
        let has_own = |policies: &[PolicyConfig]| settings::has_own(args, policies);
        let is_emptied = has_own(&self.policies) && !has_own(&config.policies);
        ensure!(!is_emptied, "it has no policies any more; restart the server if that is meant");
        Ok(config)
    }

    /// Says what is different now, and what only will be after a restart.
    fn report(&mut self, now: Config) {
        tracing::info!(policies = now.policies.len(), "the config is read anew");
        for limit in afresh(&self.policies, &now.policies) {
            tracing::warn!("{limit} is of another kind than before, and starts afresh");
        }
        if self.started.server != now.server {
            tracing::warn!("[server] is not what the server was started with: restart it");
        }
        if self.started.store != now.store {
            tracing::warn!("[store] is not what the server was started with: restart it");
        }
        self.policies = now.policies;
    }
}

/// The limits that begin anew, because what was counted for another rule means nothing to them.
fn afresh(before: &[PolicyConfig], now: &[PolicyConfig]) -> Vec<String> {
    let mut found = Vec::new();
    for policy in now.iter().map(|config| &config.policy) {
        let same = |config: &&PolicyConfig| config.policy.name() == policy.name();
        let Some(old) = before.iter().find(same) else { continue };
        for (old, new) in old.policy.limits().iter().zip(policy.limits()) {
            if !new.keeps_state_of(old) {
                found.push(format!("policy {}: {new}", policy.name()));
            }
        }
    }
    found
}
