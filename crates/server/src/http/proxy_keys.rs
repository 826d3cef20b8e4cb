//! Keys in the headers of `/check`: `Tollgate-Key: 203.0.113.9`, and `Tollgate-Key-User: 42` for limits with `per user`.
//!
//! The proxy sets them, in place of any that its client has sent. So whatever the client's value is, it stays a value,
//! which in a query it could leave: `a&cost=0`.

use hyper::HeaderMap;

use super::check_request::CheckRequest;
use super::rejection::Rejection;

/// The header of the nameless key, and what those of named keys begin with.
const KEY: &str = "tollgate-key";

/// Adds the keys in the headers. They replace those in the query.
///
/// # Errors
/// Fails if there is more than one header for a key: the proxy has added its own to that of its client.
pub(super) fn add(fields: &HeaderMap, check: &mut CheckRequest<'_>) -> Result<(), Rejection> {
    let names = fields.keys().filter_map(|name| Some((name, name.as_str().strip_prefix(KEY)?)));
    for (name, rest) in names {
        let subject = match rest.strip_prefix('-') {
            None if rest.is_empty() => "",
            Some(subject) if !subject.is_empty() => subject,
            // Another header, also one that would be a second name of the nameless key.
            _ => continue,
        };
        let mut values = fields.get_all(name).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(Rejection::invalid(format!("more than one {name} header")));
        };
        // The headers become those of the response, so that nothing of them can be borrowed.
        check.header_keys.push((subject.to_owned(), value.as_bytes().to_vec()));
    }
    Ok(())
}
