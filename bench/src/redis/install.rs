//! Installs what a peer needs, below `target`, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::succeed;
use crate::redis::peers::Peer;

/// Written when all is done: an installation that was broken off is not taken for one.
const DONE: &str = "installed";

/// The folder with the peer's program and packages.
pub(crate) fn install(peer: &Peer) -> anyhow::Result<PathBuf> {
    succeed(Command::new(peer.language).arg("--version"))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/peers").join(peer.name);
    if !is_done(peer, &folder) {
        eprintln!("installing {}", peer.name);
        install_packages(peer, &folder)?;
    }
    // Each time: it may be another one than the last time.
    fs::write(folder.join(peer.program.name), peer.program.text)?;
    Ok(folder)
}

/// Whether these versions were installed.
fn is_done(peer: &Peer, folder: &Path) -> bool {
    fs::read_to_string(folder.join(DONE)).is_ok_and(|manifest| manifest == peer.manifest.text)
}

fn install_packages(peer: &Peer, folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join(peer.manifest.name), peer.manifest.text)?;
    succeed(&mut (peer.installer)(folder))?;
    fs::write(folder.join(DONE), peer.manifest.text)?;
    Ok(())
}
