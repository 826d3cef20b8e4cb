//! Starts nodes, each a process of its own.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

use crate::client::Client;
use crate::distributed::plan::CALLERS;
use crate::distributed::shape::{Quota, Shape};
use crate::distributed::system::System;
use crate::peers;

/// The programs of all systems.
pub(crate) struct Launcher {
    /// `None` if it cannot be run here.
    flexible: Option<PathBuf>,
}

impl Launcher {
    /// Installs the peers.
    pub(crate) fn install() -> anyhow::Result<Launcher> {
        Ok(Launcher { flexible: peers::install(&peers::FLEXIBLE_NODE)? })
    }

    pub(crate) fn can_start(&self, system: System) -> bool {
        system != System::Flexible || self.flexible.is_some()
    }

    pub(crate) fn start(&self, system: System, shape: &Shape, port: u16) -> anyhow::Result<Client> {
        let (mut command, arguments) = match (system, &self.flexible) {
            (System::Flexible, Some(program)) => {
                let Quota { checks, seconds, .. } = shape.quota;
                let command = (peers::FLEXIBLE_NODE.runner)(program);
                (command, [checks.to_string(), seconds.to_string()])
            }
            _ => {
                let mut command = Command::new(env::current_exe()?);
                command.arg("distributed-node");
                (command, [system.short().to_owned(), shape.name.to_owned()])
            }
        };
        command.arg(port.to_string()).arg(CALLERS.to_string()).args(arguments);
        Client::start(&mut command).with_context(|| format!("cannot start {}", system.name()))
    }
}
