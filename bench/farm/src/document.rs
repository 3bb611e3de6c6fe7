//! The feeds, rendered in advance so that serving one is a single vectored write.
//!
//! The long part of an entry comes from a pool that all feeds share, which keeps ten thousand feeds of 53 KB in
//! less than 200 MB. Title, link, id, date and first paragraph are unique, so that no two entries are equal.

use std::io::IoSlice;

use crate::date;
use crate::options::Options;
use crate::words::{self, Random};

/// Number of articles in the pool.
const ARTICLES: usize = 256;

/// Bytes of HTML per article, which makes a feed of 25 entries 53 KB.
const RSS_ARTICLE: usize = 1250;
/// Fewer bytes, since the markup is escaped.
const ATOM_ARTICLE: usize = 1130;

/// Seconds between two entries of a feed.
const ENTRY_GAP: u64 = 1800;

/// The ends of entries, from the second paragraph on.
#[derive(Debug)]
pub(crate) struct Pool {
    rss: Vec<Vec<u8>>,
    atom: Vec<Vec<u8>>,
}

impl Pool {
    pub(crate) fn new(options: &Options) -> Self {
        let ends = |salt, make: fn(&mut Random) -> String| {
            (0..ARTICLES as u64).map(|n| make(&mut Random::new(options.seed, salt, n)).into_bytes()).collect()
        };
        Self { rss: ends(1, rss_end), atom: ends(2, atom_end) }
    }

    fn ends(&self, atom: bool) -> &[Vec<u8>] {
        if atom { &self.atom } else { &self.rss }
    }
}

fn rss_end(random: &mut Random) -> String {
    let article = words::article(random, RSS_ARTICLE);
    let mut summary = String::new();
    words::words(&mut summary, random, 28);
    format!(
        "{article}]]></content:encoded>\n<description><![CDATA[{summary} [&#8230;]]]></description>\n</item>\n"
    )
}

fn atom_end(random: &mut Random) -> String {
    let article = escape(&words::article(random, ATOM_ARTICLE));
    let mut summary = String::new();
    words::words(&mut summary, random, 28);
    format!("{article}</content>\n<summary type=\"html\">{summary} &amp;hellip;</summary>\n</entry>\n")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// All feeds of one generation.
#[derive(Debug)]
pub(crate) struct Documents {
    pub(crate) generation: u64,
    all: Vec<Document>,
}

#[derive(Debug)]
pub(crate) struct Document {
    atom: bool,
    /// The parts that are not shared, in order.
    own: Box<[u8]>,
    /// The offsets in `own` at which articles of the pool are inserted.
    seams: Vec<(u32, u16)>,
    /// Status line and headers of a full response.
    head: Vec<u8>,
    /// The 304 response.
    pub(crate) not_modified: Vec<u8>,
    pub(crate) etag: String,
    pub(crate) last_modified: String,
}

impl Documents {
    pub(crate) fn render(options: &Options, pool: &Pool, generation: u64) -> Self {
        let all = (0..options.feeds).map(|feed| Document::render(options, pool, feed, generation)).collect();
        Self { generation, all }
    }

    pub(crate) fn get(&self, feed: u32) -> Option<&Document> {
        self.all.get(feed as usize)
    }

    pub(crate) fn entries(&self) -> u64 {
        self.all.iter().map(|document| document.seams.len() as u64).sum()
    }

    pub(crate) fn bytes(&self, pool: &Pool) -> u64 {
        self.all.iter().map(|document| document.body(pool).map(|part| part.len() as u64).sum::<u64>()).sum()
    }
}

impl Document {
    fn render(options: &Options, pool: &Pool, feed: u32, generation: u64) -> Self {
        let atom = Options::is_atom(feed);
        let count = u64::from(options.entries_of(feed));
        let modified = options.epoch + generation * ENTRY_GAP;
        let mut own = String::with_capacity(600 * (count as usize + 1));
        let mut seams = Vec::with_capacity(count as usize);
        channel(&mut own, options, feed, modified);
        // Newest first.
        for number in (generation..generation + count).rev() {
            let mut random = Random::new(options.seed ^ 0xe417, u64::from(feed), number);
            let published = (options.epoch + (number + 1) * ENTRY_GAP).saturating_sub(count * ENTRY_GAP);
            entry(&mut own, &mut random, feed, number, published);
            seams.push((own.len() as u32, random.below(ARTICLES) as u16));
        }
        own.push_str(if atom { "</feed>\n" } else { "</channel>\n</rss>\n" });
        let mut document = Self {
            atom,
            own: own.into_bytes().into_boxed_slice(),
            seams,
            head: Vec::new(),
            not_modified: Vec::new(),
            etag: format!("\"{feed:x}-{generation:x}\""),
            last_modified: date::http(modified),
        };
        document.add_headers(options, pool);
        document
    }

    fn add_headers(&mut self, options: &Options, pool: &Pool) {
        let length: usize = self.body(pool).map(<[u8]>::len).sum();
        let kind = if self.atom { "atom" } else { "rss" };
        let mut validators = format!("ETag: {}\r\nLast-Modified: {}\r\n", self.etag, self.last_modified);
        if let Some(seconds) = options.max_age {
            validators.push_str(&format!("Cache-Control: max-age={seconds}\r\n"));
        }
        self.head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/{kind}+xml; charset=utf-8\r\n\
             Content-Length: {length}\r\n{validators}\r\n"
        )
        .into_bytes();
        self.not_modified = format!("HTTP/1.1 304 Not Modified\r\n{validators}\r\n").into_bytes();
    }

    /// The document in pieces.
    pub(crate) fn body<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a [u8]> {
        let ends = pool.ends(self.atom);
        let starts = std::iter::once(0).chain(self.seams.iter().map(|seam| seam.0 as usize));
        let stops = self.seams.iter().map(|seam| seam.0 as usize).chain([self.own.len()]);
        let articles = self.seams.iter().map(|seam| ends[usize::from(seam.1)].as_slice()).chain([&[][..]]);
        starts.zip(stops).zip(articles).flat_map(|((start, stop), article)| [&self.own[start..stop], article])
    }

    /// The whole response, for one vectored write.
    pub(crate) fn answer<'a>(&'a self, pool: &'a Pool) -> Vec<IoSlice<'a>> {
        let mut parts = Vec::with_capacity(2 * self.seams.len() + 3);
        parts.push(IoSlice::new(&self.head));
        parts.extend(self.body(pool).filter(|part| !part.is_empty()).map(IoSlice::new));
        parts
    }
}

