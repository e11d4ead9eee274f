//! `port`: what the port of `serve` costs, beside axum's WebSockets with nothing behind them, in the same run.
//!
//! Calls are timed one by one from a client in this process; the bare server is in this process, too, which makes its
//! figures the better ones. Project and data are in memory.

mod bare;
mod client;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rtc_tests::Workplace;
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use self::bare::Bare;
pub(super) use self::client::Client;
use self::client::answered;
use super::Folders;
use super::call::milliseconds;
use super::figure::{Figure, Unit, percentile};

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Rounds of calls: as many of each kind in each.
    pub(crate) rounds: usize,
    /// Calls of a kind in a round.
    pub(crate) calls: usize,
    /// Updates in the store.
    pub(crate) updates: u64,
    /// How often all of them are read.
    pub(crate) recoveries: usize,
    /// Who hears of an update.
    pub(crate) listeners: usize,
    /// How many updates they hear of.
    pub(crate) told: usize,
}

impl Effort {
    /// That of a benchmark.
    pub(crate) const WHOLE: Self = Self {
        rounds: 20,
        calls: 200,
        updates: 100_000,
        recoveries: 5,
        listeners: 100,
        told: 200,
    };
}

/// How many calls are in flight where it is not one.
const IN_FLIGHT: usize = 16;

/// Updates of a page: the most that there are in one.
const PAGE: usize = 1000;

/// Sessions whose changes are the updates.
const SESSIONS: usize = 32;

/// What is done, in one line.
pub(crate) fn inputs(effort: Effort) -> String {
    let Effort {
        rounds,
        calls,
        updates,
        recoveries,
        listeners,
        told,
    } = effort;
    format!(
        "{rounds} rounds of {calls} calls of `v1.session.get` and as many messages to the bare server, one at a time and {IN_FLIGHT} \
         in flight; {recoveries} times {updates} updates in pages of {PAGE}; {told} updates told to {listeners} clients; in memory"
    )
}

/// A running `serve`, ended when dropped.
pub(super) struct Serving {
    child: Child,
    port: u16,
    token: String,
    topic: String,
}

impl Serving {
    pub(super) fn start(place: &Workplace) -> Result<Self> {
        let mut command = place.command(&["serve", "--no-ui", "--model", "offline"]);
        command.arg("--root").arg(place.root());
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .context("serve does not start")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("serve says nothing")?).read_line(&mut line)?;
        let mut serving = Self {
            child,
            port: 0,
            token: String::new(),
            topic: String::new(),
        };
        let ready: Value = serde_json::from_str(&line).context("serve is not ready")?;
        serving.port = u16::try_from(ready["port"].as_u64().context("a port")?)?;
        serving.token = ready["token"].as_str().context("a token")?.to_owned();
        serving.topic = format!("topic:u={}", ready["user_id"].as_str().context("a user")?);
        Ok(serving)
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Nothing to do where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs it all.
pub(crate) fn measure(binary: &Path, folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let place = Workplace::of_binary(binary, &folders.memory)?;
    let serving = Serving::start(&place)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut client = Client::connect(serving.port, &serving.token).await?;
        let sessions = make_sessions(&mut client, SESSIONS).await?;
        let mut figures = calls(&mut client, &sessions[0], effort).await?;
        figures.extend(fan_out(&serving, &mut client, &sessions[0], effort).await?);
        figures.push(recovery(&serving, &mut client, &sessions, effort).await?);
        Ok(figures)
    })
}

/// Says of every open project that it may be used.
pub(super) async fn trust(port: u16, token: &str) -> Result<()> {
    let mut client = Client::connect(port, token).await?;
    let list = client.ask(&rpc(1, "v1.project.list", &json!({}))).await?;
    let projects = list["rpc"]["data"]["result"]["items"].as_array().cloned();
    for project in projects.context("there are projects")? {
        let data = json!({"client_id": "trust", "project_id": project["id"], "trusted": true});
        client.ask(&rpc(2, "v1.project.trust", &data)).await?;
    }
    Ok(())
}

