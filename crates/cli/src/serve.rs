//! `tollgate serve`: the same engine for whoever speaks the Redis protocol.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use tokio::runtime;
use tollgate_core::{Name, Policy};
use tollgate_redis::RedisStore;
use tollgate_server::Server;

use crate::args::{Listen, Serve, Store};

pub(crate) fn run(args: &Serve) -> anyhow::Result<()> {
    let address = address(args)?;
    // Whoever asks us to stop while we start is heard as well.
    let waiting = runtime::Builder::new_current_thread().enable_all().build()?;
    let signals = waiting.block_on(async { Signals::listen() })?;
    let server = start(args, address)?;
    announce(args, server.resp().unwrap_or(address));
    waiting.block_on(signals.wait());
    anstream::eprintln!("stopping");
    server.stop();
    Ok(())
}

/// Where to listen. Beyond this machine only if that is meant: there are no passwords yet.
fn address(args: &Serve) -> anyhow::Result<SocketAddr> {
    let Listen::At(address) = args.resp else {
        bail!("nothing to serve: --resp is off, and it is the only protocol there is yet");
    };
    if !address.ip().is_loopback() && !args.insecure {
        bail!(
            "--resp {address} can be reached from other machines, and anyone there could use up or \
             reset anyone's limits: there is no TLS and no password yet. Listen on 127.0.0.1, or \
             say --insecure if the network keeps strangers out"
        );
    }
    Ok(address)
}

fn start(args: &Serve, address: SocketAddr) -> anyhow::Result<Server> {
    let mut server = Server::builder().resp(address);
    if !args.limits.is_empty() {
        server = server.policy(Policy::new(Name::default(), args.limits.clone()));
    }
    if let Some(loops) = args.loops {
        server = server.loops(loops.get());
    }
    if let Store::Far(url) = &args.store {
        server = server.store(far(url)?);
    }
    server
        .start()
        .with_context(|| format!("cannot listen on {address}; choose another with --resp"))
}

/// A store somewhere else, if somebody is there.
fn far(url: &str) -> anyhow::Result<Arc<RedisStore>> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(RedisStore::connect(url))?;
    // That connection ends with its runtime: those that serve make their own.
    Ok(Arc::new(RedisStore::builder(url).make()?))
}

/// Says what is there to be tried.
fn announce(args: &Serve, address: SocketAddr) {
    let (version, port) = (env!("CARGO_PKG_VERSION"), address.port());
    let state = match &args.store {
        Store::Memory => "in memory",
        Store::Far(_) => "in Redis",
    };
    anstream::println!("tollgate {version}, state {state}");
    anstream::println!("  Redis protocol  {address}\n\nTry:");
    anstream::println!("  redis-cli -p {port} CL.THROTTLE user-42 15 30 60");
    if !args.limits.is_empty() {
        anstream::println!("  redis-cli -p {port} TG.CHECK {} user-42", Name::default());
    }
}

/// What ends the server.
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn wait(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals {})
    }

    async fn wait(self) {
        // If it cannot be heard, the server runs until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
