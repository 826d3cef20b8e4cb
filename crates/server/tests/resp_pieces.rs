//! Bytes come as they come: in pieces, thousands of commands at once, or as noise.

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

/// Words of a command.
fn words() -> impl Strategy<Value = Vec<Vec<u8>>> {
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
    let echo = vec(any::<u8>(), 0..40).prop_map(|word| vec![b"ECHO".to_vec(), word]);
    let long = (4_000_usize..=4_096).prop_map(|size| vec![b"PING".to_vec(), vec![b'x'; size]]);
    prop_oneof![12 => fixed, 3 => echo, 1 => long]
}

/// The same as one types it.
fn inline(words: &[Vec<u8>]) -> Vec<u8> {
    let quoted = |word: &Vec<u8>| -> String {
        let bytes: String = word.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("\"{bytes}\"")
    };
    let plain = |word: &Vec<u8>| word.iter().all(u8::is_ascii_graphic) && !word.is_empty();
    let typed = |word: &Vec<u8>| {
        let needs_none = plain(word) && !word.iter().any(|byte| b"\"'".contains(byte));
        if needs_none { String::from_utf8_lossy(word).into_owned() } else { quoted(word) }
    };
    let line: Vec<_> = words.iter().map(typed).collect();
    (line.join(" ") + "\r\n").into_bytes()
}

fn sent() -> impl Strategy<Value = Vec<u8>> {
    let nothing = select(vec!["\r\n", "\n", "*0\r\n", "*-1\r\n"]).prop_map(Vec::from);
    prop_oneof![
        6 => words().prop_map(|words| array(&words)),
        3 => words().prop_map(|words| inline(&words)),
        1 => nothing,
    ]
}

/// Lengths of pieces, over and over.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![1_usize..=3, 1_usize..=40, 1_usize..=5_000], 1..12)
}

/// What is sent last, so that all answers have come when this has. It ends a transaction, too.
const LAST: (&str, &str) = ("DISCARD\r\nECHO last-of-all\r\n", "$11\r\nlast-of-all\r\n");

fn answers(client: &mut Client) -> Vec<u8> {
    client.send(LAST.0);
    client.until(|bytes| bytes.ends_with(LAST.1.as_bytes())).unwrap()
}

proptest! {
    #![proptest_config(config(100))]

    /// Two servers hear the same, one of them in pieces.
    #[test]
    fn pieces_are_answered_as_the_whole(commands in vec(sent(), 1..30), lengths in lengths()) {
        static SERVERS: OnceLock<[Server; 2]> = OnceLock::new();
        let [one, other] = SERVERS.get_or_init(|| [server(), server()]);
        let mut whole = Client::of(one);
        let [mut pieces, mut bell] = [(); 2].map(|()| Client::of(other));
        let bytes = commands.concat();
        whole.send(&bytes);
        let (mut left, mut lengths) = (bytes.as_slice(), lengths.iter().cycle());
        while !left.is_empty() {
            let piece = left.split_off(..left.len().min(*lengths.next().unwrap())).unwrap();
            pieces.send(piece);
            // When another connection of the same loop has been answered, the piece has been read.
            bell.is_served();
        }
        let [whole, pieces] = [&mut whole, &mut pieces].map(answers);
        prop_assert_eq!(whole.escape_ascii().to_string(), pieces.escape_ascii().to_string());
    }
}

#[test]
fn three_thousand_at_once_are_answered_in_order() {
    let server = server();
    let mut client = Client::of(&server);
    let typed = |number: u32| format!("ECHO {number}\r\n").into_bytes();
    let sent = |number: u32| {
        if number.is_multiple_of(7) { typed(number) } else { command(&format!("ECHO {number}")) }
    };
    client.send((0..3_000).flat_map(sent).collect::<Vec<_>>());
    for number in 0..3_000 {
        let text = number.to_string();
        assert_eq!(client.reply(), format!("${}\r\n{text}\r\n", text.len()));
    }
    client.is_served();
}

#[test]
fn a_transaction_has_a_bound() {
    let server = server();
    let mut client = Client::of(&server);
    let words = array(&["ECHO", &"x".repeat(4_000)]);
    client.send([b"MULTI\r\n", words.repeat(400).as_slice(), b"EXEC\r\n"].concat());
    assert_eq!(client.reply(), "+OK\r\n");
    let said: Vec<_> = (0..400).map(|_| client.reply()).collect();
    let queued = said.iter().take_while(|said| *said == "+QUEUED\r\n").count();
    assert!((200..300).contains(&queued), "{queued}");
    assert_eq!(said[queued], "-ERR transaction is larger than 1048576 bytes\r\n");
    assert!(client.reply().starts_with("-EXECABORT "));
    // Words without bytes take room as well.
    let line = format!("HELLO{}\r\n", " \"\"".repeat(63));
    client.send(format!("MULTI\r\n{}EXEC\r\n", line.repeat(2_000)));
    assert_eq!(client.reply(), "+OK\r\n");
    let said: Vec<_> = (0..2_000).map(|_| client.reply()).collect();
    assert!(said.iter().any(|said| said.starts_with("-ERR too many bytes")));
    assert!(client.reply().starts_with("-EXECABORT "));
    client.is_served();
}

