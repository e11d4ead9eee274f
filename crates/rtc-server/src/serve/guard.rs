//! Who is answered at all: requests that name this port, not from pages of others. A browser that was led here under
//! another name, or by another page, is refused before anything else is looked at.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// What every answer carries.
const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
             font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// The port of `http://` where none is named.
const HTTP_PORT: u16 = 80;

/// The names under which this port is reached.
#[derive(Debug, Clone)]
pub(super) struct Names {
    own: String,
    port: u16,
    /// Hosts as they stand in a request, in small letters, without the port.
    hosts: Vec<String>,
    /// Every address of this machine is listened on. A name can be made to lead here by anybody; an address cannot.
    any_address: bool,
}

impl Names {
    /// Those of an address that is listened on, and the name by which it was given.
    pub(super) fn new(given: &str, address: SocketAddr) -> Self {
        let ip = address.ip();
        let mut hosts = vec![given.to_ascii_lowercase(), shown(ip)];
        if ip.is_loopback() || ip.is_unspecified() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(String::from));
        }
        let host = match ip {
            IpAddr::V4(ip) if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V6(ip) if ip.is_unspecified() => "[::1]".to_owned(),
            ip => shown(ip),
        };
        Self {
            own: format!("{host}:{}", address.port()),
            port: address.port(),
            hosts,
            any_address: ip.is_unspecified(),
        }
    }

    /// The one that is told to others.
    pub(super) fn own(&self) -> &str {
        &self.own
    }

    /// Why a request is refused, if it is.
    fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let Some(host) = only(headers, &HOST).filter(|host| self.has(host)) else {
            return Some("this port is not reached under that name\n");
        };
        if uri
            .authority()
            .is_some_and(|named| !named.as_str().eq_ignore_ascii_case(host))
        {
            return Some("this port is not reached under that name\n");
        }
        if !headers.contains_key(ORIGIN) {
            return None;
        }
        let origin = only(headers, &ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        let is_own = origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host));
        (!is_own).then_some("pages of another origin get nothing here\n")
    }

    fn has(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        // An address in brackets has colons of its own.
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host.as_str(), Some(HTTP_PORT)),
        };
        let bare = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
            .unwrap_or(name);
        let is_known = self.hosts.iter().any(|known| known == name);
        port == Some(self.port) && (is_known || (self.any_address && bare.parse::<IpAddr>().is_ok()))
    }
}

/// Refuses what is not meant for this port.
pub(super) async fn check(State(names): State<Arc<Names>>, request: Request, next: Next) -> Response {
    match names.refusal(request.uri(), request.headers()) {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
        None => next.run(request).await,
    }
}

/// Puts on every answer what keeps a browser from doing more with it than is meant.
pub(super) async fn protect(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// An address as it stands in a URL.
fn shown(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// A header that is there exactly once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(names: &Names, host: Option<&str>, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        names.refusal(&Uri::from_static("/"), &headers).is_some()
    }

    #[test]
    fn only_own_names_are_answered() {
        let loopback = Names::new("127.0.0.1", "127.0.0.1:4000".parse().unwrap());
        let everywhere = Names::new("0.0.0.0", "0.0.0.0:4000".parse().unwrap());
        let named = Names::new("Desk.example", "192.0.2.7:80".parse().unwrap());
        let table = [
            (&loopback, "127.0.0.1:4000", true),
            (&loopback, "localhost:4000", true),
            (&loopback, "LocalHost:4000", true),
            (&loopback, "[::1]:4000", true),
            (&loopback, "127.0.0.1", false),
            (&loopback, "127.0.0.1:4001", false),
            (&loopback, "127.0.0.1:", false),
            (&loopback, "127.0.0.2:4000", false),
            (&loopback, "192.0.2.7:4000", false),
            (&loopback, "evil.example:4000", false),
            (&loopback, "localhost.evil.example:4000", false),
            (&loopback, "localhost@evil.example:4000", false),
            (&loopback, "", false),
            (&everywhere, "192.0.2.7:4000", true),
            (&everywhere, "[2001:db8::1]:4000", true),
            (&everywhere, "localhost:4000", true),
            (&everywhere, "evil.example:4000", false),
            (&named, "desk.example", true),
            (&named, "desk.example:80", true),
            (&named, "192.0.2.7", true),
            (&named, "localhost", false),
            (&named, "192.0.2.8", false),
        ];
        for (names, host, expected) in table {
            assert_eq!(
                !refusal(names, Some(host), None),
                expected,
                "{host} at {}",
                names.own()
            );
        }
        assert!(refusal(&loopback, None, None), "a request without a host");
    }

    #[test]
    fn a_page_of_another_origin_is_refused() {
        let names = Names::new("127.0.0.1", "127.0.0.1:4000".parse().unwrap());
        let table = [
            ("http://127.0.0.1:4000", true),
            ("https://127.0.0.1:4000", false),
            ("http://127.0.0.1:4001", false),
            ("http://127.0.0.1", false),
            ("http://localhost:4000", false),
            ("http://evil.example", false),
            ("http://127.0.0.1:4000.evil.example", false),
            ("null", false),
            ("", false),
        ];
        for (origin, expected) in table {
            assert_eq!(
                !refusal(&names, Some("127.0.0.1:4000"), Some(origin)),
                expected,
                "{origin}"
            );
        }
    }

    #[test]
    fn a_request_has_one_name() {
        let names = Names::new("127.0.0.1", "127.0.0.1:4000".parse().unwrap());
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("127.0.0.1:4000"));
        let elsewhere = Uri::from_static("http://evil.example/");
        assert!(names.refusal(&elsewhere, &headers).is_some());
        assert!(
            names
                .refusal(&Uri::from_static("http://127.0.0.1:4000/"), &headers)
                .is_none()
        );
        headers.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(names.refusal(&Uri::from_static("/"), &headers).is_some());
    }
}
