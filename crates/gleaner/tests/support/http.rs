//! A web server that does as it is told, wrongly too, and remembers what it was asked.
//!
//! ```ignore
//! let server = Server::start().await;
//! server.on("/feed", Reply::ok("<rss/>").header("ETag", "\"1\""));
//! server.on("/slow", Reply::head("Content-Length: 10").send("half ").stall());
//! server.on_each("/flaky", [Reply::status(503), Reply::ok("there")]);
//! assert_eq!(server.requests()[0].header("if-none-match"), None);
//! ```
//!
//! HTTP/1.1 by hand on a free port of an address of its choice in 127.0.0.0/8; no `Date` and nothing else that is not
//! asked for. Each connection is served in order until the client leaves or a reply ends it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use url::Url;

/// What is sent for a request, step by step.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<u8>,
    body: Option<Vec<u8>>,
    /// How long it takes to begin.
    wait: Duration,
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    Wait(Duration),
    Send(Vec<u8>),
    /// The same bytes again and again, with a pause between, until the client leaves.
    Endless(Vec<u8>, Duration),
    Stall,
    Close,
    Reset,
}

impl Reply {
    /// 200 with this body and its length.
    pub(crate) fn ok(body: impl AsRef<[u8]>) -> Self {
        let body = Some(body.as_ref().to_vec());
        Self { status: 200, headers: Vec::new(), body, wait: Duration::ZERO, steps: Vec::new() }
    }

    /// An empty answer with this status.
    pub(crate) fn status(status: u16) -> Self {
        let body = (!matches!(status, 204 | 304)).then(Vec::new);
        Self { status, headers: Vec::new(), body, wait: Duration::ZERO, steps: Vec::new() }
    }

    /// A redirect.
    pub(crate) fn redirect(status: u16, location: impl AsRef<[u8]>) -> Self {
        Self::status(status).header("Location", location)
    }

