//! Kills of a running `serve` that a client over a WebSocket drives.
//!
//! The client sends the message and says Yes to the script over the port. After a kill `serve` is started again on the
//! same data and the same port, and the client comes back with its cursor.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead as _, BufReader, PipeReader};
use std::net::TcpListener;
use std::process::Command;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rtc_tests::model_server::Dialect;
use rtc_tests::serving::{LONGEST, Serving, instance};
use rtc_tests::{Ended, SystemCall, assert_none_left_by};
use serde_json::Value;

use crate::can_trace;
use crate::cut::{Cut, Cutter, Told};
use crate::device::Device;
use crate::follower::Follower;
use crate::named::{Choice, NAMED, Named, TRIES, Way};
use crate::point::{Kind, Point};
use crate::power::cuts;
use crate::reference::{assert_same, conversation};
use crate::stage::{Event, Unknown};
use crate::tally::{VISITS, rounds, run_all};
use crate::turn::{Silence, Turn, Whole, lengths};

/// How often each point is hit in every test run.
const SAMPLED: usize = 3;

/// How many steps of the start after a kill are counted as its recovery.
const STEPS_OF_RECOVERY: u64 = 24;

/// Between a commit and the client that is told of it.
const TOLD: Named = Named {
    name: "while a client is told",
    way: Way::At(|event| event.point == Point::before(Kind::Told)),
};

/// The turn, a client, and the port that `serve` is started on each time.
struct Stand {
    turn: Turn,
    follower: Follower,
    port: u16,
}

/// What is left of a turn that nobody killed.
struct Served {
    whole: Whole,
    conversation: String,
}

impl Stand {
    fn new(silence: Option<Silence>) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = free.local_addr().expect("it has an address").port();
        Self {
            turn: Turn::silent(Dialect::Chat, silence),
            follower: Follower::default(),
            port,
        }
    }

    fn arguments(&self) -> Vec<String> {
        let place = &self.turn.place;
        [
            "serve".to_owned(),
            "--root".to_owned(),
            place.root().display().to_string(),
            "--config".to_owned(),
            place.path().join("config.toml").display().to_string(),
            "--listen".to_owned(),
            format!("127.0.0.1:{}", self.port),
        ]
        .into()
    }

    fn command(&self) -> Command {
        let arguments = self.arguments();
        let mut command = self.turn.place.command(&crate::reference::words(&arguments));
        command.env("SCRIPTED_KEY", crate::turn::KEY);
        command
    }

    /// Serves until `kill` says so, or until the turn is over.
    fn watched(&mut self, mut kill: impl FnMut(Event) -> bool) -> Ended {
        self.watched_calls(|_, event, _| event.is_some_and(&mut kill))
    }

    /// The same with each call; see [`Turn::watch_calls`].
    fn watched_calls(&mut self, kill: impl FnMut(&SystemCall, Option<Event>, Unknown) -> bool) -> Ended {
        let arguments = self.arguments();
        let follower = &mut self.follower;
        serve(&mut self.turn, &arguments, kill, |ready| {
            follower.follow(ready).is_ok()
        })
    }

    /// Serves without a kill until the turn is over; the client comes back to it.
    fn go_on(&mut self) {
        let serving = Serving::of(self.command());
        let followed = self.follower.follow(&serving.ready);
        let (id, ended) = (serving.pid(), serving.stop());
        assert!(followed.is_ok(), "the port was closed; log:\n{}", ended.log);
        assert_eq!(ended.code, Some(0), "log:\n{}", ended.log);
        assert_none_left_by(id);
    }
}

