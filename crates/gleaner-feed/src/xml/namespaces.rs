//! Namespaces: by URI if declared, by the usual prefix if not.

use super::attributes::Attributes;

/// A namespace with elements that feeds use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// All versions of RSS and Atom, and no namespace: feeds mix them.
    Core,
    Content,
    DublinCore,
    Terms,
    Media,
    Itunes,
    Syndication,
    Slash,
    Threading,
    GeoRss,
    Geo,
    Gml,
    Podcast,
    Rdf,
    Xhtml,
    CommentApi,
    Other,
}

use Namespace as N;

/// Namespace URIs without scheme, in lower case, without a trailing slash or number sign.
const ADDRESSES: &[(&str, Namespace)] = &[
    ("backend.userland.com/rss2", N::Core),
    ("backend.userland.com/rss", N::Core),
    ("backend.userland.com/rss091", N::Core),
    ("backend.userland.com/rss092", N::Core),
    ("blogs.law.harvard.edu/tech/rss", N::Core),
    ("cyber.law.harvard.edu/rss/rss.html", N::Core),
    ("purl.org/rss/1.0", N::Core),
    ("purl.org/rss/1.0/modules/rss091", N::Core),
    ("my.netscape.com/rdf/simple/0.9", N::Core),
    ("channel.netscape.com/rdf/simple/0.9", N::Core),
    ("www.w3.org/2005/atom", N::Core),
    ("purl.org/atom/ns", N::Core),
    ("purl.org/atom/app", N::Other),
    ("purl.org/echo", N::Core),
    ("purl.org/pie", N::Core),
    ("example.com/necho", N::Core),
    ("example.com/newformat", N::Core),
    ("uri/of/echo/namespace", N::Core),
    ("purl.org/rss/1.0/modules/content", N::Content),
    ("purl.org/dc/elements/1.1", N::DublinCore),
    ("purl.org/dc/elements/1.0", N::DublinCore),
    ("purl.org/dc/terms", N::Terms),
    ("search.yahoo.com/mrss", N::Media),
    ("www.rssboard.org/media-rss", N::Media),
    ("tools.search.yahoo.com/mrss", N::Media),
    ("www.itunes.com/dtds/podcast-1.0.dtd", N::Itunes),
    ("example.com/dtds/podcast-1.0.dtd", N::Itunes),
    ("purl.org/rss/1.0/modules/syndication", N::Syndication),
    ("purl.org/rss/1.0/modules/slash", N::Slash),
    ("purl.org/syndication/thread/1.0", N::Threading),
    ("purl.org/rss/1.0/modules/threading", N::Threading),
    ("www.georss.org/georss", N::GeoRss),
    ("www.w3.org/2003/01/geo/wgs84_pos", N::Geo),
    ("www.opengis.net/gml", N::Gml),
    ("podcastindex.org/namespace/1.0", N::Podcast),
    ("github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md", N::Podcast),
    ("www.w3.org/1999/02/22-rdf-syntax-ns", N::Rdf),
    ("www.w3.org/1999/xhtml", N::Xhtml),
    ("wellformedweb.org/commentapi", N::CommentApi),
];

/// The usual meaning of an undeclared prefix.
fn usual(prefix: &str) -> Namespace {
    match prefix {
        "" | "atom" | "atom10" | "atom03" | "a10" | "rss" | "rss1" | "rss10" => N::Core,
        "content" => N::Content,
        "dc" => N::DublinCore,
        "dcterms" | "dct" => N::Terms,
        "media" => N::Media,
        "itunes" => N::Itunes,
        "sy" => N::Syndication,
        "slash" => N::Slash,
        "thr" => N::Threading,
        "georss" => N::GeoRss,
        "geo" => N::Geo,
        "gml" => N::Gml,
        "podcast" => N::Podcast,
        "rdf" => N::Rdf,
        "xhtml" | "html" | "h" => N::Xhtml,
        "wfw" => N::CommentApi,
        _ => N::Other,
    }
}

fn by_address(address: &str) -> Option<Namespace> {
    let address = address.trim();
    let bare = address.split_once("://").map_or(address, |(_, rest)| rest).trim_end_matches(['/', '#']);
    ADDRESSES.iter().find(|(known, _)| known.eq_ignore_ascii_case(bare)).map(|(_, namespace)| *namespace)
}

/// Further declarations are ignored: the usual prefixes still work, and lookups stay fast.
const MAX_PREFIXES: usize = 64;

/// The meaning of prefixes at the current position.
///
/// Prefix declarations apply from their position to the end, because real feeds never redefine a prefix. Only the
/// default namespace has a scope, which the reader tracks.
#[derive(Debug)]
pub(crate) struct Namespaces<'a> {
    declared: Vec<(&'a str, Namespace)>,
    /// The namespace of names without a prefix.
    pub default: Namespace,
    /// Whether an undeclared prefix was used.
    pub undeclared: bool,
}

impl<'a> Namespaces<'a> {
    pub(crate) fn new() -> Self {
        Self { declared: Vec::new(), default: N::Core, undeclared: false }
    }

    /// Applies the declarations among a tag's attributes.
    pub(crate) fn declare(&mut self, attributes: &'a str) {
        for (name, value) in Attributes::new(attributes) {
            let Some(rest) = name.strip_prefix("xmlns") else { continue };
            match rest.strip_prefix(':') {
                // An unknown default namespace is a feed's own.
                None if rest.is_empty() => self.default = by_address(value).unwrap_or(N::Core),
                None => {}
                Some(prefix) => self.declare_prefix(prefix, by_address(value)),
            }
        }
    }

    fn declare_prefix(&mut self, prefix: &'a str, namespace: Option<Namespace>) {
        // An unknown URI overrides the usual meaning of a prefix only if it clearly belongs to someone else:
        // misspelt URIs of known namespaces are common, other uses of their prefixes are not.
        let namespace = namespace.unwrap_or_else(|| usual(prefix));
        let room = self.declared.len() < MAX_PREFIXES;
        match self.declared.iter_mut().find(|(known, _)| *known == prefix) {
            Some(known) => known.1 = namespace,
            None if room => self.declared.push((prefix, namespace)),
            None => {}
        }
    }

    /// Splits a name into namespace and local name, and records undeclared prefixes.
    pub(crate) fn split<'n>(&mut self, name: &'n str) -> (Namespace, &'n str) {
        let (namespace, local, declared) = self.look_up(name);
        self.undeclared |= !declared;
        (namespace, local)
    }

    /// The same within texts, where undeclared prefixes are not recorded.
    pub(crate) fn split_inner<'n>(&self, name: &'n str) -> (Namespace, &'n str) {
        let (namespace, local, _) = self.look_up(name);
        (namespace, local)
    }

    fn look_up<'n>(&self, name: &'n str) -> (Namespace, &'n str, bool) {
        let Some(colon) = name.bytes().position(|byte| byte == b':') else {
            return (self.default, name, true);
        };
        let (prefix, local) = (&name[..colon], &name[colon + 1..]);
        match self.declared.iter().find(|(known, _)| *known == prefix) {
            Some((_, namespace)) => (*namespace, local, true),
            None => (usual_in_any_case(prefix), local, false),
        }
    }
}

fn usual_in_any_case(prefix: &str) -> Namespace {
    match usual(prefix) {
        N::Other if prefix.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            usual(&prefix.to_ascii_lowercase())
        }
        namespace => namespace,
    }
}
