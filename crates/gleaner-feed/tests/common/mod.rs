//! Renders a feed as lines of text: every field that is set.

use std::fmt::{Debug, Write};

use gleaner_feed::{Entry, Feed, Itunes, Link, Media, Person, Repairs, Text};

pub(crate) fn render(feed: &Feed) -> String {
    let mut out = Lines(String::new());
    out.line("format", format!("{:?} {}", feed.format, feed.version.as_deref().unwrap_or("-")));
    out.line("encoding", feed.encoding);
    out.some("id", &feed.id);
    out.text("title", &feed.title);
    out.text("description", &feed.description);
    out.some("link", &feed.link);
    out.links(&feed.links);
    out.some("language", &feed.language);
    out.some("icon", &feed.icon);
    out.some("image", &feed.image);
    out.text("rights", &feed.rights);
    out.some("generator", &feed.generator);
    out.time("published", feed.published);
    out.time("updated", feed.updated);
    out.people("author", &feed.authors);
    for category in &feed.categories {
        out.line("category", format!("{category:?}"));
    }
    let schedule = &feed.schedule;
    out.value("ttl", schedule.ttl_minutes);
    if !schedule.skip_hours.is_empty() {
        out.line("skip hours", format!("{:?}", schedule.skip_hours.iter().collect::<Vec<_>>()));
    }
    if !schedule.skip_days.is_empty() {
        out.line("skip days", format!("{:?}", schedule.skip_days.iter().collect::<Vec<_>>()));
    }
    out.value("update interval", schedule.update_interval());
    out.time("update base", schedule.base);
    out.itunes(feed.itunes.as_deref());
    for (index, entry) in feed.entries.iter().enumerate() {
        out.line("entry", index + 1);
        out.entry(entry);
    }
    if let Some(entry) = &feed.cut_entry {
        out.line("cut entry", "");
        out.entry(entry);
    }
    out.repairs(&feed.repairs);
    out.0
}

struct Lines(String);

impl Lines {
    fn line(&mut self, name: &str, value: impl std::fmt::Display) {
        let value = value.to_string().replace('\n', "\\n");
        writeln!(self.0, "{name}: {value}").expect("a string takes every line");
    }

    fn some(&mut self, name: &str, value: &Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.line(name, value.as_ref());
        }
    }

    fn value(&mut self, name: &str, value: Option<impl Debug>) {
        if let Some(value) = value {
            self.line(name, format!("{value:?}"));
        }
    }

    fn text(&mut self, name: &str, text: &Option<Text>) {
        if let Some(text) = text {
            self.line(&format!("{name} ({:?})", text.kind), &text.value);
            let plain = text.plain();
            if plain != text.value {
                self.line("  plain", plain);
            }
        }
    }

    fn time(&mut self, name: &str, time: Option<i64>) {
        if let Some(time) = time {
            self.line(name, iso(time));
        }
    }

    fn links(&mut self, links: &[Link]) {
        for link in links {
            let details = [&link.mime.as_deref(), &link.title.as_deref(), &link.hreflang.as_deref()];
            let details: Vec<&str> = details.into_iter().filter_map(|detail| *detail).collect();
            self.line(
                &format!("link {:?}", link.rel),
                format!("{} {}", link.href, details.join(", ")).trim_end(),
            );
        }
    }

    fn people(&mut self, name: &str, people: &[Person]) {
        for Person { name: person, email, uri } in people {
            let parts = [person, email, uri].map(|part| part.as_deref().unwrap_or("-"));
            self.line(name, parts.join(" | "));
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let start = self.0.len();
        self.some("id", &entry.id);
        if !entry.id_is_permalink {
            self.line("permalink", "no");
        }
        self.text("title", &entry.title);
        self.some("link", &entry.link);
        if entry.url() != entry.link.as_deref() {
            self.some("url", &entry.url());
        }
        self.links(&entry.links);
        self.time("published", entry.published);
        self.time("updated", entry.updated);
        self.time("created", entry.created);
        self.people("author", &entry.authors);
        self.people("contributor", &entry.contributors);
        for category in &entry.categories {
            self.line("category", format!("{category:?}"));
        }
        self.text("summary", &entry.summary);
        if let Some(content) = &entry.content {
            self.text("content", &Some(content.text.clone()).filter(|text| !text.is_blank()));
            self.some("content type", &content.mime);
            self.some("content src", &content.src);
        }
        for file in &entry.enclosures {
            self.line("enclosure", format!("{file:?}"));
        }
        for media in &entry.media {
            self.media(media);
        }
        self.itunes(entry.itunes.as_deref());
        self.some("comments", &entry.comments);
        self.some("comments feed", &entry.comments_feed);
        self.value("comment count", entry.comment_count);
        if let Some(source) = &entry.source {
            self.line("source", format!("{source:?}"));
        }
        self.value("place", entry.place.as_deref());
        self.text("rights", &entry.rights);
        self.some("language", &entry.language);
        self.some("base", &entry.base);
        let indented: String = self.0[start..].lines().map(|line| format!("  {line}\n")).collect();
        self.0.replace_range(start.., &indented);
    }

    fn media(&mut self, media: &Media) {
        self.line("media", media.url.as_deref().unwrap_or("-"));
        let name = |text: &str| format!("  media {text}");
        self.some(&name("type"), &media.mime);
        self.some(&name("medium"), &media.medium);
        self.value(&name("length"), media.length);
        self.value(&name("duration"), media.duration);
        self.value(&name("size"), media.width.zip(media.height));
        self.some(&name("title"), &media.title);
        self.some(&name("description"), &media.description);
        for thumbnail in &media.thumbnails {
            self.line(&name("thumbnail"), thumbnail);
        }
        self.value(&name("group"), media.group);
    }

    fn itunes(&mut self, itunes: Option<&Itunes>) {
        let Some(itunes) = itunes else { return };
        self.value("duration", itunes.duration);
        self.value("episode", itunes.episode);
        self.value("season", itunes.season);
        self.some("kind", &itunes.kind);
        self.some("cover", &itunes.image);
        self.value("explicit", itunes.explicit);
        self.some("podcast subtitle", &itunes.subtitle);
        self.some("podcast summary", &itunes.summary);
        self.some("transcript", &itunes.transcript);
        self.some("chapters", &itunes.chapters);
        self.some("new feed url", &itunes.new_feed_url);
        self.people("owner", itunes.owner.as_slice());
    }

    fn repairs(&mut self, repairs: &Repairs) {
        let all = format!("{repairs:?}");
        let inside = all.trim_start_matches("Repairs {").trim_end_matches('}');
        let made = inside.split(',').filter_map(|repair| repair.trim().strip_suffix(": true"));
        for repair in made {
            self.line("repaired", repair);
        }
    }
}

/// Formats a time as ISO 8601, so that expectations are readable.
fn iso(time: i64) -> String {
    let (day, of_day) = (time.div_euclid(86_400_000), time.rem_euclid(86_400_000));
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (year_of_era + era * 400 + i64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let (seconds, milliseconds) = (of_day / 1000, of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}
