//! Everything that can stand still, each told from the others.

use std::time::{Duration, Instant};

use gleaner::config::Fetch;
use gleaner::fetch::{Fetcher, NetworkOverrides};
use gleaner_core::time::Span;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use url::Url;

use super::{check, fault, fetcher, get, settings};
use crate::support::dns::{Answer, Dns};
use crate::support::http::{Reply, Server};

#[tokio::test]
async fn a_server_that_says_nothing_more_runs_into_the_whole_limit() {
    let server = Server::start().await;
    let settings = Fetch {
        timeout: Span::from_millis(300),
        connect_timeout: Span::from_millis(200),
        dns_timeout: Span::from_millis(100),
        ..settings()
    };
    let fetcher = Fetcher::new(&settings, &NetworkOverrides::default()).unwrap();
    let pause = Duration::from_millis(10);
    for reply in [
        Reply::raw("").stall(),
        Reply::raw("HTTP/1.1 200 OK\r\nX: ").stall(),
        Reply::head("Content-Length: 10").stall(),
        Reply::head("Content-Length: 10").send("half").stall(),
        Reply::head("Transfer-Encoding: chunked").endless("1\r\nx\r\n", pause),
        Reply::raw("HTTP/1.1 200 OK\r\nX: ").endless("y", pause),
        Reply::raw("").endless("HTTP/1.1 100 Continue\r\n\r\n", pause),
    ] {
        server.on("/", reply);
        // A redirect before it takes of the same time.
        server.on("/start", Reply::redirect(302, "/"));
        let start = Instant::now();
        check(fault(&fetcher, server.url("/start")).await, "network timeout", "timeout after 300ms");
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn the_usual_limit_reads_as_people_expect() {
    // Waiting 30 s for it would prove no more than the settings' own unit.
    let server = Server::start().await;
    server.on("/", Reply::raw("").stall());
    let second = Span::from_secs(1);
    let settings = Fetch { timeout: second, ..settings() };
    let fetcher = Fetcher::new(&settings, &NetworkOverrides::default()).unwrap();
    check(fault(&fetcher, server.url("/")).await, "network timeout", "timeout after 1s");
}

#[tokio::test]
async fn a_server_that_never_takes_the_connection() {
    // Accepted by the system, never by the server: that is a connection, and the wait is for the answer.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    check(fault(&fetcher(), url).await, "network timeout", "timeout after 1500ms");
}

#[tokio::test]
async fn a_handshake_that_stalls_is_connecting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    check(fault(&fetcher(), url).await, "network timeout", "timeout after 600ms connecting");
}

#[tokio::test]
async fn a_port_whose_queue_is_full_is_connecting() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // Once the queue is full the system drops what asks to connect, as a firewall would.
    let mut queue = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(address)).await
    {
        queue.push(stream);
        assert!(queue.len() < 100, "the queue never fills");
    }
    let url = Url::parse(&format!("http://{address}/")).unwrap();
    check(fault(&fetcher(), url).await, "network timeout", "timeout after 600ms connecting");
}

#[tokio::test]
async fn equal_limits_still_name_what_was_stalled() {
    let dns = Dns::start().await;
    dns.set("silent.test", Answer::Silence);
    let limit = Span::from_millis(200);
    let settings = Fetch { timeout: limit, connect_timeout: limit, dns_timeout: limit, ..settings() };
    let network_overrides =
        NetworkOverrides { name_server: Some(dns.address()), ..NetworkOverrides::default() };
    let fetcher = Fetcher::new(&settings, &network_overrides).unwrap();
    let url = Url::parse("http://silent.test/").unwrap();
    let message = "timeout after 200ms looking up the name";
    check(fault(&fetcher, url).await, "network dns_unavailable", message);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    check(fault(&fetcher, url).await, "network timeout", "timeout after 200ms connecting");
}

#[tokio::test]
async fn one_that_stalls_holds_up_no_other() {
    let server = Server::start().await;
    server.on("/stall", Reply::raw("").stall());
    server.on("/", Reply::ok("x"));
    let fetcher = fetcher();
    let stalled = get(&fetcher, server.url("/stall"));
    let others = async {
        for _ in 0..20 {
            get(&fetcher, server.url("/")).await.unwrap();
        }
        Instant::now()
    };
    let start = Instant::now();
    let (stalled, done) = tokio::join!(stalled, others);
    assert!(stalled.is_err());
    assert!(done - start < Duration::from_millis(1400), "{:?}", done - start);
}
