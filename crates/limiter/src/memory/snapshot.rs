//! Snapshots: the states in a file, so that a restart gives no client a fresh burst.
//!
//! Only hashes of keys are kept, so the secret they were made with goes into the file, which only its
//! owner can read. The file is written under a temporary name and then renamed, so that there is
//! always a complete one. Remembered ids are not saved: they last a minute.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::storage::State;

use super::store::MemoryStore;
use super::table::account::Account;
use crate::hash::{Hash, Secret};

/// The first bytes of a snapshot. The last of them is the version of the format.
const MAGIC: &[u8; 8] = b"tollgat\x03";
/// Number of bytes of the checksum at the end.
const CHECKSUM_BYTES: usize = 4;

/// The error of a snapshot that could not be read or written.
#[derive(Debug)]
pub struct SnapshotError {
    path: PathBuf,
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    /// What was done, and how it failed.
    Io(&'static str, io::Error),
    UnknownFormat,
    Damaged(&'static str),
}

impl SnapshotError {
    /// Returns whether the file does not exist, as before the first snapshot.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(&self.kind, ErrorKind::Io(_, error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Returns whether the file exists but is not a complete snapshot.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        matches!(self.kind, ErrorKind::UnknownFormat | ErrorKind::Damaged(_))
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            ErrorKind::Io(doing, _) => write!(f, "cannot {doing} snapshot {path}"),
            ErrorKind::UnknownFormat => write!(
                f,
                "{path} is not a snapshot of this version of Tollgate; remove it to start empty"
            ),
            ErrorKind::Damaged(what) => {
                write!(f, "snapshot {path} is damaged: {what}; remove it to start empty")
            }
        }
    }
}

impl std::error::Error for SnapshotError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ErrorKind::Io(_, error) => Some(error),
            ErrorKind::UnknownFormat | ErrorKind::Damaged(_) => None,
        }
    }
}

/// The content of a complete snapshot.
pub(super) struct Snapshot {
    secret: Secret,
    /// Number of shards of the saved store. The states cannot be spread over more: only the index of
    /// their shard is saved.
    shards: usize,
    states: Vec<(Hash, State)>,
}

impl Snapshot {
    pub(super) fn secret(&self) -> Secret {
        self.secret
    }

    pub(super) fn shards(&self) -> usize {
        self.shards
    }
}

