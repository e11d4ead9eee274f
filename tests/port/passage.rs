//! A passage between clients and the port that can be closed, and in which what goes to a client breaks off after so many
//! bytes.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much is read at once, in bytes.
const PIECE: usize = 16 << 10;

/// A passage; ended with the test.
pub(crate) struct Passage {
    port: u16,
    shared: Arc<Shared>,
    /// Tells of every connection that the port has ended.
    pub(crate) ended: Receiver<()>,
}

struct Shared {
    state: Mutex<State>,
    tell_ended: Mutex<Sender<()>>,
}

struct State {
    /// Where it leads to.
    port: u16,
    is_open: bool,
    is_over: bool,
    /// After how many bytes the next connections break off, one after the other; after them none does.
    cuts: VecDeque<usize>,
    /// How many did.
    broken: usize,
    streams: Vec<TcpStream>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Passage {
    /// A passage to a port of this machine, in which the first connections break off.
    pub(crate) fn to(port: u16, cuts: &[usize]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let own = listener.local_addr().expect("it has an address").port();
        let (tell_ended, ended) = channel();
        let state = State {
            port,
            is_open: true,
            is_over: false,
            cuts: cuts.iter().copied().collect(),
            broken: 0,
            streams: Vec::new(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            tell_ended: Mutex::new(tell_ended),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if accepting.state().is_over {
                    return;
                }
                // Whoever finds no way through is closed at once.
                let _ = lead_through(&accepting, client);
            }
        });
        Self {
            port: own,
            shared,
            ended,
        }
    }

    /// Its own port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How many connections broke off.
    pub(crate) fn broken(&self) -> usize {
        self.shared.state().broken
    }

    /// Breaks off what goes through it, and lets nothing through until it is opened.
    pub(crate) fn close(&self) {
        let mut state = self.shared.state();
        state.is_open = false;
        for stream in state.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets through again, to this port.
    pub(crate) fn open(&self, port: u16) {
        let mut state = self.shared.state();
        (state.port, state.is_open) = (port, true);
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        self.close();
        self.shared.state().is_over = true;
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn lead_through(shared: &Arc<Shared>, client: TcpStream) -> std::io::Result<()> {
    let mut state = shared.state();
    if !state.is_open {
        return Ok(());
    }
    let server = TcpStream::connect(("127.0.0.1", state.port))?;
    let cut = state.cuts.pop_front();
    state.streams.extend([client.try_clone()?, server.try_clone()?]);
    drop(state);
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        if lead_in(&mut from_client, &mut to_server).is_ok() {
            copy(from_client, to_server, None);
        }
    });
    let shared = shared.clone();
    std::thread::spawn(move || {
        if copy(server, client, cut) {
            shared.state().broken += 1;
        } else {
            let tell = shared.tell_ended.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = tell.send(());
        }
    });
    Ok(())
}

/// Passes the head of a request on, in which the client names the passage, under the name by which the port is reached.
fn lead_in(from: &mut TcpStream, to: &mut TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut piece = [0; PIECE];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            count => head.extend_from_slice(&piece[..count]),
        }
    }
    let names = [from.local_addr()?, to.peer_addr()?].map(|address| format!("Host: {address}\r\n"));
    let named = String::from_utf8_lossy(&head).replacen(&names[0], &names[1], 1);
    to.write_all(named.as_bytes())
}

/// Copies until one side is gone; tells whether it broke off before that.
fn copy(mut from: TcpStream, mut to: TcpStream, cut: Option<usize>) -> bool {
    let mut left = cut;
    let mut piece = [0; PIECE];
    let broken = loop {
        let count = match from.read(&mut piece) {
            Ok(count @ 1..) => count,
            _ => break false,
        };
        let count = count.min(left.unwrap_or(count));
        if to.write_all(&piece[..count]).is_err() {
            break false;
        }
        if let Some(left) = &mut left {
            *left -= count;
            if *left == 0 {
                break true;
            }
        }
    };
    for stream in [from, to] {
        let _ = stream.shutdown(Shutdown::Both);
    }
    broken
}
