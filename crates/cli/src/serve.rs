//! `tollgate serve`: the same engine for whoever speaks HTTP or the Redis protocol.

mod descriptors;
mod log;
mod reload;
mod settings;
mod signals;
mod store;
mod traces;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::SocketAddr;

use anyhow::bail;
use tokio::runtime;
use tollgate_core::{Name, Policy};
use tollgate_server::{Config, Listen, PolicyConfig, Server};

use crate::args::Serve;
use reload::{Changes, Reloading};
use signals::{Signal, Signals};

/// How many policies are told when it starts.
const MAX_ANNOUNCED: usize = 10;

pub(crate) fn run(args: &Serve) -> anyhow::Result<()> {
    let _sending = log::begin(args.log, args.log_level)?;
    descriptors::take_all();
    let changes = Changes::begin(args);
    let (config, text) = settings::read(args)?;
    refuse_strangers(args, &config)?;
    // Whoever asks us to stop while we start is heard as well.
    let waiting = runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = waiting.block_on(async { Signals::listen() })?;
    let server = start(&config)?;
    announce(&server, &config);
    let mut reloading = Reloading::new(changes, (config, text));
    waiting.block_on(async {
        loop {
            tokio::select! {
                signal = signals.next() => match signal {
                    Signal::Stop => break,
                    Signal::Reload => reloading.reload(args, &server),
                },
                () = reloading.changed() => reloading.reload_if_new(args, &server),
            }
        }
    });
    tracing::info!("stopping");
    server.stop();
    Ok(())
}

/// Beyond this machine only if that is meant: there are no passwords yet.
fn refuse_strangers(args: &Serve, config: &Config) -> anyhow::Result<()> {
    let listens = [("--http", config.server.http), ("--resp", config.server.resp)];
    if listens.iter().all(|(_, listen)| *listen == Listen::Off) {
        bail!("nothing to serve: --http and --resp are both off");
    }
    for (flag, address) in listens.into_iter().filter_map(|(f, at)| Some((f, at.address()?))) {
        if !address.ip().is_loopback() && !args.insecure {
            bail!(
                "{flag} {address} can be reached from other machines, and anyone there could use up \
                 or reset anyone's limits: there is no TLS and no password yet. Listen on \
                 127.0.0.1, or say --insecure if the network keeps strangers out"
            );
        }
    }
    Ok(())
}

fn start(config: &Config) -> anyhow::Result<Server> {
    let Config { server, policies, .. } = config;
    let mut builder = store::put(Server::builder(), &config.store)?
        .http_limits(server.http_limits)
        .resp_limits(server.resp_limits);
    if let Some(threads) = server.threads {
        builder = builder.threads(threads.get());
    }
    if let Some(address) = server.http.address() {
        builder = builder.http(address);
    }
    if let Some(address) = server.resp.address() {
        builder = builder.resp(address);
    }
    for policy in policies {
        builder = builder.policy(policy.clone());
    }
    builder.start().map_err(|error| match error.kind() {
        // That is about a policy.
        ErrorKind::InvalidInput => error.into(),
        _ => {
            let places = format!("--http {} and --resp {}", server.http, server.resp);
            anyhow::Error::new(error).context(format!("cannot listen on {places}; choose others"))
        }
    })
}

/// Says what is there, and what can be tried.
fn announce(server: &Server, config: &Config) {
    let state = if config.store.is_remote() { "in Redis" } else { "in memory" };
    anstream::println!("tollgate {}, state {state}", env!("CARGO_PKG_VERSION"));
    let places = [("HTTP", server.http()), ("Redis protocol", server.resp())];
    for (protocol, address) in places.into_iter().filter_map(|(p, at)| Some((p, at?))) {
        anstream::println!("  {protocol:<14}  {address}");
    }
    let told: Vec<_> =
        config.policies.iter().take(MAX_ANNOUNCED).map(|config| &config.policy).collect();
    let names = told.iter().map(|policy| policy.name().as_str());
    let width = names.map(str::len).max().unwrap_or(0).max("default".len());
    for policy in told {
        let limits: Vec<_> = policy.limits().iter().map(ToString::to_string).collect();
        anstream::println!("  policy {:<width$}  {}", policy.name().as_str(), limits.join(", "));
    }
    if let more @ 1.. = config.policies.len().saturating_sub(MAX_ANNOUNCED) {
        anstream::println!("  and {more} more");
    }
    suggest(server, config.policies.first());
}

fn suggest(server: &Server, policy: Option<&PolicyConfig>) {
    anstream::println!("\nTry:");
    let policy = policy.map(|config| (config.policy.name(), subjects(&config.policy)));
    if let Some(address) = server.http() {
        match &policy {
            Some((policy, whom)) => {
                let check = in_json(policy, whom);
                anstream::println!("  curl --json '{check}' http://{address}/v1/check");
            }
            None => anstream::println!("  curl http://{address}/v1/policies"),
        }
    }
    let Some(port) = server.resp().as_ref().map(SocketAddr::port) else { return };
    if let Some((policy, whom)) = policy {
        let key = |kind: &&str| match *kind {
            "" => " user-42".to_owned(),
            kind => format!(" {kind}=42"),
        };
        let whom: String = whom.iter().map(key).collect();
        anstream::println!("  redis-cli -p {port} TG.CHECK {policy}{whom}");
    }
    anstream::println!("  redis-cli -p {port} CL.THROTTLE user-42 15 30 60");
}

/// Whom a policy counts, each by its name; the nameless one is "".
fn subjects(policy: &Policy) -> BTreeSet<&str> {
    let counted = policy.limits().iter().filter(|limit| limit.item(|_| None).is_err());
    counted.map(|limit| limit.per().map_or("", Name::as_str)).collect()
}

/// A check of them.
fn in_json(policy: &Name, whom: &BTreeSet<&str>) -> String {
    let named = whom.iter().filter(|kind| !kind.is_empty());
    let named: Vec<_> = named.map(|kind| format!("\"{kind}\": \"42\"")).collect();
    let policy = Some(format!("\"policy\": \"{policy}\""));
    let one = whom.contains("").then(|| "\"key\": \"user-42\"".to_owned());
    let several = (!named.is_empty()).then(|| format!("\"keys\": {{{}}}", named.join(", ")));
    let members: Vec<_> = [policy, one, several].into_iter().flatten().collect();
    format!("{{{}}}", members.join(", "))
}
