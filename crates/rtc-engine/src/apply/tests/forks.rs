//! A session that begins as a copy of another one, and a history that was cleared.

use std::sync::Arc;

use super::*;
use crate::command::{Fork, History};
use crate::fork::history;
use crate::prompt::{Spoken, request};
use crate::stored::{Origin, StoredMessage};

/// A lane with everything that it wrote.
#[derive(Default)]
struct Kept {
    state: SessionState,
    messages: BTreeMap<u32, StoredMessage>,
    turns: BTreeMap<TurnId, StoredTurn>,
    contexts: BTreeMap<TurnId, TurnContext>,
    items: Vec<rtc_types::UpdateItem>,
    effects: Vec<Effect>,
    clock: u64,
}

impl Kept {
    fn try_tell(&mut self, command: Command) -> Result<Done, Error> {
        self.clock += 1;
        let now = rtc_types::Timestamp::from_millisecond(1_800_000_000_000 + self.clock as i64).unwrap();
        let given = Given {
            rules: Vec::new(),
            rules_are_damaged: false,
            stamp: Stamp {
                now,
                entropy: self.clock,
            },
        };
        let step = apply(&self.state, command, &given)?;
        for write in step.writes {
            match write {
                Write::Message(stored) => _ = self.messages.insert(stored.entity.global_offset, stored),
                Write::Turn(stored) => _ = self.turns.insert(stored.entity.id, stored),
                Write::Context(turn, context) => _ = self.contexts.insert(turn, *context),
                _ => {}
            }
        }
        (self.state, self.items, self.effects) = (step.state, step.items, step.effects);
        Ok(step.done)
    }

    fn tell(&mut self, command: Command) -> Done {
        self.try_tell(command).unwrap()
    }

    fn send(&mut self, text: &str) {
        let send = sending(text, self.clock.into());
        self.tell(Command::Send(send));
    }

    fn begin(&mut self) {
        let context = Box::new(TurnContext {
            model: model(),
            system: String::new(),
            tools: Vec::new(),
            mode: Mode::Edit,
            max_rounds: None,
            cleared: None,
        });
        self.tell(Command::Begin { context });
    }

    fn reply(&mut self, text: &str, calls: Vec<PlannedCall>) {
        let blocks = vec![AssistantBlock::Text { text: text.into() }];
        self.tell(Command::Replied {
            turn: self.state.turn.as_ref().unwrap().entity.id,
            model: model(),
            reply: Box::new(Reply {
                blocks,
                stop: StopReason::EndTurn,
                usage: Usage::default(),
            }),
            calls,
        });
    }

    fn turn(&mut self, said: &str, answer: &str) {
        self.send(said);
        self.begin();
        self.reply(answer, Vec::new());
    }

    /// The message with this text.
    fn said(&self, text: &str) -> rtc_types::MessageId {
        let is_it = |message: &&StoredMessage| {
            message.entity.content.parse() == Some(ContentData::Text(text.to_owned()))
        };
        self.messages.values().find(is_it).unwrap().entity.id
    }

    fn history(&self, text: &str, limit: Option<usize>) -> Result<History, Error> {
        let cleared = self.state.session.as_ref().unwrap().entity.cleared_offset;
        let messages = self.messages.values().cloned().collect();
        history(
            messages,
            self.turns.values().cloned().collect(),
            self.said(text),
            cleared,
            limit,
        )
    }

    /// What the model reads in the turn that is open, or was last.
    fn read(&self) -> String {
        let last = self.contexts.keys().next_back().unwrap();
        let spoken = self.messages.values().map(Spoken::from).map(Arc::new);
        let request = request(&self.contexts[last], &spoken.collect::<Vec<_>>());
        let item = |item: &rtc_model::Item| match item {
            rtc_model::Item::User { text } => format!("U({text})"),
            rtc_model::Item::Assistant { blocks } => {
                let block = |block: &AssistantBlock| match block {
                    AssistantBlock::Text { text } => text.clone(),
                    AssistantBlock::ToolCall { id, .. } => format!("c:{id}"),
                    other => format!("{other:?}"),
                };
                format!("A({})", blocks.iter().map(block).collect::<Vec<_>>().join(" "))
            }
            rtc_model::Item::ToolResult { call_id, text, .. } => format!("R({call_id}={text})"),
        };
        request.items.iter().map(item).collect::<Vec<_>>().join(" ")
    }

