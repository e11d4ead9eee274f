//! Every command in every state, and twice: it is done, refused with a code, or changes nothing; no record goes where its
//! table does not lead, and nothing comes to life that was over.

use std::collections::BTreeSet;

use super::*;
use crate::command::{Fork, History};
use crate::stored::Origin;

/// A way to make a lane that is in some state.
type Make = fn() -> Lane;

fn states() -> Vec<(&'static str, Make)> {
    vec![
        ("no session", Lane::new),
        ("a message waits", || {
            let mut lane = Lane::new();
            lane.send("x");
            lane
        }),
        ("the model is asked", || {
            let mut lane = Lane::new();
            lane.send("x");
            lane.begin();
            lane
        }),
        ("the model writes", || {
            let mut lane = Lane::new();
            lane.send("x");
            let turn = lane.begin();
            lane.tell(Command::StreamStarted {
                turn,
                thinking: false,
            });
            lane
        }),
        ("the model writes in a second turn", || {
            let mut lane = Lane::with_calls(vec![edit("c1")]);
            lane.finish(lane.open(0), 0, Ok(json!("r")));
            lane.reply("done", Vec::new());
            lane.send("y");
            let turn = lane.begin();
            lane.tell(Command::StreamStarted { turn, thinking: true });
            lane
        }),
        ("a call has ended and the next is open", || {
            let mut lane = Lane::with_calls(vec![edit("c1"), edit("c2"), edit("c3")]);
            lane.finish(lane.open(0), 0, Ok(json!("r")));
            lane
        }),
        ("all calls have ended and the turn is over", || {
            let mut lane = Lane::with_calls(vec![edit("c1"), edit("c2")]);
            lane.finish(lane.open(0), 0, Ok(json!("r")));
            lane.finish(lane.open(0), 0, Err(ToolError::execution("e")));
            lane.reply("done", Vec::new());
            lane
        }),
        ("a call is open", || {
            Lane::with_calls(vec![edit("c1"), edit("c2")])
        }),
        ("a call waits for a yes", || {
            let mut lane = Lane::with_calls(vec![edit("c1")]);
            let rtc = lane.open(0);
            lane.tell(Command::SetMode(Mode::Manual));
            lane.tell(Command::AskFor { rtc, preview: None });
            lane
        }),
        ("a call runs", || {
            let mut lane = Lane::with_calls(vec![edit("c1"), edit("c2")]);
            lane.claim(0, true).unwrap();
            lane
        }),
        ("a message waits for the turn", || {
            let mut lane = Lane::with_calls(vec![edit("c1")]);
            lane.claim(0, true).unwrap();
            lane.send("y");
            lane
        }),
        ("an outcome is unknown", || {
            let mut lane = Lane::with_calls(vec![edit("c1"), edit("c2")]);
            let rtc = lane.open(0);
            lane.claim(0, true).unwrap();
            lane.tell(Command::Recover);
            lane.tell(Command::OutcomeUnknown {
                rtc,
                evidence: "e".into(),
            });
            lane
        }),
        ("a stop waits", || {
            let mut lane = Lane::with_calls(vec![edit("c1"), edit("c2")]);
            lane.claim(0, true).unwrap();
            lane.tell(Command::Stop);
            lane
        }),
        ("the turn was stopped", || {
            let mut lane = Lane::with_calls(vec![edit("c1")]);
            lane.tell(Command::Stop);
            lane
        }),
        ("closed", || {
            let mut lane = Lane::with_calls(vec![edit("c1")]);
            lane.tell(Command::Close);
            lane
        }),
        ("deleted", || {
            let mut lane = Lane::with_calls(vec![edit("c1")]);
            let deleted_at = Some(Timestamp::from_millisecond(1_800_000_000_000).unwrap());
            lane.tell(Command::Change {
                title: None,
                deleted_at,
            });
            lane
        }),
    ]
}

/// Names the commands. One that is not in the list does not compile, and one that is never told is found.
macro_rules! commands {
    ($($name:ident),+ $(,)?) => {
        const COMMANDS: &[&str] = &[$(stringify!($name)),+];

        fn name(command: &Command) -> &'static str {
            match command {
                $(Command::$name { .. } => stringify!($name)),+
            }
        }
    };
}

commands![
    Send,
    Begin,
    CannotBegin,
    StreamStarted,
    Spill,
    Replied,
    ReplyBrokeOff,
    ModelFailed,
    Approve,
    Claim,
    Executing,
    Finish,
    HandIn,
    OutcomeUnknown,
    Resolve,
    Stop,
    StopDeadline,
    AskFor,
    SetMode,
    Close,
    Open,
    Change,
    Fork,
    ClearHistory,
    Lease,
    Renew,
    LeaseTick,
    Sent,
    Recover,
];