impl MemoryStore {
    /// Writes all states to a file, which [`restore`](crate::MemoryStoreBuilder::restore) reads.
    /// Returns the number of states. Other calls are not blocked meanwhile. Remembered ids are not
    /// saved: an operation that is repeated with its id after a restart is done again.
    ///
    /// Only the owner can read the file: it holds the secret that keeps attackers from choosing keys
    /// that collide.
    ///
    /// # Errors
    /// Fails if the file cannot be written. An existing file is then left unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize, SnapshotError> {
        let path = path.as_ref();
        let failed = |doing| {
            move |error| SnapshotError { path: path.into(), kind: ErrorKind::Io(doing, error) }
        };
        let temporary = temporary_path(path);
        let written = self.write_file(&temporary).map_err(failed("write"));
        let renamed = written.and_then(|count| {
            fs::rename(&temporary, path).map_err(failed("rename"))?;
            Ok(count)
        });
        if renamed.is_err() {
            // The partial file is useless. If it cannot be removed, nothing more can be done.
            let _ = fs::remove_file(&temporary);
        }
        renamed
    }

    fn write_file(&self, path: &Path) -> io::Result<usize> {
        let mut out = ChecksumWriter {
            out: BufWriter::new(create_private(path)?),
            sum: crc32fast::Hasher::new(),
        };
        out.write(MAGIC)?;
        let [a, b] = self.secret.0;
        [a, b, self.shards.len() as u64]
            .iter()
            .try_for_each(|word| out.write(&word.to_le_bytes()))?;
        let count = self.write_states(&mut out)?;
        let sum = out.sum.clone().finalize();
        out.write(&sum.to_le_bytes())?;
        out.out.into_inner()?.sync_all()?;
        Ok(count)
    }

    /// Writes one shard after the other. No shard is locked during a write to the disk.
    fn write_states(&self, out: &mut ChecksumWriter) -> io::Result<usize> {
        let now = self.clock.now();
        let (mut bytes, mut count) = (Vec::new(), 0_usize);
        for (index, shard) in self.shards.iter().enumerate() {
            bytes.clear();
            for (fingerprint, state) in shard.0.lock().states(&self.layout) {
                if now < state.expires() {
                    bytes.extend_from_slice(&(index as u64).to_le_bytes());
                    bytes.extend_from_slice(&fingerprint.to_le_bytes());
                    state.write_to(&mut bytes);
                    count = count.saturating_add(1);
                }
            }
            out.write(&bytes)?;
        }
        Ok(count)
    }

    /// Inserts the states of a snapshot, as far as there is room. Returns how many. The snapshot does not say which
    /// policy they belong to: they may count in no quota until they have reset, and their lists in no share until an
    /// operation finds them.
    pub(super) fn fill_from(&self, snapshot: Snapshot) -> usize {
        let now = self.clock.now();
        let mut count = 0_usize;
        for (hash, state) in snapshot.states {
            let Some(shard) = self.shard(self.shard_index(hash)) else { continue };
            let mut shard = shard.lock();
            let growth = shard.max_growth(1).plus(state.footprint().into());
            if state.expires() <= now
                || shard.has(hash.fingerprint)
                || !self.memory.fits(growth)
                || !self.budget.keys.try_add(1)
            {
                continue;
            }
            let dropped = self.put_new(&mut shard, hash.fingerprint, state, &Account::UNKNOWN, now);
            self.budget.keys.remove(dropped);
            count = count.saturating_add(1);
        }
        count
    }
}

pub(super) fn read(path: &Path) -> Result<Snapshot, SnapshotError> {
    let failed = |kind| SnapshotError { path: path.into(), kind };
    let bytes = fs::read(path).map_err(|error| failed(ErrorKind::Io("read", error)))?;
    parse(&bytes).map_err(failed)
}

fn parse(bytes: &[u8]) -> Result<Snapshot, ErrorKind> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(ErrorKind::UnknownFormat)?;
    let len = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or(ErrorKind::Damaged("truncated"))?;
    let (summed, sum) = bytes.split_at(len);
    if crc32fast::hash(summed).to_le_bytes() != *sum {
        return Err(ErrorKind::Damaged("wrong checksum, as of a truncated file"));
    }
    let content = rest.get(..rest.len().saturating_sub(CHECKSUM_BYTES)).unwrap_or_default();
    parse_content(content).ok_or(ErrorKind::Damaged("invalid state"))
}

fn parse_content(mut bytes: &[u8]) -> Option<Snapshot> {
    let secret = Secret([read_word(&mut bytes)?, read_word(&mut bytes)?]);
    let shards = usize::try_from(read_word(&mut bytes)?).ok().filter(|n| n.is_power_of_two())?;
    let mut states = Vec::new();
    while !bytes.is_empty() {
        let hash = Hash { shard: read_word(&mut bytes)?, fingerprint: read_word(&mut bytes)? };
        // Zero marks a free slot.
        if hash.fingerprint == 0 {
            return None;
        }
        states.push((hash, State::read_from(&mut bytes)?));
    }
    Some(Snapshot { secret, shards, states })
}

fn read_word(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

/// Returns a path in the same folder that only this call uses.
fn temporary_path(path: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{call}.new", std::process::id()));
    path.with_file_name(name)
}

/// Creates a file that only its owner can read.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Never opens a file that another user has put there.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file writer that computes the checksum of what is written.
struct ChecksumWriter {
    out: BufWriter<File>,
    sum: crc32fast::Hasher,
}

impl ChecksumWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.out.write_all(bytes)
    }
}
