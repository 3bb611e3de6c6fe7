//! Generated feeds modelled on real ones, or the feeds of a directory.

use std::fmt::Write;
use std::path::Path;

pub struct Document {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The documents of the directory in `FEEDS`, largest first, at most 20; or else generated ones.
pub fn documents() -> Vec<Document> {
    match std::env::var_os("FEEDS") {
        Some(directory) => from_directory(Path::new(&directory)),
        None => generated(),
    }
}

fn from_directory(directory: &Path) -> Vec<Document> {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut documents: Vec<Document> = files
        .filter_map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            Some(Document { name, bytes: std::fs::read(file.path()).ok()? })
        })
        .collect();
    documents.sort_by_key(|document| std::cmp::Reverse(document.bytes.len()));
    documents.truncate(20);
    documents
}

/// Twenty feeds of five kinds, with about 8 KB per entry, like large real feeds.
pub fn generated() -> Vec<Document> {
    type Kind = (&'static str, fn(&mut Writer, usize) -> String, usize);
    let kinds: [Kind; 5] = [
        ("weblog", weblog, 40),
        ("escaped", escaped, 40),
        ("xhtml", xhtml, 40),
        ("podcast", podcast, 60),
        ("news", news, 60),
    ];
    let mut documents = Vec::new();
    for round in 1..=4 {
        for (name, write, entries) in kinds {
            let mut writer = Writer { state: 0x9E37_79B9 + round as u64 };
            let text = write(&mut writer, entries * round);
            documents.push(Document { name: format!("{name}-{round}"), bytes: text.into_bytes() });
        }
    }
    documents
}

pub struct Writer {
    state: u64,
}

impl Writer {
    fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % limit
    }

    fn words(&mut self, count: usize) -> String {
        const WORDS: &[&str] = &[
            "the",
            "of",
            "and",
            "feed",
            "reader",
            "harvest",
            "field",
            "caf\u{e9}",
            "autumn",
            "because",
            "quiet",
            "between",
            "number",
            "it\u{2019}s",
            "morning",
            "letter",
            "system",
            "water",
            "na\u{ef}ve",
            "thought",
            "publish",
            "with",
            "a",
            "in",
            "to",
            "that",
            "was",
            "weather",
            "Thursday",
            "network",
        ];
        let mut text = String::new();
        for index in 0..count {
            if index > 0 {
                text.push(' ');
            }
            text.push_str(WORDS[self.below(WORDS.len() as u64) as usize]);
        }
        text
    }

    /// Paragraphs of HTML, as an editor produces them.
    fn html(&mut self, paragraphs: usize) -> String {
        let mut html = String::new();
        for index in 0..paragraphs {
            let words = 30 + self.below(60) as usize;
            let (before, linked, after) = (self.words(words), self.words(3), self.words(words / 2));
            let page = self.below(100_000);
            let _ = match index % 4 {
                3 => writeln!(
                    html,
                    "<figure class=\"wp-block-image\"><img src=\"https://example.com/i/{page}.jpg\" alt=\"{linked}\" \
                     width=\"1024\" height=\"683\"/><figcaption>{linked}</figcaption></figure>"
                ),
                _ => writeln!(
                    html,
                    "<p>{before} <a href=\"https://example.com/{page}?a=1&amp;b=2\">{linked}</a>, <em>{linked}</em> \
                     {after}.</p>"
                ),
            };
        }
        html
    }

    fn date(&mut self) -> (u64, u64, u64) {
        (1 + self.below(28), self.below(24), self.below(60))
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// RSS of a blog: a summary, and the full text in a CDATA section.
fn weblog(writer: &mut Writer, entries: usize) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><rss version=\"2.0\"\n\
         \txmlns:content=\"http://purl.org/rss/1.0/modules/content/\"\n\
         \txmlns:wfw=\"http://wellformedweb.org/CommentAPI/\"\n\txmlns:dc=\"http://purl.org/dc/elements/1.1/\"\n\
         \txmlns:atom=\"http://www.w3.org/2005/Atom\"\n\
         \txmlns:sy=\"http://purl.org/rss/1.0/modules/syndication/\"\n\
         \txmlns:slash=\"http://purl.org/rss/1.0/modules/slash/\">\n<channel>\n<title>A weblog</title>\n\
         <atom:link href=\"https://example.com/feed/\" rel=\"self\" type=\"application/rss+xml\" />\n\
         <link>https://example.com</link>\n<description>Of fields</description>\n<language>en-US</language>\n\
         <sy:updatePeriod>hourly</sy:updatePeriod>\n<sy:updateFrequency>1</sy:updateFrequency>\n",
    );
    for index in 0..entries {
        let (title, html, teaser) = (writer.words(8), writer.html(30), writer.words(40));
        let (day, hour, minute) = writer.date();
        let _ = write!(
            out,
            "\t<item>\n\t\t<title>{title} &#8211; {index}</title>\n\t\t<link>https://example.com/{index}/</link>\n\
             \t\t<comments>https://example.com/{index}/#comments</comments>\n\
             \t\t<dc:creator><![CDATA[Jo Doe]]></dc:creator>\n\
             \t\t<pubDate>Mon, {day:02} Jan 2024 {hour:02}:{minute:02}:00 +0000</pubDate>\n\
             \t\t<category><![CDATA[Fields]]></category>\n\t\t<category><![CDATA[Feeds]]></category>\n\
             \t\t<guid isPermaLink=\"false\">https://example.com/?p={index}</guid>\n\
             \t\t<description><![CDATA[{teaser} [&#8230;]]]></description>\n\
             \t\t<content:encoded><![CDATA[{html}]]></content:encoded>\n\
             \t\t<wfw:commentRss>https://example.com/{index}/feed/</wfw:commentRss>\n\
             \t\t<slash:comments>{minute}</slash:comments>\n\t</item>\n"
        );
    }
    out + "</channel>\n</rss>\n"
}

