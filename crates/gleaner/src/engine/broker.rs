//! NATS JetStream: a connection, a stream that is made where it is missing, and messages that count when they are
//! acknowledged.
//!
//! A stream that is there is left as it is, whatever its settings. Absent on purpose: reading, and what servers before
//! 2.9 lack or after it have.

use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::connection::State;
use async_nats::jetstream::context::{GetStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config as StreamConfig, DiscardPolicy, Info, StorageType};
use async_nats::jetstream::{self, ErrorCode};

use super::message::{Message, event_of};
use crate::config::Nats;

/// How long a connection, a question or an acknowledgement may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many messages are under way at once.
const AT_ONCE: usize = 500;
/// In which time a message that comes again is known: longer than any retry of ours takes while all is well.
const KNOWN_FOR: Duration = Duration::from_secs(10 * 60);

/// Why something could not be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrokerError {
    #[error("NATS at {url} cannot be reached: {why}")]
    Unreachable { url: String, why: String },
    #[error("nats.credentials cannot be used: {0}")]
    Credentials(std::io::Error),
    #[error("the stream {stream} of NATS cannot be used: {why}")]
    Stream { stream: String, why: String },
    #[error("a message on {subject} was not acknowledged by the stream {stream}: {why}")]
    NotTaken { subject: String, stream: String, why: String },
}

/// A connection, which mends itself.
pub(super) struct Broker {
    jetstream: jetstream::Context,
    client: async_nats::Client,
    config: Nats,
}

/// What a broker says of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// When it was made.
    pub(super) made: i64,
    /// The last number that it gave.
    pub(super) last: i64,
}

/// What became of sending.
pub(super) struct Taken {
    /// How many messages, from the first, were acknowledged.
    pub(super) count: usize,
    /// The highest number that the broker gave.
    pub(super) last: i64,
    /// The lowest number that it gave a second time: it has lost what had it before.
    pub(super) went_back: Option<i64>,
    /// Why no more.
    pub(super) error: Option<BrokerError>,
}

impl Broker {
    /// Connects; `name` is what the broker's operators see.
    pub(super) async fn connect(config: &Nats, name: &str) -> Result<Self, BrokerError> {
        let url = config.url.as_ref().map(ToString::to_string).unwrap_or_default();
        let unreachable = |why: String| BrokerError::Unreachable { url: url.clone(), why };
        let mut options = ConnectOptions::new()
            .name(format!("gleaner {name}"))
            .connection_timeout(PATIENCE)
            .request_timeout(Some(PATIENCE))
            .event_callback(|event| async move { tracing::debug!(%event, "NATS") });
        if let Some(token) = &config.token {
            options = options.token(token.expose().to_owned());
        }
        if let Some(credentials) = &config.credentials {
            options = options.credentials(credentials.expose()).map_err(BrokerError::Credentials)?;
        }
        let server = config.url.as_ref().map(|url| url.expose().as_str()).unwrap_or_default();
        let connecting = tokio::time::timeout(2 * PATIENCE, options.connect(server));
        let client = match connecting.await {
            Ok(connected) => connected.map_err(|error| unreachable(with_source(&error)))?,
            Err(_) => return Err(unreachable("it does not answer".to_owned())),
        };
        let jetstream = jetstream::ContextBuilder::new()
            .timeout(PATIENCE)
            .backpressure_on_inflight(true)
            .build(client.clone());
        Ok(Self { jetstream, client, config: config.clone() })
    }

