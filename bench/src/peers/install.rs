//! Installs the packages of a peer below `target`, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::peer::Peer;
use crate::command::run;

/// Written at the end, so that an interrupted installation does not count.
const DONE_FILE: &str = "installed";

/// Returns the peer's program, after installing its packages if needed.
pub(crate) fn install(peer: &Peer) -> anyhow::Result<PathBuf> {
    run(Command::new(peer.language).arg("--version"))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = root.join("target/peers").join(peer.name);
    if !is_installed(peer, &directory) {
        eprintln!("installing {}", peer.name);
        install_packages(peer, &directory)?;
    }
    // Written each time, since the program may have changed.
    let program = directory.join(peer.program.name);
    fs::write(&program, peer.program.text)?;
    Ok(program)
}

/// Returns whether these versions are installed.
fn is_installed(peer: &Peer, directory: &Path) -> bool {
    fs::read_to_string(directory.join(DONE_FILE))
        .is_ok_and(|manifest| manifest == peer.manifest.text)
}

fn install_packages(peer: &Peer, directory: &Path) -> anyhow::Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)?;
    fs::write(directory.join(peer.manifest.name), peer.manifest.text)?;
    run(&mut (peer.installer)(directory))?;
    fs::write(directory.join(DONE_FILE), peer.manifest.text)?;
    Ok(())
}
