//! Who publishes on the small internet, and what happens to them.

use super::story::Act::{CutShort, Garbled, Huge, Inward, Limited, Moved, Slow, Stalled, Status};
use super::story::Part::{Atom, Index, Json, Page, Rss, Teaser, Timeline};
use super::story::{Part, Player, Spell};

const PAPERS: &str = "Papers";
const TOWN: &str = "Town hall";
const NATURE: &str = "Nature and science";
const BLOGS: &str = "Blogs";

const fn player(
    name: &'static str,
    collection: &'static str,
    part: Part,
    host: &'static str,
    dir: &'static str,
    (interval, pace): (u32, u64),
    plot: &'static [Spell],
) -> Player {
    Player { name, collection, part, host, dir, interval, pace, plot, policy: None, watch: None }
}

impl Player {
    const fn under(self, policy: &'static str) -> Self {
        Self { policy: Some(policy), ..self }
    }

    const fn watch(self, why: &'static str) -> Self {
        Self { watch: Some(why), ..self }
    }
}

/// Six hours without the town hall's pages, every day, whatever the reason may be.
const CLOSED: &[Spell] = &[Spell::every(24, -71, 6, Status(404))];
/// Too many readers, again and again.
const CROWDED: &[Spell] = &[Spell::every(15, -58, 4, Limited(2))];

