//! The same program under the name that the people it serves already type.

use std::process::ExitCode;

fn main() -> ExitCode {
    clawhold::main()
}
