//! Connections to the API: how many at once and by whom, and which is closed where another one needs its place.
//!
//! A new connection is hardly ever refused: nobody knows what it will ask, and it may be a health check. Where there is no
//! room, one makes room that nobody has logged in on, the oldest of the address that has the most. So strangers take
//! places from each other, and never from whoever is logged in. Streams of events are counted by themselves.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Sleep;

/// How long a client may leave an answer unread.
const WRITE: Duration = Duration::from_secs(15);
/// Somebody who is logged in and neither sends nor reads for so long can be asked to come again.
const STILL: Duration = Duration::from_secs(2);
/// Maximum number of requests on a connection without a valid token or session; then it is closed.
const STRANGERS_REQUESTS: u32 = 100;
/// Number of requests on such a connection that are answered without delay: a page and what it loads.
const UNDELAYED_REQUESTS: u32 = 10;
/// Delay of each further one. A client that sends requests without reading responses would otherwise keep a processor busy.
const REQUEST_DELAY: Duration = Duration::from_millis(100);

/// Where a request comes from: the other end of the connection, or whom a trusted proxy names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

/// How many connections there may be.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub(super) all: usize,
    pub(super) per_address: usize,
    /// They pass on what others ask, and are not counted by address.
    pub(super) proxies: Vec<IpNet>,
}

impl Limits {
    pub(super) fn is_proxy(&self, address: IpAddr) -> bool {
        self.proxies.iter().any(|network| network.contains(&address))
    }

    /// Who asks: the last address that no trusted proxy has.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        let peer = peer.to_canonical();
        if !self.is_proxy(peer) {
            return ClientAddress(peer);
        }
        let lines = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let mut named: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
        named.reverse();
        // What cannot be read was not written by a proxy of ours.
        let named = named.into_iter().map_while(|name| name.trim().parse::<IpAddr>().ok());
        let mut client = peer;
        for address in named.map(|address| address.to_canonical()) {
            client = address;
            if !self.is_proxy(address) {
                break;
            }
        }
        ClientAddress(client)
    }
}

/// All that are open.
pub(super) struct Connections {
    limits: Limits,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next_id: u64,
    by_id: HashMap<u64, Arc<Connection>>,
}

/// One that is open.
pub(crate) struct Connection {
    id: u64,
    address: IpAddr,
    begun: Instant,
    /// Milliseconds after `begun` when something was last read or written.
    moved: AtomicU64,
    requests: AtomicU32,
    is_running: AtomicBool,
    is_authenticated: AtomicBool,
    is_streaming: AtomicBool,
    close: Notify,
}

impl Connection {
    /// Somebody is logged in on it.
    pub(crate) fn set_authenticated(&self) {
        self.is_authenticated.store(true, Ordering::Relaxed);
    }

    /// A request begins.
    pub(super) fn request_begins(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.is_streaming.store(false, Ordering::Relaxed);
        self.is_running.store(true, Ordering::Relaxed);
    }

    /// A request has its answer, which may be a stream.
    pub(super) fn request_ends(&self, is_stream: bool) {
        self.is_running.store(false, Ordering::Relaxed);
        self.is_streaming.store(is_stream, Ordering::Relaxed);
    }

    pub(super) fn is_stranger(&self) -> bool {
        !self.is_authenticated.load(Ordering::Relaxed)
    }

    /// Whether it has answered as many requests as a stranger's may.
    pub(super) fn is_spent(&self) -> bool {
        self.is_stranger() && self.requests.load(Ordering::Relaxed) >= STRANGERS_REQUESTS
    }

    /// How long the current request waits before it is answered.
    pub(super) fn delay(&self) -> Option<Duration> {
        let is_delayed = self.is_stranger() && self.requests.load(Ordering::Relaxed) > UNDELAYED_REQUESTS;
        is_delayed.then_some(REQUEST_DELAY)
    }

