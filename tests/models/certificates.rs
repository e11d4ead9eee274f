//! A model behind a certificate that the system does not know. Authority, certificate and key beside this file are of
//! these tests alone: they vouch for nothing but this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::desk::{Desk, Ran, ran};

/// A server that answers each request over TLS with the same reply.
struct SafeServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

fn file(name: &str) -> PathBuf {
    rtc_tests::repository()
        .join("tests/models/certificates")
        .join(name)
}

fn config() -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_file(file("host.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(file("host.key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("the key belongs to the certificate");
    Arc::new(config)
}

impl SafeServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let server = Self {
            address: listener.local_addr().expect("an address"),
            connections: Arc::default(),
        };
        let (connections, config) = (server.connections.clone(), config());
        // It ends with the test's process: it waits for connections only.
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                connections.fetch_add(1, Ordering::Relaxed);
                // A client that does not trust the certificate goes away.
                let _ = answer(connection.expect("somebody connects"), config.clone());
            }
        });
        server
    }
}

fn answer(connection: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    let tls = ServerConnection::new(config).expect("a connection");
    let mut reader = BufReader::new(StreamOwned::new(tls, connection));
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        line.clear();
    }
    reader.read_exact(&mut vec![0; length])?;
    let body = Answer::text("Hello.").body(Dialect::Chat);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut tls = reader.into_inner();
    tls.write_all(head.as_bytes())?;
    tls.write_all(&body)?;
    tls.conn.send_close_notify();
    tls.flush()
}

/// Asks the server, with a certificate file in the configuration or in the environment.
fn run(server: &SafeServer, ca_file: Option<PathBuf>, environment: &[(&str, PathBuf)]) -> Ran {
    let desk = Desk::new(Dialect::Chat, &[], ModelServer::in_order([]));
    desk.configure(&format!("https://localhost:{}/v1", server.address.port()));
    if let Some(ca_file) = ca_file {
        let path = desk.place.path().join("config.toml");
        let config = std::fs::read_to_string(&path).expect("the configuration is there");
        std::fs::write(&path, format!("{config}ca_file = {ca_file:?}\n")).expect("it is written");
    }
    let mut command = desk.request("hello", &[]);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    ran(command)
}

fn told(ran: &Ran) -> String {
    let folder = file("").display().to_string();
    let line = ran
        .stderr
        .lines()
        .rfind(|line| !line.is_empty())
        .unwrap_or_default();
    format!(
        "exit {}: {}",
        ran.code.unwrap_or(-1),
        line.replace(&folder, "FOLDER/")
    )
}

#[test]
fn a_certificate_file_is_trusted_where_it_is_named() {
    let server = SafeServer::start();
    let authority = file("authority.pem");
    let configured = run(&server, Some(authority.clone()), &[]);
    assert_eq!(
        (configured.code, configured.stdout.as_str()),
        (Some(0), "Hello.\n"),
        "{}",
        configured.stderr
    );
    let of_environment = run(&server, None, &[("SSL_CERT_FILE", authority)]);
    assert_eq!(of_environment.stdout, "Hello.\n", "{}", of_environment.stderr);
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_told_at_once() {
    let server = SafeServer::start();
    insta::assert_snapshot!(told(&run(&server, None, &[])), @"exit 4: The model gave no answer: the model cannot be reached (invalid peer certificate: UnknownIssuer); check the network and the base URL, then try again");
    assert_eq!(
        server.connections.load(Ordering::Relaxed),
        1,
        "it is not asked again"
    );
}

#[test]
fn a_certificate_file_that_is_none_is_named() {
    let server = SafeServer::start();
    let all: Vec<String> = ["nowhere.pem", "host.key.pem"]
        .map(|name| told(&run(&server, Some(file(name)), &[])))
        .into();
    insta::assert_snapshot!(all.join("\n"), @"
    exit 4: The model gave no answer: the model cannot be reached (the certificates in FOLDER/nowhere.pem: No such file or directory (os error 2)); check the network and the base URL, then try again
    exit 4: The model gave no answer: the model cannot be reached (the certificates in FOLDER/host.key.pem: there is none in it); check the network and the base URL, then try again
    ");
    assert_eq!(server.connections.load(Ordering::Relaxed), 0);
}
