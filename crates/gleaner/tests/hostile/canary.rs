//! Somebody who waits where nobody must come: a listener at every address of this machine, at one port.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;

pub(super) struct Canary {
    port: u16,
    /// Who came, by their ports.
    met: Arc<Mutex<Vec<u16>>>,
    task: JoinHandle<()>,
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Canary {
    pub(super) async fn start() -> Self {
        // Of both families where the machine has both: a socket of IPv6 takes IPv4 too.
        let six = TcpSocket::new_v6().and_then(|socket| {
            socket.bind((Ipv6Addr::UNSPECIFIED, 0).into())?;
            socket.listen(1024)
        });
        let listener = six.unwrap_or_else(|_| {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind((Ipv4Addr::UNSPECIFIED, 0).into()).unwrap();
            socket.listen(1024).unwrap()
        });
        let (port, met) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<u16>>>::default());
        let counted = Arc::clone(&met);
        let task = tokio::spawn(async move {
            while let Ok((_, from)) = listener.accept().await {
                counted.lock().unwrap().push(from.port());
            }
        });
        Self { port, met, task }
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Sees to it that nobody came. Whoever came is before us in the queue: we come ourselves, and must be the first.
    pub(super) async fn met_nobody(&self) {
        let ours = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))).await.unwrap();
        let port = ours.local_addr().unwrap().port();
        while !self.met.lock().unwrap().contains(&port) {
            tokio::task::yield_now().await;
        }
        assert_eq!(std::mem::take(&mut *self.met.lock().unwrap()), [port], "somebody else came");
    }
}
