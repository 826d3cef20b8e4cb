//! One test case: what is sent, and the exact bytes expected.

use std::io::Write as _;

use tollgate_server::Server;

use crate::support::Client;

/// Sent after the case, with the reply if the connection is still open.
const PROBE: &str = "ECHO still-here\r\n";
const PROBE_REPLY: &str = "$10\r\nstill-here\r\n";

pub(crate) struct Case {
    sent: Vec<u8>,
    /// The expected bytes, with `{id}` for the ID of the connection.
    reply: Vec<u8>,
    stays: bool,
}

impl Case {
    /// A case after which the connection stays open.
    pub(crate) fn stays(sent: impl Into<Vec<u8>>, reply: impl Into<Vec<u8>>) -> Case {
        Case { sent: sent.into(), reply: reply.into(), stays: true }
    }

    /// A case after which the server closes the connection.
    pub(crate) fn closes(sent: impl Into<Vec<u8>>, reply: impl Into<Vec<u8>>) -> Case {
        Case { sent: sent.into(), reply: reply.into(), stays: false }
    }

    /// A line gets an error, and the connection stays open.
    pub(crate) fn error((line, error): &(&str, &str)) -> Case {
        Case::stays(format!("{line}\r\n"), format!("-{error}\r\n"))
    }

    /// A line gets an array of numbers.
    pub(crate) fn numbers<const N: usize>((line, numbers): &(&str, [i64; N])) -> Case {
        let reply: String = numbers.iter().map(|number| format!(":{number}\r\n")).collect();
        Case::stays(format!("{line}\r\n"), format!("*{N}\r\n{reply}"))
    }

    /// Runs the case. Returns a report if it fails.
    pub(crate) fn failure(&self, server: &Server) -> Option<String> {
        let mut client = Client::resp(server);
        let expected = self.expected(&mut client);
        // If the server closes the connection early, the write fails.
        let _ = client.stream().write_all(&self.sent);
        if self.stays {
            let _ = client.stream().write_all(PROBE.as_bytes());
        }
        // If the connection is to be closed, wait for that even when all bytes have arrived.
        let done =
            |received: &[u8]| !expected.starts_with(received) || self.stays && received == expected;
        let received = client.read_until(done).unwrap_or_else(|error| error.to_string().into());
        (received != expected).then(|| {
            let [sent, expected, received] =
                [&self.sent, &expected, &received].map(|bytes| excerpt(bytes));
            format!("sent     {sent}\nexpected {expected}\nreceived {received}\n")
        })
    }

    fn expected(&self, client: &mut Client) -> Vec<u8> {
        let mut expected = self.reply.clone();
        if let Some(at) = expected.windows(4).position(|window| window == b"{id}") {
            let id = client.request("CLIENT ID\r\n");
            expected.splice(at..at + 4, id.trim_matches([':', '\r', '\n']).bytes());
        }
        if self.stays {
            expected.extend(PROBE_REPLY.bytes());
        }
        expected
    }
}

/// Formats bytes, truncated if they are long.
fn excerpt(bytes: &[u8]) -> String {
    match bytes.split_at_checked(400) {
        Some((start, end)) => format!("{} … {} more", start.escape_ascii(), end.len()),
        None => bytes.escape_ascii().to_string(),
    }
}
