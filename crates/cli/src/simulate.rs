//! `tollgate simulate`: a trace in, decisions out, a step at a time.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::rc::Rc;

use anyhow::Context;
use indicatif::ProgressBar;
use tollgate_core::Op;
use tollgate_sim::{Answer, Lines, Simulator, Step, Tally};

use crate::args::{Simulate, Store};
use crate::remote::RemoteStore;

/// How many bytes are read ahead and written behind.
const BUFFER: usize = 128 * 1024;
/// How often the progress on the terminal is renewed, in steps.
const TICK: u64 = 8192;

pub(crate) fn run(args: &Simulate) -> anyhow::Result<()> {
    let path = args.trace.as_path();
    let name =
        if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
    let trace = open(path).with_context(|| format!("cannot read {name}"))?;
    let mut lines = Lines::new(BufReader::with_capacity(BUFFER, trace));
    let limits = args.limits.clone();
    match &args.store {
        Store::Memory => answer(&mut lines, &name, Simulator::from_limits(limits), args.json),
        Store::RemoteDecide(url) => {
            let remote = Rc::new(RemoteStore::connect(url)?);
            let store = Rc::clone(&remote);
            let decide = Box::new(move |op: &Op<'_>, at| store.decide(op, at));
            let simulator = Simulator::in_store(limits, decide);
            let answered = answer(&mut lines, &name, simulator, args.json);
            let erased = remote.clear();
            answered.and(erased)
        }
    }
}

fn answer(
    lines: &mut Lines<BufReader<Box<dyn Read>>>,
    name: &str,
    mut simulator: Simulator,
    json: bool,
) -> anyhow::Result<()> {
    let mut printer = Printer::new(json);
    let fed = feed(lines, name, &mut simulator, &mut printer);
    // Shows what was answered before an error is told.
    let closed = printer.close(fed.is_ok());
    fed.and(Ok(closed?))
}

fn feed(
    lines: &mut Lines<BufReader<Box<dyn Read>>>,
    name: &str,
    simulator: &mut Simulator,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    printer.head()?;
    loop {
        // Whoever feeds us line by line should see each answer before the next question.
        if lines.reader().buffer().is_empty() {
            printer.flush()?;
        }
        let line = lines.next_line().with_context(|| format!("cannot read {name}"))?;
        let Some(line) = line else { return Ok(()) };
        let place = || format!("{name}, line {}", line.number);
        let step = Step::parse(line.text).with_context(place)?;
        let answer = simulator.answer(&step).with_context(place)?;
        printer.print(&answer)?;
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path != Path::new("-") {
        return Ok(Box::new(File::open(path)?));
    }
    if io::stdin().is_terminal() {
        eprintln!("Reading a trace from the terminal: one JSON object a line, Ctrl-D to end.");
    }
    Ok(Box::new(io::stdin()))
}

/// Prints answers, for people or for programs.
struct Printer {
    json: bool,
    out: io::BufWriter<Box<dyn Write>>,
    line: String,
    tally: Tally,
    steps: u64,
    progress: ProgressBar,
}

impl Printer {
    fn new(json: bool) -> Printer {
        let terminal = io::stdout().is_terminal();
        // Rows that scroll by are progress enough, and a bar would be drawn between them.
        let progress = if terminal { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        // What programs read has no colours to take out.
        let out: Box<dyn Write> =
            if json { Box::new(io::stdout()) } else { Box::new(anstream::stdout()) };
        Printer {
            json,
            out: io::BufWriter::with_capacity(BUFFER, out),
            line: String::new(),
            tally: Tally::default(),
            steps: 0,
            progress,
        }
    }

    fn head(&mut self) -> io::Result<()> {
        if self.json { Ok(()) } else { writeln!(self.out, "{}", Tally::HEAD) }
    }

    fn print(&mut self, answer: &Answer<'_>) -> io::Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(TICK) {
            self.progress.set_message(format!("{} steps", self.steps));
            self.progress.tick();
        }
        if !self.json {
            self.tally.count(answer);
            return writeln!(self.out, "{answer}");
        }
        self.line.clear();
        answer.write_json(&mut self.line);
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Says what it comes to, if the whole trace was read.
    fn close(mut self, whole: bool) -> io::Result<()> {
        self.progress.finish_and_clear();
        if whole && !self.json {
            writeln!(self.out, "\n{}", self.tally)?;
        }
        self.flush()
    }
}
