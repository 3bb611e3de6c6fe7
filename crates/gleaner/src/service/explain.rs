//! Why a source is where it is, with the polls that led there.

use gleaner_core::explain::{Around, Evidence, Explanation, explain};
use gleaner_core::schedule::Why;
use gleaner_core::source::Interval;
use gleaner_core::time::{Span, Time};

use super::{By, Poll, PollPages, Scope, ServiceError, Source};
use crate::engine;
use crate::store::{EventCursor, EventFilter, KindPattern};

/// How many rows of the history are told.
const EVIDENCE: u32 = 10;

impl By<'_> {
    /// Explains a source.
    pub async fn explain(&self, id: i64) -> Result<Explanation, ServiceError> {
        self.actor.must(Scope::Read)?;
        let source = self.visible_source(id).await?;
        let polls = self.store.polls(id, None, EVIDENCE).await?;
        let now = self.clock.now();
        let mut at = self.situation(&source, &source.settings);
        let mut around = self.around(&source, polls.first()).await?;
        if let Some((interval, words)) = self.auto(&source, now).await? {
            at.interval = interval;
            around.words.push(words);
        }
        let evidence: Vec<Evidence> = polls.iter().map(evidence).collect();
        let told = explain(&at, source.next_poll_at, &evidence, around, now);
        let proposal = source.elsewhere.as_ref().and_then(|elsewhere| elsewhere.proposal.as_ref());
        let told = told
            .suspecting(source.suspect.as_ref())
            .suspecting(source.pages_suspect.as_ref())
            .proposing(proposal);
        let told = self.explain_pages(told, &source).await?;
        self.explain_moves(told, &source).await
    }

    /// What became of its article pages.
    async fn explain_pages(&self, told: Explanation, source: &Source) -> Result<Explanation, ServiceError> {
        if source.pages.is_empty() {
            return Ok(told);
        }
        let latest = self.store.latest_page_failure(source.id).await?;
        let latest = latest.as_ref().map(|(page, error)| (page.as_str(), error.as_str()));
        Ok(told.with_pages(source.pages, latest))
    }

    /// Its latest move, as long as its event is kept, and one that cannot be made.
    async fn explain_moves(&self, told: Explanation, source: &Source) -> Result<Explanation, ServiceError> {
        let filter = EventFilter {
            kinds: vec![KindPattern::Is("source.moved".to_owned())],
            source_id: Some(source.id),
            visibility: self.actor.visibility(),
        };
        let mut told = told;
        for event in self.store.list_events(&filter, EventCursor::Before(i64::MAX), 1).await? {
            let payload: serde_json::Value = serde_json::from_str(&event.event.payload).unwrap_or_default();
            let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
            told = told.moved(event.created_at, &text("from"), &text("to"), &text("reason"));
        }
        let redirect = engine::observed_redirect(&source.memory);
        if let Some((redirect, taken_by)) = redirect.and_then(|one| one.taken_by.map(|id| (one, id))) {
            told = told.cannot_move(&redirect.to, taken_by);
        }
        Ok(told)
    }

    /// What is known of a source's host and of our own network.
    async fn around(&self, source: &Source, latest: Option<&Poll>) -> Result<Around, ServiceError> {
        let memory = self.store.host_memory(source.id).await?;
        let (host, mut around) = (&source.host, Around::default());
        if latest.is_some_and(|poll| poll.record.rule.as_deref() == Some(Why::Pacing.name())) {
            around.why = Some(Why::Pacing);
        }
        if let Some(open) = &memory.incidents.open {
            around.why = Some(Why::Incident);
            around.words.push(format!("Its host {host} {}.", open.in_words()));
        }
        around.words.extend(memory.pace.in_words().map(|words| format!("Its host {host} is {words}.")));
        if let Some(since) = self.metrics.network_down_since() {
            around.why = Some(Why::OwnNetwork);
            around.words.push(network_down(since));
        }
        Ok(around)
    }

    /// Under the interval `auto`: how often that is at this hour, and why.
    async fn auto(&self, source: &Source, now: Time) -> Result<Option<(Span, String)>, ServiceError> {
        let rules = &self.config.judgement.rules.adaptive;
        let (Interval::Auto, true) = (source.settings.interval, rules.on) else { return Ok(None) };
        let Some(kept) = &source.memory.habit else { return Ok(None) };
        let scale = engine::auto_scale(&*self.store, &self.config).await?;
        let habit = kept.habit.at(now);
        let words = habit.in_words(scale, rules, now);
        Ok(Some((habit.interval(scale, rules, now), format!("As far as is known, {words}."))))
    }

    /// A source's history, newest first, before that row.
    pub async fn polls(&self, id: i64, before: Option<i64>, limit: u32) -> Result<Vec<Poll>, ServiceError> {
        self.actor.must(Scope::Read)?;
        // So that none is told from nothing yet.
        self.visible_source(id).await?;
        Ok(self.store.polls(id, before, limit).await?)
    }
}

/// What is said during a local network outage.
pub fn network_down(since: Time) -> String {
    let since = gleaner_core::explain::When(since);
    format!(
        "Local network outage: polls of unrelated hosts have failed since {since}. No failure counts, and polling \
         resumes by itself when a probe succeeds."
    )
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
        return match poll.record.excused {
            Some(excuse) => {
                let by = poll.record.excused_by.as_ref().map(|by| format!(", {by}")).unwrap_or_default();
                format!("{message} ({}{by})", excuse.in_words())
            }
            None => message.clone(),
        };
    }
    let skipped = &poll.record.skipped;
    let counted = [
        (poll.new_posts, "new"),
        (poll.updated_posts, "changed"),
        (skipped.duplicate.into(), "skipped as duplicates"),
        (skipped.too_old.into(), "skipped as too old"),
        (skipped.before_source.into(), "skipped as older than the source"),
        (skipped.beyond_recent.into(), "skipped as more than the first poll stores"),
        (skipped.empty.into(), "skipped as empty"),
    ];
    let told = counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| match count {
        1 if what == "new" || what == "changed" => format!("1 {what} post"),
        _ if what == "new" || what == "changed" => format!("{count} {what} posts"),
        _ => format!("{count} {what}"),
    });
    let mut told: Vec<String> = told.collect();
    if told.is_empty() && poll.pages.queued == 0 {
        told.push(
            if poll.record.outcome == "not_modified" { "not modified" } else { "nothing new" }.to_owned(),
        );
    }
    told.extend(pages_in_words(&poll.pages));
    told.extend(poll.record.note.clone());
    told.join(", ")
}

/// What has come of a poll's article pages so far: `5 article pages: 3 fetched, 1 failed, 1 waiting`.
fn pages_in_words(pages: &PollPages) -> Option<String> {
    let PollPages { queued, fetched, failed, given_up } = *pages;
    if queued == 0 {
        return None;
    }
    let waiting = queued - fetched - failed - given_up;
    let counted = [(fetched, "fetched"), (failed, "failed"), (given_up, "given up"), (waiting, "waiting")];
    let counted =
        counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let noun = if queued == 1 { "page" } else { "pages" };
    Some(format!("{queued} article {noun}: {}", counted.collect::<Vec<_>>().join(", ")))
}
