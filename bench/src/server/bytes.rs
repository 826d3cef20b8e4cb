//! Memory per key: how much the server grows while keys are added.

use std::io::{self, BufWriter, Read as _, Write};
use std::net::TcpStream;
use std::thread;

use anyhow::Context;

use crate::server::plan::Plan;
use crate::server::process::resident_bytes;
use crate::server::systems::Running;

/// Number of commands that are sent together.
const PIPELINE: u64 = 500;

/// Returns the bytes per key, in a new process.
pub(crate) fn per_key(process: &Running, plan: &Plan) -> anyhow::Result<f64> {
    let new = Running::start(process.system)?.context("cannot start it again")?;
    let before = resident_bytes(new.pid())?;
    populate(&new, plan.keys)?;
    Ok((resident_bytes(new.pid())?.saturating_sub(before)) as f64 / plan.keys as f64)
}

fn populate(process: &Running, keys: u64) -> anyhow::Result<()> {
    let stream = TcpStream::connect(process.address())?;
    let mut replies = stream.try_clone()?;
    let reader = thread::spawn(move || {
        let mut buffer = [0; 65536];
        let mut ends = 0;
        // Each reply is an array of five numbers: six lines.
        while ends < keys * 6 {
            let read = replies.read(&mut buffer)?;
            anyhow::ensure!(read > 0, "the connection was closed after {ends} lines");
            let some = buffer.iter().take(read);
            ends += some.filter(|byte| **byte == b'\n').count() as u64;
        }
        Ok(())
    });
    let mut out = BufWriter::new(stream);
    for number in 0..keys {
        command(&mut out, process.system.command, number)?;
        if number % PIPELINE == 0 {
            out.flush()?;
        }
    }
    out.flush()?;
    reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?
}

fn command(out: &mut impl Write, args: &[&str], number: u64) -> io::Result<()> {
    write!(out, "*{}\r\n", args.len())?;
    for arg in args {
        match *arg {
            "KEY" => write!(out, "$16\r\nkey:{number:012}\r\n")?,
            arg => write!(out, "${}\r\n{arg}\r\n", arg.len())?,
        }
    }
    Ok(())
}
