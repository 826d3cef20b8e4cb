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
use crate::link::Link;
use crate::link::cluster::Cluster;
use crate::link::node::{Door, Node};
use crate::link::target::{BadUrl, Target};
use crate::script::Scripts;
use crate::store::RedisStore;

/// What keys begin with, if not said.
const PREFIX: &str = "tg";
/// How long an answer may take, if not said.
const DEADLINE: Duration = Duration::from_secs(1);
/// How long connecting may take at least, though an answer must be there sooner.
const CONNECTING: Duration = Duration::from_millis(100);

/// How long connecting may take at least where sentinels are asked first: some may not answer.
const ASKING_SENTINELS: Duration = Duration::from_secs(5);
/// What a certificate in PEM begins with.
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Why there is no store.
#[derive(Debug, Clone)]
pub struct ConnectError(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Url(BadUrl),
    Certificate(RedisError),
    Unreachable(RedisError),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Url(bad) => bad.fmt(f),
            Kind::Certificate(error) => write!(f, "the certificate cannot be used: {error}"),
            Kind::Unreachable(error) => write!(f, "the store cannot be reached: {error}"),
        }
    }
}

impl Error for ConnectError {}

/// A store about to be made.
#[derive(Clone)]
#[must_use = "a builder does nothing until it connects"]
pub struct Builder {
    url: String,
    prefix: String,
    deadline: Duration,
    root_certificate: Option<Vec<u8>>,
}

impl fmt::Debug for Builder {
    /// Without the URL, which may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl Builder {
    pub(crate) fn new(url: &str) -> Builder {
        Builder {
            url: url.to_owned(),
            prefix: PREFIX.to_owned(),
            deadline: DEADLINE,
            root_certificate: None,
        }
    }

    /// What all keys begin with: `tg` if not said. Stores that share a server and a prefix share their
    /// states.
    pub fn prefix(mut self, prefix: &str) -> Builder {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// How long an answer may take before it is an error: a second if not said. Whoever has to connect
    /// first may take as long again for that, and at least a tenth of a second; where sentinels are
    /// asked, up to five seconds.
    pub fn deadline(mut self, deadline: Duration) -> Builder {
        self.deadline = deadline;
        self
    }

    /// The certificate, in PEM, that a server's must be signed by. Otherwise those that the system
    /// trusts.
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Builder {
        self.root_certificate = Some(pem.into());
        self
    }

    /// Connects.
    ///
    /// # Errors
    /// If the URL is none, a certificate cannot be used, or nobody answers.
    pub async fn connect(self) -> Result<RedisStore, ConnectError> {
        let store = self.make()?;
        let unreachable = |error| ConnectError(Kind::Unreachable(error));
        store.link.greet().await.map_err(unreachable)?;
        Ok(store)
    }

    /// Makes the store without asking whether anybody is there: that shows with the first operation.
    ///
    /// # Errors
    /// If the URL is none, or a certificate cannot be used.
    pub fn make(self) -> Result<RedisStore, ConnectError> {
        let target = Target::parse(&self.url).map_err(|bad| ConnectError(Kind::Url(bad)))?;
        let link = self.link(target).map_err(|error| ConnectError(Kind::Certificate(error)))?;
        Ok(RedisStore { link, prefix: Prefix::new(&self.prefix), scripts: Scripts::default() })
    }

    fn link(&self, target: Target) -> Result<Link, RedisError> {
        let patience = self.deadline.max(CONNECTING);
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(self.deadline))
            .set_connection_timeout(Some(patience));
        Ok(match target {
            Target::One(info) => {
                let door = Door::At(Box::new(self.client(info)?));
                Link::One(Arc::new(Node::new(door, config, patience)))
            }
            Target::Cluster(seeds) => {
                let seeds = seeds.into_iter().map(|seed| self.trusting(seed));
                let seeds = seeds.collect::<Result<_, _>>()?;
                Link::Cluster(Box::new(Cluster::new(seeds, config, self.deadline)))
            }
            Target::Sentinel { sentinels, name, primary } => {
                let client = self.behind(sentinels, &name, &primary)?;
                let door = Door::Behind(Box::new(Mutex::new(client)));
                Link::One(Arc::new(Node::new(door, config, patience.max(ASKING_SENTINELS))))
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
