//! The program under its own name.

use std::process::ExitCode;

fn main() -> ExitCode {
    clawhold::main()
}