/// Atom with escaped HTML, as hosted blogs and static site generators produce it.
fn escaped(writer: &mut Writer, entries: usize) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">\n\
         <title type=\"text\">Escaped</title><link href=\"https://example.org/\"/>\
         <link href=\"https://example.org/atom.xml\" rel=\"self\"/><updated>2024-01-05T10:00:00+00:00</updated>\
         <id>https://example.org/</id>\n",
    );
    for index in 0..entries {
        let (title, html, summary) = (writer.words(7), escape(&writer.html(20)), writer.words(30));
        let (day, hour, minute) = writer.date();
        let _ = writeln!(
            out,
            "<entry><title type=\"html\">{title}</title><link href=\"https://example.org/{index}.html\" \
             rel=\"alternate\" type=\"text/html\" title=\"{title}\"/>\
             <published>2024-01-{day:02}T{hour:02}:{minute:02}:00+01:00</published>\
             <updated>2024-01-{day:02}T{hour:02}:{minute:02}:59+01:00</updated>\
             <id>https://example.org/{index}</id><author><name>Jo Doe</name><uri>https://example.org/jo</uri></author>\
             <category term=\"fields\" scheme=\"https://example.org/tags\"/>\
             <summary type=\"html\">{summary}</summary>\
             <content type=\"html\" xml:base=\"https://example.org/{index}.html\">{html}</content></entry>"
        );
    }
    out + "</feed>\n"
}

/// Atom with XHTML.
fn xhtml(writer: &mut Writer, entries: usize) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\
         <title>Inline</title><link href=\"https://example.net/\"/><id>urn:example:inline</id>\
         <updated>2024-01-05T10:00:00Z</updated>\n",
    );
    for index in 0..entries {
        let (title, html) = (writer.words(7), writer.html(20));
        let (day, hour, minute) = writer.date();
        let _ = write!(
            out,
            "<entry>\n  <title>{title}</title>\n  <link href=\"https://example.net/{index}\"/>\n\
             \x20 <id>urn:example:inline:{index}</id>\n\
             \x20 <updated>2024-01-{day:02}T{hour:02}:{minute:02}:00Z</updated>\n\
             \x20 <author><name>Jo Doe</name></author>\n\
             \x20 <content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">{html}</div></content>\n</entry>\n"
        );
    }
    out + "</feed>\n"
}

