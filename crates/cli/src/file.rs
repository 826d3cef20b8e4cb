//! Files that people name.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The longest file that is read; limits for a whole company are far shorter.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The text of a file.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    if file.take(MAX_BYTES + 1).read_to_string(&mut text)? as u64 > MAX_BYTES {
        let what = format!("it is longer than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}
