//! Starts, lists and idle memory, with nothing and with much that was said before.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use rtc_tests::model_server::Answer;
use rtc_tests::{Workplace, text};
use serde_json::json;

use super::Effort;
use super::life::{self, Turn};
use crate::bench::Folders;
use crate::bench::call::milliseconds;
use crate::bench::desk::{Desk, tree_memory};
use crate::bench::figure::{Figure, Unit};
use crate::bench::port::{Client, Serving, rpc};

/// A session of the large history: results of files as they often are. What is said of each is stored twice, in its call
/// and in the message with its result.
const LARGE: Turn = Turn {
    replies: 1,
    calls: 100,
    bytes: 16 * 1024,
};

/// What was measured on one data folder.
#[derive(Default)]
struct Starts {
    starts: Vec<f64>,
    lists: Vec<f64>,
    memory: Vec<f64>,
}

impl Starts {
    fn run(&mut self, place: &Arc<Workplace>) -> Result<()> {
        let desk = Desk::at(place.clone(), vec![Answer::text("Done.")], |_| {})?;
        self.starts.push(milliseconds(desk.turn(0)?.to_first_request));
        self.lists.push(milliseconds(desk.list()?));
        self.memory.push(idle(place)?);
        Ok(())
    }
}

/// The memory of a `serve` to which one client has connected and seen the first page of its sessions, in megabytes.
fn idle(place: &Workplace) -> Result<f64> {
    let serving = Serving::start(place)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut client = Client::connect(serving.port(), serving.token()).await?;
        client.ask(&rpc(1, "v1.session.list", &json!({}))).await
    })?;
    Ok(tree_memory(serving.process())? as f64 / 1e6)
}

/// Where the store of a place keeps its log.
const LOG: &str = "store/db/db";

/// How many bytes of a damaged log are spoiled, in its middle.
const SPOILED: usize = 64;

/// `sessions list` on a store whose log is damaged in a place, and its header as well, so that this is noticed however
/// large it is: it is set aside, and what can be read of it is taken over. In milliseconds, and the megabytes of keys and
/// values that were there.
fn damaged(binary: &Path, folders: &Folders, effort: Effort) -> Result<(Vec<f64>, f64)> {
    let (mut took, mut megabytes) = (Vec::new(), 0.0);
    for _ in 0..effort.rounds {
        let place = Workplace::of_binary(binary, &folders.disk)?;
        let live = life::live(&place.data(), async |life| {
            let project = Some(life.project(&place.root()).await?);
            life.sessions(effort.damaged, project, 1, LARGE).await?;
            life.live().await
        })?;
        megabytes = live.values as f64 / 1e6;
        // What was written before the last start is found without reading the log anew.
        let whole = place.sessions();
        let log = place.data().join(LOG);
        let mut content = fs::read(&log)?;
        let middle = content.len() / 2;
        content[middle..middle + SPOILED]
            .iter_mut()
            .for_each(|byte| *byte ^= 0xA5);
        fs::write(&log, content)?;
        fs::write(place.data().join("store/store.json"), "{")?;
        let begun = Instant::now();
        let listed = place.command(&["sessions", "list"]).output()?;
        took.push(milliseconds(begun.elapsed()));
        let told = text(&listed.stderr);
        ensure!(listed.status.success() && told.contains("moved aside"), "{told}");
        let taken = listed.stdout.iter().filter(|byte| **byte == b'\n').count();
        ensure!(
            taken * 2 > whole.len(),
            "{taken} sessions were taken over: {told}"
        );
    }
    Ok((took, megabytes))
}

/// Starts on empty and on large data folders on disk, in turn.
pub(super) fn measure(binary: &Path, folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let large = Arc::new(Workplace::of_binary(binary, &folders.disk)?);
    let live = life::live(&large.data(), async |life| {
        let project = Some(life.project(&large.root()).await?);
        life.sessions(effort.large, project, 1, LARGE).await?;
        life.live().await
    })?;
    // What the process before has left in the log is read once, by the next one.
    let mut first = Starts::default();
    first.run(&large)?;
    let (mut nothing, mut much) = (Starts::default(), Starts::default());
    for _ in 0..effort.starts {
        nothing.run(&Arc::new(Workplace::of_binary(binary, &folders.disk)?))?;
        much.run(&large)?;
    }
    let (damaged, damaged_megabytes) = damaged(binary, folders, effort)?;
    let of_time = |name, what, samples| Figure::samples(name, what, Unit::Milliseconds, samples);
    let of_memory = |name, what, samples| Figure::samples(name, what, Unit::Megabytes, samples);
    Ok(vec![
        of_time(
            "start_empty",
            "start → first request, nothing stored, on disk",
            nothing.starts,
        ),
        of_time("start_large", "the same with 1 GB of history", much.starts),
        of_time(
            "start_first",
            "the first start after the process that wrote it",
            first.starts,
        ),
        of_time(
            "list_empty",
            "`sessions list`, start to end, one session, on disk",
            nothing.lists,
        ),
        of_time("list_large", "the same with 1 GB of history", much.lists),
        of_time(
            "list_damaged",
            "the same on a damaged store, which is set aside and read",
            damaged,
        ),
        of_memory(
            "idle_empty",
            "memory of `serve`, idle, one session",
            nothing.memory,
        ),
        of_memory("idle_large", "the same with 1 GB of history", much.memory),
        Figure::one(
            "large",
            "the history: its keys and values",
            Unit::Megabytes,
            live.values as f64 / 1e6,
        ),
        Figure::one(
            "damaged",
            "the damaged store: its keys and values",
            Unit::Megabytes,
            damaged_megabytes,
        ),
    ])
}
