//! Documents that are something else than they say: other kinds, other charsets, cut anywhere, full of zeros.

use gleaner_core::source::Kind;

use super::{Case, document, feed, rss};

fn item(n: usize) -> String {
    format!("<item><guid>{n}</guid><title>Number {n}</title><description>Text {n}.</description></item>")
}

fn entry(n: usize) -> String {
    format!("<entry><id>{n}</id><title>Number {n}</title><content>Text {n}.</content></entry>")
}

pub(super) fn cases() -> Vec<Case> {
    [truncations(), charsets(), kinds(), zeros()].into_iter().flatten().collect()
}

/// A good document cut at so many places: what was complete is kept, and the tag of the rest is not.
fn truncations() -> Vec<Case> {
    const CUTS: usize = 12;
    let three = |one: fn(usize) -> String| (1..=3).map(one).collect::<String>();
    let atom = format!("<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title>{}</feed>", three(entry));
    let json = "{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"T\",\"items\":[\
                {\"id\":\"1\",\"content_text\":\"Text 1.\"},{\"id\":\"2\",\"content_text\":\"Text 2.\"},\
                {\"id\":\"3\",\"content_text\":\"Text 3.\"}]}";
    // With what each entry ends.
    let documents = [
        ("RSS", "application/rss+xml", rss(&three(item)), "</item"),
        ("Atom", "application/atom+xml", atom, "</entry"),
        ("JSON", "application/feed+json", json.to_owned(), ".\"}"),
    ];
    let mut all = Vec::new();
    for (name, content_type, text, end_of_entry) in documents {
        for cut in 0..CUTS {
            let end = cut * text.len() / CUTS;
            let start = text[..end].to_owned();
            let case = format!("{name} cut at {end} of {} bytes", text.len());
            let ends = match start.matches(end_of_entry).count() {
                0 => "truncated fetched 0|parse_error".to_owned(),
                count => format!("truncated fetched {count}"),
            };
            all.push(Case::new(case, ends, move || document(content_type, &start)));
        }
    }
    all
}

fn charsets() -> Vec<Case> {
    let text = || rss(&item(1));
    let ends =
        |name: &'static str, ends: &'static str, content_type: &'static str, bytes: fn(String) -> Vec<u8>| {
            Case::new(name, ends, move || document(content_type, bytes(text())))
        };
    let said = |name, content_type, bytes| ends(name, "fetched 1", content_type, bytes);
    let declared = |name: &'static str, declaration: &'static str| {
        Case::new(name, "fetched 1", move || {
            feed(text().replace(
                "<?xml version=\"1.0\"?>",
                &format!("<?xml version=\"1.0\" encoding=\"{declaration}\"?>"),
            ))
        })
    };
    let wide = |text: String| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    vec![
        said("UTF-16 that is UTF-8", "application/rss+xml; charset=utf-16", String::into_bytes),
        said("UTF-8 that is UTF-16", "application/rss+xml; charset=utf-8", wide),
        said("UTF-16 without a mark", "application/rss+xml", wide),
        said("UTF-16 that lacks a byte", "application/rss+xml; charset=utf-16le", move |text| {
            let mut bytes = text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
            bytes.pop();
            bytes
        }),
        said("UTF-32", "application/rss+xml", |text| {
            text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect()
        }),
        ends("a mark of UTF-16 before UTF-8", "parse_error", "application/rss+xml; charset=utf-8", |text| {
            [b"\xff\xfe", text.as_bytes()].concat()
        }),
        said("a mark three times", "application/rss+xml", |text| {
            [&b"\xef\xbb\xbf".repeat(3)[..], text.as_bytes()].concat()
        }),
        said("Latin-1 that says UTF-8", "application/rss+xml; charset=utf-8", |text| {
            text.replace("Text", "T\u{e9}xt").chars().map(|c| c as u8).collect()
        }),
        said("bytes that are no UTF-8", "application/rss+xml", |text| {
            text.into_bytes().split(|b| *b == b'T').collect::<Vec<_>>().join(&b"\xc0\x80\xed\xa0\x80\xff"[..])
        }),
        said("UTF-7", "application/rss+xml; charset=utf-7", String::into_bytes),
        said("a charset that nobody knows", "application/rss+xml; charset=klingon", String::into_bytes),
        said("a charset of quotes", "application/rss+xml; charset=\"\"\"", String::into_bytes),
        ends(
            "a charset that swallows markup",
            "parse_error",
            "application/rss+xml; charset=iso-2022-kr",
            String::into_bytes,
        ),
        declared("a declaration of UTF-16", "UTF-16"),
        declared("a declaration of EBCDIC", "cp037"),
        declared("a declaration of nonsense", "&#0;"),
        declared("a declaration of nothing", " "),
    ]
}

