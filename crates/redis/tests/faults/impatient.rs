//! Callers that give up before the response timeout.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_fixtures::Server;
use tollgate_redis::RedisStore;

use crate::client::{Client, HEAL_TIMEOUT, apply_unbounded};
use crate::operations::KeyedPolicy;

/// How long callers wait.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long the proxy takes to open a connection.
const SLOW: Duration = Duration::from_millis(400);
/// The response timeout of the store: a reply that is only late on a busy machine comes within it.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A proxy that opens connections slowly, and can let the open ones go silent without closing them.
struct Proxy {
    port: u16,
    /// Connections with a smaller number are silent.
    silent: Arc<AtomicUsize>,
    opened: Arc<AtomicUsize>,
}

impl Proxy {
    fn start(to: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (silent, opened) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let proxy = Proxy { port, silent: Arc::clone(&silent), opened: Arc::clone(&opened) };
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (silent, number) = (Arc::clone(&silent), opened.fetch_add(1, Ordering::SeqCst));
                thread::spawn(move || {
                    thread::sleep(SLOW);
                    let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { return };
                    let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                    let silent_too = Arc::clone(&silent);
                    thread::spawn(move || copy(back.0, back.1, number, &silent_too));
                    copy(client, server, number, &silent);
                });
            }
        });
        proxy
    }

    fn silence_all(&self) {
        self.silent.store(self.opened.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, number: usize, silent: &AtomicUsize) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let is_silent = number < silent.load(Ordering::SeqCst);
        if !is_silent && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Checks again and again, and each time gives up soon. Returns when one was answered, and what remains.
fn check_impatiently(client: &Client, policy: &KeyedPolicy) -> u64 {
    let start = Instant::now();
    while start.elapsed() < HEAL_TIMEOUT {
        let check = [policy.check()];
        let answer = client.runtime.block_on(async {
            tokio::time::timeout(PATIENCE, apply_unbounded(&client.store, &check, None)).await
        });
        if let Ok(Some(Ok(decision))) = answer.map(|results| results.into_iter().next()) {
            return decision.remaining.unwrap();
        }
        thread::sleep(PATIENCE);
    }
    panic!("does not heal");
}

/// Returns a client whose connections pass through a proxy.
fn client_of(proxy: &Proxy) -> Client {
    let url = format!("redis://127.0.0.1:{}", proxy.port);
    Client::build(RedisStore::builder(&url).response_timeout(RESPONSE_TIMEOUT))
}

#[test]
fn a_slow_connection_is_opened_all_the_same() {
    let Some(server) = Server::redis() else { return };
    let proxy = Proxy::start(server.port());
    let (client, policy) = (client_of(&proxy), KeyedPolicy::one("gcra 1/day burst 9", "a"));
    check_impatiently(&client, &policy);
    assert_eq!(proxy.opened.load(Ordering::SeqCst), 1);
}

#[test]
fn a_silent_connection_is_replaced() {
    let Some(server) = Server::redis() else { return };
    let proxy = Proxy::start(server.port());
    let (client, policy) = (client_of(&proxy), KeyedPolicy::one("gcra 1/day burst 9", "a"));
    check_impatiently(&client, &policy);
    proxy.silence_all();
    check_impatiently(&client, &policy);
    assert_eq!(proxy.opened.load(Ordering::SeqCst), 2);
}
