//! Measures the conversion of HTML to plain text: `cargo run --release --example text_speed`, in megabytes of input
//! per second.
#![expect(clippy::print_stdout, reason = "printing is its purpose")]

use std::hint::black_box;
use std::time::Instant;

use gleaner::read::text::plain_text;

const WORDS: [&str; 24] = [
    "the", "of", "and", "weather", "a", "in", "station", "that", "quietly", "is", "report", "on", "feeds",
    "with", "morning", "it", "from", "people", "window", "by", "harbour", "was", "larger", "again",
];

/// Paragraphs of about `size` bytes: links, emphasis, lists, some images and references.
fn article(size: usize) -> String {
    let mut html = String::new();
    let mut state = 1_u32;
    let mut next = move |n: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % n
    };
    while html.len() < size {
        html.push_str(if next(8) == 0 { "<ul><li>" } else { "<p>" });
        for _ in 0..40 + next(60) {
            let word = WORDS[next(WORDS.len())];
            match next(60) {
                0 => html.push_str(&format!(
                    "<a href=\"https://example.org/2026/11/{word}/\" rel=\"nofollow\">{word}</a>"
                )),
                1 => html.push_str(&format!("<em>{word}</em>,")),
                2 => html.push_str(&format!("{word}&#8217;s")),
                3 => html.push_str(&format!("{word} &amp;")),
                _ => html.push_str(word),
            }
            html.push(' ');
        }
        if next(6) == 0 {
            html.push_str("<figure><img src=\"https://example.org/wp-content/uploads/2026/11/image-1024x683.jpg\" alt=\"\" class=\"wp-image-1\" srcset=\"a 1x, b 2x\" /></figure>");
        }
        html.push_str("</p>\n");
    }
    html
}

/// Megabytes per second, over about five megabytes.
fn speed(input: &str) -> f64 {
    let rounds = (5 << 20) / input.len();
    let start = Instant::now();
    for _ in 0..rounds {
        black_box(plain_text(black_box(input)));
    }
    (rounds * input.len()) as f64 / 1e6 / start.elapsed().as_secs_f64()
}

/// The best of many short trials, since other work on the machine only slows it down.
fn main() {
    let html = article(2000);
    let plain = plain_text(&article(20_000));
    let marked = "<p><a href=\"x\">a</a> <b>c</b></p>".repeat(1000);
    let accents = "<p>Überall für größere Häuser, naïve café “quoted” – déjà vu…</p>".repeat(500);
    for (name, input) in
        [("articles", &html), ("no markup", &plain), ("mostly tags", &marked), ("accents", &accents)]
    {
        let speed = (0..40).map(|_| speed(input)).fold(0.0, f64::max);
        println!("{name:12} {speed:7.0} MB/s  ({} bytes, {} of text)", input.len(), plain_text(input).len());
    }
}
