//! The gleaner binary: hands the process's arguments and environment to [`gleaner::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    gleaner::cli::main(std::env::args_os(), std::env::vars_os())
}
