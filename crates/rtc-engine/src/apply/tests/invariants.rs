//! What holds whatever happens in whatever order, each rule looked at by itself. What is stored is looked at in
//! `random.rs`.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::prompt;

/// Something that happens to a lane. A call is an open one, or any that there ever was, and a turn as well: much comes late.
#[derive(Debug, Clone)]
enum Event {
    Send,
    Begin,
    Reply(u8, u8),
    Fail(u8),
    BrokeOff(u8),
    Claim(u8, bool),
    Finish(u8, u32, bool),
    HandIn(u8, u32, bool),
    Approve(u8, u8),
    AskFor(u8),
    Executing(u8),
    Sent(u8, bool),
    Unknown(u8),
    Resolve(u8, u8),
    Mode(u8),
    Lease(u8, u8),
    Renew(u8),
    Tick(u8, u32),
    Stop,
    Deadline(u8),
    Recover,
    Clear,
    Close,
    Open,
}

const DECISIONS: [ApprovalDecision; 5] = [
    ApprovalDecision::Once,
    ApprovalDecision::Session,
    ApprovalDecision::Project,
    ApprovalDecision::Reject,
    ApprovalDecision::Never,
];

/// The calls and turns that events are about: so many of them are those that are open now …
const OPEN: u8 = 3;
/// … and up to here they are the first that there ever were.
const MANY: u8 = 6;

/// Each takes little time, and what has to come together for a fault is rare.
const CASES: u32 = 2_000;

fn event() -> impl Strategy<Value = Event> {
    let call = || 0..MANY;
    prop_oneof![
        3 => Just(Event::Send),
        4 => Just(Event::Begin),
        6 => (0..MANY, 0u8..7).prop_map(|(turn, kind)| Event::Reply(turn, kind)),
        1 => (0..MANY).prop_map(Event::Fail),
        1 => (0..MANY).prop_map(Event::BrokeOff),
        6 => (call(), any::<bool>()).prop_map(|(n, mark)| Event::Claim(n, mark)),
        4 => (call(), 0u32..3, any::<bool>()).prop_map(|(n, attempt, good)| Event::Finish(n, attempt, good)),
        2 => (call(), 0u32..3, any::<bool>()).prop_map(|(n, attempt, good)| Event::HandIn(n, attempt, good)),
        5 => (call(), 0u8..5).prop_map(|(n, how)| Event::Approve(n, how)),
        3 => call().prop_map(Event::AskFor),
        1 => call().prop_map(Event::Executing),
        1 => (call(), any::<bool>()).prop_map(|(n, here)| Event::Sent(n, here)),
        1 => call().prop_map(Event::Unknown),
        2 => (call(), 0u8..3).prop_map(|(n, how)| Event::Resolve(n, how)),
        3 => (0u8..5).prop_map(Event::Mode),
        3 => (call(), 0u8..2).prop_map(|(n, holder)| Event::Lease(n, holder)),
        1 => call().prop_map(Event::Renew),
        2 => (call(), 0u32..3).prop_map(|(n, attempt)| Event::Tick(n, attempt)),
        1 => Just(Event::Stop),
        1 => call().prop_map(Event::Deadline),
        1 => Just(Event::Recover),
        1 => Just(Event::Clear),
        1 => Just(Event::Close),
        2 => Just(Event::Open),
    ]
}

fn program(id: &str, digest: &str) -> PlannedCall {
    let subject = Subject {
        access: Access::Exec,
        paths: Vec::new(),
        digest: Some(digest.into()),
    };
    call_of(id, "script", subject)
}

fn question(id: &str) -> PlannedCall {
    let plan = Plan::Run {
        kind: Kind::User,
        parameters: json!({}),
        subject: Subject::read("/"),
        preview: None,
        looked: true,
    };
    planned(id, plan)
}

fn calls_of(kind: u8) -> Vec<PlannedCall> {
    match kind {
        0 => Vec::new(),
        1 => vec![read("a")],
        2 => vec![edit("a"), program("b", "one")],
        3 => vec![program("a", "two"), read("b"), edit("c")],
        4 => vec![question("a"), program("b", "one")],
        5 => vec![call_of("a", "edit", Subject::write("/b")), question("b")],
        _ => vec![planned("a", Plan::Invalid(ToolError::invalid("no")))],
    }
}

