//! What the commands share that work on the files of a store.

use clawhold_server::recovery::RecoveryError;

use crate::config::Config;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Returns the store to work on.
///
/// # Errors
/// When a server is named instead: these commands need the files.
pub(crate) fn named(context: &Context) -> Result<String, Failure> {
    if !context.place().server.is_empty() {
        return Err(Failure::usage("this command reads the store's files, no server")
            .next("give --store sqlite:PATH on the host of the store"));
    }
    Config::load_store(context.place())
}

/// Works on the store's files, on a thread where that may take long.
///
/// # Errors
/// Why it could not be done.
pub(crate) async fn blocking<T: Send + 'static>(
    context: &Context,
    work: impl FnOnce(&str) -> Result<T, RecoveryError> + Send + 'static,
) -> Result<T, Failure> {
    let store = named(context)?;
    let done = tokio::task::spawn_blocking(move || work(&store)).await;
    let done = done.map_err(|error| Failure::failed("the work broke off").because(&error))?;
    done.map_err(|error| failure(&error))
}

fn failure(error: &RecoveryError) -> Failure {
    let (exit, code, next) = match error {
        RecoveryError::OutOfReach { .. } | RecoveryError::LeftOut { .. } => {
            (Exit::NotFound, "out_of_reach", "give a position in that range")
        }
        RecoveryError::Exists { .. } => (Exit::Refused, "exists", "name another file"),
        RecoveryError::Restore { .. } => {
            (Exit::Refused, "cannot_restore", "give a --store where nothing is")
        }
        RecoveryError::Store { .. } => (Exit::Failed, "store", DOCTOR),
        RecoveryError::Record { .. } => (Exit::Failed, "record", DOCTOR),
        RecoveryError::NoBase { .. } => (Exit::Failed, "no_base", DOCTOR),
        RecoveryError::Trimmed => (Exit::Failed, "trimmed", "run it again"),
        RecoveryError::File { .. } => (Exit::Failed, "file", "check the path and its permissions"),
        RecoveryError::Backup { .. } | RecoveryError::OtherState { .. } => {
            (Exit::Failed, "bad_backup", "use another backup; this one was left alone")
        }
        RecoveryError::NothingLeft => (Exit::Failed, "nothing_left", "restore a backup"),
        RecoveryError::NoRoom(_) => (Exit::Failed, "no_room", "check the clock with `date`"),
    };
    Failure::new(exit, code, error.to_string()).because_of(error).next(next)
}

const DOCTOR: &str = "`clawhold doctor` says what is wrong with the store and what to do";
