//! Starts the programs of jobs on a thread that lives as long as the process.
//!
//! The kernel ends a program with the thread that started it; the threads of an async runtime
//! come and go.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, mpsc};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::hidden::Keeper;

/// Programs that may wait to be started; more hold their jobs back.
const WAITING_MAX: usize = 1_000;

type Order = (Command, oneshot::Sender<io::Result<Child>>);

/// Starts programs, each in a process group of its own.
#[derive(Clone, Debug)]
pub(super) struct Launcher {
    orders: mpsc::SyncSender<Order>,
    keeper: Arc<Keeper>,
}

/// A running program. Dropping it kills its process group.
#[derive(Debug)]
pub(super) struct Program {
    /// The process.
    pub(super) child: Child,
    group: u32,
    keeper: Arc<Keeper>,
}

impl Launcher {
    /// Starts the thread, and the process that ends what a killed worker leaves behind and removes
    /// its folder.
    ///
    /// # Errors
    /// When either cannot be started.
    pub(super) fn start(runtime: Handle, folder: &Path) -> io::Result<Self> {
        let (orders, taken) = mpsc::sync_channel::<Order>(WAITING_MAX);
        std::thread::Builder::new().name("launcher".to_owned()).spawn(move || {
            let _within = runtime.enter();
            for (command, reply) in taken {
                let mut command = tokio::process::Command::from(command);
                // A caller that is gone drops the child, which kills it.
                let _ = reply.send(command.kill_on_drop(true).spawn());
            }
        })?;
        Ok(Self { orders, keeper: Arc::new(Keeper::start(folder)?) })
    }

    /// Starts `command`.
    ///
    /// # Errors
    /// When the system does not start it.
    pub(super) async fn launch(&self, mut command: Command) -> io::Result<Program> {
        command.process_group(0);
        let (reply, started) = oneshot::channel();
        let over = || io::Error::other("the thread that starts programs has ended");
        self.orders.try_send((command, reply)).map_err(|_| over())?;
        let child = started.await.map_err(|_| over())??;
        let group = child.id().unwrap_or(0);
        self.keeper.keep(group);
        Ok(Program { child, group, keeper: Arc::clone(&self.keeper) })
    }
}

impl Program {
    /// Sends `signal` to the program and everything in its process group.
    pub(super) fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.group).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // It may have ended by itself.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.keeper.forget(self.group);
    }
}
