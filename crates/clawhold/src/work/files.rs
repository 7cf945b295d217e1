//! The files through which a job's program gives its result and its checkpoint.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clawhold_client::api::Json;
use clawhold_client::api::job::ClaimedJob;
use rustix::fs::OFlags;

/// Bytes of a result or a checkpoint that the server takes.
const VALUE_BYTES_MAX: usize = 256 * 1_024;
/// Levels of nesting that fit into a request together with what is around the value.
const VALUE_DEPTH_MAX: usize = 56;

/// Why what a program left in a file cannot be kept.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadValue {
    #[error("has more than {VALUE_BYTES_MAX} bytes as JSON, allowed is 0 to {VALUE_BYTES_MAX}")]
    Size,
    #[error("nests {0} levels deep, allowed is 0 to {VALUE_DEPTH_MAX}")]
    Depth(usize),
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

/// The two files of one run of a job. They go when this is dropped.
#[derive(Debug)]
pub(super) struct Files {
    /// Where the program leaves its result.
    pub(super) result: PathBuf,
    /// Where the program finds the last checkpoint and leaves the next.
    pub(super) checkpoint: PathBuf,
    known: Option<Vec<u8>>,
}

impl Files {
    /// Makes the files of a run in `folder`: the checkpoint holds what the holder before left.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(super) fn create(folder: &Path, job: &ClaimedJob) -> io::Result<Self> {
        let name = |what: &str| folder.join(format!("{}-{}.{what}", job.id, job.claim));
        let (result, checkpoint) = (name("result"), name("checkpoint"));
        let known = job.checkpoint.as_ref().map(|json| text_of(json).into_bytes());
        if let Some(known) = &known {
            fs::write(&checkpoint, known)?;
        }
        Ok(Self { result, checkpoint, known })
    }

    /// Returns the result that the program left, if it left one.
    ///
    /// # Errors
    /// What makes it impossible to keep.
    pub(super) fn read_result(&self) -> Result<Option<Json>, BadValue> {
        let bytes = read(&self.result)?;
        bytes.filter(|bytes| !bytes.is_empty()).map(|bytes| value_of(&bytes)).transpose()
    }

    /// Returns the checkpoint if the program has changed it since this was last asked.
    ///
    /// # Errors
    /// What makes it impossible to keep.
    pub(super) fn changed_checkpoint(&mut self) -> Result<Option<Json>, BadValue> {
        let Some(bytes) = read(&self.checkpoint)? else { return Ok(None) };
        if self.known.as_ref() == Some(&bytes) || (self.known.is_none() && bytes.is_empty()) {
            return Ok(None);
        }
        let value = value_of(&bytes);
        self.known = Some(bytes);
        value.map(Some)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Neither need be there.
        let _ = fs::remove_file(&self.result);
        let _ = fs::remove_file(&self.checkpoint);
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, BadValue> {
    let unreadable = |error: io::Error| BadValue::Unreadable(error.to_string());
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(BadValue::Unreadable("it is no regular file".to_owned()));
    }
    let bytes_max = u64::try_from(VALUE_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if VALUE_BYTES_MAX < bytes.len() { Err(BadValue::Size) } else { Ok(Some(bytes)) }
}

/// Opens a file without waiting: what a program left may be a pipe that nobody writes to.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Returns what a program gets or finds for `json`: the text of a JSON string, any other value as
/// it is.
pub(super) fn text_of(json: &Json) -> String {
    json.read::<String>().unwrap_or_else(|_| json.get().to_owned())
}

/// Returns what a program left as JSON: as it is if it is JSON, else as a string.
fn value_of(bytes: &[u8]) -> Result<Json, BadValue> {
    let text = String::from_utf8_lossy(bytes);
    let as_text = || Json::of(text.as_ref()).map_err(|e| BadValue::Unreadable(e.to_string()));
    let value = match Json::parse(text.trim()) {
        Ok(value) => value,
        Err(_) => as_text()?,
    };
    let depth = depth(value.get());
    if VALUE_DEPTH_MAX < depth {
        return Err(BadValue::Depth(depth));
    }
    if VALUE_BYTES_MAX < value.get().len() {
        return Err(BadValue::Size);
    }
    Ok(value)
}

/// Returns how deep a JSON text nests.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(checkpoint: Option<&str>) -> ClaimedJob {
        ClaimedJob {
            id: 4,
            claim: 2,
            queue: "q".to_owned(),
            payload: Json::null(),
            priority: 0,
            attempt: 1,
            losses: 0,
            hand_backs: 1,
            checkpoint: checkpoint.map(|text| Json::parse(text).unwrap()),
            timeout_ms: None,
            progress_ms: None,
            created: String::new(),
        }
    }

    fn value(text: &str) -> String {
        value_of(text.as_bytes()).unwrap().get().to_owned()
    }

    #[test]
    fn json_is_kept_as_it_is_and_text_becomes_a_string() {
        assert_eq!(value("{\"a\": 1.0}\n"), "{\"a\": 1.0}");
        assert_eq!(value("done, 3 files\n"), "\"done, 3 files\\n\"");
        assert_eq!(value_of(b"\xff").unwrap().get(), "\"\u{fffd}\"");
        assert_eq!(text_of(&Json::parse("\"a\\nb\"").unwrap()), "a\nb");
        assert_eq!(text_of(&Json::parse("[1]").unwrap()), "[1]");
    }

    #[test]
    fn what_the_server_would_refuse_is_named() {
        let deep = format!("{}{}", "[".repeat(57), "]".repeat(57));
        assert_eq!(value_of(deep.as_bytes()), Err(BadValue::Depth(57)));
        assert_eq!(depth("\"[[[\\\"[[\""), 0);
        // Each quote takes two bytes as JSON.
        let long = "\"".repeat(VALUE_BYTES_MAX - 10);
        assert_eq!(value_of(long.as_bytes()), Err(BadValue::Size));
    }

    #[test]
    fn a_pipe_that_a_program_leaves_is_refused_and_not_waited_for() {
        let folder = tempfile::TempDir::new().unwrap();
        let pipe = folder.path().join("result");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        assert!(matches!(read(&pipe), Err(BadValue::Unreadable(_))));
    }

    #[test]
    fn a_checkpoint_counts_when_it_changed_and_files_go_with_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::create(folder.path(), &claimed(Some("{\"at\":5}"))).unwrap();
        assert_eq!(fs::read_to_string(&files.checkpoint).unwrap(), "{\"at\":5}");
        assert_eq!(files.changed_checkpoint(), Ok(None));
        assert_eq!(files.read_result(), Ok(None));
        fs::write(&files.checkpoint, "{\"at\":9}").unwrap();
        assert_eq!(files.changed_checkpoint().unwrap().unwrap().get(), "{\"at\":9}");
        assert_eq!(files.changed_checkpoint(), Ok(None));
        fs::write(&files.result, "ok").unwrap();
        assert_eq!(files.read_result().unwrap().unwrap().get(), "\"ok\"");
        fs::write(&files.result, vec![b' '; VALUE_BYTES_MAX + 1]).unwrap();
        assert_eq!(files.read_result(), Err(BadValue::Size));
        drop(files);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
