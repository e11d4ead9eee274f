//! Whether a call costs more in a session that has said much, and in a store that has many sessions.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use rtc_tests::Workplace;
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
        self.lists.push(milliseconds(desk.list()?));
        Ok(())
    }
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
    let (mut pauses, mut lists) = (Vec::new(), Vec::new());
    for number in 0..effort.turns {
        // A store for each, so that it stays as empty as it is called.
        let mut empty = History::new(binary, folders, effort)?;
        empty.run(number, effort)?;
        pauses.append(&mut empty.pauses);
        lists.append(&mut empty.lists);
        for history in &mut histories {
            history.run(number, effort)?;
        }
    }
    let [few, some, many, a_hundred, a_thousand] = histories;
    let by_empty = |history: &[f64], empty: &[f64]| median(history) / median(empty);
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
            "list_one",
            "`sessions list`, start to end, of one session, in memory",
            lists,
        ),
        ("list_1000", "the same of 1,000 sessions", a_thousand.lists),
    ];
    let rows = rows.map(|(name, what, samples)| Figure::samples(name, what, Unit::Milliseconds, samples));
    Ok(rows.into_iter().chain(growths).collect())
}