impl Lane {
    /// A call that there is or was.
    fn any_call(&self, n: u8) -> Option<RtcId> {
        match n.checked_sub(OPEN) {
            None => self
                .state
                .calls
                .get(usize::from(n))
                .map(|call| call.stored.entity.id),
            Some(n) => self.rtcs.values().nth(n.into()).map(|rtc| rtc.id),
        }
    }

    /// A turn likewise.
    fn any_turn(&self, n: u8) -> Option<TurnId> {
        match n.checked_sub(OPEN) {
            None => self.state.turn.as_ref().map(|turn| turn.entity.id),
            Some(n) => self.turns.get(usize::from(n)).map(|turn| turn.id),
        }
    }

    /// Tells what happened. Nothing, if there is no such call or turn, or the lane refuses it.
    fn happens(&mut self, event: &Event) -> Option<Done> {
        let device = DeviceId::new(Uuid::nil());
        let turn = |n: u8| self.any_turn(n);
        let ended = |good: bool| {
            Outcome::of(if good {
                Ok(json!("r"))
            } else {
                Err(ToolError::execution("e"))
            })
        };
        let command = match *event {
            Event::Send => {
                self.say(&format!("m{}", self.clock));
                return None;
            }
            Event::Begin => {
                let context = TurnContext {
                    model: model(),
                    system: String::new(),
                    tools: Vec::new(),
                    mode: Mode::Edit,
                    max_rounds: None,
                    cleared: None,
                };
                Command::Begin {
                    context: Box::new(context),
                }
            }
            Event::Reply(n, kind) => Command::Replied {
                turn: turn(n)?,
                model: model(),
                reply: Box::new(Reply {
                    blocks: vec![AssistantBlock::Text { text: "t".into() }],
                    stop: StopReason::EndTurn,
                    usage: Usage::default(),
                }),
                calls: calls_of(kind),
            },
            Event::Fail(n) => Command::ModelFailed {
                turn: turn(n)?,
                category: ErrorCategory::Api,
                message: "x".into(),
                retryable: true,
            },
            Event::BrokeOff(n) => Command::ReplyBrokeOff { turn: turn(n)? },
            Event::Claim(n, mark) => {
                let rtc = self.any_call(n)?;
                Command::Claim {
                    rtc,
                    attempt: self.rtc(rtc).attempt + 1,
                    mark: mark.then(|| (json!({}), "digest".to_owned())),
                }
            }
            Event::Finish(n, attempt, good) => Command::Finish {
                rtc: self.any_call(n)?,
                attempt,
                outcome: ended(good),
            },
            Event::HandIn(n, attempt, good) => Command::HandIn {
                rtc: self.any_call(n)?,
                attempt,
                outcome: ended(good),
                by: Some(device),
            },
            Event::Approve(n, how) => Command::Approve {
                rtc: self.any_call(n)?,
                decision: DECISIONS[usize::from(how)],
                reason: None,
                device,
            },
            Event::AskFor(n) => Command::AskFor {
                rtc: self.any_call(n)?,
                preview: None,
            },
            Event::Executing(n) => Command::Executing {
                rtc: self.any_call(n)?,
            },
            Event::Sent(n, runs_here) => Command::Sent {
                rtc: self.any_call(n)?,
                runs_here,
            },
            Event::Unknown(n) => Command::OutcomeUnknown {
                rtc: self.any_call(n)?,
                evidence: "e".into(),
            },
            Event::Resolve(n, how) => Command::Resolve {
                rtc: self.any_call(n)?,
                decision: [Resolution::Retry, Resolution::Done, Resolution::Tell][usize::from(how)],
            },
            Event::Mode(n) => Command::SetMode(Mode::ALL[usize::from(n)]),
            Event::Lease(n, holder) => Command::Lease {
                rtc: self.any_call(n)?,
                holder: Uuid::from_u128(holder.into()),
            },
            Event::Renew(n) => Command::Renew {
                rtc: self.any_call(n)?,
                holder: Uuid::nil(),
                attempt: None,
            },
            Event::Tick(n, attempt) => Command::LeaseTick {
                rtc: self.any_call(n)?,
                attempt,
            },
            Event::Stop => Command::Stop,
            Event::Deadline(n) => Command::StopDeadline {
                rtc: self.any_call(n)?,
            },
            Event::Recover => Command::Recover,
            Event::Clear => Command::ClearHistory,
            Event::Close => Command::Close,
            Event::Open => Command::Open,
        };
        self.effects.clear();
        self.try_tell(command).ok()
    }

