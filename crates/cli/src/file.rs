//! Files given on the command line.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Maximum size of a file; the limits of a whole company are far smaller.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a text file of at most [`MAX_BYTES`].
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    String::from_utf8(read_bytes(path)?).map_err(invalid)
}

/// Reads a file of at most [`MAX_BYTES`].
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    if file.take(MAX_BYTES + 1).read_to_end(&mut bytes)? as u64 > MAX_BYTES {
        let what = format!("larger than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}
