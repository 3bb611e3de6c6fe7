//! `farm --feeds 2000 --port 0`: prints its address, and serves until stopped.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use farm::{Farm, Fault, Options};

const HELP: &str = "\
Serves deterministic feeds on addresses of 127.0.0.0/8.

  --feeds N              number of feeds (100)
  --hosts N              number of addresses (one per feed)
  --port N               port of all addresses (0: any free port)
  --seed N               seed of all texts (1)
  --entries N            average entries per feed (25)
  --epoch SECONDS        approximate publication time of the newest entry (1794700800)
  --latency-ms N         delay of each response (0)
  --max-age SECONDS      sends Cache-Control: max-age (not sent)
  --keep-alive-ms N      how long an idle connection stays open (5000)
  --rate FAULT=SHARE     rate of not_found, server_error, rate_limited, timeout or reset, 0 to 1 (0)
  --urls FILE            file for the URLs of all feeds (in the temporary directory)
  --until-stdin-closes   ends when its input is closed
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("farm: {message}");
            ExitCode::FAILURE
        }
    }
}

struct Command {
    options: Options,
    urls: Option<PathBuf>,
    until_stdin_closes: bool,
}

fn run(arguments: &[String]) -> Result<(), String> {
    let command = parse(arguments)?;
    let farm = Farm::start(command.options).map_err(|error| error.to_string())?;
    let (control, expected) = (farm.control(), farm.expected());
    let default = || std::env::temp_dir().join(format!("farm-{}.urls", control.port()));
    let path = command.urls.unwrap_or_else(default);
    std::fs::write(&path, farm.urls().join("\n") + "\n")
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("control http://{control}");
    println!("urls {}", path.display());
    println!("feeds {} entries {} bytes {}", expected.feeds, expected.entries, expected.bytes);
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    if command.until_stdin_closes {
        std::thread::spawn(|| {
            drop(std::io::stdin().read_to_end(&mut Vec::new()));
            std::process::exit(0);
        });
    }
    farm.wait();
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Command, String> {
    let mut command = Command { options: Options::default(), urls: None, until_stdin_closes: false };
    let options = &mut command.options;
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        if name == "--until-stdin-closes" {
            command.until_stdin_closes = true;
            continue;
        }
        let value =
            arguments.next().ok_or_else(|| format!("{name} needs a value, or is unknown; see --help"))?;
        match name.as_str() {
            "--feeds" => options.feeds = number(name, value)?,
            "--hosts" => options.hosts = number(name, value)?,
            "--port" => options.port = number(name, value)?,
            "--seed" => options.seed = number(name, value)?,
            "--entries" => options.entries = number(name, value)?,
            "--epoch" => options.epoch = number(name, value)?,
            "--latency-ms" => options.latency_ms = number(name, value)?,
            "--max-age" => options.max_age = Some(number(name, value)?),
            "--keep-alive-ms" => options.keep_alive_ms = number(name, value)?,
            "--rate" => {
                let (fault, share) = value.split_once('=').ok_or("--rate takes FAULT=SHARE")?;
                let fault = Fault::by_name(fault).ok_or_else(|| format!("unknown fault '{fault}'"))?;
                options.rates.set(fault, number(name, share)?);
            }
            "--urls" => command.urls = Some(value.into()),
            _ => return Err(format!("unknown option '{name}'; see --help")),
        }
    }
    Ok(command)
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name}: '{value}' is not a valid number"))
}