/// All of them.
#[rustfmt::skip]
pub static CAST: &[Player] = &[
    player("The Harbour Gazette", PAPERS, Rss, "gazette.example", "/", (15, 25), &[])
        .watch("has something new all the time"),
    player("Harbour Gazette: Letters", PAPERS, Atom, "gazette.example", "/letters/", (30, 140), &[]),
    player("Harbour Gazette: Weather", PAPERS, Json, "gazette.example", "/weather/", (30, 90), &[]),
    player("The Upper Thistle Courier", PAPERS, Rss, "courier.example", "/", (30, 60), &[]),
    player("Ferry Times", PAPERS, Rss, "ferrytimes.example", "/", (30, 70), CROWDED)
        .watch("is asked too often for its taste (429, Retry-After), and left alone as long as it says"),
    player("Ferry Times: Delays", PAPERS, Rss, "ferrytimes.example", "/delays/", (30, 120), CROWDED),
    player("Night Market News", PAPERS, Atom, "nightmarket.example", "/", (30, 80), &[Spell::every(11, -62, 3, Status(503))]),
    player("The Salt Line", PAPERS, Rss, "saltline.example", "/", (45, 150), &[Spell::every(17, -60, 2, CutShort)]),
    player("Evening Kettle", PAPERS, Rss, "kettle.example", "/", (60, 110), &[Spell::since(-720, Slow)]),

    player("Council notices", TOWN, Rss, "townhall.example", "/notices/", (30, 200), CLOSED)
        .watch("answers 404 for six hours every day with all of its host, and is never given up for it"),
    player("Council minutes", TOWN, Atom, "townhall.example", "/minutes/", (60, 420), CLOSED),
    player("Roadworks", TOWN, Json, "townhall.example", "/roadworks/", (60, 240), CLOSED),
    player("Lost and found", TOWN, Rss, "townhall.example", "/lost-and-found/", (30, 100), CLOSED),
    player("Harbour Board: today", TOWN, Page, "harbourboard.example", "/", (60, 300), &[]),
    player("The Ticket Office", TOWN, Rss, "tickets.example", "/", (60, 300), &[Spell::once(-26, 24, Status(500))])
        .under("quarantine"),

    player("The Moth Almanac", NATURE, Rss, "moths.example", "/", (30, 90), &[Spell::every(36, 3, 9, Status(410))])
        .watch("is gone (410): set aside at once, asked less and less often, and welcomed back"),
    player("The Lighthouse Log", NATURE, Atom, "lighthouse.example", "/", (60, 130), &[Spell::once(-28, 42, Status(404))])
        .watch("is missing (404) since yesterday: asked less and less often, set aside after a day, back once it answers"),
    player("Tidal Observations", NATURE, Json, "tides.example", "/", (30, 60), &[]),
    player("Observatory Bulletin", NATURE, Atom, "observatory.example", "/", (60, 180), &[Spell::every(24, 2, 4, Stalled)]),
    player("Journal of Small Clocks", NATURE, Rss, "clocks.example", "/", (60, 160), &[Spell::since(-43, Moved)])
        .watch("moved (301) the day before yesterday: when it is sure, its address changes"),
    player("The Fungus Quarterly", NATURE, Atom, "fungus.example", "/", (60, 200), &[Spell::once(-38, 48, Garbled)]),
    player("Clouds, Mostly", NATURE, Rss, "clouds.example", "/", (30, 75), &[]),
    player("Star Charts", NATURE, Rss, "starcharts.example", "/", (60, 240), &[Spell::every(22, 7, 3, Huge)]),
    player("Beekeepers' Circular", NATURE, Rss, "beekeepers.example", "/", (60, 240), &[Spell::since(-60, Status(401))]),
    player("Heron Watch", NATURE, Rss, "herons.example", "/", (30, 100), &[Spell::every(31, -13, 11, Status(503))]),

    player("Ada's Allotment", BLOGS, Atom, "commons.example", "/ada/", (60, 300), &[]),
    player("The Left-Handed Violin", BLOGS, Rss, "commons.example", "/violin/", (60, 360), &[]),
    player("Paper Boats", BLOGS, Json, "commons.example", "/boats/", (60, 280), &[]),
    player("Umbrella Repair for Beginners", BLOGS, Rss, "commons.example", "/umbrellas/", (120, 600), &[]),
    player("The Teapot Museum", BLOGS, Atom, "commons.example", "/teapots/", (60, 420), &[Spell::once(-44, 70, Status(403))]),
    player("Letters from a Slow Train", BLOGS, Atom, "slowtrain.example", "/", (30, 120), &[]),
    player("Stairs and Ladders", BLOGS, Rss, "stairs.example", "/", (45, 190), &[Spell::every(27, 6, 7, Garbled)]),
    player("Long Reads from Gull Rock", BLOGS, Teaser, "gullrock.example", "/", (60, 240), &[]),
    player("The Orchard Diary", BLOGS, Index, "orchard.example", "/", (60, 150), &[]),
    player("Notes from Platform 3", BLOGS, Index, "platform3.example", "/", (60, 260), &[Spell::every(40, 14, 6, Status(502))]),
    player("Cake of the Day", BLOGS, Page, "bakery.example", "/", (60, 400), &[]),
    player("Free Teapots", BLOGS, Rss, "freeteapots.example", "/", (60, 300), &[Spell::every(50, 9, 8, Inward)]),
    player("Last Post", BLOGS, Rss, "lastpost.example", "/", (60, 300), &[Spell::since(-50, Status(410))]),
    player("The Vanished Village", BLOGS, Atom, super::VANISHED, "/", (60, 300), &[]),
    player("The Old Guestbook", BLOGS, Rss, "guestbook.example", "/", (60, 300), &[Spell::since(-66, Status(404))])
        .under("backoff"),
    player("The Cuckoo Clock", BLOGS, Rss, "cuckoo.example", "/", (60, 180), &[Spell::once(-34, 30, Status(404))])
        .under("cooldown"),

    player("@harbour_pilot", PAPERS, Timeline, "x.com", "/harbour_pilot", (30, 45), &[]),
    player("@clocktower", TOWN, Timeline, "x.com", "/clocktower", (30, 60), &[]),
    player("@moth_of_the_day", NATURE, Timeline, "x.com", "/moth_of_the_day", (60, 150), &[Spell::every(29, 5, 4, Limited(1))]),

    player(NEWCOMER, "", Rss, "newcomer.example", "/", (0, 40), &[]),
];

/// Who is not followed yet.
pub const NEWCOMER: &str = "The Newcomer";
