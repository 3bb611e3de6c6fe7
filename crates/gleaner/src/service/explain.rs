//! Why a source is where it is, with the polls that led there.

use gleaner_core::explain::{Evidence, Explanation, explain};
use gleaner_core::schedule::HostState;

use super::{By, Poll, Scope, ServiceError};

/// How many rows of the history are told.
const EVIDENCE: u32 = 10;

impl By<'_> {
    /// Explains a source.
    pub async fn explain(&self, id: i64) -> Result<Explanation, ServiceError> {
        self.actor.must(Scope::Read)?;
        let source = self.store.source(id).await?;
        let polls = self.store.polls(id, None, EVIDENCE).await?;
        let host = HostState::default();
        let at = self.situation(&source, &source.settings, &host);
        let evidence: Vec<Evidence> = polls.iter().map(evidence).collect();
        let told = explain(&at, source.next_poll_at, &evidence, self.clock.now());
        Ok(told.suspecting(source.suspect.as_ref()))
    }

    /// A source's history, newest first, before that row.
    pub async fn polls(&self, id: i64, before: Option<i64>, limit: u32) -> Result<Vec<Poll>, ServiceError> {
        self.actor.must(Scope::Read)?;
        // So that none is told from nothing yet.
        self.store.source(id).await?;
        Ok(self.store.polls(id, before, limit).await?)
    }
}

fn evidence(poll: &Poll) -> Evidence {
    Evidence {
        first_at: poll.first_at,
        last_at: poll.record.at,
        count: u64::try_from(poll.count).unwrap_or(0),
        what: poll_in_words(poll),
    }
}

/// What a poll ended in, for people.
pub fn poll_in_words(poll: &Poll) -> String {
    if let Some((_, message)) = &poll.record.error {
        return message.clone();
    }
    let skipped = &poll.record.skipped;
    let counted = [
        (poll.new_posts, "new"),
        (poll.updated_posts, "changed"),
        (skipped.duplicate.into(), "skipped as duplicates"),
        (skipped.too_old.into(), "skipped as too old"),
        (skipped.before_source.into(), "skipped as older than the source"),
        (skipped.empty.into(), "skipped as empty"),
    ];
    let told = counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| match count {
        1 if what == "new" || what == "changed" => format!("1 {what} post"),
        _ if what == "new" || what == "changed" => format!("{count} {what} posts"),
        _ => format!("{count} {what}"),
    });
    let mut told: Vec<String> = told.collect();
    if told.is_empty() {
        told.push(
            if poll.record.outcome == "not_modified" { "not modified" } else { "nothing new" }.to_owned(),
        );
    }
    told.extend(poll.record.note.clone());
    told.join(", ")
}
