//! What the fuzzers begin with, and what they ever found: every seed through its target, on any build.

#[expect(unreachable_pub, reason = "the fuzzers have it for a crate of its own")]
#[path = "../../fuzz/src/lib.rs"]
mod targets;

use std::path::Path;

#[test]
fn every_seed_holds() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut directories: Vec<String> = std::fs::read_dir(&seeds)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    directories.sort();
    let mut names: Vec<&str> = targets::TARGETS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(directories, names, "every target has seeds");
    for (name, target) in targets::TARGETS {
        let mut count = 0;
        for entry in std::fs::read_dir(seeds.join(name)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let held = std::panic::catch_unwind(|| target(&bytes));
            assert!(held.is_ok(), "{} does not hold", path.display());
            count += 1;
        }
        assert!(count >= 5, "{name} has {count} seeds");
    }
}

/// Any beginning of any seed, and any seed with a byte missing or turned, holds as well.
#[test]
fn every_damaged_seed_holds() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    for (name, target) in targets::TARGETS {
        for entry in std::fs::read_dir(seeds.join(name)).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            // Some of the places of long ones: extraction takes its time without optimisation.
            let step = 1 + bytes.len() / 24;
            for at in (0..bytes.len()).step_by(step) {
                target(&bytes[..at]);
                target(&[&bytes[..at], &bytes[at + 1..]].concat());
                let mut turned = bytes.clone();
                turned[at] ^= 1 << (at % 8);
                target(&turned);
            }
        }
    }
}
