//! Lists that are turned page by page: their order and their place as the address has them, so that a link shows the
//! same to somebody else.

use crate::service::{PagePosition, Sheet, SortKey, SortOrder, SortPosition};

/// How many rows a page has.
pub(super) const ROWS: u32 = 50;

/// Parameters as they stand after the question mark; of those given twice, the last. What is empty is not given.
pub(super) struct Asked(Vec<(String, String)>);

impl Asked {
    pub(super) fn of(query: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        // No text of a database holds a zero byte, and nobody looks for one.
        Self(pairs.map(|(name, value)| (name.into_owned(), value.replace('\0', ""))).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(given, _)| given == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Which page; `by_text` says whether the list goes by a text.
    pub(super) fn turn(&self, by_text: bool) -> PagePosition {
        let place = |name: &str| self.get(name).and_then(|text| read_place(text, by_text));
        match (place("after"), place("before")) {
            (Some(place), _) => PagePosition::After(place),
            (None, Some(place)) => PagePosition::Before(place),
            (None, None) => PagePosition::First,
        }
    }

    /// The order by its name, with a minus where it falls; the usual one where there is no such.
    pub(super) fn order<O: Copy>(&self, names: &[(&str, O)], usual: SortOrder<O>) -> SortOrder<O> {
        let Some(text) = self.get("sort") else { return usual };
        let (name, descending) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
        let found = names.iter().find(|(one, _)| *one == name);
        found.map_or(usual, |(_, by)| SortOrder { by: *by, descending })
    }
}

/// An order's name, as [`Asked::order`] reads it.
pub(super) fn order_name<O: PartialEq>(names: &[(&str, O)], order: &SortOrder<O>) -> String {
    let name = names.iter().find(|(_, by)| *by == order.by).map_or("", |(name, _)| name);
    format!("{}{name}", if order.descending { "-" } else { "" })
}

fn read_place(text: &str, by_text: bool) -> Option<SortPosition> {
    let (id, key) = text.split_once(' ')?;
    let key = if by_text { SortKey::Text(key.to_owned()) } else { SortKey::Number(key.parse().ok()?) };
    Some(SortPosition { key, id: id.parse().ok()? })
}

fn place_text(place: &SortPosition) -> String {
    match &place.key {
        SortKey::Number(number) => format!("{} {number}", place.id),
        SortKey::Text(text) => format!("{} {text}", place.id),
    }
}

/// A path with parameters.
pub(super) fn link(path: &str, pairs: &[(&str, String)]) -> String {
    if pairs.is_empty() {
        return path.to_owned();
    }
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("{path}?{query}")
}

/// The parameter that names a page.
pub(super) fn turn_pair(turn: &PagePosition) -> Option<(&'static str, String)> {
    match turn {
        PagePosition::First => None,
        PagePosition::After(place) => Some(("after", place_text(place))),
        PagePosition::Before(place) => Some(("before", place_text(place))),
    }
}

/// Where one can go on from a page.
pub(super) struct Pager {
    pub(super) first: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
}

impl Pager {
    /// From a page; `to` makes the link of another.
    pub(super) fn of<T>(page: &Sheet<T>, turn: &PagePosition, to: impl Fn(PagePosition) -> String) -> Self {
        Self {
            first: (*turn != PagePosition::First).then(|| to(PagePosition::First)),
            previous: page.previous.clone().map(|place| to(PagePosition::Before(place))),
            next: page.next.clone().map(|place| to(PagePosition::After(place))),
        }
    }

    pub(super) fn is_needed(&self) -> bool {
        self.first.is_some() || self.previous.is_some() || self.next.is_some()
    }
}

/// A column's head: where a click leads, and how the list is sorted by it now.
pub(super) struct Head {
    pub(super) title: &'static str,
    pub(super) link: String,
    /// As `aria-sort` has it.
    pub(super) sorted: &'static str,
}

impl Head {
    /// The head of a column; the first click sorts so, the next the other way round.
    pub(super) fn of<O: Copy + PartialEq>(
        title: &'static str,
        first: SortOrder<O>,
        now: SortOrder<O>,
        to: impl Fn(SortOrder<O>) -> String,
    ) -> Self {
        if first.by != now.by {
            return Self { title, link: to(first), sorted: "none" };
        }
        let other = SortOrder { by: now.by, descending: !now.descending };
        Self { title, link: to(other), sorted: if now.descending { "descending" } else { "ascending" } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_from_its_link() {
        let place = SortPosition { key: SortKey::Text("https://a.example/?a=b&c= d".into()), id: 7 };
        for turn in [PagePosition::First, PagePosition::After(place.clone()), PagePosition::Before(place)] {
            let pairs: Vec<_> = turn_pair(&turn).into_iter().collect();
            let link = link("/sources", &pairs);
            let query = link.split_once('?').map(|(_, query)| query);
            assert_eq!(Asked::of(query).turn(true), turn, "{link}");
        }
        let number = PagePosition::After(SortPosition { key: SortKey::Number(-1), id: 9 });
        let text: String = link("/", &turn_pair(&number).into_iter().collect::<Vec<_>>());
        assert_eq!(Asked::of(text.strip_prefix("/?")).turn(false), number);
        assert_eq!(
            Asked::of(Some("after=x&before=1")).turn(false),
            PagePosition::First,
            "nonsense is the first page"
        );
    }
}
