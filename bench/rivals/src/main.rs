//! Runs the polling rules of other feed readers in the world of `gleaner simulate`, and prints the same table.
//!
//! `cargo run --release -- [--sources 5000] [--days 180] [--seed 1 …] [NAME …]`

mod rules;
#[path = "../../../crates/gleaner/src/simulate/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "gleaner's own run in it is not called here")]
mod simulate;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::ExitCode;

use fastrand::Rng;

use rules::{READERS, Reader, State};
use simulate::measure::{Measures, table};
use simulate::responses::Responses;
use simulate::world::{NEVER, World};

fn main() -> ExitCode {
    let mut sources = 5000;
    let mut days = 180;
    let mut seeds = Vec::new();
    let mut names = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|text| text.parse::<u64>().ok());
        let read = match arg.as_str() {
            "--sources" => number().map(|value| sources = value as usize),
            "--days" => number().map(|value| days = value as u32),
            "--seed" => number().map(|value| seeds.push(value)),
            _ => Some(names.push(arg.clone())),
        };
        if read.is_none() {
            eprintln!("error: {arg} needs a whole number after it");
            return ExitCode::from(2);
        }
    }
    if seeds.is_empty() {
        seeds = vec![1, 2, 3];
    }
    let worlds: Vec<World> = seeds.iter().map(|seed| World::build(*seed, sources, days)).collect();
    let chosen =
        READERS.iter().filter(|reader| names.is_empty() || names.iter().any(|name| name == reader.name));
    let rows: Vec<(String, Measures)> = chosen
        .map(|reader| {
            let runs: Vec<Measures> =
                worlds.iter().zip(&seeds).map(|(world, seed)| run(world, reader, *seed)).collect();
            (reader.name.to_owned(), Measures::mean(&runs))
        })
        .collect();
    print!("{}", table(&rows));
    ExitCode::SUCCESS
}

fn run(world: &World, reader: &Reader, seed: u64) -> Measures {
    let mut responses = Responses::new(world, seed, reader.moves_after());
    let mut rng = Rng::with_seed(seed.wrapping_mul(7919).wrapping_add(1));
    let mut states = vec![State::default(); world.sources.len()];
    let mut hosts = vec![0_i64; world.hosts.len()];
    let mut queue: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    for (index, state) in states.iter_mut().enumerate() {
        queue.push(Reverse((reader.first(state, &mut rng), index)));
    }
    while let Some(Reverse((now, index))) = queue.pop() {
        if now >= world.end {
            break;
        }
        let source = &world.sources[index];
        let host_until = &mut hosts[source.host];
        if now < *host_until {
            queue.push(Reverse((reader.batch(&states[index], *host_until), index)));
            continue;
        }
        let answer = responses.poll(index, now);
        let state = &mut states[index];
        let next = reader.next(source, state, answer, now, host_until, &mut rng);
        responses.set_state(index, state.quarantined, next == NEVER);
        if next != NEVER {
            queue.push(Reverse((next, index)));
        }
    }
    responses.measures()
}
