//! A peer: a small program in its own language, and the packages it needs.

use std::path::Path;
use std::process::Command;

pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// The interpreter of its language.
    pub(crate) language: &'static str,
    /// Its packages, in the format of its installer.
    pub(crate) manifest: File,
    pub(crate) program: File,
    /// Installs the packages of the manifest into this directory.
    pub(crate) installer: fn(&Path) -> Command,
    /// Runs the installed program.
    pub(crate) runner: fn(&Path) -> Command,
}

pub(crate) struct File {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}
