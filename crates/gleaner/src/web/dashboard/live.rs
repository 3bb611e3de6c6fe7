//! Tells open pages that something changed, so that they ask for themselves anew. What changed is not told: a page
//! knows what it shows.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::json;

use super::{Oops, Visit};
use crate::service::StreamPlace;
use crate::web::Web;

/// How often it looks whether something changed: pages are not renewed more often.
const LOOK: Duration = Duration::from_secs(2);
/// After so many looks it says at least that it is there.
const LOOKS: u32 = 5;

struct Follower {
    web: Web,
    pulse: u64,
    begun: bool,
    place: StreamPlace,
}

impl Follower {
    /// The next word; none when the server stops, or the reader is not let in any more.
    async fn next(&mut self) -> Option<Event> {
        if !self.begun {
            self.begun = true;
            return Some(self.word("hello"));
        }
        for _ in 0..LOOKS {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.web.service.stopping() => return None,
                () = self.place.ended() => return None,
            }
            let pulse = self.web.service.pulse();
            if pulse != self.pulse {
                self.pulse = pulse;
                return Some(self.word("changed"));
            }
        }
        Some(self.word("tick"))
    }

    /// Every word tells the time, by which pages count down.
    fn word(&self, name: &str) -> Event {
        Event::default().event(name).data(json!({ "now": self.web.service.now().as_millis() }).to_string())
    }
}

/// Follows what changes.
pub(super) async fn follow(visit: Visit) -> Result<Response, Oops> {
    let place = visit.web.service.stream_place(&visit.actor).await?;
    let pulse = visit.web.service.pulse();
    let follower = Follower { web: visit.web, pulse, begun: false, place };
    let events = stream::unfold(follower, |mut follower| async {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Ok(([("x-accel-buffering", "no")], Sse::new(events)).into_response())
}
