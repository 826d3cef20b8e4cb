//! Installs packages of the system that peers and load generators need.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use rustix::process::geteuid;

use crate::command::run;

/// Packages whose installation was tried in this run, each with its error. One that failed is not
/// tried again for every figure.
static TRIED: Mutex<BTreeMap<&str, Option<String>>> = Mutex::new(BTreeMap::new());

/// Makes sure that a program is there: installs its package with apt-get if it is missing.
pub(crate) fn ensure(program: &str, package: &'static str) -> anyhow::Result<()> {
    if is_installed(program) {
        return Ok(());
    }
    let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    let error = tried.entry(package).or_insert_with(|| {
        eprintln!("installing {package}");
        install(package).err().map(|error| format!("{error:#}"))
    });
    if let Some(error) = error {
        anyhow::bail!("{program} is missing; apt-get install {package} failed: {error}");
    }
    anyhow::ensure!(is_installed(program), "{program} is missing, although {package} is installed");
    Ok(())
}

fn install(package: &str) -> anyhow::Result<()> {
    run(as_root("apt-get").args(["update", "-qq"]))?;
    // RUNLEVEL=1: only the programs are wanted, the system must not start a server of its own.
    let mut install = as_root("env");
    install.args(["DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get", "install"]);
    run(install.args(["-y", "-qq", "--no-install-recommends", package]))
}

fn as_root(program: &str) -> Command {
    if geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.args(["-n", program]);
    command
}

/// An absolute path is looked up as it is, a name in `PATH`.
fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    Path::new(program).is_absolute() && Path::new(program).exists()
        || env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_programs_are_found() {
        assert!(is_installed("ls") && is_installed("/bin/ls"));
        assert!(!is_installed("no-such-program") && !is_installed("/no/such/program"));
    }
}