/// What is answered to a little may be much. It is sent bit by bit, and others are served meanwhile.
#[test]
fn a_transaction_with_large_answers() {
    const COMMANDS: usize = 10_000;
    let server = server();
    let mut client = Client::of(&server);
    client.send("MULTI\r\n".to_owned() + &"COMMAND\r\n".repeat(COMMANDS) + "EXEC\r\n");
    assert_eq!(client.reply(), "+OK\r\n");
    assert!((0..COMMANDS).all(|_| client.reply() == "+QUEUED\r\n"));
    let one = Client::of(&server).ask("COMMAND\r\n");
    let head = format!("*{COMMANDS}\r\n");
    let expected = head.len() + COMMANDS * one.len();
    let came = client.until(|bytes| bytes.len() >= expected).unwrap();
    assert!(came.len() == expected && came.starts_with(head.as_bytes()));
    client.is_served();
}

/// Who sends all, says so, and only then reads: more than any buffer between the two holds.
#[test]
fn answers_outlast_the_end_of_what_was_sent() {
    let mut bounds = RespLimits::default();
    bounds.max_pending_bytes = 1 << 30;
    let server = support::server().resp_limits(bounds).start().unwrap();
    let mut client = Client::of(&server);
    let command = array(&["ECHO", &"x".repeat(1_000)]);
    client.send(command.repeat(30_000));
    client.stream().shutdown(Shutdown::Write).unwrap();
    let came = client.until(|_| false).unwrap();
    assert_eq!(came.len(), 30_000 * "$1000\r\n\r\n".len() + 30_000 * 1_000);
}

/// Either all is answered, or whoever does not read is left in the end. Nobody else waits for it.
#[test]
fn who_does_not_read_holds_up_nobody() {
    const COMMANDS: i64 = 200_000;
    let server = server();
    let (mut client, mut other) = (Client::of(&server), Client::of(&server));
    let mut writer = client.stream().try_clone().unwrap();
    let flood = command("CL.THROTTLE k 999999 1000000 1").repeat(COMMANDS.try_into().unwrap());
    let flood = thread::spawn(move || writer.write_all(&flood));
    while !flood.is_finished() {
        other.is_served();
    }
    let sent = flood.join().unwrap();
    let came = if sent.is_ok() { answers(&mut client) } else { client.until(|_| false).unwrap() };
    let came = String::from_utf8(came).unwrap();
    let came: Vec<_> = came.split_inclusive("*5\r\n").skip(1).collect();
    println!("sent: {sent:?}; {} answers", came.len());
    // The last may be cut off.
    let whole = came.len().saturating_sub(usize::from(sent.is_err()));
    for (number, answer) in (1..).zip(came.iter().take(whole)) {
        let start = format!(":0\r\n:1000000\r\n:{}\r\n:-1\r\n:1\r\n", 1_000_000 - number);
        assert!(answer.starts_with(&start), "{number}: {answer:?}");
    }
    assert!(sent.is_err() || came.len() == usize::try_from(COMMANDS).unwrap());
    other.is_served();
}

/// More than the system keeps for anyone: in the end the server does not wait any longer.
#[test]
fn who_never_reads_is_left() {
    let mut bounds = RespLimits::default();
    bounds.timeout = Duration::from_millis(100);
    let server = support::server().resp_limits(bounds).start().unwrap();
    let (mut client, mut other) = (Client::of(&server), Client::of(&server));
    let mut writer = client.stream().try_clone().unwrap();
    let some = command("CL.THROTTLE k 999999 1000000 1").repeat(1_000);
    let flood = thread::spawn(move || while writer.write_all(&some).is_ok() {});
    while !flood.is_finished() {
        other.is_served();
    }
    flood.join().unwrap();
    other.is_served();
    assert!(client.rest().starts_with("*5\r\n:0\r\n:1000000\r\n:999999\r\n"));
}

/// Bytes of which many mean something.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let telling = select(b"*$+-:%0123456789\r\n\r\n\"' \\PINGCL.TH".to_vec());
    let piece = prop_oneof![
        8 => telling.prop_map(|byte| vec![byte]),
        4 => any::<u8>().prop_map(|byte| vec![byte]),
        1 => sent(),
        1 => select(vec!["\r\n", "*3\r\n", "$4\r\n", "$-1\r\n", "\"\\x"]).prop_map(Vec::from),
    ];
    vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn noise_hurts_nobody(bytes in noise()) {
        static SERVER: OnceLock<Server> = OnceLock::new();
        let server = SERVER.get_or_init(server);
        let mut client = Client::of(server);
        // It may have been closed by then.
        let _ = client.stream().write_all(&bytes);
        let _ = client.stream().shutdown(Shutdown::Write);
        let came = client.rest();
        prop_assert!(came.is_empty() || came.ends_with("\r\n"), "{:?}", came);
        Client::of(server).is_served();
    }
}

/// As from `printf 'PING\r\n' | nc`.
/// Whoever is still sending when it is left hears what it was answered, and why it is left.
#[test]
fn who_is_left_while_it_sends_is_answered() {
    let server = server();
    let more = vec![b'x'; 300_000];
    for (last, said) in [("QUIT\r\n", "+OK\r\n"), ("*65\r\n", "-ERR Protocol error: ")] {
        let mut client = Client::of(&server);
        client.send([b"PING\r\n".repeat(100), last.into(), more.clone()].concat());
        for _ in 0..100 {
            assert_eq!(client.reply(), "+PONG\r\n");
        }
        let goodbye = client.reply();
        assert!(goodbye.starts_with(said), "{goodbye}");
        let mut nothing = Vec::new();
        assert_eq!(client.stream().read_to_end(&mut nothing).unwrap(), 0, "an end, not a reset");
    }
}

#[test]
fn who_has_said_all_is_still_answered() {
    let server = server();
    let mut client = Client::of(&server);
    client.send("PING\r\n*2\r\n$4\r\nECHO\r\n$1\r\na\r\nPI");
    client.stream().shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.rest(), "+PONG\r\n$1\r\na\r\n");
}
