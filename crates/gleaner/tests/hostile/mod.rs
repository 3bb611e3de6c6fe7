//! A hostile world: nothing gets in, nothing gets lost.
//!
//! Every spelling of every place where gleaner must not go, in every field that takes a URL; every kind of body that
//! means harm, through the real engine; and what the fuzzers begin with. `make hostile` runs it all at full length and
//! ends with the figures; docs/reliability.md has them.

mod bodies;
mod canary;
mod fields;
mod polls;
mod rebinding;
mod seeds;
mod spellings;
mod world;

/// Tells that so many spellings were tried at a place, and that nobody was met.
fn tell_refused(place: &str, spellings: usize, tries: usize) {
    tell(&serde_json::json!({ "at": place, "spellings": spellings, "tries": tries, "connections": 0 }));
}

/// Tells what was measured, as one line that `scripts/figures` finds.
fn tell(figures: &serde_json::Value) {
    println!("FIGURES {figures}");
}
