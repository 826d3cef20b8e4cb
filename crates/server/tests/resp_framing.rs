//! Commands in pieces, long pipelines, large transactions, slow readers, and noise.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use support::{Client, array, command, policy};
use tollgate_server::{RespLimits, Server};

fn config(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(1);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..Default::default() }
}

fn server() -> Server {
    support::server()
        .policy(policy("api", &["gcra 1/s burst 50", "fixed-window 100/h"]))
        .policy(policy("login", &["fixed-window 20/h per ip", "gcra 1/s burst 50 per user"]))
        .start()
        .unwrap()
}

/// Arguments of a command.
fn args() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let fixed = select(vec![
        "PING",
        "ping hello",
        "ECHO hello",
        "SELECT 0",
        "SELECT 7",
        "NOPE a b",
        "CLIENT SETNAME a",
        "CLIENT GETNAME",
        "CONFIG GET save",
        "COMMAND COUNT",
        "CL.THROTTLE a 15 30 60",
        "CL.THROTTLE a 15 30 60 0",
        "CL.THROTTLE b 1 x 60",
        "TG.CHECK api a",
        "tg.check api b COST 3",
        "TG.PEEK api a COST 40",
        "TG.REFUND api a",
        "TG.RESET api b",
        "TG.CHECK login ip=1 user=2",
        "TG.CHECK login ip=1",
        "TG.RESERVE api a COST 5 ID x",
        "TG.SETTLE api a COST 2 ID x",
        "TG.CHECK nope a",
        "MULTI",
        "MULTI",
        "EXEC",
        "EXEC",
        "DISCARD",
    ]);
    let fixed = fixed.prop_map(|line| line.split(' ').map(Vec::from).collect());
    let echo = vec(any::<u8>(), 0..40).prop_map(|arg| vec![b"ECHO".to_vec(), arg]);
    let long = (4_000_usize..=4_096).prop_map(|size| vec![b"PING".to_vec(), vec![b'x'; size]]);
    prop_oneof![12 => fixed, 3 => echo, 1 => long]
}

/// Encodes a command as an inline command.
fn inline(args: &[Vec<u8>]) -> Vec<u8> {
    let quoted = |arg: &Vec<u8>| -> String {
        let bytes: String = arg.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("\"{bytes}\"")
    };
    let is_plain = |arg: &Vec<u8>| arg.iter().all(u8::is_ascii_graphic) && !arg.is_empty();
    let encoded = |arg: &Vec<u8>| {
        let is_bare = is_plain(arg) && !arg.iter().any(|byte| b"\"'".contains(byte));
        if is_bare { String::from_utf8_lossy(arg).into_owned() } else { quoted(arg) }
    };
    let line: Vec<_> = args.iter().map(encoded).collect();
    (line.join(" ") + "\r\n").into_bytes()
}

fn any_command() -> impl Strategy<Value = Vec<u8>> {
    let nothing = select(vec!["\r\n", "\n", "*0\r\n", "*-1\r\n"]).prop_map(Vec::from);
    prop_oneof![
        6 => args().prop_map(|args| array(&args)),
        3 => args().prop_map(|args| inline(&args)),
        1 => nothing,
    ]
}

/// Lengths of pieces, used in a cycle.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![1_usize..=3, 1_usize..=40, 1_usize..=5_000], 1..12)
}

/// Sent last: when its reply arrives, all replies have arrived. It also ends a transaction.
const LAST: (&str, &str) = ("DISCARD\r\nECHO last-of-all\r\n", "$11\r\nlast-of-all\r\n");

fn replies(client: &mut Client) -> Vec<u8> {
    client.send(LAST.0);
    client.read_until(|bytes| bytes.ends_with(LAST.1.as_bytes())).unwrap()
}

proptest! {
    #![proptest_config(config(100))]

    /// Sends the same bytes to two servers, to one of them in pieces.
    #[test]
    fn pieces_get_the_same_replies_as_the_whole(commands in vec(any_command(), 1..30), lengths in lengths()) {
        static SERVERS: OnceLock<[Server; 2]> = OnceLock::new();
        let [one, other] = SERVERS.get_or_init(|| [server(), server()]);
        let mut whole = Client::resp(one);
        let [mut pieces, mut probe] = [(); 2].map(|()| Client::resp(other));
        let bytes = commands.concat();
        whole.send(&bytes);
        let (mut left, mut lengths) = (bytes.as_slice(), lengths.iter().cycle());
        while !left.is_empty() {
            let piece = left.split_off(..left.len().min(*lengths.next().unwrap())).unwrap();
            pieces.send(piece);
            // There is one worker: once it has replied to another connection, it has read the piece.
            probe.assert_served();
        }
        let [whole, pieces] = [&mut whole, &mut pieces].map(replies);
        prop_assert_eq!(whole.escape_ascii().to_string(), pieces.escape_ascii().to_string());
    }
}