/// A command, and the call or turn that it is about.
struct Told {
    command: Command,
    rtc: Option<RtcId>,
    turn: Option<TurnId>,
}

fn sending() -> Send {
    Send {
        client_id: ClientId::new("another").unwrap(),
        text: "z".into(),
        scenarios: Vec::new(),
        new_session: NewSession {
            id: SessionId::new(Uuid::from_u128(1)),
            client_id: ClientId::new("s").unwrap(),
            user: UserId::new(Uuid::from_u128(2)),
            device: DeviceId::new(Uuid::from_u128(3)),
            project: None,
            mode: Mode::Edit,
            agent_prompt: None,
            parent: None,
        },
    }
}

/// Every command; about every call, turn and message that the lane has or had, and about such as it never had.
fn commands(lane: &Lane) -> Vec<Told> {
    let mut all: Vec<Told> = about_the_session(lane)
        .into_iter()
        .map(|command| Told {
            command,
            rtc: None,
            turn: None,
        })
        .collect();
    let turns = lane.turns.iter().map(|turn| turn.id);
    for turn in turns.chain([TurnId::new(Uuid::from_u128(78))]) {
        all.extend(about_a_turn(turn).into_iter().map(|command| Told {
            command,
            rtc: None,
            turn: Some(turn),
        }));
    }
    let rtcs = lane.rtcs.values().map(|rtc| rtc.id);
    for rtc in rtcs.chain([RtcId::new(Uuid::from_u128(77))]) {
        all.extend(about_a_call(rtc).into_iter().map(|command| Told {
            command,
            rtc: Some(rtc),
            turn: None,
        }));
    }
    all
}

fn about_the_session(lane: &Lane) -> Vec<Command> {
    let context = TurnContext {
        model: model(),
        system: String::new(),
        tools: Vec::new(),
        mode: Mode::Edit,
        max_rounds: None,
        cleared: None,
    };
    let nothing = rtc_types::MessageId::new(Uuid::from_u128(79));
    let messages = lane.messages.values().map(|message| message.id);
    let spills = messages.chain([nothing]).map(|message| Command::Spill {
        message,
        text: "so far".into(),
    });
    let change = |title: Option<&str>, deleted_at| Command::Change {
        title: title.map(Into::into),
        deleted_at,
    };
    let origin = Origin {
        session: SessionId::new(Uuid::from_u128(5)),
        message: nothing,
    };
    let mut commands = vec![
        Command::Send(sending()),
        Command::Begin {
            context: Box::new(context),
        },
        Command::CannotBegin { message: "x".into() },
        Command::Recover,
        Command::Stop,
        Command::Close,
        Command::Open,
        Command::ClearHistory,
        Command::SetMode(Mode::Bypass),
        Command::SetMode(Mode::Manual),
        change(Some("t"), None),
        change(
            None,
            Some(Timestamp::from_millisecond(1_800_000_000_000).unwrap()),
        ),
        Command::Fork(Box::new(Fork {
            send: sending(),
            origin,
            title: "t".into(),
            history: History::default(),
        })),
    ];
    commands.extend(spills);
    commands
}

fn about_a_turn(turn: TurnId) -> Vec<Command> {
    let replied = |calls: Vec<PlannedCall>| Command::Replied {
        turn,
        model: model(),
        reply: Box::new(Reply {
            blocks: vec![AssistantBlock::Text { text: "t".into() }],
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        }),
        calls,
    };
    vec![
        Command::StreamStarted {
            turn,
            thinking: false,
        },
        Command::StreamStarted { turn, thinking: true },
        Command::ReplyBrokeOff { turn },
        Command::ModelFailed {
            turn,
            category: ErrorCategory::Api,
            message: "x".into(),
            retryable: true,
        },
        replied(Vec::new()),
        replied(vec![edit("d1"), read("d2")]),
    ]
}

