//! States in a file, so that a restart does not hand everyone a fresh burst.
//!
//! Keys are not kept, only their hashes, so the secret they were made with goes into the file: it is
//! readable by its owner alone. The file is written beside its place and then moved there, so that
//! there is always a whole one. Remembered ids are not part of it: they last a minute.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::storage::State;

use super::MemoryStore;
use super::hash::{Hash, Secret};

/// What a snapshot begins with; the last byte is the version of the format.
const MAGIC: &[u8; 8] = b"tollgat\x01";
/// The bytes of the checksum at the end.
const CHECKSUM: usize = 4;

/// Why a snapshot could not be read or written.
#[derive(Debug)]
pub struct SnapshotError {
    path: PathBuf,
    why: Why,
}

#[derive(Debug)]
enum Why {
    Io(&'static str, io::Error),
    Foreign,
    Damaged(&'static str),
}

impl SnapshotError {
    /// Whether there is no file there, as before the first snapshot.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(&self.why, Why::Io(_, error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Whether the file is there but is no whole snapshot.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        matches!(self.why, Why::Foreign | Why::Damaged(_))
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Why::Io(doing, _) => write!(f, "cannot {doing} the snapshot {path}"),
            Why::Foreign => write!(
                f,
                "{path} is not a snapshot of this version of Tollgate; move it away to start empty"
            ),
            Why::Damaged(what) => {
                write!(f, "the snapshot {path} is damaged ({what}); move it away to start empty")
            }
        }
    }
}

impl std::error::Error for SnapshotError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.why {
            Why::Io(_, error) => Some(error),
            Why::Foreign | Why::Damaged(_) => None,
        }
    }
}

/// A file that was found whole.
pub(super) struct Snapshot {
    secret: Secret,
    /// How many shards the store had: which one a key is in cannot be told for more.
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
    /// Writes all states to a file, from which [`restore`](super::MemoryStoreBuilder::restore) makes them
    /// again. Answers how many. Other calls go on meanwhile.
    ///
    /// Only the owner can read the file: it holds the secret that keeps strangers from choosing keys
    /// that meet.
    ///
    /// # Errors
    /// If the file cannot be written. One that was there before is then as it was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize, SnapshotError> {
        let path = path.as_ref();
        let failed =
            |doing| move |error| SnapshotError { path: path.into(), why: Why::Io(doing, error) };
        let beside = beside(path);
        let written = self.write_file(&beside).map_err(failed("write"));
        let moved = written.and_then(|count| {
            fs::rename(&beside, path).map_err(failed("put in place"))?;
            Ok(count)
        });
        if moved.is_err() {
            // What is left of it is of no use, and nothing more can be done about it.
            let _ = fs::remove_file(&beside);
        }
        moved
    }

    fn write_file(&self, path: &Path) -> io::Result<usize> {
        let mut out = Summed { out: BufWriter::new(private(path)?), sum: crc32fast::Hasher::new() };
        out.put(MAGIC)?;
        let [a, b] = self.secret.0;
        [a, b, self.shards.len() as u64]
            .iter()
            .try_for_each(|word| out.put(&word.to_le_bytes()))?;
        let count = self.write_states(&mut out)?;
        let sum = out.sum.clone().finalize();
        out.put(&sum.to_le_bytes())?;
        out.out.into_inner()?.sync_all()?;
        Ok(count)
    }

    /// One shard after the other; none is locked while the disk is waited for.
    fn write_states(&self, out: &mut Summed) -> io::Result<usize> {
        let now = self.clock.now();
        let (mut bytes, mut count) = (Vec::new(), 0_usize);
        for (place, line) in self.shards.iter().enumerate() {
            bytes.clear();
            for (fingerprint, state) in line.0.lock().states(&self.layout) {
                if now < state.expires() {
                    bytes.extend_from_slice(&(place as u64).to_le_bytes());
                    bytes.extend_from_slice(&fingerprint.to_le_bytes());
                    state.write_to(&mut bytes);
                    count = count.saturating_add(1);
                }
            }
            out.put(&bytes)?;
        }
        Ok(count)
    }

    /// Takes over what is in a snapshot, as far as there is room. Answers how many states.
    pub(super) fn fill_from(&self, snapshot: Snapshot) -> usize {
        let now = self.clock.now();
        let mut count = 0_usize;
        for (hash, state) in snapshot.states {
            let room = now < state.expires() && self.budget.add(1);
            if let Some(shard) = self.shard(self.place(hash)).filter(|_| room) {
                let mut shard = shard.lock();
                let twice = usize::from(shard.lend(&self.layout, hash.fingerprint).is_some());
                let dropped = shard.put(&self.layout, hash.fingerprint, state, now);
                self.budget.remove(dropped.saturating_add(twice));
                count = count.saturating_add(1).saturating_sub(twice);
            }
        }
        count
    }
}

pub(super) fn read(path: &Path) -> Result<Snapshot, SnapshotError> {
    let failed = |why| SnapshotError { path: path.into(), why };
    let bytes = fs::read(path).map_err(|error| failed(Why::Io("read", error)))?;
    parse(&bytes).map_err(failed)
}

fn parse(bytes: &[u8]) -> Result<Snapshot, Why> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(Why::Foreign)?;
    let whole = bytes.len().checked_sub(CHECKSUM).ok_or(Why::Damaged("it is cut off"))?;
    let (summed, sum) = bytes.split_at(whole);
    if crc32fast::hash(summed).to_le_bytes() != *sum {
        return Err(Why::Damaged("its checksum is wrong, as when it was cut off"));
    }
    let content = rest.get(..rest.len().saturating_sub(CHECKSUM)).unwrap_or_default();
    records(content).ok_or(Why::Damaged("it holds what is no state"))
}

fn records(mut bytes: &[u8]) -> Option<Snapshot> {
    let secret = Secret([word(&mut bytes)?, word(&mut bytes)?]);
    let shards = usize::try_from(word(&mut bytes)?).ok().filter(|n| n.is_power_of_two())?;
    let mut states = Vec::new();
    while !bytes.is_empty() {
        let hash = Hash { shard: word(&mut bytes)?, fingerprint: word(&mut bytes)? };
        // Zero fingerprints a free place.
        if hash.fingerprint == 0 {
            return None;
        }
        states.push((hash, State::read_from(&mut bytes)?));
    }
    Some(Snapshot { secret, shards, states })
}

fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

/// A name beside the file, of this call alone.
fn beside(path: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{call}.new", std::process::id()));
    path.with_file_name(name)
}

/// A new file that only its owner can read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Never one that someone else has put there.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file whose bytes are summed as they are written.
struct Summed {
    out: BufWriter<File>,
    sum: crc32fast::Hasher,
}

impl Summed {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.out.write_all(bytes)
    }
}
