//! Bodies that are too large, and bodies that never end.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::api::client::Api;
use crate::support::sqlite;

/// Sends something as it is, and reads what comes until the connection is closed.
pub(super) async fn exchange(api: &Api, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(api.base.trim_start_matches("http://")).await.unwrap();
    stream.write_all(sent).await.unwrap();
    let mut answer = Vec::new();
    // A reset after the answer is an end, too.
    let _ = tokio::time::timeout(Duration::from_secs(40), stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_body_is_as_large_as_its_route_needs() {
    let api = Api::new(sqlite().await).await;
    let too_large = |answer: crate::api::client::Answer| {
        assert_eq!(answer.problem(413), "too_large");
        answer.body["detail"].as_str().unwrap().to_owned()
    };
    let login = json!({ "name": "x".repeat(20_000), "password": "guess" });
    let login = api.ask(Method::POST, "/api/v1/login", Some(login), &[]).await;
    assert!(too_large(login).ends_with("at most 16 KB"));
    let source = json!({ "url": "http://127.0.0.1/", "name": "x".repeat(70_000) });
    assert!(too_large(api.post("/sources", source.clone()).await).ends_with("at most 64 KB"));
    let keyed = api.send(Method::POST, "/sources", Some(source), &[("idempotency-key", "one")]).await;
    assert!(too_large(keyed).ends_with("at most 64 KB"), "with a key, too");
    let list = api.send_file(Method::POST, "/import", "text/x-opml", vec![b' '; 50 << 20 | 1]).await;
    assert!(too_large(list).ends_with("at most 50 MB"));
    // Those that do not say how long they are.
    let chunks = format!("4000\r\n{}\r\n", "x".repeat(0x4000)).repeat(2);
    let chunked = format!(
        "POST /api/v1/login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\nconnection: close\r\n\
         transfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
    );
    let answer = exchange(&api, chunked.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn names_and_passwords_have_a_length() {
    let api = Api::new(sqlite().await).await;
    let log_in = async |name: &str, password: &str| {
        let body = json!({ "name": name, "password": password });
        api.ask(Method::POST, "/api/v1/login", Some(body), &[]).await
    };
    assert_eq!(log_in(&"x".repeat(101), "guess").await.problem(422), "invalid");
    assert_eq!(log_in("ada", &"x".repeat(1001)).await.problem(422), "invalid");
    log_in(&"ü".repeat(100), &"x".repeat(1000)).await.problem(401);
    let long = api.put("/users/admin/password", json!({ "password": "x".repeat(1001) })).await;
    assert_eq!(long.problem(422), "invalid");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_never_ends_is_given_up() {
    let api = Api::new(sqlite().await).await;
    let begun = Instant::now();
    let half = "POST /api/v1/login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 16000\r\n\r\n{";
    let answer = exchange(&api, half.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    // Who is not let in is not listened to.
    let begun = Instant::now();
    let half = "POST /api/v1/import HTTP/1.1\r\nhost: a\r\ncontent-length: 10000000\r\n\r\n<";
    let answer = exchange(&api, half.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
