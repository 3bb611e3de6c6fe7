//! A small HTTP client with a timeout, which can connect from any loopback address.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Answer {
    /// A string field without escapes of a JSON object.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.text.split_once(&format!("\"{name}\":\""))?;
        rest.split('"').next()
    }

    /// A number field of a JSON object.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        let (_, rest) = self.text.split_once(&format!("\"{name}\":"))?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }
}

/// The nth address of a network of loopback addresses.
pub(crate) fn address(network: u8, n: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, network, (n / 250 % 250) as u8, (n % 250 + 1) as u8)
}

pub(crate) async fn connect(from: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    socket.connect(to).await
}

/// One request on a new connection.
pub(crate) async fn send(
    from: Ipv4Addr,
    to: SocketAddr,
    request: &[u8],
    wait: Duration,
) -> io::Result<Answer> {
    let exchange = async {
        let mut stream = connect(from, to).await?;
        // A server may respond before the whole request is sent.
        let sent = stream.write_all(request).await;
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match text.split(' ').nth(1).and_then(|status| status.parse().ok()) {
            Some(status) => Ok(Answer { status, text }),
            None => Err(sent.and(read).err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())),
        }
    };
    tokio::time::timeout(wait, exchange).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// The bytes of a request with `Connection: close`.
pub(crate) fn request(method: &str, path: &str, token: Option<&str>, body: Option<(&str, &str)>) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    if let Some(token) = token {
        text += &format!("authorization: Bearer {token}\r\n");
    }
    let body = body.map(|(kind, body)| {
        text += &format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len());
        body
    });
    text += "\r\n";
    text += body.unwrap_or_default();
    text.into_bytes()
}