    /// 200 with these header lines and no body yet: steps send it.
    pub(crate) fn head(lines: &str) -> Self {
        Self::raw(format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n"))
    }

    /// Nothing but these bytes, HTTP or not.
    pub(crate) fn raw(bytes: impl AsRef<[u8]>) -> Self {
        let steps = vec![Step::Send(bytes.as_ref().to_vec())];
        Self { status: 0, headers: Vec::new(), body: None, wait: Duration::ZERO, steps }
    }

    /// The same, after a while.
    pub(crate) fn after(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// One more header line, byte for byte.
    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.extend_from_slice(name.as_bytes());
        self.headers.extend_from_slice(b": ");
        self.headers.extend_from_slice(value.as_ref());
        self.headers.extend_from_slice(b"\r\n");
        self
    }

    /// Then sends more.
    pub(crate) fn send(self, bytes: impl AsRef<[u8]>) -> Self {
        self.then(Step::Send(bytes.as_ref().to_vec()))
    }

    /// Then sends these bytes again and again.
    pub(crate) fn endless(self, bytes: impl AsRef<[u8]>, pause: Duration) -> Self {
        self.then(Step::Endless(bytes.as_ref().to_vec(), pause))
    }

    /// Then says nothing more until the client leaves.
    pub(crate) fn stall(self) -> Self {
        self.then(Step::Stall)
    }

    /// Then closes the connection.
    pub(crate) fn close(self) -> Self {
        self.then(Step::Close)
    }

    /// Then resets the connection.
    pub(crate) fn reset(self) -> Self {
        self.then(Step::Reset)
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// All that it sends, where that is all it does.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let sent = |step| if let Step::Send(bytes) = step { bytes } else { Vec::new() };
        self.steps().into_iter().flat_map(sent).collect()
    }

    fn steps(self) -> Vec<Step> {
        if self.status == 0 {
            return self.steps;
        }
        let mut bytes = format!("HTTP/1.1 {} Whatever\r\n", self.status).into_bytes();
        bytes.extend_from_slice(&self.headers);
        if let Some(body) = &self.body {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body.unwrap_or_default());
        [vec![Step::Wait(self.wait), Step::Send(bytes)], self.steps].concat()
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    /// Names in lower case, values byte for byte, in order.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// As long as its head says.
    pub(crate) body: Vec<u8>,
    #[expect(dead_code, reason = "for tests of politeness, which are to come")]
    pub(crate) at: std::time::Instant,
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
}

impl Received {
    /// A header's first value as text.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.raw_header(name).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// A header's first value.
    pub(crate) fn raw_header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}

/// Answers a request as it sees fit.
type Handler = Box<dyn FnMut(&Received) -> Reply + Send>;

#[derive(Default)]
struct State {
    /// Answers what no path below does.
    handler: Option<Handler>,
    /// By path and query; the last of several is repeated.
    replies: HashMap<String, Vec<Reply>>,
    received: Vec<Received>,
    /// Tells of every request.
    asked: tokio::sync::watch::Sender<usize>,
    connections: usize,
    /// By host as the client names it: requests under way, and the most there ever were.
    under_way: HashMap<String, (usize, usize)>,
}

/// The server; it stops when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

impl Server {
    /// On 127.0.0.1.
    pub(crate) async fn start() -> Self {
        Self::launch(Ipv4Addr::LOCALHOST.into(), None).await
    }

    /// On another address of this machine.
    pub(crate) async fn start_on(ip: impl Into<IpAddr>) -> Self {
        Self::launch(ip.into(), None).await
    }

    /// On 127.0.0.1, by TLS.
    pub(crate) async fn start_tls(tls: ServerConfig) -> Self {
        Self::launch(Ipv4Addr::LOCALHOST.into(), Some(TlsAcceptor::from(Arc::new(tls)))).await
    }

    async fn launch(ip: IpAddr, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let state = Arc::new(Mutex::new(State::default()));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let task = tokio::spawn(accept(listener, tls, Arc::clone(&state)));
        Self { address, scheme, state, task }
    }

    /// Answers requests for this path and query, from now on.
    pub(crate) fn on(&self, path: &str, reply: Reply) {
        self.on_each(path, [reply]);
    }

    /// Answers one after the other; the last is repeated.
    pub(crate) fn on_each(&self, path: &str, replies: impl IntoIterator<Item = Reply>) {
        let mut replies: Vec<Reply> = replies.into_iter().collect();
        replies.reverse();
        self.state.lock().unwrap().replies.insert(path.to_owned(), replies);
    }

    /// Answers all other requests.
    pub(crate) fn on_all(&self, handler: impl FnMut(&Received) -> Reply + Send + 'static) {
        self.state.lock().unwrap().handler = Some(Box::new(handler));
    }

    /// The URL of a path, by address.
    pub(crate) fn url(&self, path: &str) -> Url {
        self.url_of(&self.address.ip().to_string(), path)
    }

    /// The URL of a path, by name.
    pub(crate) fn url_of(&self, host: &str, path: &str) -> Url {
        Url::parse(&format!("{}://{host}:{}{path}", self.scheme, self.address.port())).unwrap()
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }

    /// Waits until there were so many requests for a path.
    pub(crate) async fn until_asked(&self, path: &str, count: usize) {
        let mut asked = self.state.lock().unwrap().asked.subscribe();
        let there = || self.requests().iter().filter(|request| request.path == path).count() >= count;
        let wait = async {
            while !there() {
                asked.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
        waited.unwrap_or_else(|_| panic!("{path} was not asked for {count} times"));
    }

    /// The most requests that were ever under way at once for one host, as clients name it.
    pub(crate) fn most_at_once(&self) -> usize {
        self.state.lock().unwrap().under_way.values().map(|(_, most)| *most).max().unwrap_or(0)
    }

    /// Requests that are being answered now.
    pub(crate) fn under_way(&self) -> usize {
        self.state.lock().unwrap().under_way.values().map(|(now, _)| *now).sum()
    }

    /// Closes every connection, and takes no more.
    pub(crate) fn hang_up(&self) {
        self.task.abort();
    }

    /// How many connections were made so far.
    pub(crate) fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<Mutex<State>>) {
    // Dropped with this task, and so are all connections.
    let mut open = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let number = {
            let mut state = state.lock().unwrap();
            state.connections += 1;
            state.connections - 1
        };
        let (tls, state) = (tls.clone(), Arc::clone(&state));
        open.spawn(async move {
            match tls {
                None => serve(stream, number, &state).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, number, &state).await;
                    }
                }
            }
        });
    }
}

