//! A client for raw bytes, and servers with manual clocks.

pub(crate) mod http;
pub(crate) mod slow;

use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tollgate::{Clock, Decision, Error, MemoryStore, Request};
use tollgate_core::{Act, Name, Policy};
use tollgate_server::{Server, ServerBuilder};

/// How long to wait before a test fails. It is long, as the machine may be busy.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) fn policy(name: &str, lines: &[&str]) -> Policy {
    Policy::parse(Name::new(name).unwrap(), lines).unwrap()
}

/// Creates a server with one worker and a manual clock.
pub(crate) fn server() -> ServerBuilder {
    server_on(&Clock::manual())
}

pub(crate) fn server_on(clock: &Clock) -> ServerBuilder {
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    Server::builder().memory(store).resp("127.0.0.1:0".parse().unwrap()).threads(1)
}

/// Returns `wanted`, or as many clients as the limit on open files allows: each takes one for the server and
/// one for the client.
pub(crate) fn max_clients(wanted: usize) -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let files = line.and_then(|line| line.split_ascii_whitespace().nth(3)?.parse().ok());
    wanted.min(files.unwrap_or(1_024_usize).saturating_sub(200) / 2)
}

/// Performs an operation with the library.
pub(crate) fn apply(request: &Request<'_>, act: Act) -> Result<Decision, Error> {
    match act {
        Act::Check => request.check(),
        Act::Peek => request.peek(),
        Act::Refund => request.refund().map(|allowed| *allowed),
        Act::Charge => request.charge().map(|allowed| *allowed),
        Act::Reset => request.reset().map(|allowed| *allowed),
        Act::Reserve => request.reserve(),
        Act::Settle => request.settle(),
        Act::Release => request.release(),
        Act::Renew => request.renew(),
        other => panic!("{other}"),
    }
}

/// Encodes a command as an array, as clients send it.
pub(crate) fn array<A: AsRef<[u8]>>(args: &[A]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args.iter().map(AsRef::as_ref) {
        bytes.extend(format!("${}\r\n", arg.len()).bytes());
        bytes.extend(arg);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// Encodes a command whose arguments contain no spaces.
pub(crate) fn command(line: &str) -> Vec<u8> {
    array(&line.split_ascii_whitespace().collect::<Vec<_>>())
}

pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn resp(server: &Server) -> Client {
        Client::connect(server.resp().unwrap())
    }

    pub(crate) fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        Client(BufReader::new(stream))
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.0.get_mut()
    }

    #[track_caller]
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream().write_all(bytes.as_ref()).unwrap();
    }

    /// Reads the next reply, in bytes.
    #[track_caller]
    pub(crate) fn reply(&mut self) -> String {
        let mut bytes = Vec::new();
        self.read_reply(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends bytes and reads one reply.
    #[track_caller]
    pub(crate) fn request(&mut self, bytes: impl AsRef<[u8]>) -> String {
        self.send(bytes);
        self.reply()
    }

    #[track_caller]
    pub(crate) fn assert_served(&mut self) {
        assert_eq!(self.request("PING\r\n"), "+PONG\r\n");
    }

    fn read_reply(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let start = bytes.len();
        self.0.read_until(b'\n', bytes)?;
        let head = bytes.get(start..).and_then(<[u8]>::split_first);
        let (kind, length) = head.ok_or(ErrorKind::UnexpectedEof)?;
        let length: i64 = String::from_utf8_lossy(length).trim_end().parse().unwrap_or(0);
        match kind {
            b'$' | b'=' if length >= 0 => {
                let mut text = vec![0; usize::try_from(length + 2).unwrap()];
                self.0.read_exact(&mut text)?;
                bytes.extend(text);
            }
            b'*' => (0..length).try_for_each(|_| self.read_reply(bytes))?,
            b'%' => (0..2 * length).try_for_each(|_| self.read_reply(bytes))?,
            _ => {}
        }
        Ok(())
    }

    /// Reads until `enough` returns true or the server closes the connection.
    pub(crate) fn read_until(&mut self, enough: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while !enough(&bytes) {
            let chunk = match self.0.fill_buf() {
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                chunk => chunk?,
            };
            if chunk.is_empty() {
                break;
            }
            let count = chunk.len();
            bytes.extend(chunk);
            self.0.consume(count);
        }
        Ok(bytes)
    }

    /// Reads until the server closes the connection.
    #[track_caller]
    pub(crate) fn read_to_end(&mut self) -> String {
        String::from_utf8_lossy(&self.read_until(|_| false).unwrap()).into_owned()
    }
}
