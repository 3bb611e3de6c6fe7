//! Names that point outside and inside by turns, with a time to live of 0: whatever was checked is what is connected to.
//!
//! 200 fetches here; `make rebinding` makes it 10,000.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gleaner::config::Fetch;
use gleaner::fetch::{Fetcher, NetworkOverrides, Request};
use gleaner_core::classify::Fault;
use gleaner_core::time::Span;
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::dns::{Answer, Dns};
use crate::support::http::{Reply, Server};
use crate::support::start;

/// How many are asked at once.
const AT_ONCE: usize = 8;

fn settings() -> Fetch {
    Fetch {
        timeout: Span::from_secs(20),
        connect_timeout: Span::from_secs(10),
        dns_timeout: Span::from_secs(5),
        max_body_bytes: 100_000,
        max_redirects: 10,
        concurrency: 64,
        contact: None,
        allow_private_networks: vec!["127.1.0.0/16".parse().unwrap()],
        proxy: None,
    }
}

/// Counts who comes to an address where nobody must.
async fn inside(ip: IpAddr, port: u16, met: &Arc<AtomicUsize>) -> Option<tokio::task::JoinHandle<()>> {
    let listener = TcpListener::bind((ip, port)).await.ok()?;
    let met = Arc::clone(met);
    Some(tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            met.fetch_add(1, Ordering::Relaxed);
        }
    }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_changes_its_mind_never_leads_inside() {
    let fetches: usize = std::env::var("REBINDING_FETCHES").map_or(200, |count| count.parse().unwrap());
    let (dns, server) = (Dns::start().await, Server::start_on([127, 1, 0, 1]).await);
    let port = server.address().port();
    let met = Arc::<AtomicUsize>::default();
    let (v4, v6): (IpAddr, IpAddr) = ([127, 2, 0, 1].into(), Ipv6Addr::LOCALHOST.into());
    let _four = inside(v4, port, &met).await.expect("127.2.0.1 is this machine's");
    // Where the machine has no IPv6 there is nothing to be reached by it.
    let _six = inside(v6, port, &met).await;
    let _all = inside(Ipv4Addr::LOCALHOST.into(), port, &met).await.expect("so is 127.0.0.1");
    let public: IpAddr = [127, 1, 0, 1].into();
    dns.set("flip.test", Answer::InTurn(vec![public, v4]));
    dns.set("rare.test", Answer::InTurn(vec![public, public, public, v4]));
    dns.set("families.test", Answer::InTurn(vec![public, v6]));
    dns.set("both.test", Answer::Ips(vec![public, v4, v6]));
    dns.set("mapped.test", Answer::InTurn(vec![public, "::ffff:127.0.0.1".parse().unwrap()]));
    dns.set("steady.test", Answer::Ips(vec![public]));
    // Closed after each answer, so that each fetch asks for its name.
    server.on("/", Reply::ok("x").header("Connection", "close").close());
    for name in ["flip", "rare", "families", "both", "mapped"] {
        let target = server.url_of(&format!("{name}.test"), "/");
        server.on(
            &format!("/to/{name}"),
            Reply::redirect(302, target.as_str()).header("Connection", "close").close(),
        );
    }
    let network_overrides =
        NetworkOverrides { name_server: Some(dns.address()), ..NetworkOverrides::default() };
    let fetcher = Arc::new(Fetcher::new(&settings(), &network_overrides).unwrap());
    let urls: Vec<_> = (0..fetches)
        .map(|n| {
            let name = ["flip", "rare", "families", "both", "mapped"][n % 5];
            // Every other one by a redirect of somebody whose name is beyond doubt.
            if n / 5 % 2 == 0 {
                server.url_of(&format!("{name}.test"), "/")
            } else {
                server.url_of("steady.test", &format!("/to/{name}"))
            }
        })
        .collect();
    let (begun, next) = (Instant::now(), Arc::<AtomicUsize>::default());
    let urls = Arc::new(urls);
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (fetcher, next, urls) = (Arc::clone(&fetcher), Arc::clone(&next), Arc::clone(&urls));
        workers.spawn(async move {
            let (mut reached, mut blocked, mut nowhere) = (0, 0, 0);
            while let Some(url) = urls.get(next.fetch_add(1, Ordering::Relaxed)) {
                let request = Request { keep_connection: false, ..Request::new(url.clone()) };
                match fetcher.fetch(&request, start()).await {
                    Ok(_) => reached += 1,
                    Err(failed) => {
                        match failed.fault {
                            Fault::Blocked(_) => blocked += 1,
                            // Both families by turns, and each in the other's.
                            Fault::NoSuchHost(_) => nowhere += 1,
                            _ => panic!("{url}: {failed}"),
                        }
                    }
                }
            }
            (reached, blocked, nowhere)
        });
    }
    let (mut reached, mut blocked, mut nowhere) = (0, 0, 0);
    for ended in workers.join_all().await {
        (reached, blocked, nowhere) = (reached + ended.0, blocked + ended.1, nowhere + ended.2);
    }
    let private = met.load(Ordering::Relaxed);
    let lookups: usize = ["flip", "rare", "families", "both", "mapped"]
        .map(|name| dns.queries(&format!("{name}.test")))
        .iter()
        .sum();
    let seconds = begun.elapsed().as_secs_f64();
    super::tell(&json!({
        "fetches": fetches, "reached": reached, "blocked": blocked, "nowhere": nowhere, "lookups": lookups,
        "private_connects": private, "seconds": (seconds * 10.0).round() / 10.0,
    }));
    assert_eq!(private, 0, "the inside was reached");
    assert_eq!(reached + blocked + nowhere, fetches);
    assert!(reached >= fetches / 5 && blocked >= fetches / 3, "{reached} reached, {blocked} blocked");
    assert!(lookups >= fetches, "{lookups} lookups");
}