    fn fork(&self, text: &str, limit: Option<usize>, new: &str) -> Kept {
        let mut fork = Kept {
            clock: self.clock + 1_000,
            ..Kept::default()
        };
        let command = Command::Fork(Box::new(Fork {
            send: sending(new, 99),
            origin: Origin {
                session: SessionId::new(Uuid::from_u128(1)),
                message: self.said(text),
            },
            title: "title".into(),
            history: self.history(text, limit).unwrap(),
        }));
        assert!(matches!(fork.tell(command), Done::Message(_)));
        fork
    }
}

fn sending(text: &str, number: u128) -> Send {
    Send {
        client_id: ClientId::new(format!("c-{number}")).unwrap(),
        text: text.into(),
        scenarios: Vec::new(),
        new_session: NewSession {
            id: SessionId::new(Uuid::from_u128(1_000 + number)),
            client_id: ClientId::new(format!("s-{number}")).unwrap(),
            user: UserId::new(Uuid::from_u128(2)),
            device: DeviceId::new(Uuid::from_u128(3)),
            project: None,
            mode: Mode::Edit,
            agent_prompt: None,
            parent: None,
        },
    }
}

/// Two turns, the first with a call.
fn conversation() -> Kept {
    let mut lane = Kept::default();
    lane.send("one");
    lane.begin();
    lane.reply("I look.", vec![read("a")]);
    let rtc = lane.state.calls[0].stored.entity.id;
    lane.send("two");
    lane.tell(Command::Finish {
        rtc,
        attempt: 0,
        outcome: Outcome {
            result: Ok(json!("found")),
            seen: Vec::new(),
        },
    });
    lane.reply("Seen.", Vec::new());
    lane.begin();
    lane.reply("Two.", Vec::new());
    lane.turn("three", "Three.");
    lane
}

#[test]
fn a_fork_has_what_the_model_read_before_and_shares_nothing() {
    let old = conversation();
    let mut fork = old.fork("three", None, "other");
    assert_eq!(fork.effects, [Effect::GatherContext]);
    assert_eq!(fork.items[0].entity, UpdateEntity::Message);
    assert!(fork.items.iter().all(|item| item.action == UpdateAction::Created));
    let session = fork.state.session.clone().unwrap().entity;
    assert_eq!(
        (session.title.as_str(), session.status),
        ("title", SessionStatus::Active)
    );
    assert!(fork.items.iter().any(|item| item.entity_id == session.id.uuid()));

    let old_ids: Vec<Uuid> = old
        .messages
        .values()
        .map(|message| message.entity.id.uuid())
        .collect();
    for (at, (offset, message)) in (1..).zip(&fork.messages) {
        let entity = &message.entity;
        assert_eq!(
            (*offset, entity.session_id),
            (at, session.id),
            "in order, without a hole"
        );
        assert!(!old_ids.contains(&entity.id.uuid()));
        assert!(
            entity
                .turn_id
                .is_none_or(|turn| fork.turns.contains_key(&turn) && !old.turns.contains_key(&turn))
        );
        let parents: Vec<_> = fork
            .messages
            .values()
            .map(|other| Some(other.entity.id))
            .collect();
        assert!(entity.parent_message_id.is_none() || parents.contains(&entity.parent_message_id));
    }
    assert_eq!(fork.messages.len(), 8, "all before the message, and the new one");
    assert_eq!(
        fork.messages[&1].entity.created_at,
        old.messages[&1].entity.created_at
    );
    assert!(
        fork.turns
            .values()
            .all(|turn| turn.entity.status == TurnStatus::Completed)
    );
    fork.begin();
    assert_eq!(
        fork.read(),
        "U(one) A(I look. c:a) R(a=found) A(Seen.) U(two) A(Two.) U(other)"
    );
    fork.reply("Other.", Vec::new());
    assert!(fork.state.is_idle());
}

#[test]
fn in_a_copy_each_message_belongs_to_the_copy_of_what_it_belonged_to() {
    let mut lane = Kept::default();
    lane.send("one");
    lane.begin();
    lane.reply("I look.", vec![read("a"), read("b"), read("c")]);
    while let Some(call) = lane.state.calls.first() {
        let rtc = call.stored.entity.id;
        lane.tell(Command::Finish {
            rtc,
            attempt: 0,
            outcome: Outcome {
                result: Ok(json!(rtc.to_string())),
                seen: Vec::new(),
            },
        });
    }
    lane.reply("Seen.", Vec::new());
    lane.turn("two", "Two.");
    let fork = lane.fork("two", None, "other");
    let said = |message: &StoredMessage| format!("{:?}", message.entity.content);
    let parents = |kept: &Kept| -> BTreeMap<String, String> {
        let of = |message: &StoredMessage| {
            let parent = message.entity.parent_message_id?;
            let parent = kept.messages.values().find(|other| other.entity.id == parent);
            Some((said(message), said(parent.expect("it is in the same session"))))
        };
        kept.messages.values().filter_map(of).collect()
    };
    let (mut old, new) = (parents(&lane), parents(&fork));
    old.retain(|message, _| new.contains_key(message));
    assert_eq!(new, old);
    assert_eq!(new.len(), 3, "each result belongs to its call");
}

