//! A name server of the tests' own, on loopback, by UDP and TCP.
//!
//! ```ignore
//! let dns = Dns::start().await;
//! dns.set("a.test", Answer::ip("127.0.0.1"));
//! dns.set("gone.test", Answer::NxDomain);
//! let outside = Outside { name_server: Some(dns.address()), ..Outside::default() };
//! ```
//!
//! Names that nobody set do not exist.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::{RData, Record, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// What a name server says about a name.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// These addresses, of both families, with a time to live of 0.
    Ips(Vec<IpAddr>),
    /// The first for the first query, the second for the second, and round again. Queries are counted by family.
    InTurn(Vec<IpAddr>),
    /// These by IPv4; no word when asked for IPv6.
    OnlyAboutV4(Vec<IpAddr>),
    /// The name does not exist.
    NxDomain,
    /// The name exists and has no address.
    NoData,
    /// The server cannot say.
    ServFail,
    /// The server does not want to say.
    Refused,
    /// No word.
    Silence,
}

impl Answer {
    /// One address.
    pub(crate) fn ip(text: &str) -> Self {
        Self::Ips(vec![text.parse().unwrap()])
    }

    /// Several.
    pub(crate) fn ips(texts: &[&str]) -> Self {
        Self::Ips(texts.iter().map(|text| text.parse().unwrap()).collect())
    }
}

#[derive(Default)]
struct Zone {
    answers: HashMap<String, Answer>,
    /// How often each was asked for.
    queries: HashMap<(String, RecordType), usize>,
}

/// The server; it stops when dropped.
pub(crate) struct Dns {
    address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    _tasks: JoinSet<()>,
}

impl Dns {
    pub(crate) async fn start() -> Self {
        let (udp, tcp) = loop {
            // The port that UDP got may be taken in TCP.
            let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
            let address = udp.local_addr().expect("a bound address");
            if let Ok(tcp) = TcpListener::bind(address).await {
                break (udp, tcp);
            }
        };
        let address = udp.local_addr().expect("a bound address");
        let zone = Arc::new(Mutex::new(Zone::default()));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_udp(udp, Arc::clone(&zone)));
        tasks.spawn(serve_tcp(tcp, Arc::clone(&zone)));
        Self { address, zone, _tasks: tasks }
    }

    /// What to say about a name from now on.
    pub(crate) fn set(&self, name: &str, answer: Answer) {
        self.zone.lock().unwrap().answers.insert(name.to_owned(), answer);
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often a name was asked for, both families together.
    pub(crate) fn queries(&self, name: &str) -> usize {
        self.zone
            .lock()
            .unwrap()
            .queries
            .iter()
            .filter(|((known, _), _)| known == name)
            .map(|(_, count)| count)
            .sum()
    }
}

async fn serve_udp(socket: UdpSocket, zone: Arc<Mutex<Zone>>) {
    let mut buffer = [0; 4096];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        if let Some(answer) = answer(&buffer[..length], &zone) {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

async fn serve_tcp(listener: TcpListener, zone: Arc<Mutex<Zone>>) {
    let mut open = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        open.spawn(serve_stream(stream, Arc::clone(&zone)));
    }
}

async fn serve_stream(mut stream: TcpStream, zone: Arc<Mutex<Zone>>) {
    while let Ok(length) = stream.read_u16().await {
        let mut query = vec![0; length.into()];
        if stream.read_exact(&mut query).await.is_err() {
            return;
        }
        let Some(answer) = answer(&query, &zone) else { continue };
        let length = u16::try_from(answer.len()).unwrap();
        let framed = [&length.to_be_bytes()[..], &answer].concat();
        if stream.write_all(&framed).await.is_err() {
            return;
        }
    }
}

/// The answer to a query as sent; none where nothing is to be said.
fn answer(query: &[u8], zone: &Mutex<Zone>) -> Option<Vec<u8>> {
    let query = Message::from_vec(query).ok()?;
    let question = query.queries.first()?.clone();
    let name = question.name().to_ascii().trim_end_matches('.').to_ascii_lowercase();
    let family = question.query_type();
    let (answer, turn) = {
        let mut zone = zone.lock().unwrap();
        let asked = zone.queries.entry((name.clone(), family)).or_default();
        let turn = *asked;
        *asked += 1;
        (zone.answers.get(&name).cloned().unwrap_or(Answer::NxDomain), turn)
    };
    let (code, ips) = match answer {
        Answer::Ips(ips) => (ResponseCode::NoError, ips),
        Answer::InTurn(ips) => (ResponseCode::NoError, vec![ips[turn % ips.len()]]),
        Answer::OnlyAboutV4(ips) if family == RecordType::A => (ResponseCode::NoError, ips),
        Answer::OnlyAboutV4(_) | Answer::Silence => return None,
        Answer::NxDomain => (ResponseCode::NXDomain, vec![]),
        Answer::NoData => (ResponseCode::NoError, vec![]),
        Answer::ServFail => (ResponseCode::ServFail, vec![]),
        Answer::Refused => (ResponseCode::Refused, vec![]),
    };
    let mut message = Message::response(query.metadata.id, query.metadata.op_code);
    message.metadata.response_code = code;
    message.metadata.recursion_desired = true;
    message.metadata.recursion_available = true;
    for data in ips.into_iter().map(RData::from).filter(|data| data.record_type() == family) {
        message.add_answer(Record::from_rdata(question.name().clone(), 0, data));
    }
    message.add_query(question);
    message.to_vec().ok()
}
