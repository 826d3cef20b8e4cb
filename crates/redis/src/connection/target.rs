//! Parses the URL of a store.

use std::error::Error;
use std::fmt;

use redis::{ConnectionInfo, IntoConnectionInfo};

/// What a URL names.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// One server.
    Single(ConnectionInfo),
    /// Some nodes of a cluster.
    Cluster(Vec<ConnectionInfo>),
    /// Sentinels, the name by which they know the primary, and how to log in to it.
    Sentinel { sentinels: Vec<ConnectionInfo>, name: String, primary: ConnectionInfo },
}

/// The error returned for a URL that is not the URL of a store. It never contains a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidUrl {
    reason: String,
}

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not the URL of a store: {}; expected redis://host:port, rediss://host:port (TLS), \
             redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/name \
             (rediss+cluster:// and rediss+sentinel:// over TLS)",
            self.reason
        )
    }
}

impl Error for InvalidUrl {}

fn invalid(reason: impl fmt::Display) -> InvalidUrl {
    InvalidUrl { reason: reason.to_string() }
}

impl Target {
    /// Parses a URL. No error contains the user or the password.
    pub(crate) fn parse(url: &str) -> Result<Target, InvalidUrl> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| invalid("there is no scheme"))?;
        let (transport, kind) = scheme.split_once('+').unwrap_or((scheme, ""));
        if !matches!(transport, "redis" | "rediss" | "valkey" | "valkeys" | "unix" | "redis+unix") {
            return Err(invalid(format_args!("the scheme is {scheme:?}")));
        }
        match kind {
            "" | "unix" => single(url).map(Target::Single),
            "cluster" => {
                let (login, hosts, path) = split(rest);
                nodes(transport, login, hosts, path).map(Target::Cluster)
            }
            "sentinel" => sentinel(transport, rest),
            _ => Err(invalid(format_args!("the scheme is {scheme:?}"))),
        }
    }
}

fn single(url: &str) -> Result<ConnectionInfo, InvalidUrl> {
    url.into_connection_info()
        .map_err(|error| invalid(error.detail().unwrap_or("it cannot be read")))
}

/// Splits off the user and password (with the `@`), the hosts, and the path with the query.
fn split(rest: &str) -> (&str, &str, &str) {
    let end = rest.rfind('@').map_or(0, |at| at.saturating_add(1));
    let (login, rest) = rest.split_at_checked(end).unwrap_or(("", rest));
    let path = rest.find(['/', '?']).unwrap_or(rest.len());
    let (hosts, path) = rest.split_at_checked(path).unwrap_or((rest, ""));
    (login, hosts, path)
}

fn nodes(
    transport: &str,
    login: &str,
    hosts: &str,
    path: &str,
) -> Result<Vec<ConnectionInfo>, InvalidUrl> {
    hosts.split(',').map(|host| single(&format!("{transport}://{login}{host}{path}"))).collect()
}

fn sentinel(transport: &str, rest: &str) -> Result<Target, InvalidUrl> {
    let (login, hosts, path) = split(rest);
    let mut path = path.trim_start_matches('/').splitn(2, '/');
    let name = path.next().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| invalid("the name of the primary is missing after the hosts"))?;
    let database = path.next().unwrap_or("");
    let sentinels = nodes(transport, "", hosts, "")?;
    let host = hosts.split(',').next().unwrap_or("");
    let primary = single(&format!("{transport}://{login}{host}/{database}"))?;
    Ok(Target::Sentinel { sentinels, name: name.to_owned(), primary })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_servers_clusters_and_sentinels() {
        let one = Target::parse("rediss://me:secret@example.org:7000/3").unwrap();
        assert!(matches!(one, Target::Single(info) if info.redis_settings().db() == 3));
        let cluster = Target::parse("redis+cluster://:secret@a:1,b:2").unwrap();
        assert!(matches!(cluster, Target::Cluster(nodes) if nodes.len() == 2
            && nodes[1].addr().to_string() == "b:2"
            && nodes[1].redis_settings().password() == Some("secret")));
        let sentinel = Target::parse("redis+sentinel://me:secret@a:1,b:2,c:3/main/5").unwrap();
        assert!(matches!(sentinel, Target::Sentinel { sentinels, name, primary }
            if sentinels.len() == 3 && name == "main" && primary.redis_settings().db() == 5
            && sentinels[0].redis_settings().password().is_none()
            && primary.redis_settings().username() == Some("me")));
    }

    #[test]
    fn errors_never_contain_the_password() {
        let table = [
            "localhost:6379",
            "http://secret@localhost",
            "redis+ring://:secret@a",
            "redis+sentinel://:secret@a:1",
            "rediss+sentinel://:secret@a:1",
            "redis+cluster://:secret@a:port",
            "redis://:secret@localhost:99999",
            "",
        ];
        for url in table {
            let error = Target::parse(url).unwrap_err().to_string();
            assert!(error.contains("expected redis://"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
