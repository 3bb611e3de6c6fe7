//! What a person does to a source by hand: enable, disable, set aside, lift.

use gleaner_core::health::{Health, Status, StatusEvent, StatusEventKind, by_hand, rederive};
use gleaner_core::schedule::Situation;

use super::{By, Checks, Scope, ServiceError, SourceFields};
use crate::store::{Source, SourceEdit};

impl By<'_> {
    /// Enables or disables a source; whether it was not so already. Enabling clears every failure, and the source is
    /// due at once.
    pub async fn set_enabled(&self, id: i64, enabled: bool) -> Result<bool, ServiceError> {
        self.change_health(id, |source, _| match (enabled, source.health.disabled.is_none()) {
            (true, false) => {
                Ok(Some((source.health.cleared(), StatusEventKind::Enabled, "enabled by hand".into())))
            }
            (false, true) => {
                let reason = "disabled by hand".to_owned();
                Ok(Some((source.health.disabled_by_hand(None), StatusEventKind::Disabled, reason)))
            }
            _ => Ok(None),
        })
        .await
    }

    /// Sets a source aside: for the time that the `cooldown` policy gives where the reason is an error kind, else
    /// until a person lifts it.
    pub async fn set_aside(&self, id: i64, reason: &str) -> Result<(), ServiceError> {
        let reason = checked_reason(reason)?;
        self.change_health(id, |source, now| {
            let health = source.health.set_aside_by_hand(reason, now);
            Ok(Some((health, StatusEventKind::Quarantined, format!("set aside by hand: {reason}"))))
        })
        .await
        .map(|_| ())
    }

    /// Lifts a quarantine.
    pub async fn lift(&self, id: i64) -> Result<(), ServiceError> {
        self.change_health(id, |source, _| match source.health.status() {
            Status::Disabled => Err(is_disabled(id)),
            Status::Quarantined => {
                Ok(Some((source.health.lifted(), StatusEventKind::Enabled, "lifted by hand".into())))
            }
            Status::Failing | Status::Pending | Status::Healthy => Ok(None),
        })
        .await
        .map(|_| ())
    }

    /// Uses what a dead feed's site advertises in its place, if that is still this; what it had stays.
    pub async fn use_proposal(&self, id: i64, url: &str) -> Result<Source, ServiceError> {
        self.actor.must(Scope::Write)?;
        let proposal = self.visible_source(id).await?.elsewhere.and_then(|elsewhere| elsewhere.proposal);
        if proposal.is_none_or(|proposal| proposal.url != url) {
            let why = "what its site advertises has changed meanwhile; look again";
            return Err(ServiceError::conflict("another_proposal", why));
        }
        let fields = SourceFields { url: Some(url.to_owned()), ..SourceFields::default() };
        self.change_source(id, None, &fields, Checks::default()).await
    }

    /// Takes back that a source was disabled: what was held against it before still is. Whether it was disabled.
    pub(super) async fn reinstate(&self, id: i64) -> Result<bool, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.edit_source(id, |source, now| {
            if source.health.disabled.is_none() {
                return Ok(None);
            }
            let health = Health { disabled: None, ..source.health.clone() };
            let at = Situation { health: &health, ..self.situation(source, &source.settings) };
            let mut decision = rederive(&at, now, self.random.jitter());
            let reason = "enabled by hand: disabling it was taken back".to_owned();
            decision.events.insert(0, StatusEvent { kind: StatusEventKind::Enabled, reason });
            Ok(Some(SourceEdit::of(source).deciding(decision)))
        })
        .await
    }

    /// Reads a source, changes its health, and writes it, with its event; none: there is nothing to change. Whether
    /// there was.
    async fn change_health(
        &self,
        id: i64,
        change: impl Fn(
            &Source,
            gleaner_core::time::Time,
        ) -> Result<Option<(Health, StatusEventKind, String)>, ServiceError>,
    ) -> Result<bool, ServiceError> {
        self.actor.must(Scope::Write)?;
        self.edit_source(id, |source, now| {
            let Some((health, kind, reason)) = change(source, now)? else { return Ok(None) };
            let decision = by_hand(health, vec![StatusEvent { kind, reason }], now);
            Ok(Some(SourceEdit::of(source).deciding(decision)))
        })
        .await
    }
}

/// What cannot be done to a disabled source.
pub(super) fn is_disabled(id: i64) -> ServiceError {
    ServiceError::Conflict {
        code: "source_disabled",
        message: format!("source {id} is disabled, and only a person enables it: send {{\"enabled\": true}}"),
        id: Some(id),
        at: None,
    }
}

/// A reason that people can read.
pub(super) fn checked_reason(reason: &str) -> Result<&str, ServiceError> {
    let reason = reason.trim();
    let fits = (1..=500).contains(&reason.chars().count()) && !reason.contains('\0');
    if fits { Ok(reason) } else { Err(ServiceError::invalid("reason", "a reason has 1 to 500 characters")) }
}
