//! Bulk actions with their sources, as a form carries them from one request to the next: what is left to do, and what
//! undoes what was done.
//!
//! A form is untrusted input: its size is limited, and the service checks its fields.

use crate::hex;
use crate::service::BulkAction;

/// Maximum number of sources in a form.
const MAX_SOURCES: usize = 200_000;
/// Maximum length of such a text; a form has room for two.
const MAX_LENGTH: usize = 400_000;

/// Actions, each with its sources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct BulkPlan(Vec<(BulkAction, Vec<i64>)>);

impl BulkPlan {
    pub(super) fn of(action: BulkAction, ids: Vec<i64>) -> Self {
        if ids.is_empty() { Self::default() } else { Self(vec![(action, ids)]) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first action, which stands for the whole plan in messages.
    pub(super) fn action(&self) -> Option<&BulkAction> {
        self.0.first().map(|(action, _)| action)
    }

    pub(super) fn push(&mut self, action: BulkAction, id: i64) {
        match self.0.iter_mut().find(|(one, _)| *one == action) {
            Some((_, ids)) => ids.push(id),
            None => self.0.push((action, vec![id])),
        }
    }

    /// Removes and returns the next sources, at most that many.
    pub(super) fn take(&mut self, most: usize) -> Option<(BulkAction, Vec<i64>)> {
        let (action, ids) = self.0.first_mut()?;
        let rest = ids.split_off(most.min(ids.len()));
        let taken = (action.clone(), std::mem::replace(ids, rest));
        self.0.retain(|(_, ids)| !ids.is_empty());
        Some(taken)
    }

    /// As a form carries it, in characters that need no encoding; none: it is too long.
    pub(super) fn to_text(&self) -> Option<String> {
        let steps = self.0.iter().map(|(action, ids)| format!("{}*{}", action_text(action), ranges(ids)));
        Some(steps.collect::<Vec<_>>().join("_")).filter(|text| text.len() <= MAX_LENGTH)
    }

    /// From a form; none: it was not written by [`Self::to_text`].
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut plan = Self::default();
        let mut room = MAX_SOURCES;
        for step in text.split('_').filter(|step| !step.is_empty()) {
            let (action, ids) = step.rsplit_once('*')?;
            let ids = read_ranges(ids, &mut room)?;
            plan.0.push((read_action(action)?, ids));
        }
        Some(plan)
    }
}

/// The name of an action, with its fields as JSON in hexadecimal digits.
fn action_text(action: &BulkAction) -> String {
    match action {
        BulkAction::Edit(fields) => {
            let json = serde_json::to_vec(fields).unwrap_or_default();
            format!("{}*{}", action.name(), hex::encode(&json))
        }
        other => other.name().to_owned(),
    }
}

fn read_action(text: &str) -> Option<BulkAction> {
    match text.split_once('*') {
        Some(("edit", fields)) => {
            let fields = hex::decode(fields)?;
            serde_json::from_slice(&fields).ok().map(BulkAction::Edit)
        }
        Some(_) => None,
        None => BulkAction::from_name(text),
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
        let mut plan = BulkPlan::of(BulkAction::Disable, vec![3, 1, 2, 9]);
        plan.push(BulkAction::move_to(7), 5);
        plan.push(BulkAction::move_to(7), 6);
        let text = plan.to_text().unwrap();
        assert_eq!(text, "disable*1-3.9_edit*7b22636f6c6c656374696f6e5f6964223a377d*5-6");
        let mut read = BulkPlan::from_text(&text).unwrap();
        assert_eq!(read.take(3), Some((BulkAction::Disable, vec![1, 2, 3])));
        assert_eq!(read.take(3), Some((BulkAction::Disable, vec![9])));
        assert_eq!(read.take(3), Some((BulkAction::move_to(7), vec![5, 6])));
        assert_eq!((read.take(3), read.is_empty()), (None, true));
        assert_eq!(BulkPlan::from_text(""), Some(BulkPlan::default()));
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
            "edit*1",
            "edit*zz*1",
            "edit*7b*1",
            "disable*-9223372036854775808-9223372036854775807",
            "poll*1-150000.1-150000",
        ] {
            assert_eq!(BulkPlan::from_text(text), None, "{text}");
        }
    }
}
