//! Refusals that are the same for every engine.

use crate::limits::RECORD_BODY_BYTES_MAX;
use crate::{Epoch, LogError, Number};

/// Refuses what no engine may write.
pub(crate) fn check_write(epoch: Epoch, body: &[u8]) -> Result<(), LogError> {
    let (bytes, bytes_max) = (body.len(), RECORD_BODY_BYTES_MAX);
    if bytes_max < bytes {
        return Err(LogError::TooLarge { bytes, bytes_max });
    }
    if epoch == Epoch(0) {
        return Err(LogError::EpochZero);
    }
    Ok(())
}

/// Refuses a snapshot of records that do not exist, or one older than the newest.
pub(crate) fn check_snapshot(at: Number, newest: Number, last: Number) -> Result<(), LogError> {
    if at < newest || last < at {
        return Err(LogError::SnapshotPlace { at, newest, last });
    }
    Ok(())
}
