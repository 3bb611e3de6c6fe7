//! Progress of long work, where somebody is there to see it: only on a terminal, and not in its output.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often it is drawn anew while nothing happens.
const TICK: Duration = Duration::from_millis(120);

/// For work of unknown length. What is no terminal shows nothing.
pub(super) fn spinner(words: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(words);
    bar.set_style(style("{spinner} {msg} ({elapsed})"));
    bar.enable_steady_tick(TICK);
    bar
}

/// For so many steps.
pub(super) fn bar(words: &'static str, steps: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr()).with_message(words);
    bar.set_style(style("{msg} {wide_bar} {pos}/{len} ({eta} left)"));
    bar.enable_steady_tick(TICK);
    bar
}

/// The templates above are right, and if one were not, the usual style does.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
