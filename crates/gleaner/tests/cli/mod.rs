//! The command line from outside: the real binary, a clean environment, a directory of its own.

mod backup;
mod collected;
mod config;
mod connections;
mod doctor;
mod extract;
mod import;
mod keys;
mod links;
mod people;
mod policy;
mod poll_run;
mod polling;
mod replay;
mod simulate;
mod site;
mod sources;

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A directory to run gleaner in.
struct Place(TempDir);

/// What a run left behind.
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// A place with this config file, which `args` must name.
    fn with_config(text: &str) -> Self {
        let place = Self::new();
        place.write("gleaner.toml", text);
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        // A home that is not there, so that what is printed is the same everywhere.
        command.args(args).env_clear().env("HOME", "/home/nobody-at-all").current_dir(self.path());
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        self.command(args).into_run()
    }
}

trait IntoRun {
    fn into_run(self) -> Run;
}

impl IntoRun for Command {
    fn into_run(mut self) -> Run {
        let Output { status, stdout, stderr } = self.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
    }
}

impl Run {
    /// The output of a run that must have gone well.
    fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        self.out
    }

    /// What a run complained about that must have ended with this code and no output.
    fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        self.err
    }
}

#[test]
fn help_documents_the_exit_codes() {
    let help = Place::new().run(&["--help"]).ok();
    assert!(help.contains("Exit codes:\n  0  done\n  1  failed"), "{help}");
}

#[test]
fn wrong_usage_ends_with_2() {
    let place = Place::new();
    for args in
        [&[][..], &["frobnicate"], &["config", "--jsn"], &["policy"], &["policy", "show", "--json", "--toml"]]
    {
        place.run(args).failed(2);
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let place = Place::new();
    for args in [&["config"][..], &["policy", "show"], &["--help"]] {
        let output = place.command(args).stdout(writer.try_clone().unwrap()).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(&["config"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: cannot write the output: "));
}

#[test]
fn help_tells_every_command() {
    let place = Place::new();
    let help = place.run(&["--help"]).ok();
    insta::assert_snapshot!("help", help);
    let commands = "serve demo try add edit enable disable remove import export list show poll posts explain policy collection \
        user token key events config extract links doctor backup restore completions man";
    for command in commands.split_whitespace() {
        assert!(help.lines().any(|line| line.trim_start().starts_with(command)), "{command}");
        let own = place.run(&[command, "--help"]).ok();
        assert!(own.contains("Usage: gleaner"), "{own}");
    }
}
