//! Deterministic words, sentences and paragraphs.

/// Splitmix64: small and fast.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// An independent sequence for each pair of numbers.
    pub(crate) fn new(seed: u64, a: u64, b: u64) -> Self {
        let mut random =
            Self(seed ^ a.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ b.wrapping_mul(0xa076_1d64_78bd_642f));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// From 0 up to, not including, 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const WORDS: [&str; 96] = [
    "the",
    "of",
    "and",
    "a",
    "to",
    "in",
    "is",
    "it",
    "that",
    "was",
    "for",
    "on",
    "are",
    "with",
    "as",
    "at",
    "be",
    "this",
    "from",
    "have",
    "or",
    "by",
    "one",
    "had",
    "not",
    "but",
    "what",
    "all",
    "were",
    "when",
    "we",
    "there",
    "can",
    "an",
    "your",
    "which",
    "their",
    "said",
    "if",
    "will",
    "each",
    "about",
    "how",
    "up",
    "out",
    "them",
    "then",
    "she",
    "many",
    "some",
    "these",
    "would",
    "other",
    "into",
    "has",
    "more",
    "two",
    "like",
    "him",
    "time",
    "weather",
    "station",
    "harbour",
    "morning",
    "release",
    "network",
    "version",
    "garden",
    "window",
    "paper",
    "engine",
    "river",
    "market",
    "library",
    "signal",
    "question",
    "answer",
    "company",
    "village",
    "railway",
    "electric",
    "ordinary",
    "careful",
    "remarkable",
    "quarterly",
    "municipal",
    "observatory",
    "restaurant",
    "programme",
    "different",
    "naïve",
    "café",
    "Zürich",
    "façade",
    "–",
    "jalapeño",
];

const NAMES: [&str; 12] =
    ["Ada", "Brigitte", "Chen", "Dara", "Emeka", "Freya", "Goran", "Hana", "Ines", "Joaquín", "Kaya", "Lars"];

/// A person's name.
pub(crate) fn name(random: &mut Random) -> &'static str {
    NAMES[random.below(NAMES.len())]
}

fn word(random: &mut Random) -> &'static str {
    WORDS[random.below(WORDS.len())]
}

/// Appends `count` words, the first capitalised.
pub(crate) fn words(to: &mut String, random: &mut Random, count: usize) {
    for n in 0..count {
        let word = word(random);
        match (n, word.chars().next()) {
            (0, Some(first)) => {
                to.extend(first.to_uppercase());
                to.push_str(&word[first.len_utf8()..]);
            }
            _ => {
                to.push(' ');
                to.push_str(word);
            }
        }
    }
}

/// HTML of about `size` bytes, like a blog post: paragraphs with links and emphasis, lists, images.
pub(crate) fn article(random: &mut Random, size: usize) -> String {
    let mut html = String::with_capacity(size + 512);
    while html.len() < size {
        match random.below(9) {
            0 => list(&mut html, random),
            1 => picture(&mut html, random),
            2 => {
                html.push_str("<h2>");
                words(&mut html, random, 4);
                html.push_str("</h2>\n");
            }
            3 => {
                html.push_str("<blockquote><p>");
                sentence(&mut html, random);
                html.push_str("</p></blockquote>\n");
            }
            _ => {
                html.push_str("<p>");
                for _ in 0..2 + random.below(4) {
                    sentence(&mut html, random);
                }
                html.push_str("</p>\n");
            }
        }
    }
    html
}

fn sentence(html: &mut String, random: &mut Random) {
    let count = 4 + random.below(7);
    words(html, random, count);
    match random.below(8) {
        0 => {
            let slug = random.next() % 100_000;
            html.push_str(&format!(" <a href=\"https://www.example.org/archive/{slug}/\" rel=\"nofollow\">"));
            words(html, random, 3);
            html.push_str("</a>");
        }
        1 => {
            html.push_str(" <strong>");
            words(html, random, 2);
            html.push_str("</strong>");
        }
        2 => html.push_str(" &amp; it isn&#8217;t over&nbsp;yet"),
        _ => {}
    }
    html.push(' ');
    words(html, random, 5);
    html.push_str(". ");
}

fn list(html: &mut String, random: &mut Random) {
    html.push_str("<ul>\n");
    for _ in 0..3 {
        html.push_str("<li>");
        words(html, random, 6);
        html.push_str("</li>\n");
    }
    html.push_str("</ul>\n");
}

fn picture(html: &mut String, random: &mut Random) {
    let number = random.next() % 10_000;
    html.push_str(&format!(
        "<figure class=\"wp-block-image size-large\"><img src=\"https://cdn.example.org/uploads/{number}-1024x683.jpg\" \
         alt=\"\" width=\"1024\" height=\"683\" loading=\"lazy\" class=\"wp-image-{number}\" /><figcaption>"
    ));
    words(html, random, 5);
    html.push_str("</figcaption></figure>\n");
}