    /// What the stream is; it is made where it is missing.
    pub(super) async fn stream(&self) -> Result<Found, BrokerError> {
        self.is_there()?;
        let name = &self.config.stream;
        let wrong = |why: String| BrokerError::Stream { stream: name.clone(), why };
        match self.jetstream.get_stream(name).await {
            Ok(stream) => return Ok(found(stream.cached_info())),
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(why) if why.error_code() == ErrorCode::STREAM_NOT_FOUND => {}
                _ => return Err(wrong(with_source(&error))),
            },
        }
        let made = self.jetstream.create_stream(self.settings()).await;
        let made =
            made.map_err(|error| wrong(format!("it is missing, and not made: {}", with_source(&error))))?;
        tracing::info!(stream = name, "a stream was made in NATS");
        Ok(found(made.cached_info()))
    }

    /// The number of the event that the latest message in the stream tells of, if it is one of ours.
    pub(super) async fn latest_event(&self, origin: &str, last: i64) -> Option<i64> {
        let stream = self.jetstream.get_stream_no_info(&self.config.stream).await.ok()?;
        let message = stream.get_raw_message(u64::try_from(last).ok()?).await.ok()?;
        event_of(origin, message.headers.get("Nats-Msg-Id")?.as_str())
    }

    /// Sends messages in their order, many at a time, until one is not acknowledged. `known` is the last number that
    /// the broker gave before.
    pub(super) async fn send(&self, messages: &[Message], known: i64) -> Taken {
        let mut taken = Taken { count: 0, last: 0, went_back: None, error: self.is_there().err() };
        for piece in messages.chunks(AT_ONCE) {
            if taken.error.is_some() {
                break;
            }
            self.send_piece(piece, known, &mut taken).await;
        }
        taken
    }

    async fn send_piece(&self, messages: &[Message], known: i64, taken: &mut Taken) {
        let mut under_way = Vec::with_capacity(messages.len());
        for message in messages {
            let publish = PublishMessage::build()
                .payload(message.payload.clone().into())
                .message_id(&message.id)
                .expected_stream(&self.config.stream);
            let sent = self.jetstream.send_publish(message.subject.clone(), publish).await;
            let failed = sent.is_err();
            under_way.push((message, sent));
            if failed {
                break;
            }
        }
        for (message, sent) in under_way {
            let acknowledged = match sent {
                Ok(sent) => sent.await,
                Err(error) => Err(error),
            };
            match acknowledged {
                Ok(ack) => {
                    let number = i64::try_from(ack.sequence).unwrap_or(i64::MAX);
                    taken.last = taken.last.max(number);
                    if !ack.duplicate && number <= known {
                        taken.went_back = Some(taken.went_back.map_or(number, |lowest| lowest.min(number)));
                    }
                    taken.count += 1;
                }
                // Nothing that is told is so large; if one were, all after it would wait for ever.
                Err(error) if error.kind() == PublishErrorKind::MaxPayloadExceeded => {
                    tracing::error!(id = message.id, "a message is larger than NATS takes; it is left out");
                    taken.count += 1;
                }
                Err(error) => {
                    taken.error = Some(BrokerError::NotTaken {
                        subject: message.subject.clone(),
                        stream: self.config.stream.clone(),
                        why: with_source(&error),
                    });
                    return;
                }
            }
        }
    }

    /// Says so at once where there is no connection, rather than after a while.
    fn is_there(&self) -> Result<(), BrokerError> {
        match self.client.connection_state() {
            State::Connected => Ok(()),
            State::Pending | State::Disconnected => Err(BrokerError::Unreachable {
                url: self.config.url.as_ref().map(ToString::to_string).unwrap_or_default(),
                why: "the connection is lost".to_owned(),
            }),
        }
    }

    /// How a stream is made: on disk, by age, the oldest going first.
    fn settings(&self) -> StreamConfig {
        let max_age = Duration::from_millis(self.config.max_age.as_millis());
        StreamConfig {
            name: self.config.stream.clone(),
            description: Some("What gleaner collected, and what happened to its sources.".to_owned()),
            subjects: vec![format!("{}.>", self.config.subject)],
            storage: StorageType::File,
            discard: DiscardPolicy::Old,
            max_messages: -1,
            max_bytes: -1,
            max_age,
            num_replicas: self.config.replicas as usize,
            duplicate_window: KNOWN_FOR.min(max_age),
            ..StreamConfig::default()
        }
    }
}

fn found(info: &Info) -> Found {
    let made = i64::try_from(info.created.unix_timestamp_nanos()).unwrap_or(i64::MAX);
    Found { made, last: i64::try_from(info.state.last_sequence).unwrap_or(i64::MAX) }
}

/// An error with what is behind it, on one line.
fn with_source(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let inner = error.to_string();
        if !words.contains(&inner) {
            words = format!("{words}: {inner}");
        }
        source = error.source();
    }
    words
}
