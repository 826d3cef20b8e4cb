//! `[lists]`: clients that are always allowed or always denied. Validated, but not supported yet.

use tollgate_core::{Key, Name};
use tollgate_http::Network;

use super::diagnostics::Diagnostics;
use super::value::Value;

pub(super) fn read(diagnostics: &mut Diagnostics<'_>, value: &Value<'_>) {
    let Some(mut table) = value.table(diagnostics) else { return };
    let mut is_empty = true;
    for key in ["allow", "deny"] {
        let Some(list) = table.take(key) else { continue };
        let items = list.list(diagnostics, "a list of networks and keys").unwrap_or_default();
        is_empty &= items.is_empty();
        for item in &items {
            let expected = format!("{}, or a key such as \"user=7\"", Network::EXPECTED);
            item.parsed(diagnostics, &expected, parse_item);
        }
    }
    if !is_empty {
        diagnostics.unsupported(value.at(), value.path());
    }
    table.finish(diagnostics);
}

/// Checks a network, or the key of a named subject.
fn parse_item(text: &str) -> Option<()> {
    match text.split_once('=') {
        Some((subject, key)) => Name::new(subject).and(Key::new(key.as_bytes()).map(drop)).ok(),
        None => text.parse::<Network>().map(drop).ok(),
    }
}
