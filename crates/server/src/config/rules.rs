//! `[[rule]]`: what a proxied request is checked against. Understood, but not acted on yet.

use std::collections::BTreeSet;

use tollgate_core::{MAX_COST, Name, did_you_mean};

use super::diagnostics::{Diagnostics, repeated};
use super::read::{Table, Value};

/// How many policies a mistake names at most.
const NAMED: usize = 20;

/// Reads all rules. `None` stands for policies that are not known.
pub(super) fn read(
    found: &mut Diagnostics<'_>,
    value: &Value<'_>,
    policies: Option<&BTreeSet<&str>>,
) {
    let rules = value.list(found, "a list of tables, each under [[rule]]").unwrap_or_default();
    for rule in &rules {
        if let Some(table) = rule.table(found) {
            read_one(found, table, policies);
        }
    }
    if !rules.is_empty() {
        found.not_yet(value.at(), value.path());
    }
}

fn read_one(found: &mut Diagnostics<'_>, mut rule: Table<'_>, policies: Option<&BTreeSet<&str>>) {
    if let Some(table) = rule.take("when").and_then(|when| when.table(found)) {
        when(found, table);
    }
    if let Some(value) = rule.need(found, "policy") {
        policy(found, &value, policies);
    }
    if let Some(table) = rule.take("keys").and_then(|keys| keys.table(found)) {
        keys(found, &table);
    }
    if let Some(cost) = rule.take("cost") {
        cost.whole(found, 1..=MAX_COST);
    }
    rule.finish(found);
}

/// Which requests it is about.
fn when(found: &mut Diagnostics<'_>, mut table: Table<'_>) {
    if let Some(value) = table.take("method") {
        let methods = value.list(found, "a list of methods, such as [\"POST\"]");
        for method in methods.unwrap_or_default() {
            method.some_text(found, "a method, such as \"POST\"");
        }
    }
    for (word, expected) in
        [("path", "a path, such as \"/login\""), ("host", "a host, such as \"*.example.org\"")]
    {
        table.take(word).and_then(|value| value.some_text(found, expected));
    }
    table.finish(found);
}

fn policy(found: &mut Diagnostics<'_>, value: &Value<'_>, policies: Option<&BTreeSet<&str>>) {
    let Some(name) = value.text(found, "the name of a policy of this file") else { return };
    let Some(policies) = policies.filter(|policies| !policies.contains(name)) else { return };
    found.mistake_if(value.at(), || {
        let meant = did_you_mean(name, policies.iter().copied());
        let (path, name) = (value.path(), repeated(name));
        format!("{path} is {name}; expected {}{meant}", one_of(policies))
    });
}

fn one_of(policies: &BTreeSet<&str>) -> String {
    let names: Vec<String> = policies.iter().take(NAMED).map(|name| repeated(name)).collect();
    let more = if policies.len() > NAMED { ", …" } else { "" };
    match names.as_slice() {
        [] => String::from("a policy of this file, which has none"),
        names => format!("a policy of this file: {}{more}", names.join(", ")),
    }
}

/// Where the key of each subject is found in a request.
fn keys(found: &mut Diagnostics<'_>, table: &Table<'_>) {
    for (subject, source) in table.all() {
        if let Err(unfit) = Name::new(subject) {
            found.mistake(source.at(), format!("{}: {unfit}", table.path()));
        }
        source.some_text(found, "where the key is, such as \"client.address\"");
    }
}
