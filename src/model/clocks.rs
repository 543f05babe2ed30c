//! The clocks of a model call. Comments and pings prove the link, not progress, so they reset none of these.

use std::time::Duration;

/// How long each part of a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// Until the TCP and TLS connection stands.
    pub connect: Duration,
    /// From sending the request to the headers of the answer.
    pub headers: Duration,
    /// From the headers to the first event.
    pub first_event: Duration,
    /// Between two events after that.
    pub idle: Duration,
    /// The whole call.
    pub total: Duration,
}

impl Clocks {
    /// For providers on the net.
    pub const REMOTE: Self = Self {
        connect: Duration::from_secs(15),
        headers: Duration::from_secs(60),
        first_event: Duration::from_secs(120),
        idle: Duration::from_secs(60),
        total: Duration::from_secs(1800),
    };
    /// For servers on this machine, which load a model first and read a long prompt slowly.
    pub const LOCAL: Self = Self {
        connect: Duration::from_secs(5),
        headers: Duration::from_secs(300),
        first_event: Duration::from_secs(300),
        idle: Duration::from_secs(120),
        total: Duration::from_secs(3600),
    };
}
