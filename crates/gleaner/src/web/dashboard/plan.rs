//! What is to be done to which sources, as a form carries it from one request to the next: what is left to do, and what
//! would take back what was done.
//!
//! A form may come from anybody who is logged in: what it says is read with bounds.

use crate::service::BulkAction;

/// How many sources a form names at most.
const MOST: usize = 200_000;
/// How long such a text gets; a form has room for two.
const LONGEST: usize = 400_000;

/// Actions, each with the sources that it is done to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Plan(Vec<(BulkAction, Vec<i64>)>);

impl Plan {
    pub(super) fn of(action: BulkAction, ids: Vec<i64>) -> Self {
        if ids.is_empty() { Self::default() } else { Self(vec![(action, ids)]) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first action, by which all of it is called.
    pub(super) fn action(&self) -> Option<BulkAction> {
        self.0.first().map(|(action, _)| *action)
    }

    pub(super) fn push(&mut self, action: BulkAction, id: i64) {
        match self.0.iter_mut().find(|(one, _)| *one == action) {
            Some((_, ids)) => ids.push(id),
            None => self.0.push((action, vec![id])),
        }
    }

    /// Takes the next of it out, so many sources at most.
    pub(super) fn take(&mut self, most: usize) -> Option<(BulkAction, Vec<i64>)> {
        let (action, ids) = self.0.first_mut()?;
        let rest = ids.split_off(most.min(ids.len()));
        let taken = (*action, std::mem::replace(ids, rest));
        self.0.retain(|(_, ids)| !ids.is_empty());
        Some(taken)
    }

    /// As a form carries it, in characters that forms leave alone; none: it is too long to be carried.
    pub(super) fn to_text(&self) -> Option<String> {
        let steps = self.0.iter().map(|(action, ids)| format!("{}*{}", name(*action), ranges(ids)));
        Some(steps.collect::<Vec<_>>().join("_")).filter(|text| text.len() <= LONGEST)
    }

    /// From a form; none: nobody of ours has written that.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut plan = Self::default();
        let mut room = MOST;
        for step in text.split('_').filter(|step| !step.is_empty()) {
            let (action, ids) = step.rsplit_once('*')?;
            let ids = read_ranges(ids, &mut room)?;
            plan.0.push((read_name(action)?, ids));
        }
        Some(plan)
    }
}

fn name(action: BulkAction) -> String {
    match action {
        BulkAction::Enable => "enable".to_owned(),
        BulkAction::Disable => "disable".to_owned(),
        BulkAction::Reinstate => "reinstate".to_owned(),
        BulkAction::Poll => "poll".to_owned(),
        BulkAction::Delete => "delete".to_owned(),
        BulkAction::Move(id) => format!("move*{id}"),
    }
}

fn read_name(text: &str) -> Option<BulkAction> {
    match text.split_once('*').unwrap_or((text, "")) {
        ("move", id) => id.parse().ok().map(BulkAction::Move),
        (action, "") => read_action(action),
        _ => None,
    }
}

/// An action by its name, but for those that need to know where to.
pub(super) fn read_action(name: &str) -> Option<BulkAction> {
    match name {
        "enable" => Some(BulkAction::Enable),
        "disable" => Some(BulkAction::Disable),
        "reinstate" => Some(BulkAction::Reinstate),
        "poll" => Some(BulkAction::Poll),
        "delete" => Some(BulkAction::Delete),
        _ => None,
    }
}

/// `1-5.9`: ids that follow each other are one range.
fn ranges(ids: &[i64]) -> String {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let chunks = sorted.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let text = |chunk: &[i64]| match chunk {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(i64::to_string).collect(),
    };
    chunks.map(text).collect::<Vec<_>>().join(".")
}

fn read_ranges(text: &str, room: &mut usize) -> Option<Vec<i64>> {
    let mut ids = Vec::new();
    for range in text.split('.') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
        let size = usize::try_from(last.checked_sub(first)?).ok()?.checked_add(1)?;
        *room = room.checked_sub(size)?;
        ids.extend(first..=last);
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_comes_back_from_its_text() {
        let mut plan = Plan::of(BulkAction::Disable, vec![3, 1, 2, 9]);
        plan.push(BulkAction::Move(7), 5);
        plan.push(BulkAction::Move(7), 6);
        let text = plan.to_text().unwrap();
        assert_eq!(text, "disable*1-3.9_move*7*5-6");
        let mut read = Plan::from_text(&text).unwrap();
        assert_eq!(read.take(3), Some((BulkAction::Disable, vec![1, 2, 3])));
        assert_eq!(read.take(3), Some((BulkAction::Disable, vec![9])));
        assert_eq!(read.take(3), Some((BulkAction::Move(7), vec![5, 6])));
        assert_eq!((read.take(3), read.is_empty()), (None, true));
        assert_eq!(Plan::from_text(""), Some(Plan::default()));
    }

    #[test]
    fn what_no_plan_says_is_refused() {
        for text in [
            "x",
            "disable",
            "disable*",
            "burn*1",
            "disable*1-999999999999",
            "disable*9-1",
            "move*1",
            "disable*3*1",
            "disable*-9223372036854775808-9223372036854775807",
            "poll*1-150000.1-150000",
        ] {
            assert_eq!(Plan::from_text(text), None, "{text}");
        }
    }
}
