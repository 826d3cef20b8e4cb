//! `[[rule]]`: which policy applies to a proxied request. Validated, but not supported yet.

use std::collections::BTreeSet;

use tollgate_core::{MAX_COST, Name, did_you_mean};

use super::diagnostics::{Diagnostics, quoted};
use super::value::{Table, Value};

/// Maximum number of policies that an error message names.
const MAX_NAMED: usize = 20;

/// Reads all rules. `policies` is `None` if the policies are invalid.
pub(super) fn read(
    diagnostics: &mut Diagnostics<'_>,
    value: &Value<'_>,
    policies: Option<&BTreeSet<&str>>,
) {
    let rules =
        value.list(diagnostics, "a list of tables, each under [[rule]]").unwrap_or_default();
    for rule in &rules {
        if let Some(table) = rule.table(diagnostics) {
            read_one(diagnostics, table, policies);
        }
    }
    if !rules.is_empty() {
        diagnostics.unsupported(value.at(), value.path());
    }
}

fn read_one(
    diagnostics: &mut Diagnostics<'_>,
    mut rule: Table<'_>,
    policies: Option<&BTreeSet<&str>>,
) {
    if let Some(table) = rule.take("when").and_then(|when| when.table(diagnostics)) {
        when(diagnostics, table);
    }
    if let Some(value) = rule.take_required(diagnostics, "policy") {
        policy(diagnostics, &value, policies);
    }
    if let Some(table) = rule.take("keys").and_then(|keys| keys.table(diagnostics)) {
        keys(diagnostics, &table);
    }
    if let Some(cost) = rule.take("cost") {
        cost.whole(diagnostics, 1..=MAX_COST);
    }
    rule.finish(diagnostics);
}

/// Reads the requests that the rule matches.
fn when(diagnostics: &mut Diagnostics<'_>, mut table: Table<'_>) {
    if let Some(value) = table.take("method") {
        let methods = value.list(diagnostics, "a list of methods, such as [\"POST\"]");
        for method in methods.unwrap_or_default() {
            method.non_empty_text(diagnostics, "a method, such as \"POST\"");
        }
    }
    for (key, expected) in
        [("path", "a path, such as \"/login\""), ("host", "a host, such as \"*.example.org\"")]
    {
        table.take(key).and_then(|value| value.non_empty_text(diagnostics, expected));
    }
    table.finish(diagnostics);
}

fn policy(diagnostics: &mut Diagnostics<'_>, value: &Value<'_>, policies: Option<&BTreeSet<&str>>) {
    let Some(name) = value.text(diagnostics, "the name of a policy") else { return };
    let Some(policies) = policies.filter(|policies| !policies.contains(name)) else { return };
    diagnostics.error_with(value.at(), || {
        let suggestion = did_you_mean(name, policies.iter().copied());
        let (path, name) = (value.path(), quoted(name));
        format!("{path} is {name}; expected {}{suggestion}", one_of(policies))
    });
}

fn one_of(policies: &BTreeSet<&str>) -> String {
    let names: Vec<String> = policies.iter().take(MAX_NAMED).map(|name| quoted(name)).collect();
    let more = if policies.len() > MAX_NAMED { ", …" } else { "" };
    match names.as_slice() {
        [] => String::from("a policy of this file, but it has none"),
        names => format!("a policy of this file: {}{more}", names.join(", ")),
    }
}

/// Reads where to find the key of each subject in a request.
fn keys(diagnostics: &mut Diagnostics<'_>, table: &Table<'_>) {
    for (subject, source) in table.all() {
        if let Err(error) = Name::new(subject) {
            diagnostics.error(source.at(), format!("{}: {error}", table.path()));
        }
        source.non_empty_text(diagnostics, "the source of the key, such as \"client.address\"");
    }
}
