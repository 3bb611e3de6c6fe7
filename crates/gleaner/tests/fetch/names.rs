//! Names that do not exist, that nobody answers for, and that point where they must not.

use std::net::{IpAddr, Ipv4Addr};

use gleaner::config::Fetch;
use gleaner::fetch::{Fetcher, NetworkOverrides};
use url::Url;

use super::{check, fault, get, settings};
use crate::support::dns::{Answer, Dns};
use crate::support::http::{Reply, Server};

fn fetcher(dns: &Dns) -> Fetcher {
    let network_overrides =
        NetworkOverrides { name_server: Some(dns.address()), ..NetworkOverrides::default() };
    Fetcher::new(&settings(), &network_overrides).unwrap()
}

fn url(name: &str) -> Url {
    Url::parse(&format!("http://{name}/")).unwrap()
}

#[tokio::test]
async fn a_name_leads_to_its_server() {
    let (dns, server) = (Dns::start().await, Server::start().await);
    dns.set("a.test", Answer::ip("127.0.0.1"));
    server.on("/", Reply::ok("x"));
    let url = server.url_of("a.test", "/");
    assert_eq!(get(&fetcher(&dns), url).await.unwrap().body, "x");
    assert_eq!(server.requests()[0].header("host").unwrap(), format!("a.test:{}", server.address().port()));
}

#[tokio::test]
async fn names_at_hand_are_the_only_ones() {
    let server = Server::start().await;
    server.on("/", Reply::ok("x"));
    let inside = "10.0.0.1:80".parse().unwrap();
    let names = [("a.test".to_owned(), server.address()), ("b.test".to_owned(), inside)].into();
    let fetcher =
        Fetcher::new(&settings(), &NetworkOverrides { names, ..NetworkOverrides::default() }).unwrap();
    assert_eq!(
        get(&fetcher, url("a.test")).await.unwrap().body,
        "x",
        "at its port, which the URL does not show"
    );
    assert_eq!(server.requests()[0].header("host").unwrap(), "a.test");
    check(fault(&fetcher, url("c.test")).await, "network dns", "the name c.test does not exist");
    check(fault(&fetcher, url("b.test")).await, "blocked", "blocked: b.test: 10.0.0.1 is private");
}

#[tokio::test]
async fn each_way_to_have_no_address_is_told_apart() {
    let dns = Dns::start().await;
    let fetcher = fetcher(&dns);
    for (name, answer) in [
        ("none.test", Answer::NxDomain),
        ("nothing.test", Answer::NoData),
        ("broken.test", Answer::ServFail),
        ("closed.test", Answer::Refused),
        ("silent.test", Answer::Silence),
    ] {
        dns.set(name, answer);
    }
    let dns_cause = "network dns";
    check(fault(&fetcher, url("none.test")).await, dns_cause, "the name none.test does not exist");
    check(fault(&fetcher, url("nothing.test")).await, dns_cause, "the name nothing.test does not exist");
    let long = format!("{}.test", "x".repeat(64));
    check(fault(&fetcher, url(&long)).await, dns_cause, &format!("the name {long} does not exist"));
    let unavailable = "network dns_unavailable";
    let message = "name lookup failed: broken.test: the name server says Server Failure";
    check(fault(&fetcher, url("broken.test")).await, unavailable, message);
    let message = "name lookup failed: closed.test: the name server says Query Refused";
    check(fault(&fetcher, url("closed.test")).await, unavailable, message);
    let message = "timeout after 300ms looking up the name";
    check(fault(&fetcher, url("silent.test")).await, unavailable, message);
}

#[tokio::test]
async fn a_name_server_that_is_not_there_is_unavailable() {
    let dns = Dns::start().await;
    let fetcher = fetcher(&dns);
    drop(dns);
    let fault = fault(&fetcher, url("a.test")).await;
    let failure = fault.into_failure(None);
    assert_eq!(failure.kind.cause().unwrap().name(), "dns_unavailable", "{}", failure.message);
}