#[test]
fn a_long_pipeline_gets_its_replies_in_order() {
    let server = server();
    let mut client = Client::resp(&server);
    let inline = |number: u32| format!("ECHO {number}\r\n").into_bytes();
    let sent = |number: u32| {
        if number.is_multiple_of(7) { inline(number) } else { command(&format!("ECHO {number}")) }
    };
    client.send((0..3_000).flat_map(sent).collect::<Vec<_>>());
    for number in 0..3_000 {
        let text = number.to_string();
        assert_eq!(client.reply(), format!("${}\r\n{text}\r\n", text.len()));
    }
    client.assert_served();
}

#[test]
fn the_transaction_size_is_limited() {
    let server = server();
    let mut client = Client::resp(&server);
    let echo = array(&["ECHO", &"x".repeat(4_000)]);
    client.send([b"MULTI\r\n", echo.repeat(400).as_slice(), b"EXEC\r\n"].concat());
    assert_eq!(client.reply(), "+OK\r\n");
    let replies: Vec<_> = (0..400).map(|_| client.reply()).collect();
    let queued = replies.iter().take_while(|reply| *reply == "+QUEUED\r\n").count();
    assert!((200..300).contains(&queued), "{queued}");
    assert_eq!(replies[queued], "-ERR transaction is larger than 1048576 bytes\r\n");
    assert!(client.reply().starts_with("-EXECABORT "));
    // Empty arguments take memory as well.
    let line = format!("HELLO{}\r\n", " \"\"".repeat(63));
    client.send(format!("MULTI\r\n{}EXEC\r\n", line.repeat(2_000)));
    assert_eq!(client.reply(), "+OK\r\n");
    let replies: Vec<_> = (0..2_000).map(|_| client.reply()).collect();
    let error = "-ERR transaction is larger than 1048576 bytes\r\n";
    assert!(replies.iter().any(|reply| reply == error));
    assert!(client.reply().starts_with("-EXECABORT "));
    client.assert_served();
}

/// Short commands can have long replies. They are sent bit by bit, and other clients are served meanwhile.
#[test]
fn a_transaction_with_large_replies() {
    const COMMANDS: usize = 10_000;
    let server = server();
    let mut client = Client::resp(&server);
    client.send("MULTI\r\n".to_owned() + &"COMMAND\r\n".repeat(COMMANDS) + "EXEC\r\n");
    assert_eq!(client.reply(), "+OK\r\n");
    assert!((0..COMMANDS).all(|_| client.reply() == "+QUEUED\r\n"));
    let one = Client::resp(&server).request("COMMAND\r\n");
    let head = format!("*{COMMANDS}\r\n");
    let expected = head.len() + COMMANDS * one.len();
    let received = client.read_until(|bytes| bytes.len() >= expected).unwrap();
    assert!(received.len() == expected && received.starts_with(head.as_bytes()));
    client.assert_served();
}

/// The client sends everything, shuts down its side, and only then reads more than all buffers hold.
#[test]
fn all_replies_are_sent_after_the_client_shuts_down_its_side() {
    let mut limits = RespLimits::default();
    limits.max_pending_bytes = 1 << 30;
    let server = support::server().resp_limits(limits).start().unwrap();
    let mut client = Client::resp(&server);
    let command = array(&["ECHO", &"x".repeat(1_000)]);
    client.send(command.repeat(30_000));
    client.stream().shutdown(Shutdown::Write).unwrap();
    let received = client.read_until(|_| false).unwrap();
    assert_eq!(received.len(), 30_000 * "$1000\r\n\r\n".len() + 30_000 * 1_000);
}

