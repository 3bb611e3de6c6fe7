//! Attacks from outside, small: what `make attack` does at full size is tried here for what it must end with.

mod bodies;
mod connections;
mod guesses;
mod stop;
