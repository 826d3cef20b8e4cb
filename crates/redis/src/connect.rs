//! Opens a store at a URL.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, RedisError, TlsCertificates,
    TlsMode,
};
use tokio::sync::Mutex;

use crate::call::key_hash::KeyHash;
use crate::call::keys::Prefix;
use crate::connection::Connection;
use crate::connection::cluster::Cluster;
use crate::connection::node::{Connector, Node};
use crate::connection::target::{InvalidUrl, Target};
use crate::format::PartSizes;
use crate::script::{ScriptOptions, Scripts};
use crate::store::RedisStore;

/// Default prefix of all keys.
const DEFAULT_PREFIX: &str = "tg";
/// Default time to wait for a reply.
const DEFAULT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Least time to wait for a connection, even if the response timeout is shorter.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_millis(100);
/// Least time to wait for a connection where sentinels are asked first: some of them may not reply.
const MIN_SENTINEL_TIMEOUT: Duration = Duration::from_secs(5);
/// The first line of a certificate in PEM.
const PEM_BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// The error returned when a store cannot be opened.
///
/// [`source`](Error::source) returns the cause, unless the URL is invalid.
#[derive(Debug, Clone)]
pub struct ConnectError(ErrorKind);

#[derive(Debug, Clone)]
enum ErrorKind {
    Url(InvalidUrl),
    Certificate(RedisError),
    Unreachable(RedisError),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ErrorKind::Url(invalid) => invalid.fmt(f),
            ErrorKind::Certificate(_) => f.write_str("the certificate cannot be used"),
            ErrorKind::Unreachable(_) => f.write_str("the store cannot be reached"),
        }
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            ErrorKind::Url(invalid) => invalid.source(),
            ErrorKind::Certificate(error) | ErrorKind::Unreachable(error) => Some(error),
        }
    }
}

/// Builds a [`RedisStore`] with settings.
#[derive(Clone)]
#[must_use = "a builder does nothing until `connect` or `build` is called"]
pub struct RedisStoreBuilder {
    url: String,
    prefix: String,
    response_timeout: Duration,
    root_certificate: Option<Vec<u8>>,
    key_hash: KeyHash,
    script_options: ScriptOptions,
}

impl fmt::Debug for RedisStoreBuilder {
    /// Without the URL, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStoreBuilder").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Connects to the store at a URL: `redis://host:port`, `rediss://…` (TLS), `redis+cluster://host:port,…`
    /// or `redis+sentinel://host:port,…/name`.
    ///
    /// # Errors
    /// Fails if the URL is invalid or the server does not respond.
    pub async fn connect(url: &str) -> Result<RedisStore, ConnectError> {
        RedisStore::builder(url).connect().await
    }

    /// Returns a builder, for a store with other settings than the defaults.
    pub fn builder(url: &str) -> RedisStoreBuilder {
        RedisStoreBuilder::new(url)
    }
}

impl RedisStoreBuilder {
    fn new(url: &str) -> RedisStoreBuilder {
        RedisStoreBuilder {
            url: url.to_owned(),
            prefix: DEFAULT_PREFIX.to_owned(),
            response_timeout: DEFAULT_RESPONSE_TIMEOUT,
            root_certificate: None,
            key_hash: KeyHash::default(),
            script_options: ScriptOptions::default(),
        }
    }