#[tokio::test]
async fn silence_about_one_family_does_not_hide_the_other() {
    let (dns, server) = (Dns::start().await, Server::start().await);
    dns.set("half.test", Answer::OnlyAboutV4(vec![Ipv4Addr::LOCALHOST.into()]));
    server.on("/", Reply::ok("x"));
    let settings = Fetch {
        dns_timeout: gleaner_core::time::Span::from_millis(1000),
        connect_timeout: gleaner_core::time::Span::from_millis(1400),
        ..settings()
    };
    let network_overrides =
        NetworkOverrides { name_server: Some(dns.address()), ..NetworkOverrides::default() };
    let fetcher = Fetcher::new(&settings, &network_overrides).unwrap();
    assert_eq!(get(&fetcher, server.url_of("half.test", "/")).await.unwrap().body, "x");
}

#[tokio::test]
async fn one_private_address_refuses_the_name() {
    let dns = Dns::start().await;
    let canary = Server::start().await;
    let fetcher = fetcher(&dns);
    for (name, ips, why) in [
        ("a.test", &["10.0.0.1"][..], "10.0.0.1 is private"),
        ("b.test", &["127.0.0.1", "169.254.169.254"], "169.254.169.254 is link-local"),
        ("c.test", &["127.0.0.1", "fd00::1"], "fd00::1 is private"),
        ("d.test", &["127.0.0.1", "::1"], "::1 is this machine"),
        ("e.test", &["::ffff:192.168.0.1"], "::ffff:192.168.0.1 is a mapped IPv4 address"),
        ("f.test", &["127.0.0.1", "64:ff9b::7f00:1"], "64:ff9b::7f00:1 is a translated IPv4 address"),
        ("g.test", &["127.0.0.1", "100.64.0.1"], "100.64.0.1 is shared by a carrier's customers"),
    ] {
        dns.set(name, Answer::ips(ips));
        let message = format!("blocked: {name}: {why}");
        check(fault(&fetcher, canary.url_of(name, "/")).await, "blocked", &message);
    }
    assert_eq!(canary.connections(), 0);
}

/// 127.1.0.0/16 stands for the internet here, and 127.2.0.1 for what must not be reached.
#[tokio::test]
async fn a_name_that_changes_its_mind_never_leads_inside() {
    let dns = Dns::start().await;
    let outside_server = Server::start_on([127, 1, 0, 1]).await;
    // The same port on the inside, so that the same URL would reach it.
    let port = outside_server.address().port();
    let inside = tokio::net::TcpListener::bind((Ipv4Addr::new(127, 2, 0, 1), port)).await.unwrap();
    let settings = Fetch { allow_private_networks: vec!["127.1.0.0/16".parse().unwrap()], ..settings() };
    let network_overrides =
        NetworkOverrides { name_server: Some(dns.address()), ..NetworkOverrides::default() };
    let fetcher = Fetcher::new(&settings, &network_overrides).unwrap();
    let public: IpAddr = [127, 1, 0, 1].into();
    let private: IpAddr = [127, 2, 0, 1].into();
    dns.set("flip.test", Answer::InTurn(vec![public, private]));
    // Closed after each answer, so that each fetch asks for the name.
    outside_server.on("/", Reply::ok("x").header("Connection", "close").close());
    let url = outside_server.url_of("flip.test", "/");
    let (mut reached, mut blocked) = (0, 0);
    for _ in 0..200 {
        match get(&fetcher, url.clone()).await {
            Ok(_) => reached += 1,
            Err(failed) => {
                check(failed.fault, "blocked", "blocked: flip.test: 127.2.0.1 is this machine");
                blocked += 1;
            }
        }
    }
    assert!(reached >= 90 && blocked >= 90, "{reached} reached, {blocked} blocked");
    let nobody = tokio::time::timeout(std::time::Duration::from_millis(50), inside.accept()).await;
    assert!(nobody.is_err(), "the inside was reached");
    assert!(dns.queries("flip.test") >= 200);
}