async fn make_sessions(client: &mut Client, count: usize) -> Result<Vec<Value>> {
    let mut sessions = Vec::new();
    for number in 0..count {
        let data = json!({
            "client_session_id": format!("s{number}"), "client_id": format!("m{number}"),
            "content_data": {"type": "text", "data": "hello"},
        });
        let sent = client.ask(&rpc(1, "v1.message.send", &data)).await?;
        sessions.push(sent["rpc"]["data"]["result"]["session_id"].clone());
    }
    // What a turn changes by itself is over before anything is timed.
    for session in &sessions {
        loop {
            let got = client
                .ask(&rpc(1, "v1.session.get", &json!({"session_id": session})))
                .await?;
            if got["rpc"]["data"]["result"]["item"]["status"] == "idle" {
                break;
            }
        }
    }
    Ok(sessions)
}

pub(super) fn rpc(id: usize, method: &str, data: &Value) -> Value {
    json!({"id": id, "rpc": {"method": method, "data": data}})
}

async fn calls(client: &mut Client, session: &Value, effort: Effort) -> Result<Vec<Figure>> {
    let ask = |id: usize| rpc(id, "v1.session.get", &json!({"session_id": session})).to_string();
    let reply = client.ask(&serde_json::from_str(&ask(1))?).await?.to_string();
    let bare = Bare::start(reply.len())?;
    let mut echo = Client::open(bare.port, "/echo").await?;
    let (mut took, mut bare_took) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..effort.rounds {
        for (index, in_flight) in [1, IN_FLIGHT].into_iter().enumerate() {
            took[index].extend(
                timed(client, ask, in_flight, effort.calls, |frame| {
                    answered(frame).collect()
                })
                .await?,
            );
            let mut next = 0;
            let in_order = |_: &str| {
                next += 1;
                Ok(vec![next])
            };
            bare_took[index].extend(timed(&mut echo, ask, in_flight, effort.calls, in_order).await?);
        }
    }
    let [one, many] = took;
    let [bare_one, bare_many] = bare_took;
    let ratio = |ours: &[f64], bare: &[f64]| {
        let median = |samples: &[f64]| percentile(samples, 50).unwrap_or(f64::NAN);
        median(ours) / median(bare)
    };
    let (by_one, by_many) = (ratio(&one, &bare_one), ratio(&many, &bare_many));
    let samples = |name, what, samples| Figure::samples(name, what, Unit::Microseconds, samples);
    Ok(vec![
        samples("call", "call of a method that reads: sent → answered", one),
        samples("echo", "message to the bare server: the same", bare_one),
        Figure::one(
            "call_ratio",
            "the first by the second, of the medians",
            Unit::Count,
            by_one,
        ),
        samples("call_16", "call with 16 in flight: the same", many),
        samples("echo_16", "message with 16 in flight: the same", bare_many),
        Figure::one(
            "call_16_ratio",
            "the first by the second, of the medians",
            Unit::Count,
            by_many,
        ),
    ])
}

/// Sends messages numbered from 1, so many in flight; how long each took, in microseconds.
async fn timed(
    client: &mut Client,
    message: impl Fn(usize) -> String,
    in_flight: usize,
    count: usize,
    mut answered: impl FnMut(&str) -> Result<Vec<usize>>,
) -> Result<Vec<f64>> {
    let messages: Vec<String> = (1..=count).map(message).collect();
    let mut sent: Vec<Option<Instant>> = vec![None; count];
    let mut took = Vec::with_capacity(count);
    let mut next = 0;
    while took.len() < count {
        while next < count && next - took.len() < in_flight {
            sent[next] = Some(Instant::now());
            client.send(messages[next].clone()).await?;
            next += 1;
        }
        for id in answered(&client.next().await?)? {
            let began = sent.get_mut(id - 1).and_then(Option::take);
            took.push(milliseconds(began.context("an answer to nothing")?.elapsed()) * 1e3);
        }
    }
    Ok(took)
}

