//! The code of a script that decides several checks: see `lua/runs.lua`.

use super::assemble::{Assembly, Context};
use super::records::body_bytes;
use crate::format::{RUNS, VERSION};
use crate::shape::Idempotency;

impl Assembly<'_> {
    /// Adds everything after the subjects were read.
    pub(super) fn runs(&mut self) {
        for limit in self.counting() {
            self.section(limit, "limit in runs");
        }
        self.states();
        self.all_fit();
        if self.has_ids() {
            self.states_now();
            self.section(self.no_limit(), "begin_ids");
        }
        self.section(self.no_limit(), "decide_runs");
        self.write_runs();
        if self.has_ids() {
            self.section(self.no_limit(), "write_replies");
        }
        self.add(&format!(
            "return pack('<BI7I4', {RUNS}, time, #states) .. states .. table.concat(results)"
        ));
    }

    pub(super) fn has_ids(&self) -> bool {
        self.shape.idempotency != Idempotency::Ignore
    }

    /// Returns where the runs begin in the argument.
    pub(super) fn runs_at(&self) -> usize {
        self.argument_of(self.shape.limits.len())
    }

    /// Returns how many bytes a run takes: the number of checks, and the costs.
    pub(super) fn run_bytes(&self) -> usize {
        self.cost_at(self.shape.limits.len())
    }

    /// Returns where the cost of a limit stands in a run, counted from the beginning of the run.
    fn cost_at(&self, index: usize) -> usize {
        let before = self.shape.limits.iter().take(index);
        1 + before.map(|limit| limit.kind.run_bytes()).sum::<usize>()
    }

    /// Defines `all_fit`: whether so many equal checks fit into every limit.
    fn all_fit(&mut self) {
        let fits = |limit: &Context| format!("{}(times)", self.limit_variable(*limit, "fits"));
        let all: Vec<String> = self.counting().iter().map(fits).collect();
        let (times, all) = match all.as_slice() {
            [] => ("", "true".to_owned()),
            all => ("times", all.join(" and ")),
        };
        self.add(&format!("local function all_fit({times}) return {all} end"));
    }

    /// Defines `states_now`: the states as this call has changed them so far.
    fn states_now(&mut self) {
        self.add(&format!("local function states_now()\nlocal states = '\\{VERSION}'"));
        self.reply_each();
        self.add("return states\nend");
    }

    /// Reads the cost for each limit, and sets `costs` to their sum.
    pub(super) fn read_costs(&mut self) {
        let read = |limit: &Context| {
            let read = self.limit_variable(*limit, "read_cost");
            format!("{read}(place + {})", self.cost_at(limit.index))
        };
        let costs: Vec<String> = self.counting().iter().map(read).collect();
        let costs = if costs.is_empty() { "0".to_owned() } else { costs.join(" + ") };
        self.add(&format!("costs = {costs}"));
    }

    /// Takes the costs. A limit that needs other calendar windows ends the call: nothing is written yet.
    pub(super) fn take_all(&mut self) {
        for limit in self.counting() {
            let take = self.limit_variable(limit, "take");
            self.add(&format!("do local ask = {take}(times) if ask then return ask end end"));
        }
    }

    /// The limits whose state is too long for a reply.
    fn summarized(&self) -> Vec<Context> {
        let long = |limit: &Context| body_bytes(limit.kind) == 0;
        self.counting().into_iter().filter(long).collect()
    }

    pub(super) fn summarize_all(&mut self) {
        for limit in self.summarized() {
            let summarize = self.limit_variable(limit, "summarize");
            self.add(&format!("{summarize}()"));
        }
    }

    /// Returns the summaries that follow the result of a run.
    pub(super) fn summaries(&self) -> String {
        let summary = |limit: &Context| self.limit_variable(*limit, "new_summary");
        let all: Vec<String> = self.summarized().iter().map(summary).collect();
        if all.is_empty() { "''".to_owned() } else { all.join(" .. ") }
    }

    /// Calls a function of each limit.
    pub(super) fn call_each(&mut self, function: &str) {
        for limit in self.counting() {
            let function = self.limit_variable(limit, function);
            self.add(&format!("{function}()"));
        }
    }

    /// Writes the new states, the short way if every limit has one.
    fn write_runs(&mut self) {
        let limits = self.counting();
        if limits.is_empty() {
            return;
        }
        self.add("if changed then");
        self.call_each("finish");
        let body = |limit: &Context| self.limit_variable(*limit, "new_body");
        let bodies: Vec<String> = limits.iter().map(body).collect();
        let regular = format!("{} and {}", self.all_regular(), bodies.join(" and "));
        self.add(&format!("local regular = {regular}"));
        self.write_regular_if("regular");
        self.add("if not regular then");
        self.write_changed();
        self.add("end\nend");
    }
}