/// A podcast: many short fields.
fn podcast(writer: &mut Writer, entries: usize) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\" \
         xmlns:itunes=\"http://www.itunes.com/dtds/podcast-1.0.dtd\" \
         xmlns:content=\"http://purl.org/rss/1.0/modules/content/\" \
         xmlns:podcast=\"https://podcastindex.org/namespace/1.0\"><channel><title>A podcast</title>\
         <link>https://example.com/pod</link><description>Talk</description><itunes:author>Jo Doe</itunes:author>\
         <itunes:owner><itunes:name>Jo Doe</itunes:name><itunes:email>jo@example.com</itunes:email></itunes:owner>\
         <itunes:image href=\"https://example.com/cover.jpg\"/><itunes:category text=\"Science\"/>\n",
    );
    for index in 0..entries {
        let (title, html, summary) = (writer.words(6), writer.html(8), writer.words(50));
        let (day, hour, minute) = writer.date();
        let _ = writeln!(
            out,
            "<item><title>{index}: {title}</title><itunes:title>{title}</itunes:title>\
             <link>https://example.com/pod/{index}</link><guid isPermaLink=\"false\">pod-{index}</guid>\
             <pubDate>Tue, {day:02} Feb 2024 {hour:02}:{minute:02}:00 GMT</pubDate>\
             <description>{}</description><content:encoded><![CDATA[{html}]]></content:encoded>\
             <enclosure url=\"https://example.com/pod/{index}.mp3\" length=\"{}\" type=\"audio/mpeg\"/>\
             <itunes:duration>0{}:{minute:02}:10</itunes:duration><itunes:episode>{index}</itunes:episode>\
             <itunes:season>1</itunes:season><itunes:episodeType>full</itunes:episodeType>\
             <itunes:image href=\"https://example.com/pod/{index}.jpg\"/><itunes:explicit>false</itunes:explicit>\
             <itunes:summary>{summary}</itunes:summary>\
             <podcast:transcript url=\"https://example.com/pod/{index}.vtt\" type=\"text/vtt\"/></item>",
            escape(&html),
            10_000_000 + index,
            hour % 10,
        );
    }
    out + "</channel></rss>\n"
}

/// News: short summaries with images.
fn news(writer: &mut Writer, entries: usize) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\" \
         xmlns:media=\"http://search.yahoo.com/mrss/\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n<channel>\
         <title>News</title><link>https://news.example.com/</link><description>All of it</description>\
         <ttl>15</ttl><image><url>https://news.example.com/logo.png</url><title>News</title>\
         <link>https://news.example.com/</link></image>\n",
    );
    for index in 0..entries {
        let (title, teaser, caption) = (writer.words(10), writer.words(60), writer.words(12));
        let (day, hour, minute) = writer.date();
        let _ = write!(
            out,
            "    <item>\n      <title><![CDATA[{title}]]></title>\n      <description><![CDATA[{teaser}]]></description>\n\
             \x20     <link>https://news.example.com/world/{index}?at_medium=RSS&amp;at_campaign=news</link>\n\
             \x20     <guid isPermaLink=\"true\">https://news.example.com/world/{index}</guid>\n\
             \x20     <pubDate>Wed, {day:02} Mar 2024 {hour:02}:{minute:02}:31 GMT</pubDate>\n\
             \x20     <dc:creator>Jo Doe</dc:creator>\n\
             \x20     <media:content url=\"https://news.example.com/i/{index}.jpg\" medium=\"image\" width=\"976\" \
             height=\"549\"><media:description>{caption}</media:description></media:content>\n\
             \x20     <media:thumbnail width=\"240\" height=\"135\" url=\"https://news.example.com/t/{index}.jpg\"/>\n\
             \x20     <category>World</category>\n    </item>\n"
        );
    }
    out + "</channel>\n</rss>\n"
}
