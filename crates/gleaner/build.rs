//! How the binary is linked.

use std::process::Command;

/// The first C library that starts what is packed.
const PACKS_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Where in memory the binary is, the loader adds to fifty thousand addresses. The list of them is a megabyte, and a
    // hundredth of that where it is packed.
    if is_for_here() && c_library().is_some_and(|version| version >= PACKS_SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether the binary is for machines like this one.
fn is_for_here() -> bool {
    let var = |name| std::env::var(name).unwrap_or_default();
    var("HOST") == var("TARGET")
        && var("CARGO_CFG_TARGET_OS") == "linux"
        && var("CARGO_CFG_TARGET_ENV") == "gnu"
}

/// The version of this machine's, as `getconf` has it: `glibc 2.36`.
fn c_library() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
