//! Transient or permanent: each failure provoked for real, under every policy, and shown by the API.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::on_both;
use super::world::{Answer, World};
use crate::support::Database;
use crate::support::dns;
use crate::support::http::Reply;

on_both!(
    http_404_is_permanent,
    http_410_is_permanent,
    http_401_is_permanent,
    http_403_is_permanent,
    http_429_is_transient,
    http_500_is_transient,
    connect_timeout_is_transient,
    connection_refused_is_transient,
    socket_timeout_is_transient,
    unknown_host_is_permanent,
    feed_parse_failure_is_transient,
    unknown_failure_is_transient,
);

const POLICIES: [&str; 4] = ["standard", "backoff", "cooldown", "quarantine"];

/// What the API is to show of a failure.
struct Failure {
    class: &'static str,
    error_type: &'static str,
    cause: Option<&'static str>,
    status_code: Option<u16>,
    message: &'static str,
}

impl Failure {
    /// An answer with this status.
    fn status(class: &'static str, error_type: &'static str, status: u16, message: &'static str) -> Self {
        Self { class, error_type, cause: None, status_code: Some(status), message }
    }

    /// A transient failure of the network.
    fn network(cause: &'static str, message: &'static str) -> Self {
        Self { class: "transient", error_type: "network", cause: Some(cause), status_code: None, message }
    }
}

/// A world with little patience.
async fn impatient_world(db: Database) -> World {
    World::new(db, &["fetch.timeout_seconds=1.5", "fetch.connect_timeout_seconds=1"]).await
}

/// A source under each policy, each on a host of its own, fails once with this URL.
async fn check_url(world: &mut World, url: impl Fn(&str) -> String, expected: &Failure) {
    let mut ids = Vec::new();
    for policy in POLICIES {
        let (url, policy) = (url(policy), policy.to_owned());
        ids.push(world.add_url(&url, |new| new.policy = Some(policy)).await);
    }
    world.poll_due().await;
    for id in ids {
        let source = world.source_json(id).await;
        let shown = json!([
            source["last_failure_type"],
            source["last_error_type"],
            source["last_status_code"],
            source["last_error"],
            source["consecutive_failures"],
        ]);
        let Failure { class, error_type, status_code, message, .. } = expected;
        assert_eq!(shown, json!([class, error_type, status_code, message, 1]), "{source:#}");
        let poll = world.poll_json(id).await;
        assert_eq!((&poll["outcome"], &poll["error_type"]), (&json!("failed"), &json!(error_type)));
        assert_eq!(poll["error_cause"], expected.cause.map_or(Value::Null, Value::from), "{poll:#}");
    }
}

/// The same with this answer.
async fn check_reply(world: &mut World, path: &str, reply: Reply, expected: &Failure) {
    world.reply(path, reply);
    let port = world.server().address().port();
    let name = path.trim_start_matches('/').to_owned();
    check_url(world, |policy| format!("http://{name}-{policy}.test:{port}{path}"), expected).await;
}

async fn check(db: Database, answer: Answer, expected: &Failure) {
    let mut world = World::new(db, &[]).await;
    check_reply(&mut world, "/feed", answer.reply(), expected).await;
}

async fn http_404_is_permanent(db: Database) {
    let expected = Failure::status("permanent", "not_found", 404, "404 Not Found");
    check(db, Answer::Status(404), &expected).await;
}

async fn http_410_is_permanent(db: Database) {
    check(db, Answer::Status(410), &Failure::status("permanent", "gone", 410, "410 Gone")).await;
}

async fn http_401_is_permanent(db: Database) {
    let expected = Failure::status("permanent", "unauthorized", 401, "401 Unauthorized");
    check(db, Answer::Status(401), &expected).await;
}

async fn http_403_is_permanent(db: Database) {
    let expected = Failure::status("permanent", "forbidden", 403, "403 Forbidden");
    check(db, Answer::Status(403), &expected).await;
}

async fn http_429_is_transient(db: Database) {
    let expected = Failure::status("transient", "rate_limited", 429, "429 Too Many Requests");
    check(db, Answer::Status(429), &expected).await;
}

