//! Making a store from a URL.

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

use crate::call::keys::Prefix;
use crate::connection::Connection;
use crate::connection::cluster::Cluster;
use crate::connection::node::{Connector, Node};
use crate::connection::target::{InvalidUrl, Target};
use crate::script::Scripts;
use crate::store::RedisStore;

/// What keys begin with, if not said.
const PREFIX: &str = "tg";
/// How long an answer may take, if not said.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long connecting may take at least, though an answer must be there sooner.
const CONNECTING: Duration = Duration::from_millis(100);

/// How long connecting may take at least where sentinels are asked first: some may not answer.
const ASKING_SENTINELS: Duration = Duration::from_secs(5);
/// What a certificate in PEM begins with.
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Why there is no store.
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
            ErrorKind::Url(bad) => bad.fmt(f),
            ErrorKind::Certificate(error) => write!(f, "the certificate cannot be used: {error}"),
            ErrorKind::Unreachable(error) => write!(f, "the store cannot be reached: {error}"),
        }
    }
}

impl Error for ConnectError {}

/// A store about to be made.
#[derive(Clone)]
#[must_use = "a builder does nothing until it connects"]
pub struct RedisStoreBuilder {
    url: String,
    prefix: String,
    response_timeout: Duration,
    root_certificate: Option<Vec<u8>>,
}

impl fmt::Debug for RedisStoreBuilder {
    /// Without the URL, which may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStoreBuilder").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl RedisStoreBuilder {
    pub(crate) fn new(url: &str) -> RedisStoreBuilder {
        RedisStoreBuilder {
            url: url.to_owned(),
            prefix: PREFIX.to_owned(),
            response_timeout: RESPONSE_TIMEOUT,
            root_certificate: None,
        }
    }

    /// What all keys begin with: `tg` if not said. Stores that share a server and a prefix share their
    /// states.
    pub fn prefix(mut self, prefix: &str) -> RedisStoreBuilder {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// How long an answer may take before it is an error: a second if not said. Whoever has to connect
    /// first may take as long again for that, and at least a tenth of a second; where sentinels are
    /// asked, up to five seconds.
    pub fn response_timeout(mut self, response_timeout: Duration) -> RedisStoreBuilder {
        self.response_timeout = response_timeout;
        self
    }

    /// The certificate, in PEM, that a server's must be signed by. Otherwise those that the system
    /// trusts.
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> RedisStoreBuilder {
        self.root_certificate = Some(pem.into());
        self
    }

    /// Connects.
    ///
    /// # Errors
    /// If the URL is none, a certificate cannot be used, or nobody answers.
    pub async fn connect(self) -> Result<RedisStore, ConnectError> {
        let store = self.build()?;
        let unreachable = |error| ConnectError(ErrorKind::Unreachable(error));
        store.connection.ping().await.map_err(unreachable)?;
        Ok(store)
    }

    /// Makes the store without asking whether anybody is there: that shows with the first operation.
    ///
    /// # Errors
    /// If the URL is none, or a certificate cannot be used.
    pub fn build(self) -> Result<RedisStore, ConnectError> {
        let target = Target::parse(&self.url).map_err(|bad| ConnectError(ErrorKind::Url(bad)))?;
        let connection =
            self.connection(target).map_err(|error| ConnectError(ErrorKind::Certificate(error)))?;
        Ok(RedisStore {
            connection,
            prefix: Prefix::new(&self.prefix),
            scripts: Scripts::default(),
        })
    }

    fn connection(&self, target: Target) -> Result<Connection, RedisError> {
        let timeout = self.response_timeout.max(CONNECTING);
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(self.response_timeout))
            .set_connection_timeout(Some(timeout));
        Ok(match target {
            Target::One(info) => {
                let connector = Connector::At(Box::new(self.client(info)?));
                Connection::One(Arc::new(Node::new(connector, config, timeout)))
            }
            Target::Cluster(seeds) => {
                let seeds = seeds.into_iter().map(|seed| self.trusting(seed));
                let seeds = seeds.collect::<Result<_, _>>()?;
                Connection::Cluster(Box::new(Cluster::new(seeds, config, self.response_timeout)))
            }
            Target::Sentinel { sentinels, name, primary } => {
                let client = self.behind(sentinels, &name, &primary)?;
                let connector = Connector::Behind(Box::new(Mutex::new(client)));
                Connection::One(Arc::new(Node::new(
                    connector,
                    config,
                    timeout.max(ASKING_SENTINELS),
                )))
            }
        })
    }

    /// Whoever sentinels say is the primary. It is reached as the URL says, TLS included, wherever
    /// it is.
    fn behind(
        &self,
        sentinels: Vec<ConnectionInfo>,
        name: &str,
        primary: &ConnectionInfo,
    ) -> Result<SentinelClient, RedisError> {
        let sentinels = sentinels.into_iter().map(|one| Ok(self.trusting(one)?.addr().clone()));
        let sentinels = sentinels.collect::<Result<Vec<_>, RedisError>>()?;
        let settings = primary.redis_settings();
        let mut way = SentinelClientBuilder::new(sentinels, name, SentinelServerType::Master)?
            .set_client_to_redis_db(settings.db());
        if let Some(user) = settings.username() {
            way = way.set_client_to_redis_username(user);
        }
        if let Some(password) = settings.password() {
            way = way.set_client_to_redis_password(password);
        }
        if matches!(primary.addr(), ConnectionAddr::TcpTls { .. }) {
            way = way.set_client_to_redis_tls_mode(TlsMode::Secure);
        }
        if let Some(certificates) = self.certificates()? {
            way = way.set_client_to_redis_certificates(certificates);
        }
        way.build()
    }

    fn client(&self, info: ConnectionInfo) -> Result<Client, RedisError> {
        match self.certificates()? {
            Some(certificates) => Client::build_with_tls(info, certificates),
            None => Client::open(info),
        }
    }

    fn certificates(&self) -> Result<Option<TlsCertificates>, RedisError> {
        let Some(pem) = &self.root_certificate else { return Ok(None) };
        if !pem.windows(BEGIN.len()).any(|part| part == BEGIN) {
            let what = "there is none in the PEM";
            return Err((redis::ErrorKind::InvalidClientConfig, what).into());
        }
        Ok(Some(TlsCertificates { client_tls: None, root_cert: Some(pem.clone()) }))
    }

    /// The same address, with the certificate to trust.
    fn trusting(&self, info: ConnectionInfo) -> Result<ConnectionInfo, RedisError> {
        Ok(self.client(info)?.get_connection_info().clone())
    }
}
