//! Candidates: all anchors to one URL combined, with the evidence for and against it.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::address::{Address, IndexPage};
use super::outline::{Anchor, Outline};
use super::region::Region;
use super::title::{HeadingLender, Title};

/// A URL that the page links to.
#[derive(Debug)]
pub(super) struct Candidate {
    pub address: Address,
    /// The best of its titles.
    pub title: Title,
    /// The anchor with the best title.
    pub anchor: usize,
    /// The number of anchors that lead there.
    pub count: usize,
    /// The regions that all its anchors are in.
    pub region: Region,
    /// The regions that the best anchor is in.
    best_region: Region,
    /// Whether an anchor contains an image.
    pub image: bool,
    /// Whether an anchor has no text: an image, or an overlay on a card.
    pub bare: bool,
    pub sponsored: bool,
    /// Whether the best anchor is in running text.
    pub prose: bool,
    /// Whether other titled links are below it: it is a section.
    pub section: bool,
    /// Hash of what similar links have in common: the elements around the best anchor, and the shape of the URL.
    pub kind: u64,
}

/// All candidates in page order; and for each anchor the index of its candidate.
pub(super) fn all(outline: &Outline<'_>, index_page: &IndexPage<'_>) -> (Vec<Candidate>, Vec<Option<usize>>) {
    let mut found: Vec<Candidate> = Vec::new();
    let mut candidate_of_anchor = vec![None; outline.anchors.len()];
    let mut headings = HeadingLender::default();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, anchor) in outline.anchors.iter().enumerate() {
        let Some(address) = index_page.address(&anchor.href) else { continue };
        let mut title = Title::of(anchor, outline);
        if title.is_empty() && !address.listing {
            title = headings.take(anchor, outline, &address.key).unwrap_or(title);
        } else if !outline.is_prose(anchor.node) {
            headings.pass(anchor);
        }
        let region = outline.node(anchor.node).region;
        let place = *places.entry(address.key.clone()).or_insert(found.len());
        candidate_of_anchor[at] = Some(place);
        match found.get_mut(place) {
            Some(candidate) => candidate.add(at, anchor, title, region),
            None => found.push(Candidate {
                address,
                title,
                anchor: at,
                count: 1,
                region,
                best_region: region,
                image: anchor.image,
                bare: anchor.text.is_empty(),
                sponsored: anchor.sponsored,
                prose: false,
                section: false,
                kind: 0,
            }),
        }
    }
    for candidate in &mut found {
        let node = outline.anchors[candidate.anchor].node;
        candidate.prose = outline.is_prose(node);
        candidate.kind = outline.path(node) ^ candidate.address.shape;
    }
    mark_sections(&mut found);
    (found, candidate_of_anchor)
}

/// Minimum number of articles below a URL that make it a section.
const MIN_SECTION_ARTICLES: u32 = 2;

/// Marks sections. What is below an article (its comments, its second page) has no title of its own.
fn mark_sections(candidates: &mut [Candidate]) {
    let mut below: HashMap<u64, u32> = HashMap::new();
    for Candidate { address, title, .. } in &*candidates {
        if address.same_site && !address.listing && title.is_likely() {
            for (at, _) in address.key.match_indices('/').take(16) {
                *below.entry(xxh3_64(&address.key.as_bytes()[..at])).or_default() += 1;
            }
        }
    }
    for candidate in candidates {
        let count = below.get(&xxh3_64(candidate.address.key.as_bytes()));
        candidate.section = count.is_some_and(|count| *count >= MIN_SECTION_ARTICLES);
    }
}

impl Candidate {
    /// Whether its URL is a list, or something else that is not an article.
    pub(super) fn is_listing(&self) -> bool {
        self.address.listing || self.section
    }

    fn add(&mut self, at: usize, anchor: &Anchor<'_>, title: Title, region: Region) {
        self.count += 1;
        self.image |= anchor.image;
        self.bare |= anchor.text.is_empty();
        self.sponsored &= anchor.sponsored;
        // Prefer a title in the main content to one in a menu.
        let (ours, theirs) = (self.best_region.is_boilerplate(), region.is_boilerplate());
        self.region = self.region & region;
        if (ours && !theirs) || (theirs == ours && title.is_better_than(&self.title)) {
            self.title = title;
            self.anchor = at;
            self.best_region = region;
        } else if theirs == ours {
            self.title.widen(title.width());
        }
    }
}
