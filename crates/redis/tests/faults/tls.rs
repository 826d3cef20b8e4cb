//! TLS. (The Valkey that the tests use is built without it.)

use std::fs;

use tollgate_fixtures::{Flavour, Server};
use tollgate_redis::{RedisStore, RedisStoreBuilder};

use crate::client::{Client, patient, unavailable};
use crate::errors::with_causes;
use crate::operations::KeyedPolicy;

fn policy() -> KeyedPolicy {
    KeyedPolicy::one("gcra 1/day burst 10", "a")
}

fn start() -> Option<(Server, Vec<u8>)> {
    let server = Server::builder(Flavour::Redis).tls().start()?;
    let authority = fs::read(server.ca_file().unwrap()).unwrap();
    Some((server, authority))
}

#[test]
fn a_trusted_certificate() {
    let Some((server, authority)) = start() else { return };
    let localhost = server.url().replace("127.0.0.1", "localhost");
    for (url, left) in [(server.url(), 9), (localhost, 8)] {
        let builder = patient(&url).root_certificate(authority.clone());
        let client = Client::try_connect(builder).unwrap();
        assert_eq!(client.remaining(policy().check()), left);
    }
}

#[test]
fn a_restart_heals() {
    let Some((server, authority)) = start() else { return };
    let builder = patient(&server.url()).root_certificate(authority);
    let client = Client::try_connect(builder).unwrap();
    assert_eq!(client.remaining(policy().check()), 9);
    server.restart();
    let (decision, errors) = client.apply_until_healed(policy().check());
    assert!(errors.len() <= 1, "{errors:?}");
    assert_eq!(decision.remaining, Some(9));
}

/// Asserts that `connect` fails with this error, and so does the first call after `build`.
fn assert_refused(builder: RedisStoreBuilder, authority: Option<Vec<u8>>, why: &str) {
    let builder = match authority {
        Some(pem) => builder.root_certificate(pem),
        None => builder,
    };
    let connecting = Client::try_connect(builder.clone()).map(|_| ()).unwrap_err();
    let client = Client::build(builder);
    let calling = unavailable(&client.apply(policy().check()).expect_err("not trusted"));
    for error in [connecting, calling] {
        assert!(error.to_lowercase().contains(why), "{error}");
    }
}

#[test]
fn an_untrusted_certificate() {
    let (Some((server, _)), Some((_other, other_authority))) = (start(), start()) else { return };
    assert_refused(patient(&server.url()), None, "certificate");
    assert_refused(patient(&server.url()), Some(other_authority), "certificate");
}

/// Where one side waits for the other, the timeout ends it.
#[test]
fn tls_on_only_one_side() {
    let (Some((server, authority)), Some(plain)) = (start(), Server::redis()) else { return };
    let (url, tls_url) = (server.url(), plain.url().replace("redis:", "rediss:"));
    let clear = Client::try_connect(RedisStore::builder(&url.replace("rediss:", "redis:")));
    assert!(clear.map(|_| ()).unwrap_err().contains("cannot be reached"));
    assert_refused(RedisStore::builder(&tls_url), Some(authority), "");
}

#[test]
fn a_primary_behind_a_sentinel() {
    let Some((server, authority)) = start() else { return };
    let sentinel = Server::builder(Flavour::Redis).tls().sentinel_of(&server).start();
    let sentinel = sentinel.unwrap();
    let url = format!("rediss+sentinel://127.0.0.1:{}/main", sentinel.port());
    let builder = patient(&url);
    let client = Client::try_connect(builder.clone().root_certificate(authority)).unwrap();
    assert_eq!(client.remaining(policy().check()), 9);
    assert_refused(builder, None, "");
    let clear = RedisStore::builder(&url.replace("rediss", "redis"));
    assert!(Client::try_connect(clear).is_err());
}

#[test]
fn an_invalid_root_certificate() {
    let built =
        RedisStore::builder("rediss://127.0.0.1:1").root_certificate("no certificate").build();
    let error = with_causes(&built.unwrap_err());
    assert!(error.contains("certificate cannot be used"), "{error}");
    assert!(error.contains("no certificate found in the PEM"), "{error}");
}
