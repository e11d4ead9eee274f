//! Where the port is.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::net::{TcpListener, lookup_host};

use crate::exit::UsageError;

/// An address to listen on.
#[derive(Debug)]
pub(super) struct Listen {
    /// The host as it was named.
    pub(super) host: String,
    address: SocketAddr,
}

impl Listen {
    /// The address of `HOST:PORT`. One that other machines reach is taken only where that is allowed.
    pub(super) async fn find(named: &str, allow_remote: bool) -> Result<Self> {
        let wrong = |why: &str| {
            UsageError(format!(
                "cannot listen on `{named}`: {why}; name HOST:PORT, for example 127.0.0.1:0 (0: any free port)"
            ))
        };
        let Some((host, _)) = named.rsplit_once(':') else {
            return Err(wrong("it has no port").into());
        };
        let mut found = lookup_host(named)
            .await
            .map_err(|error| wrong(&error.to_string()))?;
        let address = found.next().ok_or_else(|| wrong("this host has no address"))?;
        if !address.ip().is_loopback() && !allow_remote {
            return Err(UsageError(format!(
                "`{named}` is reached by other machines, and what is sent is not encrypted: listen on 127.0.0.1, or \
                 say --allow-remote where the network is trusted"
            ))
            .into());
        }
        Ok(Self {
            host: host.to_owned(),
            address,
        })
    }

    /// Opens it. Where any port will do, that is the one that was open last, if it is free: pages that are still open and
    /// addresses that were written down go on.
    pub(super) async fn bind(&self, last_port: Option<u16>) -> Result<TcpListener> {
        if let (0, Some(port)) = (self.address.port(), last_port)
            && let Ok(bound) = TcpListener::bind(SocketAddr::new(self.address.ip(), port)).await
        {
            return Ok(bound);
        }
        let bound = TcpListener::bind(self.address).await;
        Ok(bound.map_err(|error| {
            UsageError(format!(
                "cannot listen on {}: {error}; name another one with --listen (port 0: any free one)",
                self.address
            ))
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_cannot_be_listened_on_is_told() {
        let mut told = Vec::new();
        for (named, allow_remote) in [
            ("127.0.0.1:0", false),
            ("[::1]:80", false),
            ("127.9.9.9:1", false),
            ("0.0.0.0:0", false),
            ("[::]:0", false),
            ("192.0.2.1:80", false),
            ("0.0.0.0:0", true),
            ("127.0.0.1", false),
            ("127.0.0.1:99999", false),
        ] {
            told.push(match Listen::find(named, allow_remote).await {
                Ok(listen) => format!("{named} {allow_remote}: {} at {}", listen.host, listen.address),
                Err(error) => error.to_string(),
            });
        }
        insta::assert_snapshot!(told.join("\n"), @"
        127.0.0.1:0 false: 127.0.0.1 at 127.0.0.1:0
        [::1]:80 false: [::1] at [::1]:80
        127.9.9.9:1 false: 127.9.9.9 at 127.9.9.9:1
        `0.0.0.0:0` is reached by other machines, and what is sent is not encrypted: listen on 127.0.0.1, or say --allow-remote where the network is trusted
        `[::]:0` is reached by other machines, and what is sent is not encrypted: listen on 127.0.0.1, or say --allow-remote where the network is trusted
        `192.0.2.1:80` is reached by other machines, and what is sent is not encrypted: listen on 127.0.0.1, or say --allow-remote where the network is trusted
        0.0.0.0:0 true: 0.0.0.0 at 0.0.0.0:0
        cannot listen on `127.0.0.1`: it has no port; name HOST:PORT, for example 127.0.0.1:0 (0: any free port)
        cannot listen on `127.0.0.1:99999`: invalid port value; name HOST:PORT, for example 127.0.0.1:0 (0: any free port)
        ");
    }
}
