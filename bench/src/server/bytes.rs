//! How much memory a key takes: the server grows while it is told of more.

use std::io::{self, BufWriter, Read as _, Write};
use std::net::TcpStream;
use std::thread;

use anyhow::Context;

use crate::server::plan::Plan;
use crate::server::process::resident_bytes;
use crate::server::systems::Running;

/// How many commands are sent before their answers are read.
const AT_A_TIME: u64 = 500;

/// The bytes of one key, in a process that has none yet.
pub(crate) fn per_key(one: &Running, plan: &Plan) -> anyhow::Result<f64> {
    let new = Running::start(one.system)?.context("it was there a moment ago")?;
    let before = resident_bytes(new.pid())?;
    fill(&new, plan.keys)?;
    Ok((resident_bytes(new.pid())?.saturating_sub(before)) as f64 / plan.keys as f64)
}

fn fill(one: &Running, keys: u64) -> anyhow::Result<()> {
    let stream = TcpStream::connect(one.address())?;
    let mut answers = stream.try_clone()?;
    let reader = thread::spawn(move || {
        let mut buffer = [0; 65536];
        let mut ends = 0;
        // Each answer is a list of five numbers: six lines.
        while ends < keys * 6 {
            let read = answers.read(&mut buffer)?;
            anyhow::ensure!(read > 0, "the connection was closed after {ends} lines");
            let some = buffer.iter().take(read);
            ends += some.filter(|byte| **byte == b'\n').count() as u64;
        }
        Ok(())
    });
    let mut out = BufWriter::new(stream);
    for number in 0..keys {
        command(&mut out, one.system.command, number)?;
        if number % AT_A_TIME == 0 {
            out.flush()?;
        }
    }
    out.flush()?;
    reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?
}

fn command(out: &mut impl Write, words: &[&str], number: u64) -> io::Result<()> {
    write!(out, "*{}\r\n", words.len())?;
    for word in words {
        match *word {
            "KEY" => write!(out, "$16\r\nkey:{number:012}\r\n")?,
            word => write!(out, "${}\r\n{word}\r\n", word.len())?,
        }
    }
    Ok(())
}