/// A stream over TCP.
trait OverTcp: AsyncRead + AsyncWrite + Unpin {
    fn tcp(&self) -> &TcpStream;
}

impl OverTcp for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl OverTcp for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

async fn serve(mut stream: impl OverTcp, connection: usize, state: &Mutex<State>) {
    while let Some(request) = read_request(&mut stream, connection).await {
        let host = request.header("host").unwrap_or_default();
        let reply = {
            let mut state = state.lock().unwrap();
            let path = request.path.clone();
            let (now, most) = state.under_way.entry(host.clone()).or_default();
            *now += 1;
            *most = (*most).max(*now);
            state.received.push(request.clone());
            state.asked.send_modify(|count| *count += 1);
            match state.replies.get_mut(&path) {
                Some(replies) if replies.len() > 1 => replies.pop(),
                Some(replies) => replies.last().cloned(),
                None => Some(state.handler.as_mut().map_or(Reply::status(404), |answer| answer(&request))),
            }
        };
        let mut goes_on = true;
        let steps = reply.map(Reply::steps).unwrap_or_default();
        let last_sent = last_sent(&steps);
        let end = || {
            if let Some((now, _)) = state.lock().unwrap().under_way.get_mut(&host) {
                *now -= 1;
            }
        };
        for (place, step) in steps.into_iter().enumerate() {
            // A client that has the whole response may send the next request before this task runs again.
            if Some(place) == last_sent {
                end();
            }
            goes_on = goes_on && take(&mut stream, step).await;
        }
        if last_sent.is_none() {
            end();
        }
        if !goes_on {
            return;
        }
    }
}

/// The step that completes the response; none where something else ends it.
fn last_sent(steps: &[Step]) -> Option<usize> {
    let ends_nothing = |step: &Step| match step {
        Step::Wait(wait) => wait.is_zero(),
        Step::Close => true,
        _ => false,
    };
    let last = steps.iter().rposition(|step| !ends_nothing(step))?;
    matches!(steps[last], Step::Send(_)).then_some(last)
}

/// Takes a step, and says whether the connection goes on.
async fn take(stream: &mut impl OverTcp, step: Step) -> bool {
    match step {
        Step::Wait(wait) => {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            true
        }
        Step::Send(bytes) => stream.write_all(&bytes).await.is_ok() && stream.flush().await.is_ok(),
        Step::Endless(bytes, pause) => {
            while stream.write_all(&bytes).await.is_ok() && stream.flush().await.is_ok() {
                if pause.is_zero() { tokio::task::yield_now().await } else { tokio::time::sleep(pause).await }
            }
            false
        }
        Step::Stall => {
            // Until the client leaves, which reads as an end or an error.
            while matches!(stream.read(&mut [0; 1024]).await, Ok(1..)) {}
            false
        }
        Step::Close => {
            let _ = stream.shutdown().await;
            false
        }
        Step::Reset => {
            let _ = stream.tcp().set_zero_linger();
            false
        }
    }
}

async fn read_request(stream: &mut impl OverTcp, connection: usize) -> Option<Received> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        // Byte by byte, so that nothing of the next request is taken.
        head.push(stream.read_u8().await.ok()?);
    }
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = String::from_utf8_lossy(lines.next()?).into_owned();
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers = lines
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = String::from_utf8_lossy(&line[..colon]).to_ascii_lowercase();
            Some((name, line[colon + 1..].trim_ascii().to_vec()))
        })
        .collect();
    let at = std::time::Instant::now();
    let mut received = Received { method, path, headers, body: Vec::new(), at, connection };
    let length = received.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    received.body.resize(length, 0);
    stream.read_exact(&mut received.body).await.ok()?;
    Some(received)
}
