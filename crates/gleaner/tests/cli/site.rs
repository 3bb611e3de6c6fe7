//! A gleaner to ask: a database alone, or one that is served on a port of its own. Both must answer the same.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use super::{Place, Run};

pub(super) const CONFIG: &str = "\
[fetch]
allow_private_networks = [\"127.0.0.0/8\"]
[store]
url = \"gleaner.db\"
[api]
listen = \"127.0.0.1:0\"
[log]
format = \"json\"
";

/// A database and, where it is served, the server.
pub(super) struct Site {
    pub(super) place: Place,
    served: Option<Served>,
}

struct Served {
    child: Child,
    url: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Site {
    /// A database alone.
    pub(super) fn local() -> Self {
        Self { place: Place::with_config(CONFIG), served: None }
    }

    /// A database that is served, and a token that grants everything.
    pub(super) fn served() -> Self {
        let mut site = Self::local();
        let made = site.run(&["token", "create", "tests", "--write"]);
        assert_eq!(made.code, 0, "{}", made.err);
        site.place.write("token", &made.out);
        site.serve();
        site
    }

    /// Starts serving.
    pub(super) fn serve(&mut self) {
        let mut command = self.place.command(&["--config", "gleaner.toml", "serve"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line).ok()?;
            line["api"].as_str().map(str::to_owned)
        });
        let url = url.expect("gleaner says where it answers");
        // Nobody else reads it, and a full pipe would stop the server.
        std::thread::spawn(move || lines.for_each(drop));
        self.served = Some(Served { child, url });
    }

    /// Where it answers.
    pub(super) fn url(&self) -> &str {
        &self.served.as_ref().unwrap().url
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut all = vec!["--config", "gleaner.toml"];
        if let Some(served) = &self.served {
            all.extend(["--server", &served.url, "--token-file", "token"]);
        }
        all.extend(args);
        self.place.command(&all)
    }

    pub(super) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, "")
    }

    /// Runs with this on standard input.
    pub(super) fn run_with(&self, args: &[&str], input: &str) -> Run {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // One that has failed already reads nothing.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// A run that must go well, and its output as JSON.
    pub(super) fn json(&self, args: &[&str]) -> serde_json::Value {
        let run = self.run(&[args, &["--json"]].concat());
        assert_eq!(run.code, 0, "{args:?}: {}", run.err);
        serde_json::from_str(&run.out).unwrap()
    }
}

/// Makes two tests of each: on the database itself, and through a server.
macro_rules! on_both_ways {
    ($($name:ident),+ $(,)?) => {
        mod locally {
            $(#[test] fn $name() { super::$name(&crate::cli::site::Site::local()); })+
        }
        mod by_server {
            $(#[test] fn $name() { super::$name(&crate::cli::site::Site::served()); })+
        }
    };
}
pub(super) use on_both_ways;
