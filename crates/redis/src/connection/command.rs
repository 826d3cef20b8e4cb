//! The command that calls a script, and its reply.

use std::collections::HashSet;

use redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value};
use tollgate_core::StoreError;

use crate::call::Call;
use crate::connection::node::has_kind;

/// Returns for each call of one pipeline whether it is sent with the whole script.
///
/// Not if each has keys of its own: calls whose script the server does not know are sent again. But calls on
/// one key must happen in their order, so that none may be done after one before it was rejected. Then
/// the first call brings the script; and if there are several scripts, every call brings its own, since
/// scripts may be flushed in between.
pub(crate) fn send_script<'c>(calls: impl Iterator<Item = &'c Call> + Clone) -> Vec<bool> {
    let mut keys = HashSet::new();
    let repeated = !calls.clone().all(|call| call.keys.iter().all(|key| keys.insert(key)));
    let scripts: HashSet<&str> = calls.clone().map(|call| call.script.sha.as_str()).collect();
    let several = scripts.len() > 1;
    calls.enumerate().map(|(index, _)| repeated && (several || index == 0)).collect()
}

/// Number of bytes of a command besides script, keys and argument.
const COMMAND_BYTES: usize = 16;

/// Returns the command of a call: `EVAL` with the whole script, or `EVALSHA`.
pub(crate) fn command(call: &Call, with_script: bool) -> Cmd {
    let (verb, script) =
        if with_script { ("EVAL", &call.script.text) } else { ("EVALSHA", &call.script.sha) };
    let keys = call.keys.iter().map(Vec::len).sum::<usize>();
    let bytes = script.len() + keys + call.argument.len() + COMMAND_BYTES;
    let mut command = Cmd::with_capacity(call.keys.len() + 4, bytes);
    command.arg(verb).arg(script).arg(call.keys.len());
    for key in &call.keys {
        command.arg(key);
    }
    command.arg(&call.argument);
    command
}

/// Whether the server does not know the script: it was restarted, flushed, or failed over.
pub(crate) fn is_unknown_script(error: &RedisError) -> bool {
    has_kind(error, ServerErrorKind::NoScript)
}

pub(crate) fn reply_bytes(reply: Result<Value, RedisError>) -> Result<Vec<u8>, StoreError> {
    match reply {
        Ok(Value::BulkString(bytes)) => Ok(bytes),
        Ok(other) => {
            Err(StoreError::unavailable(format!("unexpected reply of the script: {other:?}")))
        }
        Err(error) if is_damaged(&error) => Err(StoreError::damaged(error)),
        Err(error) if is_refused(&error) => Err(StoreError::refused(error)),
        Err(error) => Err(StoreError::unavailable(error)),
    }
}

/// Whether the script could not read what is stored under a key: it says so itself, Redis says that the value is of
/// another type, or the script failed while it took the value apart.
fn is_damaged(error: &RedisError) -> bool {
    let detail = error.detail().unwrap_or_default();
    match error.code() {
        Some("TGSTATE" | "WRONGTYPE") => true,
        _ => has_kind(error, ServerErrorKind::ResponseError) && detail.starts_with("user_script:"),
    }
}

/// Whether the server did not run the script, as when it is out of memory or still loading. An error without a code
/// may come from inside the script.
fn is_refused(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(kind) => kind != ServerErrorKind::ResponseError,
        kind => kind == ErrorKind::Extension,
    }
}
