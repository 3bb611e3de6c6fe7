//! The items of lists: for each candidate the outermost element that has no other candidate in it, and what else
//! is there.

use super::candidate::Candidate;
use super::outline::{Name, NodeId, Outline};

/// What stands in the item of a candidate.
#[derive(Debug, Clone, Default)]
pub(super) struct Item {
    /// The date in it.
    pub date: Option<i64>,
    /// It tells a time, if not which.
    pub timed: bool,
    pub price: bool,
    /// It is, or is in, an `<article>`.
    pub article: bool,
    /// It is, or is in, a list item or a table cell.
    pub entry: bool,
    /// Bytes of text.
    pub text: u32,
    /// A heading in it, though not of the anchor.
    pub heading: Option<usize>,
    /// What items of the same list have in common.
    pub list: u64,
}

/// What an element has in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    Nothing,
    One(usize),
    Several,
}

impl Only {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, only) | (only, Self::Nothing) => only,
            (one, same) if one == same => one,
            _ => Self::Several,
        }
    }
}

/// The item of each candidate, found from its best anchor. Only candidates that `counts` names keep
/// elements apart: an author's name beside a title does not make two items of one.
pub(super) fn of(
    outline: &Outline<'_>,
    candidates: &[Candidate],
    leads: &[Option<usize>],
    counts: &[bool],
) -> Vec<Item> {
    let mut only = vec![Only::Nothing; outline.nodes.len()];
    for (anchor, place) in outline.anchors.iter().zip(leads) {
        if let Some(place) = place.filter(|place| counts[*place]) {
            let node = &mut only[anchor.node as usize];
            *node = node.and(Only::One(place));
        }
    }
    for id in (1..outline.nodes.len()).rev() {
        let parent = outline.nodes[id].parent as usize;
        only[parent] = only[parent].and(only[id]);
    }
    let roots = roots(outline, &only);
    let mut items = vec![Item::default(); candidates.len()];
    gather(outline, &only, &roots, &mut items);
    for (candidate, item) in candidates.iter().zip(&mut items) {
        place(outline, outline.anchors[candidate.anchor].node, &roots, item);
    }
    items
}

/// For each element the outermost around it that has the same single candidate; itself where it has none.
fn roots(outline: &Outline<'_>, only: &[Only]) -> Vec<NodeId> {
    let mut roots: Vec<NodeId> = Vec::with_capacity(only.len());
    for (id, node) in outline.nodes.iter().enumerate() {
        let parent = node.parent as usize;
        let joined = parent < id && only[id] == only[parent] && matches!(only[id], Only::One(_));
        roots.push(if joined { roots[parent] } else { NodeId::try_from(id).unwrap_or(NodeId::MAX) });
    }
    roots
}

/// Collects what stands in items, wherever in them.
fn gather(outline: &Outline<'_>, only: &[Only], roots: &[NodeId], items: &mut [Item]) {
    // The candidate whose item an element is in, whether it has the link itself or not.
    let mut owner: Vec<Option<usize>> = Vec::with_capacity(only.len());
    for (id, node) in outline.nodes.iter().enumerate() {
        let inherited = if id > 0 { owner[node.parent as usize] } else { None };
        let own = match only[id] {
            Only::One(place) => Some(place),
            Only::Nothing => inherited,
            Only::Several => None,
        };
        owner.push(own);
        if let Some(item) = own.map(|place| &mut items[place]) {
            item.date = item.date.or(node.date);
            item.timed |= node.timed;
            item.price |= node.price;
            if roots[id] as usize == id && matches!(only[id], Only::One(_)) {
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

/// How many elements around an item make its place.
const AROUND: usize = 3;

/// How far up an article or a list item is looked for.
const REACH: usize = 12;

fn place(outline: &Outline<'_>, anchor: NodeId, roots: &[NodeId], item: &mut Item) {
    let root = roots[anchor as usize];
    let own = |id: NodeId| outline.node(id).own;
    item.list = outline.upwards(root).take(AROUND).fold(0, |hash: u64, id| hash.rotate_left(7) ^ own(id));
    for id in outline.upwards(anchor).take(REACH) {
        match outline.node(id).name {
            Name::Article => item.article = true,
            Name::Item | Name::Cell => item.entry = true,
            _ => {}
        }
    }
}
