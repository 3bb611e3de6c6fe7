//! What a person does to a source by hand: enable, disable, set aside, lift.

use gleaner_core::health::{Health, Status, StatusEvent, StatusEventKind, by_hand};

use super::{Service, ServiceError};
use crate::store::{HostKey, NewEvent, Source, SourceEdit};

impl Service {
    /// Enables or disables a source. Enabling clears every failure, and the source is due at once.
    pub async fn set_enabled(&self, id: i64, enabled: bool) -> Result<(), ServiceError> {
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
        self.change_health(id, |source, now| {
            let health = source.health.set_aside_by_hand(reason, now);
            Ok(Some((health, StatusEventKind::Quarantined, format!("set aside by hand: {reason}"))))
        })
        .await
    }

    /// Lifts a quarantine.
    pub async fn lift(&self, id: i64) -> Result<(), ServiceError> {
        self.change_health(id, |source, _| match source.health.status() {
            Status::Disabled => Err(ServiceError::Invalid(format!(
                "source {id} is disabled, not set aside; enable it with {{\"enabled\": true}}"
            ))),
            Status::Quarantined => {
                Ok(Some((source.health.lifted(), StatusEventKind::Recovered, "lifted by hand".into())))
            }
            Status::Failing | Status::Healthy => Ok(None),
        })
        .await
    }

    /// Reads a source, changes its health, and writes it, with its event; none: there is nothing to change.
    async fn change_health(
        &self,
        id: i64,
        change: impl Fn(
            &Source,
            gleaner_core::time::Time,
        ) -> Result<Option<(Health, StatusEventKind, String)>, ServiceError>,
    ) -> Result<(), ServiceError> {
        let (source, now) = (self.store.source(id).await?, self.clock.now());
        let Some((health, kind, reason)) = change(&source, now)? else { return Ok(()) };
        let event = StatusEvent { kind, reason };
        let decision = by_hand(health, vec![event.clone()], now);
        let edit = SourceEdit {
            id,
            version: source.version,
            fence: source.fence,
            canonical_url: gleaner_core::link::canonical(&source.settings.url),
            host: HostKey { name: source.host.clone(), slot: source.slot },
            health: decision.health,
            next_poll_at: decision.next.map(|next| next.at),
            forget: false,
            events: vec![NewEvent {
                kind: kind.name().to_owned(),
                source_id: Some(id),
                payload: serde_json::json!({ "url": source.settings.url, "reason": event.reason })
                    .to_string(),
            }],
            settings: source.settings,
        };
        Ok(self.store.edit_source(&edit, now).await?)
    }
}
