//! One listening socket per address, all on one port.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;

use crate::options::Options;

/// Enough for a whole document, so that one write suffices.
const SEND_BUFFER: usize = 256 << 10;

/// Few connections wait at one address, since pollers request each host once at a time.
const BACKLOG: i32 = 64;

/// File descriptors for the runtime, files and control connections.
const RESERVE: u64 = 100;

/// Listening sockets that are not registered with a runtime yet.
#[derive(Debug)]
pub(crate) struct Listeners {
    pub(crate) control: Socket,
    pub(crate) hosts: Vec<Socket>,
    pub(crate) port: u16,
    /// Maximum number of open connections.
    pub(crate) connections: usize,
}

/// Binds all addresses. With port 0, another port is tried if the first one is taken on some address.
pub(crate) fn bind(options: &Options) -> io::Result<Listeners> {
    let hosts = options.hosts();
    let allowed = raise_limit();
    let free = allowed.saturating_sub(u64::from(hosts) + RESERVE);
    if free < 64 {
        return Err(io::Error::other(format!(
            "{hosts} hosts need more than the {allowed} files that may be open"
        )));
    }
    let tries = if options.port == 0 { 20 } else { 1 };
    let mut result = Err(io::Error::other("no port"));
    for _ in 0..tries {
        result = bind_at(options.port, hosts, usize::try_from(free).unwrap_or(usize::MAX));
        if !matches!(&result, Err(error) if error.kind() == io::ErrorKind::AddrInUse) {
            break;
        }
    }
    result
}

fn bind_at(port: u16, hosts: u32, connections: usize) -> io::Result<Listeners> {
    let control = listener(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    let port = control.local_addr()?.as_socket_ipv4().map_or(0, |address| address.port());
    let hosts = (0..hosts).map(|host| listener(SocketAddrV4::new(Options::address(host), port)));
    Ok(Listeners { control, hosts: hosts.collect::<io::Result<_>>()?, port, connections })
}

/// Connections inherit these options, which saves a call for each.
fn listener(address: SocketAddrV4) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Raises the limit of open files to its maximum, and returns it.
fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let now = if raised.is_ok() { limit.maximum } else { limit.current };
    now.unwrap_or(u64::MAX)
}

/// Registers a socket with the current runtime.
pub(crate) fn adopt(socket: Socket) -> io::Result<TcpListener> {
    TcpListener::from_std(socket.into())
}