    /// Sends a message, where the session takes one.
    fn say(&mut self, text: &str) {
        let session = self.state.session.as_ref();
        if session.is_none_or(|session| session.entity.status != SessionStatus::Closed) {
            self.send(text);
        }
    }

    /// Whether the user is shown something to answer.
    fn asks(&self) -> bool {
        let is_open = |rtc: &rtc_types::Rtc| {
            let approval = rtc.approval.as_ref().map(|approval| approval.state);
            !rtc.status.is_terminal() && (approval == Some(ApprovalState::Open) || rtc.outcome.is_some())
        };
        self.state.waits_for_user().is_some() || self.rtcs.values().any(is_open)
    }

    /// Whether something of the lane makes a turn, or asks a model.
    fn begins_something(&self) -> bool {
        let begins = |effect: &Effect| matches!(effect, Effect::GatherContext | Effect::AskModel(_));
        self.effects.iter().any(begins)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// After a stop nothing of that turn begins another one, and nobody is asked anything any more.
    #[test]
    fn after_a_stop_nothing_begins_and_nobody_is_asked(
        before in proptest::collection::vec(event(), 0..40),
        after in proptest::collection::vec(event(), 0..40),
    ) {
        let mut lane = Lane::new();
        lane.say("first");
        for event in &before {
            lane.happens(event);
        }
        lane.tell(Command::Stop);
        let turns = lane.turns.len();
        prop_assert!(!lane.begins_something() && !lane.asks());
        for event in after.iter().filter(|event| !matches!(event, Event::Send)) {
            lane.happens(event);
            prop_assert!(!lane.begins_something(), "{event:?}: {:?}", lane.effects);
            prop_assert!(!lane.asks(), "{event:?}");
            prop_assert_eq!(lane.turns.len(), turns);
        }
        // The call that was given time has had it.
        if let Some(call) = lane.state.calls.first() {
            prop_assert!(lane.state.stopping);
            lane.tell(Command::StopDeadline { rtc: call.stored.entity.id });
        }
        prop_assert!(lane.state.is_idle() && lane.state.calls.is_empty());
        prop_assert!(lane.turns.iter().all(|turn| turn.status.is_terminal()));
        prop_assert!(lane.rtcs.values().all(|rtc| rtc.status.is_terminal()));
        let is_open = |rtc: &rtc_types::Rtc| rtc.approval.as_ref().is_some_and(|a| a.state == ApprovalState::Open);
        prop_assert!(!lane.rtcs.values().any(is_open));
    }
}

/// What the user has said Yes and No to, kept beside the lane.
#[derive(Default)]
struct Said {
    yes: BTreeSet<RtcId>,
    /// Paths that edits may change, `/` for all; programs by their digests.
    allowed: BTreeSet<String>,
    forbidden: BTreeSet<String>,
}

/// What a rule about a call names: its path, or its digest.
fn name_of(call: &crate::state::Call) -> String {
    let subject = call.stored.subject();
    let digest = subject.digest.clone();
    digest.unwrap_or_else(|| subject.paths[0].clone())
}

impl Said {
    fn note(&mut self, call: &crate::state::Call, decision: ApprovalDecision) {
        let is_program = call.stored.subject().access == Access::Exec;
        let name = name_of(call);
        match decision {
            ApprovalDecision::Once => {}
            ApprovalDecision::Session if !is_program => drop(self.allowed.insert("/".to_owned())),
            ApprovalDecision::Session | ApprovalDecision::Project => drop(self.allowed.insert(name)),
            ApprovalDecision::Reject => return,
            ApprovalDecision::Never => {
                self.forbidden.insert(name);
                return;
            }
        }
        self.yes.insert(call.stored.entity.id);
    }