/// From sending a change to the moment at which the last of many clients has it.
async fn fan_out(
    serving: &Serving,
    client: &mut Client,
    session: &Value,
    effort: Effort,
) -> Result<Vec<Figure>> {
    let rename = |number: usize| {
        let data = json!({"session_id": session, "title": format!("title {number:04}")});
        rpc(number, "v1.session.update", &data).to_string()
    };
    let subscribe = json!({"id": 2, "subscribe": {"channel": serving.topic}});
    let mut listeners = Vec::new();
    for _ in 0..effort.listeners {
        let mut listener = Client::connect(serving.port, &serving.token).await?;
        listener.ask(&subscribe).await?;
        listeners.push(listener);
    }
    // One more, to see how large a push is.
    let mut one = Client::connect(serving.port, &serving.token).await?;
    one.ask(&subscribe).await?;
    client.ask(&serde_json::from_str(&rename(1))?).await?;
    let push = one.next().await?;
    drop(one);
    for listener in &mut listeners {
        listener.next().await?;
    }
    let took = told_to_all(client, listeners, effort.told, rename).await?;

    let bare = Bare::start(0)?;
    let mut listeners = Vec::new();
    for _ in 0..effort.listeners {
        listeners.push(Client::open(bare.port, "/broadcast").await?);
    }
    let mut writer = Client::open(bare.port, "/broadcast").await?;
    let bare_took = told_to_all(&mut writer, listeners, effort.told, |_| push.clone()).await?;
    let samples = |name, what, samples| Figure::samples(name, what, Unit::Milliseconds, samples);
    Ok(vec![
        samples(
            "fan_out",
            "a change, committed and told to 100 clients: sent → the last has it",
            took,
        ),
        samples(
            "broadcast",
            "as many bytes told to 100 by the bare server: the same",
            bare_took,
        ),
    ])
}

/// Tells so many messages, one after the other; how long it took until all listeners had each, in milliseconds. The
/// writer hears once of each, too.
async fn told_to_all(
    writer: &mut Client,
    listeners: Vec<Client>,
    count: usize,
    message: impl Fn(usize) -> String,
) -> Result<Vec<f64>> {
    let everyone = listeners.len();
    let (tell, mut heard) = unbounded_channel();
    let mut tasks = tokio::task::JoinSet::new();
    for mut listener in listeners {
        let tell = tell.clone();
        tasks.spawn(async move {
            while let Ok(frame) = listener.next().await {
                for _ in frame.split('\n') {
                    let _ = tell.send(Instant::now());
                }
            }
        });
    }
    let mut took = Vec::with_capacity(count);
    for number in 2..count + 2 {
        let text = message(number);
        let began = Instant::now();
        writer.send(text).await?;
        let mut last = began;
        for _ in 0..everyone {
            last = heard.recv().await.context("the listeners are gone")?;
        }
        took.push(milliseconds(last - began));
        writer.next().await?;
    }
    Ok(took)
}

/// Reads everything in pages.
async fn recovery(
    serving: &Serving,
    client: &mut Client,
    sessions: &[Value],
    effort: Effort,
) -> Result<Figure> {
    fill(serving, client, sessions, effort.updates).await?;
    let mut took = Vec::new();
    for _ in 0..effort.recoveries {
        let began = Instant::now();
        let (mut after, mut epoch) = (0, String::new());
        while after < effort.updates {
            let page = client.history(&serving.topic, after, &epoch, PAGE).await?;
            ensure!(
                !page.publications.is_empty(),
                "an empty page after {after} of {}",
                page.offset
            );
            for publication in &page.publications {
                ensure!(
                    publication.offset == after + 1,
                    "{} after {after}",
                    publication.offset
                );
                after = publication.offset;
            }
            epoch = page.epoch;
        }
        took.push(milliseconds(began.elapsed()) * 1e3 / after as f64);
    }
    let what = "an update of many, read in pages by one client: once and in order";
    Ok(Figure::samples("recovery", what, Unit::Microseconds, took))
}

/// Changes sessions until there are so many updates.
async fn fill(serving: &Serving, client: &mut Client, sessions: &[Value], updates: u64) -> Result<()> {
    loop {
        let stands = client.history(&serving.topic, 0, "", 0).await?.offset;
        let missing = usize::try_from(updates.saturating_sub(stands))?;
        if missing == 0 {
            return Ok(());
        }
        let rename = |number: usize| {
            let session = &sessions[number % sessions.len()];
            let data = json!({"session_id": session, "title": format!("title {number}")});
            rpc(number, "v1.session.update", &data).to_string()
        };
        timed(client, rename, SESSIONS, missing, |frame| {
            answered(frame).collect()
        })
        .await?;
    }
}
