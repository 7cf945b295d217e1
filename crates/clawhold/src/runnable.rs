//! Whether a program can be run at all, before any job or role depends on it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::failure::Failure;

/// Returns nothing when the first word of `command` names a program: a path to an executable file,
/// or the name of one on PATH.
///
/// # Errors
/// A usage error that names the program and what is wrong with it.
pub(crate) fn check(command: &[OsString]) -> Result<(), Failure> {
    let Some(program) = command.first() else {
        return Err(Failure::usage("no program is named").next("name it after `--`"));
    };
    let shown = Path::new(program).display();
    if program.as_bytes().contains(&b'/') {
        return if is_executable(Path::new(program)) {
            Ok(())
        } else {
            Err(Failure::usage(format!("{shown} is no executable file"))
                .next("check the path, or make the file executable with chmod +x"))
        };
    }
    if is_on_path(program) {
        return Ok(());
    }
    Err(Failure::usage(format!("there is no program {shown} on PATH"))
        .next("check the name; a file of this folder is named with ./"))
}

fn is_on_path(program: &OsStr) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_executable(&folder.join(program)))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(program: &str) -> bool {
        check(&[program.into()]).is_err()
    }

    #[test]
    fn a_program_is_an_executable_file_or_a_name_on_path() {
        assert!(!refuses("sh"));
        assert!(!refuses("/bin/sh"));
        for odd in ["no-such-program-here", "./no-such-program", "/etc/passwd", "/bin", ""] {
            assert!(refuses(odd), "{odd}");
        }
    }
}
