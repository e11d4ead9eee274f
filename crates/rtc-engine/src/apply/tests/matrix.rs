//! Every command in every state, and twice: it is done, refused with a code, or changes nothing; no record goes where its
//! table does not lead, and nothing comes to life that was over.

use super::*;

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

/// Commands about a call and a turn: those of the lane, and such as it does not have.
fn commands(lane: &Lane) -> Vec<(&'static str, Command)> {
    let nobody = RtcId::new(Uuid::from_u128(77));
    let rtc = lane
        .state
        .calls
        .first()
        .map_or(nobody, |call| call.stored.entity.id);
    let turn = lane
        .turns
        .last()
        .map_or(TurnId::new(Uuid::from_u128(78)), |turn| turn.id);
    let outcome = || Outcome {
        result: Ok(json!("r")),
        seen: Vec::new(),
    };
    let device = DeviceId::new(Uuid::from_u128(9));
    let mut commands = vec![
        ("recover", Command::Recover),
        ("stop", Command::Stop),
        ("close", Command::Close),
        ("open", Command::Open),
        ("clear", Command::ClearHistory),
        ("mode", Command::SetMode(Mode::Bypass)),
        (
            "rename",
            Command::Change {
                title: Some("t".into()),
                deleted_at: None,
            },
        ),
        ("reply broke off", Command::ReplyBrokeOff { turn }),
        (
            "model failed",
            Command::ModelFailed {
                turn,
                category: ErrorCategory::Api,
                message: "x".into(),
                retryable: true,
            },
        ),
        (
            "replied",
            Command::Replied {
                turn,
                model: model(),
                reply: Box::new(Reply {
                    blocks: vec![AssistantBlock::Text { text: "t".into() }],
                    stop: StopReason::EndTurn,
                    usage: Usage::default(),
                }),
                calls: Vec::new(),
            },
        ),
    ];
    for rtc in [rtc, nobody] {
        for attempt in [0, 1, 2] {
            commands.extend([
                (
                    "claim",
                    Command::Claim {
                        rtc,
                        attempt,
                        mark: None,
                    },
                ),
                (
                    "finish",
                    Command::Finish {
                        rtc,
                        attempt,
                        outcome: outcome(),
                    },
                ),
                (
                    "hand in",
                    Command::HandIn {
                        rtc,
                        attempt,
                        outcome: outcome(),
                        by: Some(device),
                    },
                ),
                ("lease tick", Command::LeaseTick { rtc, attempt }),
            ]);
        }
        for decision in [
            ApprovalDecision::Once,
            ApprovalDecision::Reject,
            ApprovalDecision::Never,
        ] {
            commands.push((
                "approve",
                Command::Approve {
                    rtc,
                    decision,
                    reason: None,
                    device,
                },
            ));
        }
        for decision in [Resolution::Retry, Resolution::Done, Resolution::Tell] {
            commands.push(("resolve", Command::Resolve { rtc, decision }));
        }
        commands.extend([
            ("executing", Command::Executing { rtc }),
            ("ask for", Command::AskFor { rtc, preview: None }),
            (
                "sent",
                Command::Sent {
                    rtc,
                    runs_here: false,
                },
            ),
            ("stop deadline", Command::StopDeadline { rtc }),
            (
                "outcome unknown",
                Command::OutcomeUnknown {
                    rtc,
                    evidence: "e".into(),
                },
            ),
            (
                "lease",
                Command::Lease {
                    rtc,
                    holder: Uuid::from_u128(5),
                },
            ),
            (
                "renew",
                Command::Renew {
                    rtc,
                    holder: Uuid::from_u128(5),
                    attempt: None,
                },
            ),
        ]);
    }
    commands
}

/// What never changes again.
fn over(lane: &Lane) -> (Vec<rtc_types::Turn>, Vec<rtc_types::Rtc>) {
    let turns = lane.turns.iter().filter(|turn| turn.status.is_terminal());
    let rtcs = lane.rtcs.values().filter(|rtc| rtc.status.is_terminal());
    (turns.cloned().collect(), rtcs.cloned().collect())
}

#[test]
fn every_command_in_every_state_and_twice() {
    let (mut done, mut refused) = (0, BTreeMap::new());
    for (state, make) in states() {
        let lane = make();
        let before = over(&lane);
        for (name, command) in commands(&lane) {
            let mut told = lane.clone();
            for time in ["once", "twice"] {
                // Illegal transitions are refused as internal errors, and asserted where records are written.
                match told.try_tell(command.clone()) {
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
    assert!(done > 500, "{done}");
    assert!(refused.len() > 3, "{refused:?}");
}