    /// Waits until it is to be closed.
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }

    fn moves(&self) {
        self.moved.store(self.begun.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// How willingly it is given up; none: not at all.
    fn rank(&self) -> Option<u8> {
        let is_running = self.is_running.load(Ordering::Relaxed);
        if self.is_stranger() {
            return Some(u8::from(is_running));
        }
        let moved = Duration::from_millis(self.moved.load(Ordering::Relaxed));
        let still = self.begun.elapsed().saturating_sub(moved);
        (!is_running && still >= STILL).then_some(2)
    }
}

impl Connections {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A place for a new connection, taken from another one where there is none; none where nobody can be asked to go.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let address = peer.to_canonical();
        let mut open = self.lock();
        let from_here = |connection: &Connection| connection.address == address;
        if open.count(from_here) >= self.limits.per_address && !self.limits.is_proxy(address) {
            open.give_up_one(from_here)?;
        } else if open.count(|_| true) >= self.limits.all {
            open.give_up_one(|_| true)?;
        }
        let connection = Arc::new(Connection {
            id: open.next_id,
            address,
            begun: Instant::now(),
            moved: AtomicU64::new(0),
            requests: AtomicU32::new(0),
            is_running: AtomicBool::new(false),
            is_authenticated: AtomicBool::new(false),
            is_streaming: AtomicBool::new(false),
            close: Notify::new(),
        });
        open.next_id += 1;
        open.by_id.insert(connection.id, Arc::clone(&connection));
        Some(Place { connection, connections: Arc::clone(self) })
    }

    /// Closes one, for want of files.
    pub(super) fn give_up_one(&self) {
        self.lock().give_up_one(|_| true);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// How many of them there are. Streams have a limit of their own.
    fn count(&self, of: impl Fn(&Connection) -> bool) -> usize {
        self.counted().filter(|one| of(one)).count()
    }

    fn counted(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.by_id.values().filter(|one| !one.is_streaming.load(Ordering::Relaxed))
    }

    /// Closes the one that is missed least.
    fn give_up_one(&mut self, of: impl Fn(&Connection) -> bool) -> Option<()> {
        let mut by_address: HashMap<IpAddr, usize> = HashMap::new();
        for one in self.counted() {
            *by_address.entry(one.address).or_default() += 1;
        }
        let least = self.counted().filter(|one| of(one)).filter_map(|one| {
            let of_address = by_address.get(&one.address).copied().unwrap_or(0);
            one.rank().map(|rank| (rank, Reverse(of_address), one.id))
        });
        let (_, _, id) = least.min()?;
        let connection = self.by_id.remove(&id)?;
        connection.close.notify_one();
        Some(())
    }
}

/// A connection's place among those that are open; given back when it is dropped.
pub(super) struct Place {
    connection: Arc<Connection>,
    connections: Arc<Connections>,
}

impl Place {
    pub(super) fn connection(&self) -> Arc<Connection> {
        Arc::clone(&self.connection)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().by_id.remove(&self.connection.id);
    }
}

/// A TCP stream that notes when something moves, and ends when what is written is not read for too long.
pub(super) struct Watched {
    stream: TcpStream,
    connection: Arc<Connection>,
    /// Set while the other end does not read.
    unread: Option<Pin<Box<Sleep>>>,
}

impl Watched {
    pub(super) const fn new(stream: TcpStream, connection: Arc<Connection>) -> Self {
        Self { stream, connection, unread: None }
    }

    fn written(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.unread = None;
            self.connection.moves();
            return written;
        }
        let unread = self.unread.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE)));
        ready!(unread.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the answer is not read")))
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_ready() {
            self.connection.moves();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(all: usize, per_address: usize, proxies: &[&str]) -> Arc<Connections> {
        let proxies = proxies.iter().map(|network| network.parse().unwrap()).collect();
        Connections::new(Limits { all, per_address, proxies })
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn is_closed(place: &Place) -> bool {
        !place.connections.lock().by_id.contains_key(&place.connection.id)
    }

    #[test]
    fn a_stranger_makes_room_for_the_next() {
        let all = connections(3, 3, &[]);
        let places: Vec<Place> = (0..3).map(|_| all.admit(ip("192.0.2.1")).unwrap()).collect();
        places[0].connection().set_authenticated();
        let next = all.admit(ip("192.0.2.2")).unwrap();
        assert_eq!(
            places.iter().map(is_closed).collect::<Vec<_>>(),
            [false, true, false],
            "the oldest stranger"
        );
        assert!(!is_closed(&next));
    }

    #[test]
    fn the_address_that_has_the_most_makes_room() {
        let all = connections(4, 4, &[]);
        let one = all.admit(ip("192.0.2.9")).unwrap();
        let many: Vec<Place> = (0..3).map(|_| all.admit(ip("192.0.2.1")).unwrap()).collect();
        let _next = all.admit(ip("192.0.2.2")).unwrap();
        assert!(!is_closed(&one), "it is the oldest, but alone");
        assert_eq!(many.iter().map(is_closed).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn an_address_has_its_share_and_proxies_have_none() {
        let all = connections(100, 2, &["10.0.0.0/8"]);
        let own: Vec<Place> = (0..3).map(|_| all.admit(ip("192.0.2.1")).unwrap()).collect();
        assert_eq!(own.iter().map(is_closed).collect::<Vec<_>>(), [true, false, false]);
        let mapped = all.admit(ip("::ffff:192.0.2.1")).unwrap();
        assert!(is_closed(&own[1]) && !is_closed(&mapped), "another spelling is the same address");
        let proxied: Vec<Place> = (0..10).map(|_| all.admit(ip("10.1.1.1")).unwrap()).collect();
        assert!(!proxied.iter().any(is_closed));
    }

    #[test]
    fn nobody_who_is_at_work_has_to_go() {
        let all = connections(2, 2, &[]);
        let places: Vec<Place> = (0..2).map(|_| all.admit(ip("192.0.2.1")).unwrap()).collect();
        for place in &places {
            place.connection().set_authenticated();
            place.connection().request_begins();
        }
        assert!(all.admit(ip("192.0.2.2")).is_none());
        places[0].connection().request_ends(true);
        assert!(all.admit(ip("192.0.2.2")).is_some(), "a stream is counted elsewhere");
        drop(places);
        assert!(all.lock().by_id.is_empty());
    }

    #[test]
    fn only_strangers_with_many_requests_are_delayed() {
        let all = connections(2, 2, &[]);
        let place = all.admit(ip("192.0.2.1")).unwrap();
        let connection = place.connection();
        for _ in 0..UNDELAYED_REQUESTS {
            connection.request_begins();
            assert_eq!(connection.delay(), None);
        }
        connection.request_begins();
        assert_eq!(connection.delay(), Some(REQUEST_DELAY));
        connection.set_authenticated();
        assert_eq!(connection.delay(), None);
    }

    #[test]
    fn only_a_trusted_proxy_names_somebody_else() {
        let all = connections(2, 2, &["10.0.0.0/8"]);
        let client = |peer: &str, forwarded: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append("x-forwarded-for", value.parse().unwrap());
            }
            all.limits().client(ip(peer), &headers).0.to_string()
        };
        assert_eq!(client("192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(client("10.0.0.1", &["198.51.100.7"]), "198.51.100.7");
        assert_eq!(client("10.0.0.1", &["1.1.1.1, 198.51.100.7, 10.0.0.2"]), "198.51.100.7");
        assert_eq!(client("10.0.0.1", &["1.1.1.1", "198.51.100.7"]), "198.51.100.7");
        assert_eq!(client("10.0.0.1", &["1.1.1.1, nonsense"]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }
}