fn kinds() -> Vec<Case> {
    let page =
        || format!("<!DOCTYPE html><html><body>{}</body></html>", "<p>Words of a page.</p>".repeat(20));
    let refused = |name: &'static str, content_type: &'static str, bytes: &'static [u8]| {
        Case::new(name, "parse_error", move || document(content_type, bytes))
    };
    let no_page = |name: &'static str, content_type: &'static str, kind: Kind| {
        Case::new(name, "parse_error", move || document(content_type, rss(&item(1)))).of(kind)
    };
    vec![
        Case::new("a page that says it is a feed", "parse_error", move || feed(page())),
        Case::new("a page for a feed", "parse_error", move || document("text/html", page())),
        no_page("a feed for a page", "application/rss+xml", Kind::Website),
        no_page("a feed for an index", "application/atom+xml", Kind::Watchlist),
        Case::new("a feed that says it is a page", "fetched 1", || document("text/html", rss(&item(1))))
            .of(Kind::Website),
        no_page("JSON for a page", "application/json", Kind::Website),
        no_page("a picture for a page", "image/png", Kind::Website),
        refused("nothing", "application/rss+xml", b""),
        refused("spaces", "application/rss+xml", b"   \r\n\t  "),
        refused("a picture", "image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01"),
        refused("a PDF", "application/pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"),
        refused("a ZIP", "application/zip", b"PK\x03\x04\x14\0\0\0\x08\0feed.xml"),
        refused("a program", "application/octet-stream", b"\x7fELF\x02\x01\x01\0\0\0\0\0"),
        refused("a sitemap", "application/xml", b"<urlset><url><loc>https://a.example/</loc></url></urlset>"),
        refused(
            "an OPML",
            "text/x-opml",
            b"<opml><body><outline xmlUrl='https://a.example/'/></body></opml>",
        ),
        refused("a picture of lines", "image/svg+xml", b"<svg><script>alert(1)</script></svg>"),
        refused("JSON that is no feed", "application/json", b"{\"items\": 5}"),
        refused("a number", "application/json", b"1e999999"),
        refused("a word", "text/plain", b"Maintenance"),
        refused("a root alone", "application/xml", b"<"),
        Case::new("a feed without anything in it", "fetched 0", || feed("<rss/>")),
    ]
}

fn zeros() -> Vec<Case> {
    vec![
        Case::new("zeros between tags", "fetched 1", || feed(rss(&item(1)).replace("><", ">\0<"))),
        Case::new("zeros in texts", "fetched 1", || feed(rss(&item(1)).replace("Text", "T\0e\0x\0t"))),
        Case::new("zeros in names", "fetched 1", || feed(rss(&item(1)).replace("item", "it\0em"))),
        Case::new("10 MB of zeros", "parse_error", || feed(vec![0; 10_000_000])).heavy(),
        Case::new("every control character", "fetched 1", || {
            let all: String = (0..0xa0).filter_map(char::from_u32).filter(|c| c.is_control()).collect();
            feed(rss(&item(1)).replace("Text", &all))
        }),
        Case::new("text that runs the other way", "fetched 1", || {
            feed(rss(&item(1)).replace("Text", "\u{202e}\u{2066}\u{feff}\u{fff9}x\u{e0001}"))
        }),
    ]
}
