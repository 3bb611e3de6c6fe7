//! The elements that feeds use, regardless of prefix and case.

use super::namespaces::Namespace as N;

/// An element by its meaning. Names of different formats with the same meaning are the same element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    // The document's structure.
    Rss,
    Rdf,
    Feed,
    Channel,
    Item,
    // Fields of feeds and entries.
    Title,
    Link,
    Description,
    Subtitle,
    Summary,
    Content,
    Encoded,
    Body,
    Id,
    Guid,
    Published,
    Updated,
    /// A date of unspecified meaning.
    Date,
    Created,
    Author,
    Creator,
    Contributor,
    Category,
    Keywords,
    Rights,
    Language,
    Generator,
    Icon,
    Logo,
    Image,
    Enclosure,
    Comments,
    CommentsFeed,
    CommentCount,
    Source,
    // Parts of persons and images.
    Name,
    Email,
    Uri,
    Url,
    // Hints on polling.
    Ttl,
    SkipHours,
    Hour,
    SkipDays,
    Day,
    UpdatePeriod,
    UpdateFrequency,
    UpdateBase,
    // Media RSS.
    MediaGroup,
    MediaContent,
    MediaThumbnail,
    MediaTitle,
    MediaDescription,
    MediaPlayer,
    MediaOther,
    // Podcasts.
    ItunesAuthor,
    ItunesOwner,
    ItunesDuration,
    ItunesEpisode,
    ItunesSeason,
    ItunesKind,
    ItunesImage,
    ItunesExplicit,
    ItunesSubtitle,
    ItunesSummary,
    ItunesCategory,
    ItunesNewFeed,
    ItunesOther,
    Transcript,
    Chapters,
    // Places.
    Point,
    Latitude,
    Longitude,
    /// An element whose content looks like a feed's but is not; it is ignored.
    Foreign,
    Unknown,
}

use Element as E;

impl Element {
    /// Looks up an element by name, ignoring case.
    pub(crate) fn of(namespace: N, local: &str) -> Self {
        const MAX_LENGTH: usize = 20;
        if local.len() > MAX_LENGTH || namespace == N::Other {
            return E::Unknown;
        }
        let mut buffer = [0; MAX_LENGTH];
        let lower = &mut buffer[..local.len()];
        lower.copy_from_slice(local.as_bytes());
        lower.make_ascii_lowercase();
        let name: &[u8] = lower;
        match namespace {
            N::Core => core(name),
            N::Media => media(name),
            N::Itunes => itunes(name),
            N::DublinCore | N::Terms => dublin_core(name),
            namespace => other(namespace, name),
        }
    }

    /// Whether the element is structural and cannot be inside text.
    pub(crate) fn is_structure(self) -> bool {
        matches!(self, E::Rss | E::Rdf | E::Feed | E::Channel | E::Item)
    }

    /// Whether HTML has an element of the same name, so that in markup it does not start a new field.
    pub(crate) fn is_html_too(self) -> bool {
        matches!(self, E::Title | E::Link | E::Summary | E::Source | E::Image | E::Body)
    }
}

fn core(name: &[u8]) -> Element {
    match name {
        b"item" | b"entry" => E::Item,
        b"title" => E::Title,
        b"link" => E::Link,
        b"description" => E::Description,
        b"pubdate" | b"published" | b"issued" => E::Published,
        b"guid" => E::Guid,
        b"category" => E::Category,
        b"id" => E::Id,
        b"updated" | b"modified" | b"lastbuilddate" => E::Updated,
        b"author" => E::Author,
        // With and without the prefix that some feeds omit.
        b"managingeditor" | b"creator" => E::Creator,
        b"name" => E::Name,
        b"uri" | b"homepage" => E::Uri,
        b"url" => E::Url,
        b"email" => E::Email,
        b"content" => E::Content,
        b"summary" | b"abstract" => E::Summary,
        b"enclosure" => E::Enclosure,
        b"comments" => E::Comments,
        b"source" => E::Source,
        b"created" => E::Created,
        b"contributor" => E::Contributor,
        b"keywords" | b"tags" => E::Keywords,
        b"rights" | b"copyright" => E::Rights,
        b"language" => E::Language,
        b"generator" => E::Generator,
        b"icon" => E::Icon,
        b"logo" => E::Logo,
        b"image" => E::Image,
        b"subtitle" | b"tagline" => E::Subtitle,
        b"fullitem" | b"encoded" => E::Encoded,
        b"body" => E::Body,
        b"ttl" => E::Ttl,
        b"skiphours" => E::SkipHours,
        b"hour" => E::Hour,
        b"skipdays" => E::SkipDays,
        b"day" => E::Day,
        b"rss" => E::Rss,
        b"rdf" => E::Rdf,
        b"feed" => E::Feed,
        b"channel" => E::Channel,
        b"textinput" | b"items" => E::Foreign,
        _ => E::Unknown,
    }
}

fn dublin_core(name: &[u8]) -> Element {
    match name {
        b"creator" | b"author" => E::Creator,
        b"date" => E::Date,
        b"modified" => E::Updated,
        b"issued" => E::Published,
        b"created" => E::Created,
        b"subject" => E::Category,
        b"title" => E::Title,
        b"description" => E::Description,
        b"abstract" => E::Summary,
        b"language" => E::Language,
        b"rights" => E::Rights,
        b"contributor" => E::Contributor,
        b"identifier" => E::Foreign,
        _ => E::Unknown,
    }
}

