//! Generates headlines and texts from patterns and word lists.

/// A pseudo-random generator: the same seed gives the same sequence.
pub(super) struct TextGenerator(u64);

impl TextGenerator {
    /// The generator of one post.
    pub(super) fn of(seed: u64, who: usize, what: u64) -> Self {
        let mut generator = Self(seed ^ ((who as u64) << 40) ^ what.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        // Mixes the seed, so that similar seeds give different sequences.
        generator.next_number();
        generator
    }

    /// The next number of the sequence.
    pub(super) fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        list.get(self.next_number() as usize % list.len().max(1)).copied().unwrap_or_default()
    }

    pub(super) fn title(&mut self) -> String {
        let pattern = self.pick(TITLES);
        self.fill(pattern)
    }

    /// Generates sentences.
    pub(super) fn text(&mut self, sentences: usize) -> String {
        // Continues from the previous sentence, so that none is repeated in a row.
        let mut place = self.next_number() as usize;
        let one = |_| {
            place = place.wrapping_add(1 + self.next_number() as usize % 3);
            self.fill(SENTENCES.get(place % SENTENCES.len()).copied().unwrap_or_default())
        };
        (0..sentences).map(one).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn author(&mut self) -> String {
        self.fill("{first} {last}")
    }

    /// Fills each `{name}` with a word, and capitalises the first letter.
    fn fill(&mut self, pattern: &str) -> String {
        let mut filled = String::new();
        for part in pattern.split('{') {
            let (name, rest) = part.split_once('}').unwrap_or(("", part));
            filled.push_str(match name {
                "noun" => self.pick(NOUNS),
                "is" => self.pick(ADJECTIVES),
                "place" => self.pick(PLACES),
                "doing" => self.pick(DOING),
                "some" => self.pick(NUMBERS),
                "first" => self.pick(FIRST),
                "last" => self.pick(LAST),
                _ => "",
            });
            filled.push_str(rest);
        }
        let mut letters = filled.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    }
}

/// Only nouns with regular plurals.
#[rustfmt::skip]
const NOUNS: &[&str] = &[
    "lantern", "heron", "kettle", "ferryboat", "orchard", "lighthouse", "accordion", "hedgehog", "weathervane", "teapot",
    "archive", "umbrella", "bicycle", "letterbox key", "beehive", "almanac", "staircase", "telescope", "harbour bell",
    "clocktower", "moth", "violin", "allotment", "compass needle", "tide table", "sundial", "paper boat", "snow globe",
    "tortoise", "signal lamp", "marionette", "barometer", "walnut tree", "night train", "museum cat",
];
#[rustfmt::skip]
const ADJECTIVES: &[&str] = &[
    "quiet", "borrowed", "crooked", "patient", "unlikely", "lost", "amber", "seventh", "talking", "half-finished", "stubborn",
    "salt-worn", "forgotten", "generous", "sleepless", "travelling", "invisible", "left-handed", "reluctant", "twice-mended",
    "moonlit", "second-best", "perfectly ordinary", "slightly haunted", "freshly painted",
];
#[rustfmt::skip]
const PLACES: &[&str] = &[
    "Lower Quay", "Fennel Street", "the old observatory", "Saltmarsh", "Platform 3", "Upper Thistle", "the night market",
    "Gull Rock", "Mill Lane", "the botanical garden", "the ferry landing", "Candlemaker Row", "the reading room",
    "Heron Island", "the back of the bakery", "Bellows Bridge",
];
#[rustfmt::skip]
const DOING: &[&str] = &[
    "mending", "counting", "naming", "borrowing", "drawing", "waiting for", "listening to", "painting", "following",
    "weighing", "apologising to", "photographing", "translating", "rescuing", "teaching manners to",
];
#[rustfmt::skip]
const NUMBERS: &[&str] = &["two", "three", "five", "seven", "nine", "eleven", "twelve", "forty", "a hundred", "thirteen"];
#[rustfmt::skip]
const FIRST: &[&str] = &["Ada", "Tomas", "Ines", "Bram", "Odile", "Kofi", "Signe", "Mateo", "Yuki", "Pilar", "Anselm", "Noor"];
#[rustfmt::skip]
const LAST: &[&str] = &["Fennimore", "Quill", "Marlow", "Oakapple", "Sundby", "Larkin", "Teasel", "Okoro", "Vane", "Hollis"];

const TITLES: &[&str] = &[
    "The {is} {noun} of {place}",
    "{doing} the {noun}: notes from {place}",
    "What {some} {noun}s taught us about {doing} the {noun}",
    "{some} {noun}s later",
    "Another {is} {noun}, this time at {place}",
    "Why nobody talks about the {noun} at {place}",
    "On {doing} {is} {noun}s",
    "{place} welcomes its {is} {noun}",
    "In praise of the {is} {noun}",
    "{first} {last} has been {doing} {noun}s for {some} years",
    "A short history of {doing} {noun}s",
    "The {noun} and the {noun}",
    "Seen at {place}: {some} {noun}s",
    "Please return the {noun} to {place}",
    "How {place} lost its {noun} and found a {noun}",
];

const SENTENCES: &[&str] = &[
    "Nobody at {place} had expected the {is} {noun} to last the winter, least of all {first} {last}.",
    "It took {some} people and one {noun} to carry it home.",
    "We spent the morning {doing} the {noun}, and the afternoon explaining why.",
    "The {noun} is {is}, as every child at {place} knows, and it does not like the rain.",
    "{first} {last} says that {doing} {noun}s is mostly patience and a little string.",
    "There were {some} of them yesterday, and {some} today, and nobody has moved.",
    "If you find the {is} {noun}, leave it where it is and tell {first}.",
    "By evening the whole of {place} smelled of varnish and warm bread.",
    "The committee met at {place}, agreed that the {noun} was {is}, and went home early.",
    "Somebody has been {doing} our {noun} again, and doing it rather well.",
    "A {noun} costs more than it did, but it also sings, which the old one did not.",
    "The tide came in, the {noun} went out, and that was that.",
    "We still do not know who left {some} {noun}s at {place}, but we have given them names.",
];
