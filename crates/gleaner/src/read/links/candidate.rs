//! Links as candidates: all anchors to one address as one, with what speaks for and against it.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::address::{Address, Home};
use super::outline::{Anchor, Outline};
use super::region::Region;
use super::title::{Borrowed, Title};

/// An address that the page links to.
#[derive(Debug)]
pub(super) struct Candidate {
    pub address: Address,
    /// The best of its texts.
    pub title: Title,
    /// The anchor that has it.
    pub anchor: usize,
    /// Anchors that lead there.
    pub count: usize,
    /// Sorts of places that all of its anchors are in.
    pub region: Region,
    /// Sorts of places that the best is in.
    best_region: Region,
    /// One of them has an image.
    pub image: bool,
    /// One of them is nothing to read: an image, or laid over a card.
    pub bare: bool,
    pub sponsored: bool,
    /// The best stands in running text.
    pub prose: bool,
    /// Others that have titles lie below it: a section.
    pub section: bool,
    /// What links like it have in common: the elements that the best is in, and the shape of its address.
    pub kind: u64,
}

/// All that the page links to, in page order; and for each anchor which of them it leads to.
pub(super) fn all(outline: &Outline<'_>, home: &Home<'_>) -> (Vec<Candidate>, Vec<Option<usize>>) {
    let mut found: Vec<Candidate> = Vec::new();
    let mut leads = vec![None; outline.anchors.len()];
    let mut borrowed = Borrowed::default();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, anchor) in outline.anchors.iter().enumerate() {
        let Some(address) = home.address(&anchor.href) else { continue };
        let mut title = Title::of(anchor, outline);
        if title.is_empty() && !address.listing {
            title = borrowed.take(anchor, outline, &address.key).unwrap_or(title);
        } else if !outline.is_prose(anchor.node) {
            borrowed.pass(anchor);
        }
        let region = outline.node(anchor.node).region;
        let place = *places.entry(address.key.clone()).or_insert(found.len());
        leads[at] = Some(place);
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
    (found, leads)
}

/// So many articles below an address make it a section.
const SECTION: u32 = 2;

/// Marks what others lie below. What is below an article (its comments, its second page) has no title of its own.
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
        candidate.section = count.is_some_and(|count| *count >= SECTION);
    }
}

impl Candidate {
    /// Whether there is a list at its address, or something else that is no article.
    pub(super) fn is_listing(&self) -> bool {
        self.address.listing || self.section
    }

    fn add(&mut self, at: usize, anchor: &Anchor<'_>, title: Title, region: Region) {
        self.count += 1;
        self.image |= anchor.image;
        self.bare |= anchor.text.is_empty();
        self.sponsored &= anchor.sponsored;
        // A title in the matter before one in a menu.
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