fn media(name: &[u8]) -> Element {
    match name {
        b"content" => E::MediaContent,
        b"thumbnail" => E::MediaThumbnail,
        b"group" => E::MediaGroup,
        b"title" => E::MediaTitle,
        b"description" | b"text" => E::MediaDescription,
        b"player" => E::MediaPlayer,
        b"category" => E::Category,
        b"keywords" => E::Keywords,
        b"credit" | b"rating" | b"copyright" | b"restriction" | b"license" | b"hash" => E::MediaOther,
        _ => E::Unknown,
    }
}

fn itunes(name: &[u8]) -> Element {
    match name {
        b"author" => E::ItunesAuthor,
        b"owner" => E::ItunesOwner,
        b"name" => E::Name,
        b"email" => E::Email,
        b"duration" => E::ItunesDuration,
        b"episode" => E::ItunesEpisode,
        b"season" => E::ItunesSeason,
        b"episodetype" | b"type" => E::ItunesKind,
        b"image" | b"link" => E::ItunesImage,
        b"explicit" => E::ItunesExplicit,
        b"subtitle" => E::ItunesSubtitle,
        b"summary" => E::ItunesSummary,
        b"keywords" => E::Keywords,
        b"category" => E::ItunesCategory,
        b"new-feed-url" => E::ItunesNewFeed,
        b"title" | b"block" | b"order" | b"complete" | b"isclosedcaptioned" => E::ItunesOther,
        _ => E::Unknown,
    }
}

fn other(namespace: N, name: &[u8]) -> Element {
    match (namespace, name) {
        (N::Content, b"encoded") => E::Encoded,
        // The older form of the content module puts the same elements into RDF bags.
        (N::Content, b"items") => E::Foreign,
        (N::Xhtml, b"body" | b"div") => E::Body,
        (N::Rdf, b"rdf") => E::Rdf,
        (N::Slash, b"comments") | (N::Threading, b"total") => E::CommentCount,
        (N::CommentApi, b"commentrss") => E::CommentsFeed,
        (N::Syndication, b"updateperiod") => E::UpdatePeriod,
        (N::Syndication, b"updatefrequency") => E::UpdateFrequency,
        (N::Syndication, b"updatebase") => E::UpdateBase,
        (N::GeoRss, b"point") | (N::Gml, b"pos") => E::Point,
        (N::Geo, b"lat") => E::Latitude,
        (N::Geo, b"long" | b"lon") => E::Longitude,
        (N::Podcast, b"transcript") => E::Transcript,
        (N::Podcast, b"chapters") => E::Chapters,
        (N::Podcast, b"liveitem" | b"alternateenclosure" | b"remoteitem" | b"podroll" | b"value") => {
            E::Foreign
        }
        _ => E::Unknown,
    }
}

/// Whether an HTML element has content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Html {
    /// No content and no end tag.
    Void,
    Normal,
}

/// HTML element names by length, common ones first, since every tag in inline markup is looked up.
#[rustfmt::skip]
const HTML: [&[&str]; 11] = [
    &[],
    &["p", "a", "b", "i", "u", "s", "q", "g"],
    &["br", "li", "em", "td", "tr", "h2", "h3", "ul", "h4", "h1", "ol", "hr", "h5", "h6", "dd", "dt", "dl", "th", "tt"],
    &["div", "img", "pre", "sup", "sub", "svg", "del", "ins", "kbd", "var", "big", "nav", "map", "dfn", "bdi", "bdo",
      "col", "wbr"],
    &["span", "code", "abbr", "cite", "font", "time", "mark", "path", "body", "form", "head", "html", "link", "meta",
      "main", "samp", "area"],
    &["table", "tbody", "small", "video", "audio", "thead", "tfoot", "style", "aside", "embed", "input", "label",
      "param", "title"],
    &["strong", "figure", "source", "iframe", "script", "center", "button", "object", "header", "footer", "strike",
      "canvas", "legend", "option", "select"],
    &["picture", "section", "article", "details", "summary", "caption", "acronym", "address"],
    &["noscript", "colgroup", "fieldset", "textarea"],
    &[],
    &["blockquote", "figcaption"],
];
const VOID: &[&str] =
    &["br", "img", "hr", "source", "embed", "input", "link", "meta", "param", "wbr", "col", "area"];

/// Looks up an HTML element, ignoring case.
pub(crate) fn html(name: &str) -> Option<Html> {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    HTML.get(name.len())?.iter().find(|known| is(known))?;
    Some(if VOID.iter().any(is) { Html::Void } else { Html::Normal })
}

pub(crate) fn is_html(name: &str) -> bool {
    html(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_any_case() {
        assert_eq!(Element::of(N::Core, "pubDate"), E::Published);
        assert_eq!(Element::of(N::Core, "PUBDATE"), E::Published);
        assert_eq!(Element::of(N::Media, "title"), E::MediaTitle);
        assert_eq!(Element::of(N::Other, "title"), E::Unknown);
    }

    #[test]
    fn html_names_are_found() {
        for name in ["a", "DIV", "blockquote", "wbr", "figcaption"] {
            assert!(is_html(name), "{name}");
        }
        for name in ["item", "pubDate", "", "titel", "blockquotes-and-more"] {
            assert!(!is_html(name), "{name}");
        }
    }
}
