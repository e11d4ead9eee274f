//! Whether a call costs more in a session that has said much, and in a store that has many sessions.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use rtc_tests::Workplace;
use rtc_tests::model_server::{Answer, ModelServer};
use rtc_types::SessionId;

use super::Effort;
use super::life::{self, Turn};
use super::median;
use crate::bench::Folders;
use crate::bench::call::{Kind, milliseconds, script};
use crate::bench::desk::Desk;
use crate::bench::figure::{Figure, Unit};

/// Calls of a turn of a history, one a reply.
const CALLS: usize = 50;
/// Messages of such a turn: what the user says, calls and results, and what the model says.
const MESSAGES: usize = 2 * CALLS + 2;
/// Bytes of a result: 2 kB or so, as of the files that are read.
const BYTES: usize = 2_000;

/// A data folder with its project, and what the pauses there were.
struct History {
    place: Arc<Workplace>,
    /// In which the turns are; new ones if there are none.
    sessions: Vec<SessionId>,
    pauses: Vec<f64>,
    lists: Vec<f64>,
    /// Those of the first change of a process.
    changes: Vec<f64>,
    /// The last request.
    request: Vec<u8>,
}

impl History {
    fn new(binary: &Path, folders: &Folders, effort: Effort) -> Result<Self> {
        let place = Arc::new(Workplace::of_binary(binary, &folders.memory)?);
        for (name, content) in script(Kind::Read, effort.calls).0 {
            std::fs::write(place.root().join(name), content)?;
        }
        Ok(Self {
            place,
            sessions: Vec::new(),
            pauses: Vec::new(),
            lists: Vec::new(),
            changes: Vec::new(),
            request: Vec::new(),
        })
    }

    /// Sessions with so many messages each, one for each turn that is measured.
    fn of_messages(binary: &Path, folders: &Folders, effort: Effort, messages: usize) -> Result<Self> {
        let mut history = Self::new(binary, folders, effort)?;
        let (turns, rest) = (messages / MESSAGES, messages % MESSAGES);
        history.sessions = life::live(&history.place.data(), async |life| {
            let project = Some(life.project(&history.place.root()).await?);
            let turn = |replies| Turn {
                replies,
                calls: 1,
                bytes: BYTES,
            };
            let made = life.sessions(effort.turns, project, turns, turn(CALLS)).await?;
            for session in &made {
                life.turn(*session, project, turn(rest.saturating_sub(2) / 2))
                    .await?;
            }
            Ok(made)
        })?;
        Ok(history)
    }

    /// So many sessions with a short turn each.
    fn of_sessions(binary: &Path, folders: &Folders, effort: Effort, sessions: usize) -> Result<Self> {
        let history = Self::new(binary, folders, effort)?;
        life::live(&history.place.data(), async |life| {
            let project = Some(life.project(&history.place.root()).await?);
            let turn = Turn {
                replies: 2,
                calls: 1,
                bytes: BYTES,
            };
            life.sessions(sessions, project, 1, turn).await
        })?;
        Ok(history)
    }

    fn run(&mut self, number: usize, effort: Effort) -> Result<()> {
        let desk = Desk::at(self.place.clone(), script(Kind::Read, effort.calls).1, |_| {})?;
        let turn = desk.turn_of(self.sessions.get(number).copied(), 0)?;
        self.pauses.extend(turn.pauses.into_iter().map(milliseconds));
        self.request = desk.last_request();
        self.lists.push(milliseconds(desk.list()?));
        Ok(())
    }

    /// A change is the first one of its process, after which it knows that nothing was begun in the folder before.
    fn change(&mut self) -> Result<()> {
        let (files, answers) = script(Kind::Edit, 1);
        for (name, content) in files {
            std::fs::write(self.place.root().join(name), content)?;
        }
        let turn = Desk::at(self.place.clone(), answers, |_| {})?.turn(0)?;
        // The one before is the read without which nothing is edited.
        self.changes.extend(turn.pauses.get(1).copied().map(milliseconds));
        Ok(())
    }
}

