//! Publishers of every habit, and what they really published.

use gleaner_core::time::{Span, Time};

/// An entry as a document has it.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) guid: Option<String>,
    pub(super) link: Option<String>,
    pub(super) title: Option<String>,
    pub(super) html: Option<String>,
    pub(super) date: Option<Time>,
}

/// What a post must say in the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Said {
    pub(super) title: String,
    pub(super) html: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guid {
    Own,
    Missing,
    /// One for all.
    Constant,
    /// Another one for each entry in every seventh edition.
    Rotating,
    /// The place in the list.
    Place,
    /// None at first, later each its own.
    Late,
    /// Numbers, which two publishers use independently.
    Number,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Own,
    Missing,
    Constant,
    /// With a tracking parameter that differs in every edition.
    Tracked,
    /// Another host from edition to edition.
    Moving,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Title {
    Own,
    Missing,
    Constant,
    /// One of three.
    Few,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Own,
    Missing,
    /// One for all, until it is edited.
    Equal,
    /// A picture of its own, and no words.
    Image,
    /// One of three.
    Few,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Date {
    Own,
    Missing,
    /// That of the document.
    Moving,
    /// The same for all.
    Equal,
    /// A day after that of the entry before.
    Daily,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Window {
    One,
    /// So many of the newest.
    Newest(usize),
    /// Between one and so many of the newest.
    Breathing(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Never,
    Title,
    Body,
    TitleOrBody,
    TitleAndBody,
}

/// A publisher's habits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    guid: Guid,
    link: Link,
    title: Title,
    body: Body,
    date: Date,
    window: Window,
    edit: Edit,
    /// Whether entries are published once more under another guid and link.
    copies: bool,
    shuffled: bool,
    /// Whether two publishers take turns: one, both, the other, both.
    merged: bool,
}

const PLAIN: Shape = Shape {
    guid: Guid::Own,
    link: Link::Own,
    title: Title::Own,
    body: Body::Own,
    date: Date::Own,
    window: Window::Newest(10),
    edit: Edit::TitleOrBody,
    copies: false,
    shuffled: false,
    merged: false,
};

pub(super) const SHAPES: &[(&str, Shape)] = &[
    ("plain", Shape { edit: Edit::TitleAndBody, ..PLAIN }),
    ("shuffled", Shape { shuffled: true, window: Window::Breathing(12), ..PLAIN }),
    ("no dates", Shape { date: Date::Missing, window: Window::Breathing(8), ..PLAIN }),
    ("moving dates", Shape { date: Date::Moving, ..PLAIN }),
    ("rotating guids", Shape { guid: Guid::Rotating, ..PLAIN }),
    (
        "rotating guids, no dates",
        Shape { guid: Guid::Rotating, date: Date::Missing, shuffled: true, ..PLAIN },
    ),
    (
        "rotating guids, moving dates",
        Shape { guid: Guid::Rotating, date: Date::Moving, edit: Edit::Never, ..PLAIN },
    ),
    ("rotating guids, tracked links", Shape { guid: Guid::Rotating, link: Link::Tracked, ..PLAIN }),
    ("moving links", Shape { link: Link::Moving, ..PLAIN }),
    (
        "latest release",
        Shape { link: Link::Constant, window: Window::One, edit: Edit::TitleAndBody, ..PLAIN },
    ),
    (
        "latest release, no dates",
        Shape { link: Link::Constant, window: Window::One, date: Date::Missing, ..PLAIN },
    ),
    (
        "latest release, no guids",
        Shape { guid: Guid::Missing, link: Link::Constant, window: Window::One, edit: Edit::Body, ..PLAIN },
    ),
    (
        "one link for all",
        Shape { link: Link::Constant, window: Window::Breathing(8), shuffled: true, ..PLAIN },
    ),
    (
        "photo of the day",
        Shape {
            link: Link::Constant,
            title: Title::Constant,
            body: Body::Image,
            date: Date::Daily,
            window: Window::One,
            edit: Edit::Never,
            ..PLAIN
        },
    ),
    ("one guid for all", Shape { guid: Guid::Constant, window: Window::Breathing(5), ..PLAIN }),
    (
        "one guid for all, no dates",
        Shape { guid: Guid::Constant, date: Date::Missing, window: Window::Breathing(5), ..PLAIN },
    ),
    (
        "one guid for all, no links",
        Shape {
            guid: Guid::Constant,
            link: Link::Missing,
            window: Window::Breathing(5),
            edit: Edit::Never,
            ..PLAIN
        },
    ),
    (
        "status",
        Shape {
            guid: Guid::Constant,
            link: Link::Constant,
            title: Title::Few,
            body: Body::Few,
            window: Window::Newest(20),
            edit: Edit::Never,
            ..PLAIN
        },
    ),
    ("guids are places", Shape { guid: Guid::Place, edit: Edit::Never, ..PLAIN }),
    ("guids come late", Shape { guid: Guid::Late, ..PLAIN }),
    ("no guids", Shape { guid: Guid::Missing, shuffled: true, ..PLAIN }),
    ("no guids, edits of all", Shape { guid: Guid::Missing, edit: Edit::TitleAndBody, ..PLAIN }),
    (
        "no guids, no links",
        Shape {
            guid: Guid::Missing,
            link: Link::Missing,
            window: Window::Breathing(9),
            edit: Edit::Never,
            ..PLAIN
        },
    ),
    (
        "no guids, no links, no dates",
        Shape { guid: Guid::Missing, link: Link::Missing, date: Date::Missing, edit: Edit::Never, ..PLAIN },
    ),
    ("no titles", Shape { title: Title::Missing, edit: Edit::Body, ..PLAIN }),
    ("no bodies", Shape { body: Body::Missing, edit: Edit::Title, shuffled: true, ..PLAIN }),
    (
        "equal bodies",
        Shape { body: Body::Equal, edit: Edit::TitleOrBody, window: Window::Newest(30), ..PLAIN },
    ),
    (
        "equal bodies, rotating guids",
        Shape { body: Body::Equal, guid: Guid::Rotating, edit: Edit::Title, ..PLAIN },
    ),
    (
        "pictures",
        Shape { title: Title::Constant, body: Body::Image, date: Date::Equal, edit: Edit::Never, ..PLAIN },
    ),
    ("pictures, no titles", Shape { title: Title::Missing, body: Body::Image, edit: Edit::Never, ..PLAIN }),
    ("copies", Shape { copies: true, edit: Edit::Never, ..PLAIN }),
    (
        "copies, shuffled",
        Shape { copies: true, shuffled: true, window: Window::Breathing(12), edit: Edit::Never, ..PLAIN },
    ),
    ("merged and split", Shape { guid: Guid::Number, merged: true, window: Window::Newest(8), ..PLAIN }),
    (
        "merged and split, no dates",
        Shape {
            guid: Guid::Number,
            merged: true,
            date: Date::Missing,
            window: Window::Breathing(6),
            ..PLAIN
        },
    ),
];

#[derive(Debug, Clone)]
struct Entry {
    /// Which of two publishers it is of.
    of: usize,
    number: usize,
    title: Option<String>,
    html: Option<String>,
    date: Time,
    copies: usize,
    /// As it was last served, once it was.
    served: Option<Said>,
}

impl Entry {
    fn said(&self) -> Said {
        Said { title: self.title.clone().unwrap_or_default(), html: self.html.clone().unwrap_or_default() }
    }
}

pub(super) struct Publisher {
    shape: Shape,
    dice: u64,
    entries: Vec<Entry>,
    edits: usize,
}

impl Publisher {
    pub(super) fn new(shape: &Shape, seed: u64) -> Self {
        Self {
            shape: *shape,
            dice: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            entries: Vec::new(),
            edits: 0,
        }
    }

    /// What was published and served, as it was last served.
    pub(super) fn truth(&self) -> Vec<Said> {
        self.entries.iter().filter_map(|entry| entry.served.clone()).collect()
    }

    /// How many changes of entries were served.
    pub(super) const fn edits(&self) -> usize {
        self.edits
    }

    fn draw(&mut self, below: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        usize::try_from(self.dice >> 33).unwrap() % below
    }

    /// The next document.
    pub(super) fn edition(&mut self, edition: u32, now: Time) -> Vec<Item> {
        let publishers = if self.shape.merged { 2 } else { 1 };
        for of in 0..publishers {
            let count = match (edition, self.shape.window) {
                (0, Window::Newest(_) | Window::Breathing(_)) => 5,
                (_, Window::One) => usize::from(self.draw(3) > 0 || edition == 0),
                _ => self.draw(3),
            };
            for _ in 0..count {
                self.publish(of, now);
            }
        }
        let mut listed = self.listed(edition);
        if self.shape.edit != Edit::Never && self.draw(2) == 0 {
            let place = self.draw(listed.len());
            self.edit(listed[place], edition);
        }
        if self.shape.copies && self.draw(3) == 0 {
            let place = self.draw(listed.len());
            self.entries[listed[place]].copies += 1;
        }
        if self.shape.shuffled {
            for place in (1..listed.len()).rev() {
                let other = self.draw(place + 1);
                listed.swap(place, other);
            }
        }
        let mut items = Vec::new();
        for (place, index) in listed.into_iter().enumerate() {
            let entry = &mut self.entries[index];
            let said = entry.said();
            if entry.served.as_ref().is_some_and(|before| *before != said) {
                self.edits += 1;
            }
            entry.served = Some(said);
            let entry = entry.clone();
            items.push(self.item(&entry, place, edition, now));
            for copy in 0..entry.copies {
                let guid = Some(format!("tag:copy-{copy}-of-{}", entry.number));
                let link = Some(format!("https://copies.test/{copy}/{}", entry.number));
                items.push(Item { guid, link, ..self.item(&entry, place, edition, now) });
            }
        }
        items
    }

    fn publish(&mut self, of: usize, now: Time) {
        let number = self.entries.iter().filter(|entry| entry.of == of).count();
        let draws = (self.draw(3), self.draw(3));
        let name = format!("{of}-{number}");
        let title = match self.shape.title {
            Title::Own => Some(format!("Title of {name}")),
            Title::Missing => None,
            Title::Constant => Some("Photo".to_owned()),
            Title::Few => Some(format!("Status {}", draws.0)),
        };
        let html = match self.shape.body {
            Body::Own => Some(format!("<p>Text of <b>{name}</b></p>")),
            Body::Missing => None,
            Body::Equal => Some("<a href=\"https://news.test/\">Comments</a>".to_owned()),
            Body::Image => Some(format!("<img src=\"https://pictures.test/{name}.jpg\">")),
            Body::Few => Some(format!("<p>It is {}</p>", draws.1)),
        };
        let within = u64::try_from(self.entries.len() % 50).unwrap();
        let date = match self.shape.date {
            Date::Equal => now - Span::from_days(3),
            Date::Daily => now - Span::from_days(1000) + Span::from_days(self.entries.len() as u64),
            // No two at the same second.
            _ => now - Span::from_secs(60 - within),
        };
        self.entries.push(Entry { of, number, title, html, date, copies: 0, served: None });
    }

    /// Entries in the document, the newest first.
    fn listed(&mut self, edition: u32) -> Vec<usize> {
        let count = match self.shape.window {
            Window::One => 1,
            Window::Newest(count) => count,
            Window::Breathing(most) => 1 + self.draw(most),
        };
        let shown: &[usize] = match (self.shape.merged, edition / 5 % 4) {
            (false, _) | (true, 0) => &[0],
            (true, 2) => &[1],
            (true, _) => &[0, 1],
        };
        let mut listed = Vec::new();
        for of in shown {
            let own = self.entries.iter().enumerate().rev().filter(|(_, entry)| entry.of == *of);
            listed.extend(own.map(|(index, _)| index).take(count));
        }
        listed
    }

    /// Changes an entry that was served before.
    fn edit(&mut self, index: usize, edition: u32) {
        // Whoever rotates guids changes nothing else at the same time.
        if self.entries[index].served.is_none()
            || self.shape.guid == Guid::Rotating && edition.is_multiple_of(7)
        {
            return;
        }
        let half = self.draw(2) == 0;
        let (title, body) = match self.shape.edit {
            Edit::Never => (false, false),
            Edit::Title => (true, false),
            Edit::Body => (false, true),
            Edit::TitleOrBody => (half, !half),
            Edit::TitleAndBody => (true, true),
        };
        let entry = &mut self.entries[index];
        if let Some(text) = entry.title.as_mut().filter(|_| title) {
            text.push_str(" (corrected)");
        }
        if let Some(html) = entry.html.as_mut().filter(|_| body) {
            html.push_str("<p>Corrected.</p>");
        }
    }

    fn item(&self, entry: &Entry, place: usize, edition: u32, now: Time) -> Item {
        let name = format!("{}-{}", entry.of, entry.number);
        let guid = match self.shape.guid {
            Guid::Own => Some(format!("tag:{name}")),
            Guid::Missing => None,
            Guid::Constant => Some("tag:all".to_owned()),
            Guid::Rotating => Some(format!("tag:{name}-{}", edition / 7)),
            Guid::Place => Some(format!("tag:place-{place}")),
            Guid::Late => (edition >= 6).then(|| format!("tag:{name}")),
            Guid::Number => Some(entry.number.to_string()),
        };
        let link = match self.shape.link {
            Link::Own => Some(format!("https://site.test/{name}")),
            Link::Missing => None,
            Link::Constant => Some("https://site.test/latest".to_owned()),
            Link::Tracked => Some(format!("https://site.test/{name}?utm_campaign={edition}")),
            Link::Moving => Some(format!("https://site-{}.test/{name}", edition / 9)),
        };
        let date = match self.shape.date {
            Date::Own | Date::Equal | Date::Daily => Some(entry.date),
            Date::Missing => None,
            Date::Moving => Some(now),
        };
        Item { guid, link, title: entry.title.clone(), html: entry.html.clone(), date }
    }
}