fn about_a_call(rtc: RtcId) -> Vec<Command> {
    let holder = Uuid::from_u128(5);
    let outcome = || Outcome {
        result: Ok(json!("r")),
        seen: Vec::new(),
    };
    let device = DeviceId::new(Uuid::from_u128(9));
    let mut commands = vec![
        Command::Executing { rtc },
        Command::AskFor { rtc, preview: None },
        Command::Sent {
            rtc,
            runs_here: false,
        },
        Command::Sent { rtc, runs_here: true },
        Command::StopDeadline { rtc },
        Command::OutcomeUnknown {
            rtc,
            evidence: "e".into(),
        },
        Command::Lease { rtc, holder },
        Command::Renew {
            rtc,
            holder,
            attempt: None,
        },
        Command::Renew {
            rtc,
            holder,
            attempt: Some(1),
        },
    ];
    for attempt in [0, 1, 2] {
        commands.extend([
            Command::Claim {
                rtc,
                attempt,
                mark: None,
            },
            Command::Finish {
                rtc,
                attempt,
                outcome: outcome(),
            },
            Command::HandIn {
                rtc,
                attempt,
                outcome: outcome(),
                by: Some(device),
            },
            Command::LeaseTick { rtc, attempt },
        ]);
    }
    for decision in [
        ApprovalDecision::Once,
        ApprovalDecision::Session,
        ApprovalDecision::Project,
        ApprovalDecision::Reject,
        ApprovalDecision::Never,
    ] {
        commands.push(Command::Approve {
            rtc,
            decision,
            reason: None,
            device,
        });
    }
    for decision in [Resolution::Retry, Resolution::Done, Resolution::Tell] {
        commands.push(Command::Resolve { rtc, decision });
    }
    commands
}

/// What never changes again.
fn over(lane: &Lane) -> (Vec<rtc_types::Turn>, Vec<rtc_types::Rtc>) {
    let turns = lane.turns.iter().filter(|turn| turn.status.is_terminal());
    let rtcs = lane.rtcs.values().filter(|rtc| rtc.status.is_terminal());
    (turns.cloned().collect(), rtcs.cloned().collect())
}

/// All that is kept of a lane.
fn kept(lane: &Lane) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        lane.state.clone(),
        lane.messages.clone(),
        lane.rtcs.clone(),
        lane.turns.clone(),
        (lane.rules.clone(), lane.seen.clone()),
    )
}

/// Whether a call or a turn that was there is over: there is nothing that could still be done about it.
fn is_about_what_is_over(lane: &Lane, told: &Told) -> bool {
    let rtc = told.rtc.map(|rtc| lane.state.call(rtc).is_none());
    let open = lane.state.turn.as_ref().map(|turn| turn.entity.id);
    rtc.or(told.turn.map(|turn| open != Some(turn))).unwrap_or(false)
}

#[test]
fn every_command_in_every_state_and_twice() {
    let (mut done, mut refused, mut names, mut late) = (0, BTreeMap::new(), BTreeSet::new(), 0);
    for (state, make) in states() {
        let lane = make();
        let before = over(&lane);
        for about in commands(&lane) {
            let name = name(&about.command);
            names.insert(name);
            let is_late = is_about_what_is_over(&lane, &about);
            let mut told = lane.clone();
            for time in ["once", "twice"] {
                told.effects.clear();
                // Illegal transitions are refused as internal errors, and asserted where records are written.
                match told.try_tell(about.command.clone()) {
                    Ok(_) => done += 1,
                    Err(error) => {
                        assert_ne!(
                            error.code(),
                            Code::Internal,
                            "{name}, {time}, while {state}: {error}"
                        );
                        *refused.entry(error.code().to_string()).or_insert(0) += 1;
                    }
                }
                if is_late {
                    late += 1;
                    assert_eq!(
                        kept(&told),
                        kept(&lane),
                        "{name}, {time}, while {state}, is too late"
                    );
                    assert_eq!(told.effects, [], "{name}, {time}, while {state}, is too late");
                }
                let after = over(&told);
                for turn in &before.0 {
                    assert!(after.0.contains(turn), "{name}, {time}, while {state}: {turn:?}");
                }
                for rtc in &before.1 {
                    assert!(after.1.contains(rtc), "{name}, {time}, while {state}: {rtc:?}");
                }
                let results = told.kinds().into_iter().filter(|kind| *kind == "result").count();
                let calls = told.kinds().into_iter().filter(|kind| *kind == "call").count();
                assert_eq!(
                    results,
                    calls - told.state.calls.len(),
                    "{name}, {time}, while {state}"
                );
                let is_open = told.turns.iter().any(|turn| !turn.status.is_terminal());
                assert_eq!(
                    told.state.turn.is_some(),
                    is_open,
                    "{name}, {time}, while {state}"
                );
            }
        }
    }
    assert_eq!(names.len(), COMMANDS.len(), "{names:?}");
    assert!(done > 500 && late > 500, "{done}, {late}");
    assert!(refused.len() > 3, "{refused:?}");
}