/// From the end of each answer to the next request of a client that only sends it, in milliseconds.
fn bare_posts(request: &[u8], count: usize) -> Result<Vec<f64>> {
    /// What ends an answer in pieces.
    const END: &[u8] = b"0\r\n\r\n";
    let server = ModelServer::start(|_| Answer::text("Done."));
    let mut stream = TcpStream::connect(server.address())?;
    stream.set_nodelay(true)?;
    let length = request.len();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: loopback\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    for _ in 0..=count {
        stream.write_all(head.as_bytes())?;
        stream.write_all(request)?;
        let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
        while !answer.ends_with(END) {
            let read = stream.read(&mut piece)?;
            ensure!(read > 0, "the answer broke off");
            answer.extend_from_slice(&piece[..read]);
        }
    }
    Ok(server.pauses().into_iter().map(milliseconds).collect())
}

/// A read after each history, all in turn.
pub(super) fn measure(binary: &Path, folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let [few, some, many] = effort.messages;
    let [a_hundred, a_thousand] = effort.sessions;
    let of_messages = |messages| History::of_messages(binary, folders, effort, messages);
    let of_sessions = |sessions| History::of_sessions(binary, folders, effort, sessions);
    let mut histories = [
        of_messages(few)?,
        of_messages(some)?,
        of_messages(many)?,
        of_sessions(a_hundred)?,
        of_sessions(a_thousand)?,
    ];
    let (mut pauses, mut lists, mut changes, mut posts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for number in 0..effort.turns {
        // A store for each, so that it stays as empty as it is called.
        let mut empty = History::new(binary, folders, effort)?;
        empty.run(number, effort)?;
        pauses.append(&mut empty.pauses);
        lists.append(&mut empty.lists);
        empty.change()?;
        changes.append(&mut empty.changes);
        for history in &mut histories {
            history.run(number, effort)?;
        }
        let [_, _, many, _, a_thousand] = &mut histories;
        posts.extend(bare_posts(&many.request, effort.calls)?);
        a_thousand.change()?;
    }
    let [few, some, many, a_hundred, a_thousand] = histories;
    let by_empty = |history: &[f64], empty: &[f64]| median(history) / median(empty);
    let request = many.request.len() as f64;
    let growths = [
        (
            "read_growth_messages",
            "by how much a read costs more after 5,000 messages",
            by_empty(&many.pauses, &pauses),
        ),
        (
            "read_growth_sessions",
            "by how much a read costs more beside 1,000 sessions",
            by_empty(&a_thousand.pauses, &pauses),
        ),
    ];
    let growths = growths.map(|(name, what, ratio)| Figure::one(name, what, Unit::Count, ratio));
    let rows = [
        (
            "read_empty",
            "read: end of reply → next request, nothing before",
            pauses,
        ),
        ("read_100_messages", "the same after 100 messages", few.pauses),
        ("read_1000_messages", "the same after 1,000 messages", some.pauses),
        ("read_5000_messages", "the same after 5,000 messages", many.pauses),
        (
            "post_5000_messages",
            "a request as large, sent by a bare client",
            posts,
        ),
        (
            "read_100_sessions",
            "the same beside 100 other sessions",
            a_hundred.pauses,
        ),
        (
            "read_1000_sessions",
            "the same beside 1,000 other sessions",
            a_thousand.pauses,
        ),
        (
            "first_change",
            "edit: end of reply → next request, the first of its process, one session",
            changes,
        ),
        (
            "first_change_1000",
            "the same beside 1,000 other sessions",
            a_thousand.changes,
        ),
        (
            "list_one",
            "`sessions list`, start to end, of one session, in memory",
            lists,
        ),
        ("list_1000", "the same of 1,000 sessions", a_thousand.lists),
    ];
    let rows = rows.map(|(name, what, samples)| Figure::samples(name, what, Unit::Milliseconds, samples));
    let what = "bytes of a request after 5,000 messages";
    let request = Figure::one("request_5000_messages", what, Unit::Bytes, request);
    Ok(rows.into_iter().chain(growths).chain([request]).collect())
}
