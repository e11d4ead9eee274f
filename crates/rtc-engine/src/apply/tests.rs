mod approval;
mod forks;
mod invariants;
mod lease;
mod limit;
mod matrix;
mod random;
mod stop;
mod timeout;

use rtc_model::{AssistantBlock, ModelId, Reply, StopReason, Usage};
use rtc_tool::{Access, ErrorKind, Kind, Subject, ToolError};
use rtc_types::UpdateAction;
use rtc_types::{
    ApprovalDecision, ApprovalState, Content, DeviceId, Effect as Changed, Mode, Preview, PreviewKind,
    ProjectId, RtcId, RtcStatus, SessionId, Stamp, Timestamp, ToolCall, ToolCallId, UpdateEntity, UserId,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

use super::*;
use crate::command::{Outcome, Plan, PlannedCall, Resolution};
use crate::prompt::Spoken;

/// A session, its log, and what the driver was told to do.
#[derive(Clone)]
struct Lane {
    state: SessionState,
    rules: Vec<rtc_types::Rule>,
    messages: BTreeMap<u32, rtc_types::Message>,
    /// The same, as requests are made of them, and what else those of a turn are made of.
    spoken: BTreeMap<u32, Arc<Spoken>>,
    contexts: BTreeMap<TurnId, TurnContext>,
    rtcs: BTreeMap<u32, rtc_types::Rtc>,
    turns: Vec<rtc_types::Turn>,
    seen: BTreeMap<String, Value>,
    effects: Vec<Effect>,
    project: Option<ProjectId>,
    clock: u64,
}

impl Lane {
    fn new() -> Self {
        Self {
            state: SessionState::new(),
            rules: Vec::new(),
            messages: BTreeMap::new(),
            spoken: BTreeMap::new(),
            contexts: BTreeMap::new(),
            rtcs: BTreeMap::new(),
            turns: Vec::new(),
            seen: BTreeMap::new(),
            effects: Vec::new(),
            project: Some(ProjectId::new(Uuid::from_u128(4))),
            clock: 0,
        }
    }

    fn try_tell(&mut self, command: Command) -> Result<Done, Error> {
        self.clock += 1;
        let now = rtc_types::Timestamp::from_millisecond(1_800_000_000_000 + self.clock as i64).unwrap();
        let given = Given {
            rules: self.rules.clone(),
            rules_are_damaged: false,
            stamp: Stamp {
                now,
                entropy: self.clock,
            },
        };
        let step = apply(&self.state, command, &given)?;
        self.effects.clone_from(&step.effects);
        for write in step.writes {
            match write {
                Write::Message(stored) => {
                    if let Some(before) = self.messages.get(&stored.entity.global_offset) {
                        assert_eq!(
                            before.id, stored.entity.id,
                            "an offset names one message for ever"
                        );
                    }
                    let spoken = Arc::new(Spoken::from(&stored));
                    self.spoken.insert(stored.entity.global_offset, spoken);
                    self.messages.insert(stored.entity.global_offset, stored.entity);
                }
                Write::Rtc(stored) => {
                    if let Some(before) = self.rtcs.get(&stored.entity.offset) {
                        let (from, to) = (before.status, stored.entity.status);
                        assert!(
                            from == to && !from.is_terminal() || from.may_become(to),
                            "{from:?} -> {to:?}"
                        );
                    }
                    self.rtcs.insert(stored.entity.offset, stored.entity);
                }
                Write::Turn(stored) => match self.turns.iter_mut().find(|turn| turn.id == stored.entity.id) {
                    Some(turn) => {
                        let (from, to) = (turn.status, stored.entity.status);
                        assert!(
                            from == to && !from.is_terminal() || from.may_become(to),
                            "{from:?} -> {to:?}"
                        );
                        *turn = stored.entity;
                    }
                    None => self.turns.push(stored.entity),
                },
                Write::Rule(rule) => self.rules.push(*rule),
                Write::Seen(path, known) => {
                    self.seen.insert(path, known);
                }
                Write::Context(turn, context) => {
                    self.contexts.insert(turn, *context);
                }
                Write::Session(_) | Write::ClientId(..) | Write::Epoch => {}
            }
        }
        self.state = step.state;
        Ok(step.done)
    }

    fn tell(&mut self, command: Command) -> Done {
        self.try_tell(command).unwrap()
    }

    fn send(&mut self, text: &str) {
        let id = Uuid::from_u128(u128::from(self.clock) + 1);
        let client_id = ClientId::new(id.to_string()).unwrap();
        self.tell(Command::Send(Send {
            client_id: client_id.clone(),
            text: text.into(),
            scenarios: Vec::new(),
            new_session: NewSession {
                id: SessionId::new(Uuid::from_u128(1)),
                client_id,
                user: UserId::new(Uuid::from_u128(2)),
                device: DeviceId::new(Uuid::from_u128(3)),
                project: self.project,
                mode: Mode::Edit,
                agent_prompt: None,
                parent: None,
            },
        }));
    }

    fn begin(&mut self) -> TurnId {
        self.begin_with(None)
    }

    /// Begins a turn of at most so many replies.
    fn begin_with(&mut self, max_rounds: Option<u32>) -> TurnId {
        let context = TurnContext {
            model: model(),
            system: String::new(),
            tools: Vec::new(),
            mode: Mode::Edit,
            max_rounds,
            cleared: None,
        };
        self.tell(Command::Begin {
            context: Box::new(context),
        });
        self.turn()
    }

    fn turn(&self) -> TurnId {
        self.state.turn.as_ref().unwrap().entity.id
    }

    fn reply(&mut self, text: &str, calls: Vec<PlannedCall>) {
        let blocks = if text.is_empty() {
            Vec::new()
        } else {
            vec![AssistantBlock::Text { text: text.into() }]
        };
        let reply = Reply {
            blocks,
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        };
        self.tell(Command::Replied {
            turn: self.turn(),
            model: model(),
            reply: Box::new(reply),
            calls,
        });
    }

    /// In a turn whose model asked for these calls.
    fn with_calls(calls: Vec<PlannedCall>) -> Self {
        let mut lane = Self::new();
        lane.send("do it");
        lane.begin();
        lane.reply("", calls);
        lane
    }

    fn open(&self, index: usize) -> RtcId {
        self.state.calls[index].stored.entity.id
    }

    fn claim(&mut self, index: usize, mark: bool) -> Result<Done, Error> {
        let attempt = self.state.calls[index].stored.entity.attempt + 1;
        let mark = mark.then(|| (json!({"path": "/a"}), "digest".to_owned()));
        self.try_tell(Command::Claim {
            rtc: self.open(index),
            attempt,
            mark,
        })
    }

    fn finish(&mut self, rtc: RtcId, attempt: u32, result: Result<Value, ToolError>) {
        self.tell(Command::Finish {
            rtc,
            attempt,
            outcome: Outcome {
                result,
                seen: Vec::new(),
            },
        });
    }

    fn rtc(&self, rtc: RtcId) -> &rtc_types::Rtc {
        self.rtcs.values().find(|other| other.id == rtc).unwrap()
    }

    /// What the model reads of a call.
    fn output(&self, rtc: RtcId) -> String {
        let id = self.rtc(rtc).output_message_id.unwrap();
        let message = self.messages.values().find(|message| message.id == id).unwrap();
        match message.content.parse().unwrap() {
            ContentData::ToolcallOutput(call) => call.output.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn kinds(&self) -> Vec<&'static str> {
        let kind = |message: &rtc_types::Message| match message.content.parse().unwrap() {
            ContentData::Text(_) | ContentData::UserMessage(_) => "user",
            ContentData::Prompt(_) => "prompt",
            ContentData::Markdown(_) => "answer",
            ContentData::Thinking(_) => "thought",
            ContentData::ToolcallInput(_) => "call",
            ContentData::ToolcallOutput(_) => "result",
            ContentData::Error(_) => "error",
        };
        self.messages.values().map(kind).collect()
    }
}

/// A lane with an open call, and a step of it that is allowed.
pub(super) fn with_call() -> (SessionState, Step) {
    let lane = Lane::with_calls(vec![edit("c1")]);
    let given = Given {
        rules: Vec::new(),
        rules_are_damaged: false,
        stamp: Stamp {
            now: Timestamp::from_millisecond(1_800_000_000_000).unwrap(),
            entropy: 1,
        },
    };
    let step = apply(&lane.state, Command::Stop, &given).unwrap();
    (lane.state, step)
}

fn model() -> ModelId {
    ModelId {
        api: "test".into(),
        model: "m".into(),
    }
}

fn planned(id: &str, plan: Plan) -> PlannedCall {
    PlannedCall {
        id: ToolCallId::new(id).unwrap(),
        tool_name: "tool".into(),
        input: "{}".into(),
        plan,
    }
}

fn call_of(id: &str, tool: &str, subject: Subject) -> PlannedCall {
    let plan = Plan::Run {
        kind: Kind::Device,
        parameters: json!({}),
        subject,
        preview: None,
        looked: true,
    };
    PlannedCall {
        tool_name: tool.into(),
        ..planned(id, plan)
    }
}

fn read(id: &str) -> PlannedCall {
    call_of(id, "read", Subject::read("/a"))
}

fn edit(id: &str) -> PlannedCall {
    call_of(id, "edit", Subject::write("/a"))
}

fn script(id: &str) -> PlannedCall {
    call_of(
        id,
        "script",
        Subject {
            access: Access::Exec,
            paths: Vec::new(),
            digest: Some("d".into()),
        },
    )
}

#[test]
fn a_turn_without_calls() {
    let mut lane = Lane::new();
    lane.send("hello");
    assert_eq!(lane.effects, [Effect::GatherContext]);
    let turn = lane.begin();
    assert_eq!(lane.effects, [Effect::AskModel(turn)]);
    lane.reply("hi", Vec::new());
    assert_eq!(lane.turns[0].status, TurnStatus::Completed);
    assert!(lane.state.is_idle() && lane.effects.is_empty());
    assert_eq!(lane.kinds(), ["user", "answer"]);
}

#[test]
fn several_calls_run_in_order_and_the_turn_goes_on_once() {
    let mut lane = Lane::with_calls(vec![read("c1"), read("c2"), read("c3")]);
    let turn = lane.turn();
    assert_eq!(lane.turns[0].status, TurnStatus::Interrupted);
    let [first, second, third] = [lane.open(0), lane.open(1), lane.open(2)];
    assert!(lane.claim(1, false).is_err(), "an earlier call has no result yet");
    assert_eq!(lane.claim(0, false).unwrap(), Done::Claimed);
    assert!(lane.claim(0, false).is_err(), "it runs already");
    lane.finish(first, 1, Ok(json!("one")));
    // Results of clients that do not claim come in any order.
    lane.finish(third, 0, Ok(json!("three")));
    assert!(!lane.effects.contains(&Effect::AskModel(turn)));
    lane.finish(second, 0, Err(ToolError::execution("broken")));
    assert_eq!(lane.effects, [Effect::AskModel(turn)]);
    for rtc in [first, second, third] {
        lane.finish(rtc, 1, Ok(json!("late")));
        assert!(lane.effects.is_empty(), "a late result starts nothing");
    }
    assert_eq!(lane.output(first), "one");
    assert_eq!(
        lane.output(second),
        "[Tool Error] tool failed: broken".replace("tool failed", "read failed")
    );
    assert_eq!(
        lane.kinds(),
        ["user", "call", "call", "call", "result", "result", "result"]
    );
}

#[test]
fn messages_during_a_turn_are_taken_over_together_by_the_next() {
    let mut lane = Lane::with_calls(vec![read("c1")]);
    lane.send("and this");
    lane.send("and that");
    assert!(lane.effects.is_empty(), "nothing begins while a call is open");
    let rtc = lane.open(0);
    lane.finish(rtc, 0, Ok(json!("x")));
    lane.reply("done", Vec::new());
    assert_eq!(lane.effects, [Effect::GatherContext]);
    let second = lane.begin();
    let taken = lane
        .messages
        .values()
        .filter(|message| message.turn_id == Some(second))
        .count();
    assert_eq!((taken, lane.turns.len()), (2, 2));
    lane.reply("done too", Vec::new());
    assert!(lane.state.is_idle());
}

#[test]
fn what_a_call_comes_to_in_its_reply() {
    let invalid = |text: &str| Plan::Invalid(ToolError::invalid(text));
    let mut lane = Lane::new();
    lane.send("x");
    let turn = lane.begin();
    lane.reply(
        "",
        vec![
            planned("c1", invalid("`path` is required")),
            planned("c2", Plan::Todo(Vec::new())),
        ],
    );
    assert_eq!(
        lane.effects,
        [Effect::AskModel(turn)],
        "with nothing to wait for the model is asked at once"
    );
    assert_eq!(lane.kinds(), ["user", "call", "result", "call", "result"]);
    assert!(lane.rtcs.is_empty());
}

fn preview(path: &str) -> Preview {
    Preview {
        kind: PreviewKind::Diff,
        text: "-a\n+b".into(),
        paths: vec![path.into()],
        program: None,
    }
}

#[test]
fn what_broke_off_is_closed_and_the_turn_goes_on() {
    let mut lane = Lane::new();
    lane.send("x");
    let turn = lane.begin();
    for _ in 0..2 {
        lane.tell(Command::StreamStarted {
            turn,
            thinking: false,
        });
        lane.tell(Command::ReplyBrokeOff { turn });
    }
    lane.tell(Command::StreamStarted {
        turn,
        thinking: false,
    });
    lane.reply("whole", vec![]);
    let statuses: Vec<_> = lane
        .messages
        .values()
        .map(|message| message.streaming_status)
        .collect();
    use StreamingStatus::{Completed, Failed};
    assert_eq!(statuses, [Completed, Failed, Failed, Completed]);
    assert_eq!(lane.turns[0].status, TurnStatus::Completed);
}

#[test]
fn an_answer_that_is_cut_off_is_told_as_such() {
    let mut lane = Lane::new();
    lane.send("x");
    let turn = lane.begin();
    lane.tell(Command::Replied {
        turn,
        model: rtc_model::ModelId {
            api: "a".into(),
            model: "m".into(),
        },
        reply: Box::new(rtc_model::Reply {
            blocks: vec![AssistantBlock::Text {
                text: "and th".into(),
            }],
            stop: rtc_model::StopReason::MaxTokens,
            usage: rtc_model::Usage::default(),
        }),
        calls: vec![],
    });
    assert_eq!(lane.kinds(), ["user", "answer", "error"]);
    assert_eq!(lane.turns[0].status, TurnStatus::Completed);
}

#[test]
fn a_call_with_an_effect_is_marked_before_it_runs_and_one_without_costs_nothing() {
    let mut lane = Lane::with_calls(vec![read("c1"), edit("c2")]);
    let first = lane.open(0);
    lane.claim(0, false).unwrap();
    assert_eq!(lane.rtcs[&1].status, RtcStatus::Pending, "nothing was written");
    lane.finish(first, 1, Ok(json!("x")));
    lane.claim(0, true).unwrap();
    assert_eq!(
        (lane.rtcs[&2].status, lane.rtcs[&2].attempt),
        (RtcStatus::Executing, 1)
    );
    assert!(lane.state.calls[0].stored.private.mark.is_some());
}

#[test]
fn streamed_text_becomes_the_messages_of_the_reply() {
    let mut lane = Lane::new();
    lane.send("x");
    let turn = lane.begin();
    lane.tell(Command::StreamStarted { turn, thinking: true });
    let Done::Stream(answer) = lane.tell(Command::StreamStarted {
        turn,
        thinking: false,
    }) else {
        panic!()
    };
    lane.tell(Command::Spill {
        message: answer,
        text: "an".into(),
    });
    let blocks = vec![
        AssistantBlock::Thinking {
            text: "a thought".into(),
        },
        AssistantBlock::Text {
            text: "an answer".into(),
        },
    ];
    let reply = Reply {
        blocks,
        stop: StopReason::EndTurn,
        usage: Usage {
            input: 7,
            output: 3,
            cached_read: 100,
            cached_write: 20,
            reasoning: 2,
        },
    };
    lane.tell(Command::Replied {
        turn,
        model: model(),
        reply: Box::new(reply),
        calls: Vec::new(),
    });
    assert_eq!(lane.kinds(), ["user", "thought", "answer"]);
    assert!(
        lane.messages
            .values()
            .all(|message| message.streaming_status == StreamingStatus::Completed)
    );
    let session = &lane.state.session.as_ref().unwrap().entity;
    let counted = [
        session.total_input_tokens,
        session.total_output_tokens,
        session.total_cached_read_tokens,
        session.total_cached_write_tokens,
        session.total_reasoning_tokens,
        session.total_tokens,
    ];
    assert_eq!(counted, [7, 3, 100, 20, 2, 130]);
    assert_eq!(session.last_token_update_at, Some(session.updated_at));
    // Counted once: on the first message of the reply.
    let of_messages: Vec<_> = lane
        .messages
        .values()
        .map(|m| {
            [
                m.input_tokens,
                m.output_tokens,
                m.total_tokens,
                m.cached_tokens,
                m.reasoning_tokens,
            ]
        })
        .collect();
    let none = [None; 5];
    assert_eq!(
        of_messages,
        [none, [Some(7), Some(3), Some(130), Some(100), Some(2)], none]
    );
}

#[test]
fn an_unknown_outcome_waits_for_the_user() {
    for (decision, status, effects) in [
        (
            Resolution::Retry,
            RtcStatus::Executing,
            vec![Effect::WakeExecutor],
        ),
        (Resolution::Done, RtcStatus::Completed, vec![]),
        (Resolution::Tell, RtcStatus::Failed, vec![]),
    ] {
        let mut lane = Lane::with_calls(vec![edit("c1")]);
        let (rtc, turn) = (lane.open(0), lane.turn());
        assert!(
            lane.try_tell(Command::Resolve { rtc, decision }).is_err(),
            "there is nothing to decide yet"
        );
        lane.claim(0, true).unwrap();
        lane.tell(Command::Recover);
        lane.tell(Command::OutcomeUnknown {
            rtc,
            evidence: "The file differs.".into(),
        });
        assert!(lane.effects.is_empty() && lane.state.turn.is_some());
        lane.tell(Command::Resolve { rtc, decision });
        assert_eq!(lane.rtc(rtc).status, status, "{decision:?}");
        let wanted = if effects.is_empty() {
            vec![Effect::AskModel(turn)]
        } else {
            effects
        };
        assert_eq!(lane.effects, wanted, "{decision:?}");
        if decision == Resolution::Tell {
            insta::assert_snapshot!(lane.output(rtc), @"[Tool Error] edit failed: the call was started and the program ended before its result was known (outcome_unknown). The file differs. Look at what is there before you repeat it.");
        }
        if decision == Resolution::Retry {
            lane.claim(0, true).unwrap();
            assert_eq!(lane.rtc(rtc).attempt, 2);
        }
    }
}

#[test]
fn a_failed_turn_lets_the_next_message_begin_another() {
    let mut lane = Lane::new();
    lane.send("x");
    let turn = lane.begin();
    lane.tell(Command::StreamStarted {
        turn,
        thinking: false,
    });
    lane.send("y");
    let message = "unreachable".to_owned();
    lane.tell(Command::ModelFailed {
        turn,
        category: ErrorCategory::Network,
        message,
        retryable: true,
    });
    assert_eq!(lane.turns[0].status, TurnStatus::Failed);
    assert_eq!(lane.kinds(), ["user", "answer", "user", "error"]);
    assert_eq!(lane.messages[&2].streaming_status, StreamingStatus::Failed);
    assert_eq!(lane.effects, [Effect::GatherContext]);
}

#[test]
fn recovery_goes_on_where_the_process_ended() {
    let mut lane = Lane::new();
    lane.send("x");
    lane.tell(Command::Recover);
    assert_eq!(lane.effects, [Effect::GatherContext]);
    let turn = lane.begin();
    lane.tell(Command::StreamStarted {
        turn,
        thinking: false,
    });
    lane.tell(Command::Recover);
    assert_eq!(lane.effects, [Effect::AskModel(turn)]);
    assert_eq!(lane.messages[&2].streaming_status, StreamingStatus::Failed);
    lane.reply("", vec![edit("c1")]);
    lane.claim(0, true).unwrap();
    lane.tell(Command::Recover);
    assert_eq!(lane.effects, [Effect::WakeExecutor]);
    assert!(
        lane.state.calls[0].stored.private.mark.is_some(),
        "the mark says that it may have run"
    );
}

#[test]
fn the_first_sight_of_a_call_is_an_update() {
    let mut lane = Lane::new();
    lane.send("x");
    let turn = lane.begin();
    let given = Given {
        rules: Vec::new(),
        rules_are_damaged: false,
        stamp: Stamp {
            now: Timestamp::UNIX_EPOCH,
            entropy: 1,
        },
    };
    let reply = Reply {
        blocks: Vec::new(),
        stop: StopReason::ToolUse,
        usage: Usage::default(),
    };
    let command = Command::Replied {
        turn,
        model: model(),
        reply: Box::new(reply),
        calls: vec![read("c1")],
    };
    let step = apply(&lane.state, command, &given).unwrap();
    let items: Vec<_> = step.items.iter().map(|item| (item.entity, item.action)).collect();
    assert_eq!(
        items,
        [
            (UpdateEntity::Message, UpdateAction::Created),
            (UpdateEntity::Rtc, UpdateAction::Updated),
            (UpdateEntity::Turn, UpdateAction::Updated),
            (UpdateEntity::Session, UpdateAction::Updated),
        ]
    );
}

#[test]
fn the_call_in_the_log_is_as_the_model_wrote_it() {
    let mut lane = Lane::new();
    lane.send("x");
    lane.begin();
    let input = "{ \"b\" : 1,\n \"a\":\"\\u00e9\" }";
    lane.reply(
        "",
        vec![PlannedCall {
            input: input.into(),
            ..read("c1")
        }],
    );
    let written = ToolCall {
        id: ToolCallId::new("c1").unwrap(),
        tool_name: "read".into(),
        input: input.into(),
        output: None,
        status: None,
    };
    assert_eq!(
        lane.messages[&2].content.parse(),
        Some(ContentData::ToolcallInput(written))
    );
}
