//! One class of input.

use std::io::Write as _;

use tollgate_server::Server;

use crate::support::Client;

/// What is asked afterwards, and answered if the connection goes on.
const STILL: &str = "ECHO still-here\r\n";
const HERE: &str = "$10\r\nstill-here\r\n";

pub(crate) struct Case {
    sent: Vec<u8>,
    /// With `{id}` for the number of the connection.
    reply: Vec<u8>,
    stays: bool,
}

impl Case {
    /// The connection goes on.
    pub(crate) fn stays(sent: impl Into<Vec<u8>>, reply: impl Into<Vec<u8>>) -> Case {
        Case { sent: sent.into(), reply: reply.into(), stays: true }
    }

    /// The server closes the connection.
    pub(crate) fn closes(sent: impl Into<Vec<u8>>, reply: impl Into<Vec<u8>>) -> Case {
        Case { sent: sent.into(), reply: reply.into(), stays: false }
    }

    /// A line is refused, and the connection goes on.
    pub(crate) fn refused((line, error): &(&str, &str)) -> Case {
        Case::stays(format!("{line}\r\n"), format!("-{error}\r\n"))
    }

    /// A line is answered with numbers.
    pub(crate) fn numbers<const N: usize>((line, numbers): &(&str, [i64; N])) -> Case {
        let reply: String = numbers.iter().map(|number| format!(":{number}\r\n")).collect();
        Case::stays(format!("{line}\r\n"), format!("*{N}\r\n{reply}"))
    }

    /// What came instead, if anything did.
    pub(crate) fn wrong(&self, server: &Server) -> Option<String> {
        let mut client = Client::of(server);
        let expected = self.expected(&mut client);
        // Whoever is closed may not get to send it all.
        let _ = client.stream().write_all(&self.sent);
        if self.stays {
            let _ = client.stream().write_all(STILL.as_bytes());
        }
        // Whoever is to be closed is not done when all has come.
        let done = |came: &[u8]| !expected.starts_with(came) || self.stays && came == expected;
        let came = client.until(done).unwrap_or_else(|error| error.to_string().into());
        (came != expected).then(|| {
            let [sent, expected, came] = [&self.sent, &expected, &came].map(|bytes| shown(bytes));
            format!("sent     {sent}\nexpected {expected}\ncame     {came}\n")
        })
    }

    fn expected(&self, client: &mut Client) -> Vec<u8> {
        let mut expected = self.reply.clone();
        if let Some(at) = expected.windows(4).position(|window| window == b"{id}") {
            let id = client.ask("CLIENT ID\r\n");
            expected.splice(at..at + 4, id.trim_matches([':', '\r', '\n']).bytes());
        }
        if self.stays {
            expected.extend(HERE.bytes());
        }
        expected
    }
}

/// The beginning and the end of what may be long.
fn shown(bytes: &[u8]) -> String {
    match bytes.split_at_checked(400) {
        Some((start, end)) => format!("{} … {} more", start.escape_ascii(), end.len()),
        None => bytes.escape_ascii().to_string(),
    }
}
