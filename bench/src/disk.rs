//! What the disk itself takes for one small durable write: the floor under every answer.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

/// Returns how long each of `count` appends of 4 KiB with an fdatasync took, in microseconds.
///
/// # Errors
/// When the file cannot be written.
pub fn syncs(folder: &Path, count: usize) -> io::Result<Vec<u32>> {
    let path = folder.join("syncs");
    let mut file = File::create(&path)?;
    let mut micros = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        file.write_all(&[7; 4_096])?;
        rustix::fs::fdatasync(&file)?;
        micros.push(u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    std::fs::remove_file(path)?;
    Ok(micros)
}