/// Either all replies are sent, or the connection of a client that does not read is closed in the end. Other
/// clients do not wait for it.
#[test]
fn a_client_that_does_not_read_does_not_block_others() {
    const COMMANDS: i64 = 200_000;
    let server = server();
    let (mut client, mut other) = (Client::resp(&server), Client::resp(&server));
    let mut writer = client.stream().try_clone().unwrap();
    let flood = command("CL.THROTTLE k 999999 1000000 1").repeat(COMMANDS.try_into().unwrap());
    let flood = thread::spawn(move || writer.write_all(&flood));
    while !flood.is_finished() {
        other.assert_served();
    }
    let sent = flood.join().unwrap();
    let received =
        if sent.is_ok() { replies(&mut client) } else { client.read_until(|_| false).unwrap() };
    let received = String::from_utf8(received).unwrap();
    let received: Vec<_> = received.split_inclusive("*5\r\n").skip(1).collect();
    println!("sent: {sent:?}; {} replies", received.len());
    // The last reply may be incomplete.
    let complete = received.len().saturating_sub(usize::from(sent.is_err()));
    for (number, reply) in (1..).zip(received.iter().take(complete)) {
        let start = format!(":0\r\n:1000000\r\n:{}\r\n:-1\r\n:1\r\n", 1_000_000 - number);
        assert!(reply.starts_with(&start), "{number}: {reply:?}");
    }
    assert!(sent.is_err() || received.len() == usize::try_from(COMMANDS).unwrap());
    other.assert_served();
}

/// The replies exceed all socket buffers, so that the server has to wait, and gives up in the end.
#[test]
fn a_client_that_never_reads_is_disconnected() {
    let mut limits = RespLimits::default();
    limits.timeout = Duration::from_millis(100);
    let server = support::server().resp_limits(limits).start().unwrap();
    let (mut client, mut other) = (Client::resp(&server), Client::resp(&server));
    let mut writer = client.stream().try_clone().unwrap();
    let some = command("CL.THROTTLE k 999999 1000000 1").repeat(1_000);
    let flood = thread::spawn(move || while writer.write_all(&some).is_ok() {});
    while !flood.is_finished() {
        other.assert_served();
    }
    flood.join().unwrap();
    other.assert_served();
    assert!(client.read_to_end().starts_with("*5\r\n:0\r\n:1000000\r\n:999999\r\n"));
}

/// Random bytes, many of which have a meaning in the protocol.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let significant = select(b"*$+-:%0123456789\r\n\r\n\"' \\PINGCL.TH".to_vec());
    let piece = prop_oneof![
        8 => significant.prop_map(|byte| vec![byte]),
        4 => any::<u8>().prop_map(|byte| vec![byte]),
        1 => any_command(),
        1 => select(vec!["\r\n", "*3\r\n", "$4\r\n", "$-1\r\n", "\"\\x"]).prop_map(Vec::from),
    ];
    vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn noise_does_no_harm(bytes in noise()) {
        static SERVER: OnceLock<Server> = OnceLock::new();
        let server = SERVER.get_or_init(server);
        let mut client = Client::resp(server);
        // The server may have closed the connection already.
        let _ = client.stream().write_all(&bytes);
        let _ = client.stream().shutdown(Shutdown::Write);
        let received = client.read_to_end();
        prop_assert!(received.is_empty() || received.ends_with("\r\n"), "{:?}", received);
        Client::resp(server).assert_served();
    }
}

/// A client that is still sending when the server closes the connection gets its replies and the reason.
#[test]
fn a_client_that_is_still_sending_gets_the_last_replies() {
    let server = server();
    let more = vec![b'x'; 300_000];
    for (last, expected) in [("QUIT\r\n", "+OK\r\n"), ("*65\r\n", "-ERR Protocol error: ")] {
        let mut client = Client::resp(&server);
        client.send([b"PING\r\n".repeat(100), last.into(), more.clone()].concat());
        for _ in 0..100 {
            assert_eq!(client.reply(), "+PONG\r\n");
        }
        let reply = client.reply();
        assert!(reply.starts_with(expected), "{reply}");
        let mut nothing = Vec::new();
        assert_eq!(
            client.stream().read_to_end(&mut nothing).unwrap(),
            0,
            "an orderly close, not a reset"
        );
    }
}

/// As `printf 'PING\r\n' | nc` does.
#[test]
fn replies_are_sent_after_the_client_shuts_down_its_side() {
    let server = server();
    let mut client = Client::resp(&server);
    client.send("PING\r\n*2\r\n$4\r\nECHO\r\n$1\r\na\r\nPI");
    client.stream().shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.read_to_end(), "+PONG\r\n$1\r\na\r\n");
}