/// Everything before the first entry. It contains no address, so that a feed is identical on every port.
fn channel(to: &mut String, options: &Options, feed: u32, modified: u64) {
    let mut title = String::new();
    words::words(&mut title, &mut Random::new(options.seed, 3, u64::from(feed)), 3);
    let site = format!("https://site-{feed}.example.org");
    to.push_str(&if Options::is_atom(feed) {
        format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
             <title>{title}</title>\n<id>{site}/</id>\n<link rel=\"alternate\" type=\"text/html\" href=\"{site}/\"/>\n\
             <link rel=\"self\" type=\"application/atom+xml\" href=\"{site}/atom.xml\"/>\n<updated>{}</updated>\n",
            date::rfc3339(modified)
        )
    } else {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\" \
             xmlns:content=\"http://purl.org/rss/1.0/modules/content/\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" \
             xmlns:atom=\"http://www.w3.org/2005/Atom\">\n<channel>\n<title>{title}</title>\n<link>{site}/</link>\n\
             <atom:link href=\"{site}/feed/\" rel=\"self\" type=\"application/rss+xml\" />\n\
             <description>{title}, every day</description>\n<lastBuildDate>{}</lastBuildDate>\n<language>en</language>\n",
            date::http(modified)
        )
    });
}

/// An entry up to the end of its first paragraph.
fn entry(to: &mut String, random: &mut Random, feed: u32, number: u64, published: u64) {
    let mut title = String::new();
    let count = 5 + random.below(4);
    words::words(&mut title, random, count);
    let mut lead = String::new();
    words::words(&mut lead, random, 12);
    let author = words::name(random);
    let link = format!("https://site-{feed}.example.org/posts/{number}/");
    to.push_str(&if Options::is_atom(feed) {
        let date = date::rfc3339(published);
        format!(
            "<entry>\n<id>tag:site-{feed}.example.org,2026:{number}</id>\n<title>{title} {number}</title>\n\
             <link rel=\"alternate\" type=\"text/html\" href=\"{link}\"/>\n<published>{date}</published>\n\
             <updated>{date}</updated>\n<author><name>{author}</name></author>\n\
             <content type=\"html\">&lt;p&gt;Number {number} of {feed}: {lead}.&lt;/p&gt;\n"
        )
    } else {
        let date = date::http(published);
        format!(
            "<item>\n<title>{title} {number}</title>\n<link>{link}</link>\n\
             <guid isPermaLink=\"false\">https://site-{feed}.example.org/?p={number}</guid>\n<pubDate>{date}</pubDate>\n\
             <dc:creator><![CDATA[{author}]]></dc:creator>\n<category><![CDATA[News]]></category>\n\
             <content:encoded><![CDATA[<p>Number {number} of {feed}: {lead}.</p>\n"
        )
    });
}
