//! Compares all parsers over the same documents: speed relative to feed-rs, allocations, memory.
//!
//! Rounds are interleaved, and the fastest round per parser and document counts, because other work on the machine
//! can only slow a round down.

use std::time::{Duration, Instant};

use bench_parsers::count::{Cost, Counting, cost};
use bench_parsers::feeds::{Document, documents};
use bench_parsers::rivals::PARSERS;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROUNDS: usize = 15;

fn main() {
    let documents = documents();
    let bytes: usize = documents.iter().map(|document| document.bytes.len()).sum();
    println!("{} documents, {:.2} MB\n", documents.len(), bytes as f64 / 1e6);
    let times = measure(&documents);
    let rival = times[1].as_secs_f64();
    println!("| parser | MB/s | x feed-rs | entries | failed | allocations/KB | peak/input, worst |");
    println!("|---|---|---|---|---|---|---|");
    for (parser, time) in PARSERS.iter().zip(times) {
        let (mut entries, mut failed, mut allocations, mut worst) = (0, 0, 0, 0f64);
        for document in &documents {
            let (read, Cost { allocations: made, peak }) = cost(|| (parser.read)(&document.bytes));
            entries += read.unwrap_or(0);
            failed += usize::from(read.is_none());
            allocations += made;
            worst = worst.max(peak as f64 / document.bytes.len().max(1) as f64);
        }
        let (speed, ratio) = (bytes as f64 / 1e6 / time.as_secs_f64(), rival / time.as_secs_f64());
        let rate = allocations as f64 / (bytes as f64 / 1024.0);
        println!(
            "| {} | {speed:.0} | {ratio:.2} | {entries} | {failed} | {rate:.2} | {worst:.2} |",
            parser.name
        );
    }
}

/// Total time of each parser: the sum of the fastest rounds of all documents.
fn measure(documents: &[Document]) -> Vec<Duration> {
    let mut sums = vec![Duration::ZERO; PARSERS.len()];
    for document in documents {
        let mut fastest = vec![Duration::MAX; PARSERS.len()];
        for _ in 0..ROUNDS {
            for (parser, fastest) in PARSERS.iter().zip(&mut fastest) {
                let start = Instant::now();
                (parser.read)(&document.bytes);
                *fastest = start.elapsed().min(*fastest);
            }
        }
        for (sum, fastest) in sums.iter_mut().zip(fastest) {
            *sum += fastest;
        }
    }
    sums
}