/// Serves until `kill` says so, or until a client is done with what it does with the line that was printed.
pub(crate) fn serve(
    turn: &mut Turn,
    arguments: &[String],
    kill: impl FnMut(&SystemCall, Option<Event>, Unknown) -> bool,
    client: impl FnOnce(&Value) -> bool + Send,
) -> Ended {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = turn.place.traceable(&crate::reference::words(arguments));
    command.stdout(writer);
    let instance = instance(&turn.place);
    std::thread::scope(|scope| {
        let client = scope.spawn(move || {
            let Some(ready) = ready(reader) else { return };
            if client(&ready) {
                end(&std::fs::read(instance).expect("it tells how it is reached"));
            }
        });
        let ended = turn.watch_calls(command, kill);
        client.join().expect("the client keeps the rules");
        ended
    })
}

/// The line that `serve` prints, if it comes to that.
fn ready(reader: PipeReader) -> Option<Value> {
    let mut line = String::new();
    BufReader::new(reader).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// Ends the process as a service is ended.
fn end(instance: &[u8]) {
    let instance: Value = serde_json::from_slice(instance).expect("it is JSON");
    let id = instance["pid"].as_i64().and_then(|id| i32::try_from(id).ok());
    // It may have been killed in this moment.
    let _ = kill(Pid::from_raw(id.expect("a process number")), Signal::SIGTERM);
}

impl Served {
    fn new() -> Self {
        let mut stand = Stand::new(None);
        let mut events = Vec::new();
        let ended = stand.watched(|event| {
            events.push(event);
            false
        });
        assert_eq!(ended, Ended::Exited(0));
        let shown = stand.turn.place.last_session();
        judge_client(&stand.follower, &shown);
        Self {
            whole: Whole::of(&stand.turn, events),
            conversation: conversation(&stand.turn.place, &shown),
        }
    }

    /// Goes on after the last kill, and compares folder, conversation, requests and client.
    fn judge(&self, mut stand: Stand) {
        let before = stand.turn.place.files();
        stand.go_on();
        let unknown = self.whole.judge_end(&stand.turn, &before);
        let shown = stand.turn.place.last_session();
        if !unknown {
            assert_same(&conversation(&stand.turn.place, &shown), &self.conversation);
        }
        judge_client(&stand.follower, &shown);
    }

    fn visit(&self, visit: &Visit) -> bool {
        (0..TRIES).any(|attempt| {
            let mut choice = Choice::new(visit.named.name, visit.number, attempt);
            let mut stand = match visit.named.way {
                Way::Silence => {
                    let (results, length) = choice.of(&lengths(Dialect::Chat));
                    let bytes = choice.below_length(length);
                    Stand::new(Some(Silence { results, bytes }))
                }
                _ => Stand::new(None),
            };
            let killed = match visit.named.way {
                Way::At(holds) => self.kill_at(&mut stand, holds, &mut choice),
                Way::Silence => kill_in_a_reply(&mut stand),
                Way::Again => {
                    let first = choice.of(&[&TOLD, &NAMED[2], &NAMED[3], &NAMED[4], &NAMED[7]]);
                    if let Way::At(holds) = first.way {
                        self.kill_at(&mut stand, holds, &mut choice);
                    }
                    kill_again(&mut stand, &mut choice)
                }
            };
            self.judge(stand);
            killed
        })
    }

    fn kill_at(&self, stand: &mut Stand, holds: fn(&Event) -> bool, choice: &mut Choice) -> bool {
        let passings = self.whole.events.iter().filter(|event| holds(event)).count();
        let mut left = choice.below_length(passings);
        let ended = stand.watched(|event| {
            let is_it = holds(&event) && left == 0;
            left -= usize::from(holds(&event) && left > 0);
            is_it
        });
        ended == Ended::Killed
    }
}

impl Served {
    /// Cuts the power, and judges what is served then. Gives what was told.
    fn cut(&self, cut: Cut) -> Told {
        let mut stand = Stand::new(None);
        let device = Device::new(stand.turn.place.path(), |_| false);
        let mut cutter = Cutter::new(&stand.turn, device, cut);
        let ended = stand.watched_calls(|call, event, unknown| cutter.sees(call, event, unknown));
        let left = cutter.end(ended);
        left.put(&mut stand.turn);
        self.judge(stand);
        left.told
    }
}

/// Kills it at a step of its start, or of what it does by itself right after.
fn kill_again(stand: &mut Stand, choice: &mut Choice) -> bool {
    let mut left = choice.below(STEPS_OF_RECOVERY);
    let ended = stand.watched(|event| {
        if event.asked || event.point.kind == Kind::Log {
            return false;
        }
        let is_it = left == 0;
        left = left.saturating_sub(1);
        is_it
    });
    ended == Ended::Killed
}

fn kill_in_a_reply(stand: &mut Stand) -> bool {
    let serving = Serving::of(stand.command());
    let (turn, follower) = (&mut stand.turn, &mut stand.follower);
    std::thread::scope(|scope| {
        let ready = serving.ready.clone();
        let client = scope.spawn(move || follower.follow(&ready));
        let start = Instant::now();
        while !turn.server.is_read_up_to_a_stall() {
            assert!(
                start.elapsed() < LONGEST,
                "it is stuck before the model was silent"
            );
            std::thread::yield_now();
        }
        let id = serving.pid();
        serving.signal(Signal::SIGKILL);
        assert_eq!(serving.end().code, None);
        assert_none_left_by(id);
        let followed = client.join().expect("the client keeps the rules");
        assert!(followed.is_err(), "nobody has said that the turn is over");
    });
    turn.was_killed();
    true
}

/// What the client keeps is what is stored, and nothing else.
fn judge_client(follower: &Follower, shown: &Value) {
    let lists = ["turns", "messages", "rtcs"].map(|name| shown[name].as_array().expect("a list"));
    let stored = lists.into_iter().flatten().chain([&shown["session"]]);
    let stored: BTreeMap<&str, &Value> = stored
        .map(|entity| (entity["id"].as_str().expect("an id"), entity))
        .collect();
    for (id, entity) in &follower.entities {
        assert_eq!(
            Some(&entity),
            stored.get(id.as_str()),
            "what the client keeps of {id}"
        );
    }
    let is_unknown = |id: &&&str| !follower.entities.contains_key(**id);
    let unknown: Vec<&Value> = stored.keys().filter(is_unknown).map(|id| stored[id]).collect();
    assert_eq!(unknown, [&Value::Null; 0], "what no client was told");
}

/// One kill that is wanted.
struct Visit {
    named: &'static Named,
    number: u64,
}

impl fmt::Display for Visit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "serve, {}, visit {}", self.named.name, self.number)
    }
}

