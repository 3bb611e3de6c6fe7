//! Edits of a source: new settings, and what follows for its health and its next poll.

use gleaner_core::health::{Decision, Status, StatusEvent, StatusEventKind, by_hand, rederive};
use gleaner_core::link;
use gleaner_core::schedule::Situation;
use gleaner_core::suspect::Change;
use gleaner_core::time::Time;

use super::keys::woken;
use super::{By, Checks, Scope, ServiceError, SourceFields};
use crate::engine::host_key;
use crate::store::{NewEvent, Source, SourceEdit, SourceSettings, StoreError};

/// Maximum number of retries of an edit that a concurrent poll overtook.
const TRIES: u32 = 5;

impl By<'_> {
    /// Changes fields of a source. With expected versions it must still have one of them; otherwise somebody else changed
    /// it first. `checks` has what is already known to be wrong with the fields.
    pub async fn change_source(
        &self,
        id: i64,
        expected: Option<&[i64]>,
        fields: &SourceFields,
        checks: Checks,
    ) -> Result<Source, ServiceError> {
        self.actor.must(Scope::Write)?;
        let collections = self.visible_collections().await?;
        self.edit_source(id, |source, now| {
            let mut checks = checks.clone();
            let settings = self.apply_fields(fields, &source.settings, &collections, &mut checks)?;
            checks.done()?;
            if expected.is_some_and(|versions| !versions.contains(&source.version)) {
                return Err(StoreError::Changed { entity: "source", key: id.to_string() }.into());
            }
            let edit = self.edit(source, settings, fields, now);
            // An edit that changes nothing must not discard a poll in progress.
            Ok((edit != SourceEdit::of(source)).then_some(edit))
        })
        .await?;
        self.visible_source(id).await
    }

    /// Reports what would be wrong with fields of a source; nothing is stored.
    pub async fn check_source(
        &self,
        id: i64,
        fields: &SourceFields,
        mut checks: Checks,
    ) -> Result<(), ServiceError> {
        self.actor.must(Scope::Write)?;
        let source = self.visible_source(id).await?;
        self.apply_fields(fields, &source.settings, &self.visible_collections().await?, &mut checks)?;
        checks.done()
    }

    /// Reads a source and writes it changed, and repeats that if a poll came in between. Returns whether anything was
    /// written.
    pub(super) async fn edit_source(
        &self,
        id: i64,
        change: impl Fn(&Source, Time) -> Result<Option<SourceEdit>, ServiceError>,
    ) -> Result<bool, ServiceError> {
        let mut tries = 0;
        loop {
            let (source, now) = (self.visible_source(id).await?, self.clock.now());
            let Some(mut edit) = change(&source, now)? else { return Ok(false) };
            edit.audit = self.audit_of_edit(&source, &edit);
            match self.store.edit_source(&edit, now).await {
                Err(StoreError::Changed { .. }) if tries < TRIES => tries += 1,
                Err(error) => return Err(error.into()),
                Ok(()) => return Ok(true),
            }
        }
    }

    fn edit(
        &self,
        source: &Source,
        settings: SourceSettings,
        fields: &SourceFields,
        now: Time,
    ) -> SourceEdit {
        let was = &source.settings;
        let about = |settings: &SourceSettings| {
            let selectors = (settings.article_selector.clone(), settings.ignore_selector.clone());
            (settings.url.clone(), settings.kind, selectors)
        };
        let edit = SourceEdit {
            canonical_url: link::canonical(&settings.url),
            host: host_key(&self.config, settings.kind, &settings.url),
            forget: about(was) != about(&settings),
            ..SourceEdit::of(source)
        };
        let decision = by_person(source, &settings, fields, now)
            .or_else(|| self.retimed(source, &settings, now))
            .or_else(|| fields.credential.as_ref().and_then(|_| woken(&source.health, now)));
        let edit = SourceEdit { settings, ..edit };
        let mut edit = match decision {
            Some(decision) => edit.deciding(decision),
            None => edit,
        };
        // The suspicion was about what is no longer polled.
        if edit.forget && (source.suspect.is_some() || source.pages_suspect.is_some()) {
            edit.events.push(NewEvent::of_suspicion(source.id, &edit.settings.url, &Change::Cleared));
        }
        if was.url != edit.settings.url {
            let reason = "a person changed its URL";
            edit.events.push(NewEvent::of_move(source.id, &was.url, &edit.settings.url, reason));
        }
        edit
    }

    /// Status and next poll for another policy or interval, derived from the stored state. A first poll keeps its time.
    fn retimed(&self, source: &Source, settings: &SourceSettings, now: Time) -> Option<Decision> {
        let was = &source.settings;
        let same = was.policy == settings.policy && was.interval == settings.interval;
        if same || source.health.awaiting_poll {
            return None;
        }
        Some(rederive(&self.situation(source, settings), now, self.random.jitter()))
    }

    /// Input of decisions and explanations of a source.
    pub(super) fn situation<'a>(&'a self, source: &'a Source, settings: &SourceSettings) -> Situation<'a> {
        Situation {
            health: &source.health,
            hints: &source.memory.hints,
            interval: settings.interval.resolve(self.config.source.poll_interval),
            policy: self.config.policy(settings.policy.as_deref()),
        }
    }
}

/// Decision for enabling, disabling and changing the URL. A new URL clears all failures, and ends what a policy disabled
/// but not what a person disabled.
fn by_person(
    source: &Source,
    settings: &SourceSettings,
    fields: &SourceFields,
    now: Time,
) -> Option<Decision> {
    let moved = source.settings.url != settings.url;
    let was = source.health.disabled.as_ref();
    let stays = was.is_some_and(|disabled| !moved || disabled.reason.is_none());
    let disabled = fields.enabled.map_or(stays, |enabled| !enabled);
    if !moved && was.is_some() == disabled {
        return None;
    }
    let health = if disabled && !moved { source.health.clone() } else { source.health.cleared() };
    let health = if disabled { health.disabled_by_hand(None) } else { health };
    let why = if moved { "its URL was changed" } else { "by hand" };
    let event = match (was.is_some(), disabled) {
        (false, true) => Some((StatusEventKind::Disabled, "disabled by hand".to_owned())),
        (true, false) => Some((StatusEventKind::Enabled, format!("enabled: {why}"))),
        (false, false) if !matches!(source.health.status(), Status::Healthy | Status::Pending) => {
            Some((StatusEventKind::Recovered, why.to_owned()))
        }
        _ => None,
    };
    let events = event.map(|(kind, reason)| StatusEvent { kind, reason });
    Some(by_hand(health, events.into_iter().collect(), now))
}
