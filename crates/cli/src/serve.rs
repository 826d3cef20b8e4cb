//! `tollgate serve`: the server for HTTP and the Redis protocol.

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
use tollgate::layers::Distribution;
use tollgate_core::{Name, Policy, Request};
use tollgate_server::{Config, Listen, PolicyConfig, Server};

use crate::args::Serve;
use reload::{ConfigWatcher, Reloader};
use signals::{Signal, Signals};

/// Maximum number of policies that are printed at start.
const MAX_PRINTED_POLICIES: usize = 10;

/// What a server does that starts without its store.
const UNTIL_BACK: &str = "policies answer by on_failure until it is back";

pub(crate) fn run(args: &Serve) -> anyhow::Result<()> {
    let _traces = log::init(args.log, args.log_level)?;
    descriptors::raise_limit();
    let watcher = ConfigWatcher::start(args);
    let (config, text) = settings::read(args)?;
    check_addresses(args, &config)?;
    log_warnings(&config);
    // Signals that arrive while the server starts are handled as well.
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { Signals::listen() })?;
    let (server, store_error) = start(&config)?;
    if let Some(cause) = &store_error {
        tracing::error!("store unavailable: {cause}; {UNTIL_BACK}");
    }
    print_banner(&server, &config, store_error.is_some());
    let mut reloader = Reloader::new(watcher, (config, text));
    runtime.block_on(async {
        loop {
            tokio::select! {
                signal = signals.next() => match signal {
                    Signal::Stop => break,
                    Signal::Reload => reloader.reload(args, &server),
                },
                () = reloader.changed() => reloader.reload_if_changed(args, &server),
            }
        }
    });
    tracing::info!("stopping");
    server.stop();
    Ok(())
}

fn log_warnings(config: &Config) {
    for warning in config.warnings() {
        tracing::warn!("{warning}");
    }
}

/// Fails if an address can be reached from other machines and `--insecure` is not given: there is no
/// authentication yet.
fn check_addresses(args: &Serve, config: &Config) -> anyhow::Result<()> {
    let listens = [("--http", config.server.http), ("--resp", config.server.resp)];
    if listens.iter().all(|(_, listen)| *listen == Listen::Off) {
        bail!("nothing to serve: --http and --resp are both off");
    }
    for (flag, address) in listens.into_iter().filter_map(|(f, at)| Some((f, at.address()?))) {
        if !address.ip().is_loopback() && !args.insecure {
            bail!(
                "{flag} {address} can be reached from other machines, and there is no TLS and no \
                 authentication yet: any client could use up or reset any limit. Listen on \
                 127.0.0.1, or pass --insecure if the network is trusted"
            );
        }
    }
    Ok(())
}

/// Starts the server. Returns it with the reason why its store is unavailable, if it is.
fn start(config: &Config) -> anyhow::Result<(Server, Option<String>)> {
    let Config { server, policies, .. } = config;
    let (builder, store_error) = store::with_store(Server::builder(), &config.store)?;
    let mut builder = builder
        .http_limits(server.http_limits)
        .resp_limits(server.resp_limits)
        .trusted_proxies(server.trusted_proxies.clone());
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
    let started = builder.start().map_err(|error| match error.kind() {
        // The error is about a policy, not about an address.
        ErrorKind::InvalidInput => error.into(),
        _ => {
            let addresses = format!("--http {} and --resp {}", server.http, server.resp);
            anyhow::Error::new(error)
                .context(format!("cannot listen on {addresses}; choose other addresses"))
        }
    });
    Ok((started?, store_error))
}

/// Prints the addresses, the policies, and commands to try.
fn print_banner(server: &Server, config: &Config, is_store_unavailable: bool) {
    let state = if config.store.is_remote() { "in Redis" } else { "in memory" };
    anstream::println!("tollgate {}, state {state}", env!("CARGO_PKG_VERSION"));
    if is_store_unavailable {
        anstream::println!("  store unavailable: {UNTIL_BACK}");
    }
    let addresses = [("HTTP", server.http()), ("Redis protocol", server.resp())];
    for (protocol, address) in addresses.into_iter().filter_map(|(p, at)| Some((p, at?))) {
        anstream::println!("  {protocol:<14}  {address}");
    }
    let policies = || config.policies.iter().take(MAX_PRINTED_POLICIES);
    let names = policies().map(|config| config.policy.name().as_str());
    let width = names.map(str::len).max().unwrap_or(0).max("default".len());
    for PolicyConfig { policy, distribution, .. } in policies() {
        let limits: Vec<_> = policy.limits().iter().map(ToString::to_string).collect();
        let (name, limits) = (policy.name().as_str(), limits.join(", "));
        match distribution {
            Distribution::Strict => anstream::println!("  policy {name:<width$}  {limits}"),
            other => anstream::println!("  policy {name:<width$}  {limits} ({other})"),
        }
    }
    if let more @ 1.. = config.policies.len().saturating_sub(MAX_PRINTED_POLICIES) {
        anstream::println!("  and {more} more");
    }
    print_examples(server, config.policies.first());
}

fn print_examples(server: &Server, policy: Option<&PolicyConfig>) {
    anstream::println!("\nTry:");
    let policy = policy.map(|config| (config.policy.name(), subjects(&config.policy)));
    if let Some(address) = server.http() {
        match &policy {
            Some((policy, subjects)) => {
                let check = check_json(policy, subjects);
                anstream::println!("  curl --json '{check}' http://{address}/v1/check");
            }
            None => anstream::println!("  curl http://{address}/v1/policies"),
        }
    }
    let Some(port) = server.resp().as_ref().map(SocketAddr::port) else { return };
    if let Some((policy, subjects)) = policy {
        let key = |subject: &&str| match *subject {
            "" => " user-42".to_owned(),
            name => format!(" {name}=42"),
        };
        let keys: String = subjects.iter().map(key).collect();
        anstream::println!("  redis-cli -p {port} TG.CHECK {policy}{keys}");
    }
    anstream::println!("  redis-cli -p {port} CL.THROTTLE user-42 15 30 60");
}

/// Returns the names of the subjects that a policy counts; the nameless subject is "".
fn subjects(policy: &Policy) -> BTreeSet<&str> {
    let counted = policy.limits().iter().filter(|limit| Request::new().item(limit).is_err());
    counted.map(|limit| limit.per().map_or("", Name::as_str)).collect()
}

/// Returns the JSON body of a check of these subjects.
fn check_json(policy: &Name, subjects: &BTreeSet<&str>) -> String {
    let named = subjects.iter().filter(|name| !name.is_empty());
    let named: Vec<_> = named.map(|name| format!("\"{name}\": \"42\"")).collect();
    let policy = Some(format!("\"policy\": \"{policy}\""));
    let key = subjects.contains("").then(|| "\"key\": \"user-42\"".to_owned());
    let keys = (!named.is_empty()).then(|| format!("\"keys\": {{{}}}", named.join(", ")));
    let members: Vec<_> = [policy, key, keys].into_iter().flatten().collect();
    format!("{{{}}}", members.join(", "))
}
