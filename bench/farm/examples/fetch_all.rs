//! Measures the cost of the farm: a client that fetches every feed once in full and once with validators, and
//! discards the result. `cargo run --release --example fetch_all -- FEEDS`, with the farm in a separate process.
#![expect(clippy::unwrap_used, reason = "a measurement that fails may panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Sends a request and reads the response; returns the number of bytes and the entity tag.
fn fetch(url: &str, headers: &str) -> (usize, String) {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = Vec::with_capacity(64 << 10);
    stream.read_to_end(&mut answer).unwrap();
    let head = String::from_utf8_lossy(&answer[..answer.len().min(512)]).into_owned();
    let etag = head.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap_or_default().to_owned();
    (answer.len(), etag)
}

fn main() {
    let feeds = std::env::args().nth(1).unwrap_or_else(|| "2000".into());
    let binary = std::env::current_exe().unwrap().parent().unwrap().with_file_name("farm");
    let start = Instant::now();
    let mut farm = Command::new(binary)
        .args(["--feeds", &feeds, "--until-stdin-closes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<String> =
        BufReader::new(farm.stdout.take().unwrap()).lines().take(3).map(Result::unwrap).collect();
    println!("{} (ready after {:.2?})", lines[2], start.elapsed());
    let (control, file) =
        (lines[0].strip_prefix("control ").unwrap(), lines[1].strip_prefix("urls ").unwrap());
    let urls: Vec<String> = std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect();
    std::fs::remove_file(file).unwrap();
    let cpu = || control_number(control, "/cpu", "cpu_s");
    let mut headers = vec![String::new(); urls.len()];
    for round in ["full", "unchanged", "unchanged"] {
        fetch(&format!("{control}/reset"), "");
        let (before, start) = (cpu(), Instant::now());
        let bytes: usize = urls
            .iter()
            .zip(&mut headers)
            .map(|(url, headers)| {
                let (bytes, etag) = fetch(url, headers);
                *headers = format!("If-None-Match: {etag}\r\n");
                bytes
            })
            .sum();
        let (seconds, cost) = (start.elapsed().as_secs_f64(), cpu() - before);
        let rate = urls.len() as f64 / seconds;
        let each = cost * 1000.0 / urls.len() as f64;
        let once = control_number(control, "/ledger", "requested_once");
        println!(
            "{round:9} {rate:6.0} feeds/s, farm {each:.3} CPU s per 1,000, {bytes} bytes, {once} requested once"
        );
    }
    drop(farm.stdin.take());
    farm.wait().unwrap();
}

fn control_number(control: &str, path: &str, name: &str) -> f64 {
    let address = control.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let value = answer.split(&format!("\"{name}\":")).nth(1).unwrap();
    value.split([',', '}']).next().unwrap().parse().unwrap()
}
