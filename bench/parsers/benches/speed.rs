//! Criterion benchmark: each parser over each kind of document, and over all of them.

use bench_parsers::feeds::documents;
use bench_parsers::rivals::PARSERS;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn speed(criterion: &mut Criterion) {
    let documents = documents();
    let total: usize = documents.iter().map(|document| document.bytes.len()).sum();
    let mut group = criterion.benchmark_group("all");
    group.sample_size(20).throughput(Throughput::Bytes(total as u64));
    for parser in PARSERS {
        group.bench_function(parser.name, |bencher| {
            bencher.iter(|| {
                documents.iter().filter_map(|document| (parser.read)(&document.bytes)).sum::<usize>()
            });
        });
    }
    group.finish();
    for document in documents.iter().take(5) {
        let mut group = criterion.benchmark_group(&document.name);
        group.sample_size(20).throughput(Throughput::Bytes(document.bytes.len() as u64));
        for parser in PARSERS {
            group.bench_function(parser.name, |bencher| bencher.iter(|| (parser.read)(&document.bytes)));
        }
        group.finish();
    }
}

criterion_group!(benches, speed);
criterion_main!(benches);
