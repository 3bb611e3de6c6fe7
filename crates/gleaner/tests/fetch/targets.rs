//! Where the client does not go, and ports where nobody is.

use gleaner::config::Fetch;
use gleaner::config::secret::PrivateUrl;
use gleaner::fetch::{Fetcher, NetworkOverrides};
use tokio::net::TcpListener;
use url::Url;

use super::{check, fault, fetcher, get, settings};
use crate::support::http::{Reply, Server};

#[tokio::test]
async fn a_port_that_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    check(fault(&fetcher(), url).await, "network connect", "connection failed: refused");
}

#[tokio::test]
async fn loopback_is_blocked_unless_opened_and_sees_no_connection() {
    let canary = Server::start().await;
    canary.on("/", Reply::ok("secret"));
    let closed = Fetch { allow_private_networks: Vec::new(), ..settings() };
    let fetcher = Fetcher::new(&closed, &NetworkOverrides::default()).unwrap();
    let port = canary.address().port();
    for host in
        ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]", "[::127.0.0.1]"]
    {
        let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();
        let failure = fault(&fetcher, url).await.into_failure(None);
        assert_eq!(failure.kind.to_string(), "blocked", "{host}: {}", failure.message);
    }
    let url = canary.url_of("localhost", "/");
    check(fault(&fetcher, url).await, "blocked", "blocked: localhost is this machine");
    assert_eq!(canary.connections(), 0);
}

/// 127.0.0.1 is open here, and 127.2.0.1 is what must not be reached.
#[tokio::test]
async fn every_redirect_is_guarded() {
    let server = Server::start().await;
    let canary = Server::start_on([127, 2, 0, 1]).await;
    let open = Fetch { allow_private_networks: vec!["127.0.0.1/32".parse().unwrap()], ..settings() };
    let fetcher = Fetcher::new(&open, &NetworkOverrides::default()).unwrap();
    let port = canary.address().port();
    let targets = [
        format!("http://127.2.0.1:{port}/"),
        format!("//127.2.0.1:{port}/"),
        format!("http://0x7f020001:{port}/"),
        format!("http://[::ffff:127.2.0.1]:{port}/"),
        format!("\\\\127.2.0.1:{port}\\"),
        "http://127.0.0.1:22/".to_owned(),
        "http://me:hunter2@127.0.0.1/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "ftp://127.0.0.1/".to_owned(),
        "data:text/xml,<rss/>".to_owned(),
    ];
    for status in [301, 302, 303, 307, 308] {
        for target in &targets {
            server.on("/first", Reply::redirect(302, "/second"));
            server.on("/second", Reply::redirect(status, target));
            let failure = fault(&fetcher, server.url("/first")).await.into_failure(None);
            assert_eq!(failure.kind.to_string(), "blocked", "{status} {target}: {}", failure.message);
            assert!(!failure.message.contains("hunter2"));
        }
    }
    // A header that browsers take for a redirect is none here.
    server.on("/", Reply::ok("x").header("Refresh", format!("0; url=http://127.2.0.1:{port}/")));
    get(&fetcher, server.url("/")).await.unwrap();
    assert_eq!(canary.connections(), 0);
}

/// Set in the second run of the test below.
const SECOND_RUN: &str = "GLEANER_TEST_BEHIND_PROXY";

#[tokio::test]
async fn no_proxy_is_taken_from_the_environment() {
    if std::env::var_os(SECOND_RUN).is_some() {
        let server = Server::start().await;
        server.on("/", Reply::ok("direct"));
        assert_eq!(get(&fetcher(), server.url("/")).await.unwrap().body, "direct");
        return;
    }
    // An environment cannot be changed safely, only given: the test runs itself in one that has proxies.
    let proxy = Server::start().await;
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "fetch::targets::no_proxy_is_taken_from_the_environment"]).env(SECOND_RUN, "1");
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(name, proxy.url("/").as_str());
    }
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn a_proxy_that_is_configured_is_used_and_changes_little() {
    let (server, proxy) = (Server::start().await, Server::start_on([127, 3, 0, 1]).await);
    proxy.on("http://a.test/feed", Reply::ok("by proxy"));
    let url = PrivateUrl::new(proxy.url("/"));
    // The proxy itself may be anywhere, since the configuration says so; what is asked of it may not.
    let behind = Fetch { proxy: Some(url), allow_private_networks: Vec::new(), ..settings() };
    let fetcher = Fetcher::new(&behind, &NetworkOverrides::default()).unwrap();
    let by_proxy = get(&fetcher, Url::parse("http://a.test/feed").unwrap()).await.unwrap();
    assert_eq!(by_proxy.body, "by proxy");
    check(fault(&fetcher, server.url("/")).await, "blocked", "blocked: 127.0.0.1 is this machine");
    assert_eq!((proxy.requests().len(), server.connections()), (1, 0));
}
