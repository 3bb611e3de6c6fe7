//! Where requests come from.

use std::net::IpAddr;

/// Where a request comes from: the other end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);