    /// Sets the prefix of all keys. Default: `tg`.
    ///
    /// Stores that share a server and a prefix share their states.
    pub fn prefix(mut self, prefix: &str) -> RedisStoreBuilder {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// Sets how long the store waits for a reply before the operation fails. Default: 1 second.
    ///
    /// A call that has to connect first waits for the connection as long again, and for at least 100
    /// milliseconds; with sentinels for at least 5 seconds.
    pub fn response_timeout(mut self, response_timeout: Duration) -> RedisStoreBuilder {
        self.response_timeout = response_timeout;
        self
    }

    /// Sets the certificate, in PEM, that must have signed the server's. Default: those that the system
    /// trusts.
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> RedisStoreBuilder {
        self.root_certificate = Some(pem.into());
        self
    }

    /// Sets a secret that keys the hashes under which everything is stored. Default: none.
    ///
    /// With it, someone who can read the server cannot find out which keys and ids clients use, not even by
    /// hashing all that are likely. Stores that count together need the same secret; a new secret starts
    /// with empty states.
    pub fn hash_key(mut self, secret: &[u8]) -> RedisStoreBuilder {
        self.key_hash = KeyHash::keyed(secret);
        self
    }

    /// Keeps what lies apart of a state in tiny parts, so that a test with few entries has many parts.
    #[doc(hidden)]
    pub fn with_tiny_parts(mut self) -> RedisStoreBuilder {
        self.script_options.part_sizes = PartSizes::TINY;
        self
    }

    /// Lets each script add the number of its steps to the list at [`STEPS_KEY`](crate::STEPS_KEY), for tests.
    #[doc(hidden)]
    pub fn with_counted_steps(mut self) -> RedisStoreBuilder {
        self.script_options.counts_steps = true;
        self
    }

    /// Creates the store and connects to it.
    ///
    /// # Errors
    /// Fails if the URL is invalid, the certificate cannot be used, or the server does not respond.
    pub async fn connect(self) -> Result<RedisStore, ConnectError> {
        let store = self.build()?;
        let unreachable = |error| ConnectError(ErrorKind::Unreachable(error));
        store.connection.ping().await.map_err(unreachable)?;
        Ok(store)
    }

    /// Creates the store without connecting: the first operation connects.
    ///
    /// # Errors
    /// Fails if the URL is invalid or the certificate cannot be used.
    pub fn build(self) -> Result<RedisStore, ConnectError> {
        let invalid_url = |error| ConnectError(ErrorKind::Url(error));
        let target = Target::parse(&self.url).map_err(invalid_url)?;
        let connection =
            self.connection(target).map_err(|error| ConnectError(ErrorKind::Certificate(error)))?;
        Ok(RedisStore {
            connection,
            prefix: Prefix::new(&self.prefix, self.key_hash),
            scripts: Scripts::new(self.script_options),
        })
    }

    fn connection(&self, target: Target) -> Result<Connection, RedisError> {
        let timeout = self.response_timeout.max(MIN_CONNECT_TIMEOUT);
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(self.response_timeout))
            .set_connection_timeout(Some(timeout));
        Ok(match target {
            Target::Single(info) => {
                let connector = Connector::Address(Box::new(self.client(info)?));
                Connection::Single(Arc::new(Node::new(connector, config, timeout)))
            }
            Target::Cluster(seeds) => {
                let seeds = seeds.into_iter().map(|seed| self.with_certificates(seed));
                let seeds = seeds.collect::<Result<_, _>>()?;
                Connection::Cluster(Arc::new(Cluster::new(seeds, config, self.response_timeout)))
            }
            Target::Sentinel { sentinels, name, primary } => {
                let client = self.sentinel_client(sentinels, &name, &primary)?;
                let connector = Connector::Sentinel(Box::new(Mutex::new(client)));
                let timeout = timeout.max(MIN_SENTINEL_TIMEOUT);
                Connection::Single(Arc::new(Node::new(connector, config, timeout)))
            }
        })
    }

    /// Creates a client that asks the sentinels for the primary. The primary is reached with the user,
    /// password, database and TLS of the URL, whatever its address.
    fn sentinel_client(
        &self,
        sentinels: Vec<ConnectionInfo>,
        name: &str,
        primary: &ConnectionInfo,
    ) -> Result<SentinelClient, RedisError> {
        let addresses = sentinels.into_iter();
        let addresses = addresses.map(|info| Ok(self.with_certificates(info)?.addr().clone()));
        let addresses = addresses.collect::<Result<Vec<_>, RedisError>>()?;
        let settings = primary.redis_settings();
        let mut builder = SentinelClientBuilder::new(addresses, name, SentinelServerType::Master)?
            .set_client_to_redis_db(settings.db());
        if let Some(user) = settings.username() {
            builder = builder.set_client_to_redis_username(user);
        }
        if let Some(password) = settings.password() {
            builder = builder.set_client_to_redis_password(password);
        }
        if matches!(primary.addr(), ConnectionAddr::TcpTls { .. }) {
            builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
        }
        if let Some(certificates) = self.certificates()? {
            builder = builder.set_client_to_redis_certificates(certificates);
        }
        builder.build()
    }

    fn client(&self, info: ConnectionInfo) -> Result<Client, RedisError> {
        match self.certificates()? {
            Some(certificates) => Client::build_with_tls(info, certificates),
            None => Client::open(info),
        }
    }

    fn certificates(&self) -> Result<Option<TlsCertificates>, RedisError> {
        let Some(pem) = &self.root_certificate else { return Ok(None) };
        if !pem.windows(PEM_BEGIN.len()).any(|bytes| bytes == PEM_BEGIN) {
            let what = "no certificate found in the PEM";
            return Err((redis::ErrorKind::InvalidClientConfig, what).into());
        }
        Ok(Some(TlsCertificates { client_tls: None, root_cert: Some(pem.clone()) }))
    }

    /// Returns the same address, with the certificate to trust.
    fn with_certificates(&self, info: ConnectionInfo) -> Result<ConnectionInfo, RedisError> {
        Ok(self.client(info)?.get_connection_info().clone())
    }
}
