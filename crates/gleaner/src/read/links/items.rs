//! List items: for each candidate the outermost element that contains no other candidate, and what it contains.

use super::candidate::Candidate;
use super::outline::{Name, NodeId, Outline};

#[derive(Debug, Clone, Default)]
pub(super) struct Item {
    pub date: Option<i64>,
    /// It contains a date or relative date.
    pub timed: bool,
    pub price: bool,
    /// It is, or is inside, an `<article>`.
    pub article: bool,
    /// It is, or is inside, a list item or table cell.
    pub entry: bool,
    /// Bytes of text.
    pub text: u32,
    /// Index of a heading in it that does not belong to the anchor.
    pub heading: Option<usize>,
    /// Hash of what the items of one list have in common.
    pub list: u64,
}

/// The candidates inside an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Candidates {
    None,
    One(usize),
    Several,
}

impl Candidates {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, set) | (set, Self::None) => set,
            (one, same) if one == same => one,
            _ => Self::Several,
        }
    }
}

/// The item of each candidate. Only candidates with `counts` separate items: an author link beside a title does not
/// make two items of one.
pub(super) fn find(
    outline: &Outline<'_>,
    candidates: &[Candidate],
    candidate_of_anchor: &[Option<usize>],
    counts: &[bool],
) -> Vec<Item> {
    let mut candidates_in = vec![Candidates::None; outline.nodes.len()];
    for (anchor, place) in outline.anchors.iter().zip(candidate_of_anchor) {
        if let Some(place) = place.filter(|place| counts[*place]) {
            let node = &mut candidates_in[anchor.node as usize];
            *node = node.and(Candidates::One(place));
        }
    }
    for id in (1..outline.nodes.len()).rev() {
        let parent = outline.nodes[id].parent as usize;
        candidates_in[parent] = candidates_in[parent].and(candidates_in[id]);
    }
    let roots = roots(outline, &candidates_in);
    let mut items = vec![Item::default(); candidates.len()];
    gather(outline, &candidates_in, &roots, &mut items);
    for (candidate, item) in candidates.iter().zip(&mut items) {
        place(outline, outline.anchors[candidate.anchor].node, &roots, item);
    }
    items
}

/// For each element the outermost ancestor with the same single candidate; itself if it has none.
fn roots(outline: &Outline<'_>, candidates_in: &[Candidates]) -> Vec<NodeId> {
    let mut roots: Vec<NodeId> = Vec::with_capacity(candidates_in.len());
    for (id, node) in outline.nodes.iter().enumerate() {
        let parent = node.parent as usize;
        let joined = parent < id
            && candidates_in[id] == candidates_in[parent]
            && matches!(candidates_in[id], Candidates::One(_));
        roots.push(if joined { roots[parent] } else { NodeId::try_from(id).unwrap_or(NodeId::MAX) });
    }
    roots
}

/// Collects the contents of items.
fn gather(outline: &Outline<'_>, candidates_in: &[Candidates], roots: &[NodeId], items: &mut [Item]) {
    // The candidate whose item an element is in, even if the link is in another element.
    let mut owner: Vec<Option<usize>> = Vec::with_capacity(candidates_in.len());
    for (id, node) in outline.nodes.iter().enumerate() {
        let inherited = if id > 0 { owner[node.parent as usize] } else { None };
        let own = match candidates_in[id] {
            Candidates::One(place) => Some(place),
            Candidates::None => inherited,
            Candidates::Several => None,
        };
        owner.push(own);
        if let Some(item) = own.map(|place| &mut items[place]) {
            item.date = item.date.or(node.date);
            item.timed |= node.timed;
            item.price |= node.price;
            if roots[id] as usize == id && matches!(candidates_in[id], Candidates::One(_)) {
                item.text = item.text.max(node.text);
            }
        }
    }
    for (at, heading) in outline.headings.iter().enumerate() {
        if let Some(place) = owner[heading.node as usize] {
            items[place].heading.get_or_insert(at);
        }
    }
}

/// Number of ancestors that identify a list.
const LIST_ANCESTORS: usize = 3;

/// Maximum number of ancestors searched for an article or list item.
const MAX_ANCESTORS: usize = 12;

fn place(outline: &Outline<'_>, anchor: NodeId, roots: &[NodeId], item: &mut Item) {
    let root = roots[anchor as usize];
    let own = |id: NodeId| outline.node(id).own;
    item.list =
        outline.ancestors(root).take(LIST_ANCESTORS).fold(0, |hash: u64, id| hash.rotate_left(7) ^ own(id));
    for id in outline.ancestors(anchor).take(MAX_ANCESTORS) {
        match outline.node(id).name {
            Name::Article => item.article = true,
            Name::Item | Name::Cell => item.entry = true,
            _ => {}
        }
    }
}