#[test]
fn the_first_message_written_anew_is_a_conversation_of_its_own() {
    let mut fork = conversation().fork("one", None, "other");
    fork.begin();
    assert_eq!((fork.read().as_str(), fork.messages.len()), ("U(other)", 1));
}

#[test]
fn what_was_said_together_is_answered_together() {
    let mut lane = conversation();
    lane.send("x");
    lane.send("y");
    lane.begin();
    lane.reply("Both.", Vec::new());
    let mut fork = lane.fork("y", None, "z");
    assert_eq!(fork.state.waiting.len(), 2);
    fork.begin();
    assert!(
        fork.read().ends_with("U(three) A(Three.) U(x) U(z)"),
        "{}",
        fork.read()
    );
}

#[test]
fn what_goes_on_in_the_old_session_is_over_in_the_copy() {
    let mut lane = Kept::default();
    lane.send("one");
    lane.begin();
    lane.reply("I look.", vec![read("a"), edit("b")]);
    lane.send("two");
    let mut fork = lane.fork("two", None, "other");
    let turn = fork.turns.values().next().unwrap();
    assert_eq!(turn.entity.status, TurnStatus::Cancelled);
    assert!(turn.entity.completed_at.is_some());
    fork.begin();
    insta::assert_snapshot!(fork.read(), @"U(one) A(I look. c:a c:b) R(a=[Tool Rejected] read was rejected: it had no result when the session was copied) R(b=[Tool Rejected] edit was rejected: it had no result when the session was copied) U(other)");
    assert!(!fork.state.is_idle());
}

#[test]
fn a_limit_keeps_the_newest() {
    let lane = conversation();
    for (limit, read) in [
        (1, "U(other)"),
        (2, "A(Two.) U(other)"),
        (3, "U(two) A(Two.) U(other)"),
        (
            100,
            "U(one) A(I look. c:a) R(a=found) A(Seen.) U(two) A(Two.) U(other)",
        ),
    ] {
        let mut fork = lane.fork("three", Some(limit), "other");
        fork.begin();
        assert_eq!(fork.read(), read, "{limit}");
        assert!(fork.messages.len() <= limit.max(1));
    }
}

#[test]
fn only_messages_of_the_user_are_written_anew() {
    let lane = conversation();
    let answer = lane
        .messages
        .values()
        .find(|message| message.entity.role == MessageRole::Assistant);
    for (message, code) in [
        (answer.unwrap().entity.id, Code::ForkError),
        (rtc_types::MessageId::new(Uuid::nil()), Code::MessageNotFound),
    ] {
        let messages = lane.messages.values().cloned().collect();
        let refused = history(messages, Vec::new(), message, None, None).unwrap_err();
        assert_eq!(refused.code(), code);
    }
}

#[test]
fn a_cleared_history_is_in_no_later_request_and_all_messages_stay() {
    let mut lane = conversation();
    let before = lane.messages.clone();
    lane.tell(Command::ClearHistory);
    assert_eq!(lane.items.len(), 1, "the session is told of");
    lane.tell(Command::ClearHistory);
    assert!(lane.items.is_empty(), "again changes nothing");
    assert_eq!(lane.messages, before);
    lane.send("four");
    lane.begin();
    assert_eq!(lane.read(), "U(four)");
    lane.reply("Four.", Vec::new());
    lane.send("five");
    lane.begin();
    assert_eq!(lane.read(), "U(four) A(Four.) U(five)");
}

#[test]
fn a_turn_under_way_keeps_what_it_has_and_what_waits_is_still_answered() {
    let mut lane = conversation();
    lane.send("four");
    lane.begin();
    lane.reply("I look.", vec![read("a")]);
    lane.send("five");
    let before = lane.read();
    lane.tell(Command::ClearHistory);
    assert_eq!(lane.read(), before, "the turn under way reads what it read");
    let rtc = lane.state.calls[0].stored.entity.id;
    lane.tell(Command::Finish {
        rtc,
        attempt: 0,
        outcome: Outcome {
            result: Ok(json!("found")),
            seen: Vec::new(),
        },
    });
    assert!(lane.read().starts_with("U(one)") && lane.read().ends_with("R(a=found)"));
    lane.reply("Four.", Vec::new());
    lane.begin();
    assert_eq!(lane.read(), "U(five)");
}