    /// Whether a call may have its effect in this mode.
    fn lets(&self, call: &crate::state::Call, mode: Mode) -> bool {
        let (access, name) = (call.stored.subject().access, name_of(call));
        let said_yes = self.yes.contains(&call.stored.entity.id)
            || self.allowed.contains(&name)
            || (access == Access::Write && self.allowed.contains("/"));
        match (access, mode) {
            (Access::Read, _) => true,
            _ if self.forbidden.contains(&name) => false,
            (_, Mode::Plan) => false,
            (_, Mode::Bypass) => true,
            (Access::Write, Mode::Edit | Mode::Auto) => true,
            (Access::Write, Mode::Manual) => said_yes,
            (Access::Exec, Mode::Manual | Mode::Edit | Mode::Auto) => said_yes,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// In mode `manual` nothing is changed without a Yes to that very call or a rule that came of one; in every mode but
    /// `bypass` no program runs without. What was forbidden happens in no mode, and nothing does in mode `plan`.
    #[test]
    fn nothing_takes_effect_without_a_yes(events in proptest::collection::vec(event(), 1..80)) {
        let mut lane = Lane::new();
        lane.say("first");
        let mut said = Said::default();
        for event in &events {
            let call = match *event {
                Event::Claim(n, _) | Event::Lease(n, _) | Event::Approve(n, _) => lane.any_call(n),
                _ => None,
            };
            let call = call.and_then(|rtc| lane.state.call(rtc)).cloned();
            let mode = lane.state.mode();
            let done = lane.happens(event);
            let Some(call) = call else { continue };
            match (event, done) {
                (Event::Approve(_, how), Some(Done::Ok)) => said.note(&call, DECISIONS[usize::from(*how)]),
                (Event::Claim(..), Some(Done::Claimed)) => {
                    prop_assert!(said.lets(&call, mode), "{mode}: {:?}", call.stored.subject());
                }
                (Event::Lease(..), Some(Done::Leased(_))) if call.stored.private.lease.is_none() => {
                    prop_assert!(said.lets(&call, mode), "{mode}: {:?}", call.stored.subject());
                }
                _ => {}
            }
        }
    }
}

/// What the user said, as far as the request of a turn has it.
fn said_in(lane: &Lane, turn: TurnId) -> BTreeSet<String> {
    let spoken: Vec<_> = lane.spoken.values().cloned().collect();
    let request = prompt::request(&lane.contexts[&turn], &spoken);
    let texts = request.items.into_iter().filter_map(|item| match item {
        rtc_model::Item::User { text } => Some(text),
        _ => None,
    });
    texts.collect()
}

impl Lane {
    /// Every message of the user, by its place.
    fn said(&self) -> BTreeMap<u32, String> {
        let texts = self.messages.iter().filter_map(|(place, message)| {
            let Some(ContentData::UserMessage(said)) = message.content.parse() else {
                return None;
            };
            Some((*place, said.text))
        });
        texts.collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Whatever the user says is read by the model in the end, unless they close the session or have it forget.
    #[test]
    fn what_the_user_says_is_read(events in proptest::collection::vec(event(), 1..60)) {
        let mut lane = Lane::new();
        lane.say("first");
        let mut read = BTreeSet::new();
        let mut forgotten = BTreeSet::new();
        let mut note = |lane: &Lane| {
            for effect in &lane.effects {
                if let Effect::AskModel(turn) = effect {
                    read.extend(said_in(lane, *turn));
                }
            }
        };
        // Closing is the end.
        for event in events.iter().filter(|event| !matches!(event, Event::Close)) {
            let is_cleared = lane.happens(event).is_some() && matches!(event, Event::Clear);
            note(&lane);
            if let (true, Some(session)) = (is_cleared, &lane.state.session) {
                let until = session.entity.cleared_offset.unwrap_or_default();
                forgotten.extend(lane.said().range(..=until).map(|(_, text)| text.clone()));
            }
        }
        // The user says one thing more, and whatever is open comes to its end.
        lane.say("last");
        lane.tell(Command::Recover);
        note(&lane);
        for _ in 0..100 {
            if let Some(call) = lane.state.calls.first() {
                let (rtc, attempt) = (call.stored.entity.id, call.stored.entity.attempt);
                lane.finish(rtc, attempt, Ok(json!("r")));
            } else if lane.state.turn.is_some() {
                lane.reply("done", Vec::new());
            } else if !lane.state.waiting.is_empty() {
                lane.happens(&Event::Begin);
            } else {
                break;
            }
            note(&lane);
        }
        prop_assert!(lane.state.is_idle());
        for text in lane.said().values() {
            prop_assert!(read.contains(text) || forgotten.contains(text), "{text} was never read");
        }
        prop_assert!(read.contains("last"));
    }
}