#[test]
fn a_client_of_serve_ends_where_it_would_have_ended_without_a_kill() {
    if !can_trace() {
        return;
    }
    let served = Served::new();
    let wanted = match rounds() {
        None => SAMPLED,
        Some(_) => VISITS,
    };
    let visits: Vec<Visit> = (0..wanted as u64)
        .flat_map(|number| {
            let all = NAMED.iter().chain([&TOLD]);
            all.map(move |named| Visit { named, number })
        })
        .collect();
    let tally = run_all("killed while it serves", &visits, |visit| {
        served.visit(visit).then(|| visit.named.name.to_owned())
    });
    tally.report();
    assert_eq!(tally.kills.len(), NAMED.len() + 1, "points");
    assert!(
        tally.kills.values().all(|count| *count >= wanted),
        "{:?}",
        tally.kills
    );
}

#[test]
fn what_a_client_was_told_is_there_after_a_power_cut() {
    if !can_trace() {
        return;
    }
    let served = Served::new();
    let mut told = 0;
    Stand::new(None).watched_calls(|call, event, _| {
        told += usize::from(Told::of(call, event).is_some());
        false
    });
    let tally = run_all("power cut while it serves", &cuts(told + 1), |cut| {
        Some(served.cut(*cut).to_string())
    });
    tally.report();
}