async fn http_500_is_transient(db: Database) {
    let expected = Failure::status("transient", "upstream_failure", 500, "500 Internal Server Error");
    check(db, Answer::Status(500), &expected).await;
}

async fn connect_timeout_is_transient(db: Database) {
    let mut world = impatient_world(db).await;
    // The queue of a port is full: the system drops what asks to connect, as a firewall would.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let mut queue = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(address)).await
    {
        queue.push(stream);
        assert!(queue.len() < 100, "the queue never fills");
    }
    let connecting = Failure::network("timeout", "timeout after 1s connecting");
    check_url(&mut world, |policy| format!("http://full-{policy}.test:{}/", address.port()), &connecting)
        .await;
    // The system takes the connection, and the server never does.
    let idle = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = idle.local_addr().unwrap().port();
    let waiting = Failure::network("timeout", "timeout after 1500ms");
    check_url(&mut world, |policy| format!("http://idle-{policy}.test:{port}/"), &waiting).await;
    // The server takes the connection and the request, and never answers.
    check_reply(&mut world, "/silent", Answer::Never.reply(), &waiting).await;
}

async fn socket_timeout_is_transient(db: Database) {
    let mut world = impatient_world(db).await;
    let expected = Failure::network("timeout", "timeout after 1500ms");
    check_reply(&mut world, "/head", Reply::raw("HTTP/1.1 200 OK\r\nX: ").stall(), &expected).await;
    check_reply(&mut world, "/body", Answer::StopsInTheMiddle.reply(), &expected).await;
}

async fn feed_parse_failure_is_transient(db: Database) {
    let answer = Answer::body("<?xml version='1.0'?><recipe><egg/></recipe>");
    let message = "the document is XML of another kind (<recipe>), not a feed";
    let expected = Failure::status("transient", "parse_error", 200, message);
    check(db, answer, &expected).await;
}

async fn unknown_failure_is_transient(db: Database) {
    let mut world = World::new(db, &[]).await;
    // Not HTTP: a failure without a status.
    let no_http = Failure {
        class: "transient",
        error_type: "unexpected",
        cause: None,
        status_code: None,
        message: "the answer is not valid HTTP",
    };
    check_reply(&mut world, "/ssh", Reply::raw("SSH-2.0-OpenSSH_9.9\r\n").stall(), &no_http).await;
    // A document that nobody said to have.
    let message = "304 Not Modified in answer to an unconditional request";
    let unmodified = Failure::status("transient", "unexpected", 304, message);
    check_reply(&mut world, "/unmodified", Reply::status(304), &unmodified).await;
    let teapot = Failure::status("transient", "unexpected", 418, "418 I'm a teapot");
    check_reply(&mut world, "/teapot", Reply::status(418), &teapot).await;
    let beyond = Failure::status("transient", "unexpected", 799, "status 799");
    check_reply(&mut world, "/beyond", Reply::status(799), &beyond).await;
}

async fn connection_refused_is_transient(db: Database) {
    let mut world = World::new(db, &[]).await;
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let expected = Failure::network("connect", "connection failed: refused");
    check_url(&mut world, |policy| format!("http://{policy}.test:{port}/feed"), &expected).await;
}

async fn unknown_host_is_permanent(db: Database) {
    let mut world = World::new(db, &[]).await;
    for (name, answer) in [("absent", dns::Answer::NxDomain), ("addressless", dns::Answer::NoData)] {
        for policy in POLICIES {
            let host = format!("{policy}.{name}.invalid");
            world.set_name(&host, answer.clone());
            let url = format!("http://{host}/feed");
            let id = world.add_url(&url, |new| new.policy = Some(policy.to_owned())).await;
            world.poll_due().await;
            let source = world.source_json(id).await;
            assert_eq!(source["last_failure_type"], "permanent", "{source:#}");
            assert_eq!(source["last_error_type"], "network");
            assert_eq!(source["last_error"], format!("the name {host} does not exist"));
            assert_eq!(world.poll_json(id).await["error_cause"], "dns");
        }
    }
}
