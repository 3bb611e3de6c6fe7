//! Why a source is where it is, with the polls that led there.

use gleaner_core::explain::{Around, Evidence, Explanation, explain};
use gleaner_core::schedule::{HostState, Why};
use gleaner_core::source::Interval;
use gleaner_core::time::{Span, Time};

use super::{By, Poll, Scope, ServiceError, Source};
use crate::engine;

/// How many rows of the history are told.
const EVIDENCE: u32 = 10;

impl By<'_> {
    /// Explains a source.
    pub async fn explain(&self, id: i64) -> Result<Explanation, ServiceError> {
        self.actor.must(Scope::Read)?;
        let source = self.store.source(id).await?;
        let polls = self.store.polls(id, None, EVIDENCE).await?;
        let host = HostState::default();
        let now = self.clock.now();
        let mut at = self.situation(&source, &source.settings, &host);
        let mut around = self.around(&source, polls.first()).await?;
        if let Some((interval, words)) = self.auto(&source, now).await? {
            at.interval = interval;
            around.words.push(words);
        }
        let evidence: Vec<Evidence> = polls.iter().map(evidence).collect();
        let told = explain(&at, source.next_poll_at, &evidence, around, now);
        let proposal = source.elsewhere.as_ref().and_then(|elsewhere| elsewhere.proposal.as_ref());
        Ok(told.suspecting(source.suspect.as_ref()).proposing(proposal))
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
        self.store.source(id).await?;
        Ok(self.store.polls(id, before, limit).await?)
    }
}

/// What is said of our own network while it is down.
pub fn network_down(since: Time) -> String {
    let since = gleaner_core::explain::When(since);
    format!(
        "Our own network seems to be down: nothing has answered since {since}. Nothing is held against any source, and \
         polling goes on by itself when something answers again."
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
            Some(excuse) => format!("{message} ({})", excuse.in_words()),
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
    if told.is_empty() {
        told.push(
            if poll.record.outcome == "not_modified" { "not modified" } else { "nothing new" }.to_owned(),
        );
    }
    told.extend(poll.record.note.clone());
    told.join(", ")
}
