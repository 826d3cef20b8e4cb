//! `[lists]`: who always passes and who never does. Understood, but not acted on yet.

use tollgate_core::{Key, Name};

use super::diagnostics::Diagnostics;
use super::network;
use super::read::Value;

pub(super) fn read(found: &mut Diagnostics<'_>, value: &Value<'_>) {
    let Some(mut table) = value.table(found) else { return };
    let mut is_empty = true;
    for word in ["allow", "deny"] {
        let Some(list) = table.take(word) else { continue };
        let items = list.list(found, "a list of networks and keys").unwrap_or_default();
        is_empty &= items.is_empty();
        for item in &items {
            let expected = format!("{}, or a key such as \"user=7\"", network::EXPECTED);
            item.parsed(found, &expected, listed);
        }
    }
    if !is_empty {
        found.not_yet(value.at(), value.path());
    }
    table.finish(found);
}

/// A network, or the key of a kind of subject.
fn listed(text: &str) -> Option<()> {
    match text.split_once('=') {
        Some((kind, key)) => Name::new(kind).and(Key::new(key.as_bytes()).map(drop)).ok(),
        None => network::parse(text).map(drop),
    }
}