#[test]
fn a_fork_of_a_cleared_session_has_its_messages_and_the_model_does_not_read_them() {
    let mut lane = conversation();
    lane.tell(Command::ClearHistory);
    lane.turn("four", "Four.");
    lane.send("five");
    let mut fork = lane.fork("five", None, "other");
    assert_eq!(fork.messages.len(), lane.messages.len());
    fork.begin();
    assert_eq!(fork.read(), "U(four) A(Four.) U(other)");
}

#[test]
fn a_closed_session_is_not_cleared() {
    let mut lane = conversation();
    lane.tell(Command::Close);
    assert_eq!(
        lane.try_tell(Command::ClearHistory).unwrap_err().code(),
        Code::SessionClosed
    );
}

/// What the tests of scenarios send.
fn with_scenario(text: &str, number: u128) -> Send {
    let scenario = rtc_types::ScenarioRef {
        title: "Tidying".into(),
        filepath: "/scenarios/tidy.md".into(),
        file_content: format!("{number}."),
    };
    Send {
        scenarios: vec![scenario],
        ..sending(text, number)
    }
}

#[test]
fn scenarios_go_where_their_message_goes() {
    let read =
        |number: u32, text: &str| format!("U(<scenarios>\n# Tidying\n\n{number}.\n</scenarios>\n\n{text})");
    let mut lane = Kept::default();
    lane.tell(Command::Send(with_scenario("one", 1)));
    lane.tell(Command::Send(with_scenario("two", 2)));
    lane.send("three");
    lane.begin();
    let first = lane.read();
    assert_eq!(
        first,
        [&read(1, "one"), &read(2, "two"), "U(three)"]
            .map(|part| part.to_string())
            .join(" ")
    );
    lane.reply("Both.", Vec::new());
    lane.tell(Command::Send(with_scenario("", 4)));
    lane.begin();
    let second = lane.read();
    assert_eq!(
        second,
        format!("{first} A(Both.) U(<scenarios>\n# Tidying\n\n4.\n</scenarios>)")
    );
    let places: Vec<_> = lane
        .messages
        .values()
        .map(|message| (message.entity.role, message.entity.turn_offset))
        .collect();
    let (user, system) = (MessageRole::User, MessageRole::System);
    let assistant = (MessageRole::Assistant, 6);
    let expected = [
        (user, 1),
        (system, 2),
        (user, 3),
        (system, 4),
        (user, 5),
        assistant,
        (user, 1),
        (system, 2),
    ];
    assert_eq!(places, expected);
    lane.reply("Four.", Vec::new());
    lane.send("five");

    // What waited together is copied with its scenarios, the message that is written anew without them.
    let mut fork = lane.fork("five", None, "other");
    fork.begin();
    assert_eq!(fork.read(), format!("{second} A(Four.) U(other)"));
    let mut fork = lane.fork("three", None, "other");
    assert_eq!(fork.state.waiting.len(), 5);
    fork.begin();
    assert_eq!(fork.read(), first.replace("three", "other"));
    // A prompt does not stay behind its message.
    let copied = |limit| lane.history("five", Some(limit)).unwrap().messages.len();
    assert_eq!([1, 2, 3, 4].map(copied), [0, 1, 1, 3]);

    lane.tell(Command::ClearHistory);
    lane.begin();
    assert_eq!(lane.read(), "U(five)");
    lane.reply("Five.", Vec::new());
    lane.tell(Command::ClearHistory);
    lane.tell(Command::Send(with_scenario("six", 6)));
    lane.begin();
    assert_eq!(lane.read(), read(6, "six"));
}

#[test]
fn a_message_says_something_by_itself_or_with_its_scenarios() {
    let mut lane = Kept::default();
    let mut blank = with_scenario(" ", 1);
    blank.scenarios[0].file_content = "\n".into();
    assert_eq!(
        lane.try_tell(Command::Send(blank)).unwrap_err().code(),
        Code::InvalidArgument
    );
    lane.tell(Command::Send(with_scenario(" ", 2)));
    let session = lane.state.session.clone().unwrap().entity;
    assert_eq!(session.title, "Tidying", "it has a name where nothing was typed");
}
