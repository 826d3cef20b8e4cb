//! Files given on the command line.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Maximum size of a file; the limits of a whole company are far smaller.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a file of at most [`MAX_BYTES`].
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    if file.take(MAX_BYTES + 1).read_to_string(&mut text)? as u64 > MAX_BYTES {
        let what = format!("larger than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}
