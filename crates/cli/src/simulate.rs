//! `tollgate simulate`: decides the steps of a trace one at a time.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::rc::Rc;

use anyhow::Context;
use indicatif::ProgressBar;
use tollgate_core::Op;
use tollgate_sim::{Lines, Simulator, Step, StepDecision, Summary};

use crate::args::{Simulate, Store};
use crate::remote::RemoteStore;

/// Size of the input and the output buffer, in bytes.
const BUFFER_BYTES: usize = 128 * 1024;
/// Number of steps between two updates of the progress indicator.
const PROGRESS_STEPS: u64 = 8192;

pub(crate) fn run(args: &Simulate) -> anyhow::Result<()> {
    let path = args.trace.as_path();
    let name =
        if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
    let trace = open(path).with_context(|| format!("cannot read {name}"))?;
    let mut lines = Lines::new(BufReader::with_capacity(BUFFER_BYTES, trace));
    let limits = args.limits.clone();
    match &args.store {
        Store::Memory => run_trace(&mut lines, &name, Simulator::from_limits(limits), args.json),
        Store::Redis(url) => {
            let remote = Rc::new(RemoteStore::connect(url)?);
            let store = Rc::clone(&remote);
            let decide = Box::new(move |op: &Op<'_>, at| store.decide(op, at));
            let simulator = Simulator::with_store(limits, decide);
            let result = run_trace(&mut lines, &name, simulator, args.json);
            let cleared = remote.clear();
            result.and(cleared)
        }
    }
}

fn run_trace(
    lines: &mut Lines<BufReader<Box<dyn Read>>>,
    name: &str,
    mut simulator: Simulator,
    json: bool,
) -> anyhow::Result<()> {
    let mut printer = Printer::new(json);
    let result = decide_all(lines, name, &mut simulator, &mut printer);
    // Prints the decisions before the error, if there is one.
    let finished = printer.finish(result.is_ok());
    result.and(Ok(finished?))
}

fn decide_all(
    lines: &mut Lines<BufReader<Box<dyn Read>>>,
    name: &str,
    simulator: &mut Simulator,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    printer.print_head(&simulator.table_head())?;
    loop {
        // A program that sends one step at a time must see each decision before the next step.
        if lines.reader().buffer().is_empty() {
            printer.flush()?;
        }
        let line = lines.next_line().with_context(|| format!("cannot read {name}"))?;
        let Some(line) = line else { return Ok(()) };
        let location = || format!("{name}, line {}", line.number);
        let step = Step::parse(line.text).with_context(location)?;
        let decided = simulator.decide(&step).with_context(location)?;
        printer.print(&decided)?;
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path != Path::new("-") {
        return Ok(Box::new(File::open(path)?));
    }
    if io::stdin().is_terminal() {
        eprintln!("Reading a trace from the terminal: one JSON object per line, Ctrl-D to end.");
    }
    Ok(Box::new(io::stdin()))
}

/// Prints decisions as a table or as JSON.
struct Printer {
    json: bool,
    out: io::BufWriter<Box<dyn Write>>,
    line: String,
    summary: Summary,
    steps: u64,
    progress: ProgressBar,
}

impl Printer {
    fn new(json: bool) -> Printer {
        let terminal = io::stdout().is_terminal();
        // On a terminal the rows show the progress, and the indicator would be drawn between them.
        let progress = if terminal { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        // JSON has no colours that would have to be removed.
        let out: Box<dyn Write> =
            if json { Box::new(io::stdout()) } else { Box::new(anstream::stdout()) };
        Printer {
            json,
            out: io::BufWriter::with_capacity(BUFFER_BYTES, out),
            line: String::new(),
            summary: Summary::default(),
            steps: 0,
            progress,
        }
    }

    fn print_head(&mut self, head: &str) -> io::Result<()> {
        if self.json { Ok(()) } else { writeln!(self.out, "{head}") }
    }

    fn print(&mut self, decided: &StepDecision<'_>) -> io::Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(PROGRESS_STEPS) {
            self.progress.set_message(format!("{} steps", self.steps));
            self.progress.tick();
        }
        if !self.json {
            self.summary.count(decided);
            return writeln!(self.out, "{decided}");
        }
        self.line.clear();
        decided.write_json(&mut self.line);
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes what is buffered, after a summary if the trace was `complete`.
    fn finish(mut self, complete: bool) -> io::Result<()> {
        self.progress.finish_and_clear();
        if complete && !self.json {
            writeln!(self.out, "\n{}", self.summary)?;
        }
        self.flush()
    }
}
